"""What a replay costs beside the run itself, and what comparing sums alone costs.

First a run of a scripted policy over BFCL is played and verified, by one process and by two;
rounds of the three alternate, and the smallest time of each counts. Then a folder of many
rollouts with short transcripts is made and compared with its certificate (`quick`), beside a
plain loop that reads the same files line by line and does nothing.

    python benchmarks/verify.py
    python benchmarks/verify.py --tasks base -n 32 --rows 1000000
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentenvs.harness import run, verify
from agentenvs.harness.replay.certificate import make_certificate, write_certificate
from agentenvs.harness.replay.rows import Rows
from agentenvs.harness.seeds import derive
from agentenvs.harness.store.outcomes_file import read_settings
from agentenvs.harness.store.row_sums import with_sum

TASKS = 250


def timed(action: Callable[[], Any]) -> tuple[float, float]:
    """Return wall and CPU seconds of an action, those of ended child processes included."""
    wall, before = time.perf_counter(), os.times()
    action()
    after = os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    return time.perf_counter() - wall, cpu


def replay(folder: Path, tasks: str, n: int, rounds: int) -> None:
    """Print what a run and its replay cost."""
    best: dict[str, tuple[float, float]] = {}

    def play() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        run("BFCLv4", "scripted:wide", tasks=tasks, n=n, out=folder)

    def check(jobs: int) -> None:
        assert verify(folder, jobs=jobs).ok

    for _ in range(rounds):
        for name, action in (
            ("run", play),
            ("verify, 1 process", lambda: check(1)),
            ("verify, 2 processes", lambda: check(2)),
        ):
            took = timed(action)
            best[name] = min(best.get(name, took), took)
    rows = len((folder / "outcomes.jsonl").read_bytes().splitlines())
    print(f"{rows} rollouts of BFCL {tasks!r}")
    print(f"{'':22}{'wall s':>8}{'CPU s':>8}{'rollouts/s':>12}{'of the run':>12}")
    for name, (wall, cpu) in best.items():
        share = best["run"][0] / wall
        print(f"{name:22}{wall:8.2f}{cpu:8.2f}{rows / wall:12.0f}{share:11.2f}x")


def many(folder: Path, rows: int) -> None:
    """Make a run folder of so many rollouts with short transcripts, certified."""
    settings = read_settings(folder)
    assert settings is not None
    names = [f"task_{at}" for at in range(TASKS)]
    task_hash = hashlib.sha256("\0".join(names).encode()).hexdigest()[:12]
    settings |= {"task_ids": names, "task_hash": task_hash, "n": -(-rows // TASKS), "history": []}
    (folder / "run.json").write_text(json.dumps(settings))
    for path in folder.glob("transcripts-*"):
        path.unlink()
    parse = {"calls": 3, "words": 1, "malformed": 0, "repaired": 0, "strict": 3, "rescued": 0}
    step = ["[pwd()]", [{"role": "tool", "content": "/home"}], {"status": "calls"}, "stop", 0.0]
    with (
        (folder / "outcomes.jsonl").open("w") as outcomes,
        gzip.open(folder / "transcripts-0000.jsonl.gz", "wb", compresslevel=1) as transcripts,
    ):
        for at in range(rows):
            key = {"task_id": names[at % TASKS], "rollout": at // TASKS}
            seed = derive(0, key["task_id"], at // TASKS)
            verdict = {"success": at % 3 == 0, "reason": "" if at % 3 == 0 else "state"}
            mid = {"score": float(at % 3 == 0), "seed": seed, "temperature": 1.0, "steps": 4}
            row = {**key, **verdict, **mid, "parse": parse, "wall_s": 0.123456}
            outcomes.write(json.dumps(row, separators=(",", ":")) + "\n")
            said = {**key, "seed": seed, "temperature": 1.0, **verdict, "opening": []}
            line = json.dumps({**said, "steps": [step] * 4}, separators=(",", ":"))
            transcripts.write(with_sum(line).encode() + b"\n")
    read = Rows(folder, settings)
    assert sum(1 for _ in read) == rows
    certificate = make_certificate(folder, {"rollouts": rows}, settings, read)
    write_certificate(folder, certificate)


def quick(folder: Path, rows: int) -> None:
    """Print what comparing sums costs, and a plain loop over the same lines."""
    many(folder, rows)

    def plain() -> None:
        with (folder / "outcomes.jsonl").open("rb") as file:
            assert sum(1 for _ in file) == rows
        with gzip.open(folder / "transcripts-0000.jsonl.gz", "rb") as file:
            assert sum(1 for _ in file) == rows

    base, _ = timed(plain)

    def compare() -> None:
        assert verify(folder, quick=True).ok

    taken, _ = timed(compare)
    path = folder / "outcomes.jsonl"
    path.write_bytes(path.read_bytes() + b"\n")
    rowwise, _ = timed(compare)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    mark = (folder / "certificate.json").stat().st_size / 1e6
    print(f"\n{rows} rollouts, {size:.0f} MB, a certificate of {mark:.1f} MB among them")
    print(f"lines read alone  {base:6.1f} s")
    print(f"verify --quick    {taken:6.1f} s  {taken / base:.1f} times that")
    print(f"the same row by row, since a byte differs {rowwise:6.1f} s; peak {memory:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tasks", default="mini", help="task set of BFCL (default: mini)")
    parser.add_argument("-n", type=int, default=16, help="rollouts a task (default: 16)")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--rows", type=int, default=100_000, help="default: 100000; 0 for none")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        replay(folder, args.tasks, args.n, args.rounds)
        if args.rows:
            quick(folder, args.rows)


if __name__ == "__main__":
    main()
