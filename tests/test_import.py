from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "torch",
    "transformers",
    "rich",
    "httpx2",
    "selenium",
    "matplotlib",
    "pettingzoo",
    "bfcl_eval",
}


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement",
    [
        "import agentenvs",
        "from agentenvs import bfcl, harness, sources, wrappers",
        "from agentenvs.harness import Episode, Outcomes, run",
    ],
)
def test_imports_load_nothing_heavy(statement: str) -> None:
    assert not HEAVY & modules_after(statement)


def test_import_of_the_package_loads_no_room() -> None:
    loaded = modules_after("import agentenvs")
    rooms = ("bfcl", "harness", "wrappers", "sources")
    assert not [m for m in loaded if m.startswith(tuple(f"agentenvs.{room}" for room in rooms))]


@pytest.mark.parametrize("room", ["tax", "outcomes"])
def test_measures_import_alone(room: str) -> None:
    loaded = {m for m in modules_after(f"import agentenvs.harness.{room}") if "agentenvs." in m}
    ours = {m for m in loaded if m.startswith("agentenvs.")}
    parts = ("lazy", "tax", "outcomes", "records", "store")
    allowed = ("agentenvs.errors", *(f"agentenvs.harness.{part}" for part in parts))
    frame = {f"agentenvs.{room}" for room in ("core", "harness", "registry", "spaces", "tools")}
    assert not [m for m in ours - frame if not m.startswith(allowed)]


def test_importing_the_package_reads_no_file_and_writes_none() -> None:
    code = (
        "import sys, gymnasium\n"
        "seen = []\n"
        "sys.addaudithook(lambda e, a: seen.append(str(a[0])) if e == 'open' else None)\n"
        "import agentenvs\n"
        "print([s for s in seen if not s.endswith(('.py', '.pyc'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
