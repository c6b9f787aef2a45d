"""Write, read, count and export a million outcomes, against plain code in the same process.

Run: python benchmarks/store.py [ROWS]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
TASKS = 1000


def row(i: int) -> dict[str, Any]:
    """Return an outcome as runs write them."""
    solved = i % 3 == 0
    return {
        "task_id": f"multi_turn_base_{i % TASKS}",
        "rollout": i // TASKS,
        "success": solved,
        "score": float(solved),
        "reason": "" if solved else "multi_turn:instance_state_mismatch",
        "seed": (i * 0x9E3779B97F4A7C15) % 2**62,
        "temperature": 1.0,
        "steps": 4 + i % 17,
        "parse": {
            "calls": 3 + i % 17,
            "words": 1,
            "malformed": 0,
            "repaired": i % 2,
            "strict": 3,
            "rescued": 0,
        },
        "wall_s": i % 1000 / 64,
        "new_tokens": 100 + i % 900,
    }


def write_plain(folder: Path) -> None:
    with (folder / "plain.jsonl").open("w") as file:
        for i in range(ROWS):
            file.write(json.dumps(row(i)) + "\n")


def write_ours(folder: Path) -> None:
    from agentenvs.harness.outcomes import OutcomeWriter, write_settings

    write_settings(folder, {"policy": "random", "n": ROWS // TASKS})
    with OutcomeWriter(folder) as writer:
        for i in range(ROWS):
            writer.write(**row(i))


def load_plain(folder: Path) -> Any:
    with (folder / "plain.jsonl").open() as file:
        return [json.loads(line) for line in file]


def load_ours(folder: Path) -> Any:
    from agentenvs.harness.outcomes import Outcomes

    return Outcomes.load(folder)


def load_arrow(folder: Path) -> Any:
    import pyarrow.json

    return pyarrow.json.read_json(folder / "outcomes.jsonl")


def count_plain(rows: list[dict[str, Any]]) -> int:
    counts: dict[str, list[int]] = {}
    for one in rows:
        at = counts.setdefault(one["task_id"], [0, 0])
        at[0] += one["success"]
        at[1] += 1
    return sum(c for c, _ in counts.values())


def count_ours(outcomes: Any) -> int:
    return int(outcomes.counts().c.sum())


def export_ours(outcomes: Any, folder: Path) -> None:
    from agentenvs.harness.store.parquet import write

    write(outcomes, folder / "ours.parquet")


def export_arrow(table: Any, folder: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, folder / "arrow.parquet", compression="zstd")


STEPS: dict[str, Callable[[Path], list[tuple[str, Callable[..., Any]]]]] = {
    "write plain": lambda folder: [("write", lambda: write_plain(folder))],
    "write ours": lambda folder: [("write", lambda: write_ours(folder))],
    "read plain": lambda folder: [("read", lambda: load_plain(folder)), ("count", count_plain)],
    "read ours": lambda folder: [
        ("read", lambda: load_ours(folder)),
        ("count", count_ours),
        ("export", lambda outcomes: export_ours(outcomes, folder)),
    ],
    "read arrow": lambda folder: [
        ("read", lambda: load_arrow(folder)),
        ("export", lambda table: export_arrow(table, folder)),
    ],
}


def alone(step: str, folder: Path) -> dict[str, float]:
    """Do one step in a process of its own, whose memory is its own."""
    code = (
        "import json, sys; from pathlib import Path; "
        "import importlib.util as u; spec = u.spec_from_file_location('store', sys.argv[1]); "
        "m = u.module_from_spec(spec); sys.argv = ['store', sys.argv[4], *sys.argv[2:4]]; "
        "spec.loader.exec_module(m); print(json.dumps(m.measure(sys.argv[2], Path(sys.argv[3]))))"
    )
    command = [sys.executable, "-c", code, __file__, step, str(folder), str(ROWS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(step: str, folder: Path) -> dict[str, float]:
    """Return the seconds of each part of a step, and the MB that the first one takes."""
    found: dict[str, float] = {}
    value: Any = None
    before = memory()
    for name, part in STEPS[step](folder):
        start = time.process_time()
        made = part() if name in ("write", "read") else part(value)
        found[name] = time.process_time() - start
        if name == "read":
            value = made
            found["MB"] = memory() - before
    return found


def memory() -> float:
    """Return the most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def size(path: Path) -> float:
    return path.stat().st_size / 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {step: alone(step, folder) for step in ("write plain", "write ours")}
        found |= {step: alone(step, folder) for step in ("read plain", "read ours")}
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            print("without pyarrow there is no export to measure")
        else:
            found["read arrow"] = alone("read arrow", folder)
        print(f"{ROWS} outcomes of {TASKS} tasks")
        print(f"{'':24} {'ours':>9} {'plain':>9} {'ratio':>6}")
        plain, ours = found["read plain"], found["read ours"]
        lines = [
            ("write (s)", found["write ours"]["write"], found["write plain"]["write"]),
            ("file (MB)", size(folder / "outcomes.jsonl"), size(folder / "plain.jsonl")),
            ("read (s)", ours["read"], plain["read"]),
            ("memory of that (MB)", ours["MB"], plain["MB"]),
            ("count (s)", ours["count"], plain["count"]),
        ]
        if "read arrow" in found:
            arrow = found["read arrow"]
            lines += [
                ("read, to pyarrow's (s)", ours["read"], arrow["read"]),
                ("memory, to pyarrow's", ours["MB"], arrow["MB"]),
                ("export, to pyarrow's (s)", ours["export"], arrow["export"]),
                ("Parquet file (MB)", *(size(folder / f"{k}.parquet") for k in ("ours", "arrow"))),
            ]
        for label, one, other in lines:
            print(f"{label:24} {one:9.2f} {other:9.2f} {one / other:6.2f}")


if __name__ == "__main__":
    main()
