from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `hf`")

command = importlib.import_module("agentenvs.harness.ptgs.selftest.__main__")

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    """A file that imports what lies beside it."""
    (tmp_path / "beside.py").write_text((HERE / "reference.py").read_text())
    own = tmp_path / "own.py"
    own.write_text(
        "from beside import Reference\n\n\n"
        "class Silent(Reference):\n"
        "    def tell(self, names, won):\n        pass\n\n\n"
        "class Breaks(Reference):\n"
        "    def score(self, *asked):\n        raise OSError('no memory')\n\n\n"
        "number = 3\n"
    )
    return own


def test_a_file_by_its_path(own_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([f"{own_file}:Reference"]) == 0
    *_, verdict, unseen = capsys.readouterr().out.splitlines()
    assert verdict == "PASSED: 13 passed"
    assert unseen.startswith("Not seen: ")
    assert command.main([f"{own_file}:Silent", "--seed", "1"]) == 1
    assert "NOT PASSED" in capsys.readouterr().out


def test_json_and_checks_left_out(own_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [f"{own_file}:Silent", "--json", "--without", "told", "--without", "uniform"]
    assert command.main([*asked, "--without", "resume"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["passed"]
    assert {check["status"] for check in told["checks"]} == {"passed", "left out"}


def test_what_was_raised(own_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([f"{own_file}:Breaks", "--traceback"]) == 1
    assert "OSError: no memory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Reference", "Expected FILE.py:BUILD"),
        ("nowhere.py:Reference", "No file 'nowhere.py'"),
        ("no.such.module:Reference", "No module 'no'"),
        ("own.py:missing", "callable, got nothing"),
        ("own.py:number", "callable, got int"),
        ("own.py:Reference --without scoring", "Did you mean"),
    ],
)
def test_what_cannot_be_tested(
    own_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    words: str,
) -> None:
    monkeypatch.chdir(own_file.parent)
    assert command.main(name.split()) == 2
    assert words in capsys.readouterr().err


def test_a_module_of_the_folder(own_file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agentenvs.harness.ptgs.selftest", "own:Silent", "--json"],
        capture_output=True,
        text=True,
        cwd=own_file.parent,
    )
    assert done.returncode == 1, done.stderr
    assert not json.loads(done.stdout)["passed"]
