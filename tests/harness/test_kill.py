from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.harness import Outcomes, read_transcripts, run
from agentenvs.harness.policies import RandomPolicy

PROGRAM = """
import asyncio, runpy, sys
from agentenvs.harness import run
from agentenvs.harness.policies import RandomPolicy

class Slow(RandomPolicy):
    async def generate(self, request):
        await asyncio.sleep(0.01)
        return await super().generate(request)

ledger = runpy.run_path(sys.argv[1])
ledger["register"]()
run(ledger["ID"], Slow(), n=20, seed=6, out=sys.argv[2], concurrency=8, progress=True)
"""


def start(folder: Path) -> subprocess.Popen[str]:
    script = Path(__file__).with_name("ledger.py")
    command = [sys.executable, "-c", PROGRAM, str(script), str(folder)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for_rows(folder: Path, rows: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(FileNotFoundError):
            if (folder / "outcomes.jsonl").read_bytes().count(b"\n") >= rows:
                return
        time.sleep(0.005)
    raise AssertionError(f"no {rows} rows: {process.communicate()[1]}")


def bare(rows: Any) -> list[dict[str, Any]]:
    kept = [{key: value for key, value in row.items() if key != "wall_s"} for row in rows]
    return sorted(kept, key=lambda row: (row["task_id"], row["rollout"]))


@pytest.fixture(scope="module")
def whole(ledger: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    run(ledger.ID, RandomPolicy(), n=20, seed=6, out=folder)
    return folder


def check_equal(folder: Path, whole: Path) -> None:
    lines = (folder / "outcomes.jsonl").read_bytes().splitlines()
    assert len(lines) == 240
    assert bare(Outcomes.load(folder)) == bare(Outcomes.load(whole))
    assert bare(read_transcripts(folder)) == bare(read_transcripts(whole))


def test_killed_twice_and_started_again_nothing_is_lost_or_doubled(
    whole: Path, tmp_path: Path
) -> None:
    for rows in (60, 150):
        process = start(tmp_path)
        wait_for_rows(tmp_path, rows, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        outcomes = Outcomes.load(tmp_path)
        assert rows <= len(outcomes) < 240
        assert len(list(read_transcripts(tmp_path))) == len(outcomes)
    process = start(tmp_path)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert "done before" in told
    check_equal(tmp_path, whole)


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_interrupted_a_run_says_how_far_it_came(whole: Path, tmp_path: Path) -> None:
    process = start(tmp_path)
    wait_for_rows(tmp_path, 60, process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode != 0
    outcomes = Outcomes.load(tmp_path)
    assert f"Stopped with {len(outcomes)} of 240 rollouts done. The same command goes on" in told
    assert [path.suffix for path in tmp_path.glob("transcripts-*")] == [".gz"]
    process = start(tmp_path)
    process.communicate(timeout=120)
    check_equal(tmp_path, whole)
