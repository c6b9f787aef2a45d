"""Twenty kills at random moments of a real `agentenvs run`, faults of the line among them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from agentenvs.harness import Outcomes, read_transcripts, run

KILLS = 20
N = 24
POLICY = '''
"""Random calls, each after a moment, over a line that loses one request in fifty."""

import asyncio
import os
import random

from agentenvs.errors import InfrastructureFault
from agentenvs.harness.policies import RandomPolicy

inner = RandomPolicy()
draws = random.Random(os.environ.get("LINE_SEED"))
share = 0.02 if "LINE_SEED" in os.environ else 0.0


async def act(request):
    await asyncio.sleep(0.002)
    if draws.random() < share:
        busy = InfrastructureFault("busy", "http_503")
        raise draws.choice([TimeoutError("late"), ConnectionResetError("reset"), busy])
    return await inner.generate(request)
'''


def start(policy: Path, folder: Path, line: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "agentenvs.harness", "run", "BFCLv4", "--tasks", "mini"]
    command += ["--policy", f"callable:{policy}:act", "--policy-arg", "request=true"]
    command += ["-n", str(N), "--seed", "7", "--max-requests", "6", "--out", str(folder)]
    command += ["--concurrency", "8", "--quiet"]
    surroundings = {**os.environ, "LINE_SEED": str(line)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings
    )


def rows_in(folder: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return (folder / "outcomes.jsonl").read_bytes().count(b"\n")
    return 0


def kill_at(folder: Path, process: subprocess.Popen[str], rows: int, delay_s: float) -> bool:
    """Kill once so many rows are there and so many seconds more are over; False if it ended."""
    deadline = time.monotonic() + 120
    while rows_in(folder) < rows and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(delay_s)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return alive


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_killed_at_twenty_random_moments_a_run_ends_as_one_left_alone(
    faulty: ModuleType, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.py"
    policy.write_text(POLICY)
    whole, folder = tmp_path / "whole", tmp_path / "run"
    settings = {"n": N, "seed": 7, "max_requests": 6, "policy_kwargs": {"request": True}}
    calm = run("BFCLv4", f"callable:{policy}:act", tasks="mini", out=whole, **settings)  # type: ignore[arg-type]
    total = len(calm)
    draws = random.Random(20)
    # Every fourth one hits the start, as what the last one left has just been mended and packed.
    marks = sorted(draws.sample(range(1, total * 9 // 10), KILLS))
    before: set[tuple[str, int]] = set()
    voids = alive = 0
    for kill, mark in enumerate(marks):
        rows = len(before) + draws.randrange(4) if kill % 4 == 3 else mark
        process = start(policy, folder, kill)
        alive += kill_at(folder, process, rows, draws.uniform(0.0, 0.05))
        if not (folder / "run.json").exists():
            continue
        found = Outcomes.load(folder)
        assert before <= found.keys()
        assert len(found) == len(found.keys()) >= rows
        assert len(list(read_transcripts(folder))) == len(found)
        assert len(found.voids) >= voids
        before, voids = found.keys(), len(found.voids)
    assert alive == KILLS
    for line in range(KILLS, KILLS + 10):
        process = start(policy, folder, line)
        told, failed = process.communicate(timeout=300)
        if process.returncode == 0:
            break
        assert "still open" in told, failed
    assert process.returncode == 0
    outcomes = Outcomes.load(folder)
    lines = (folder / "outcomes.jsonl").read_bytes().splitlines()
    assert (
        len(lines)
        == total
        == len({(row["task_id"], row["rollout"]) for row in map(json.loads, lines)})
    )
    assert faulty.bare(outcomes) == faulty.bare(calm)
    assert faulty.bare(read_transcripts(folder)) == faulty.bare(read_transcripts(whole))
    assert outcomes.open == []
    assert {row["reason"] for row in outcomes.voids} == {"timeout", "connection", "http_503"}
    # A line that is there twice would be a try that never was.
    assert max(Counter(map(json.dumps, outcomes.voids)).values()) == 1
