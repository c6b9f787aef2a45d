"""Edits of run folders as somebody might make them by hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


def outcomes(folder: Path, edit: Callable[[Rows], Rows | None]) -> None:
    """Edit the rows of `outcomes.jsonl`, in place or by giving others."""
    path = folder / "outcomes.jsonl"
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    rows = edit(rows) or rows
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))


def transcripts(folder: Path, edit: Callable[[Rows], Rows | None]) -> None:
    """Edit the lines of the first segment, shared texts among them."""
    path = min(folder.glob("transcripts-*.jsonl.gz"))
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    rows = edit(rows) or rows
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    path.write_bytes(gzip.compress(lines.encode()))


def lines(folder: Path, edit: Callable[[list[bytes]], None]) -> None:
    """Edit the lines of the first segment as they stand there, in place."""
    path = min(folder.glob("transcripts-*.jsonl.gz"))
    found = gzip.decompress(path.read_bytes()).splitlines()
    edit(found)
    path.write_bytes(gzip.compress(b"".join(line + b"\n" for line in found)))


def resealed(row: dict[str, Any]) -> None:
    """Give a transcript the sum of what it says now, as a careful hand would."""
    from agentenvs.harness.store.row_sums import with_sum

    row.pop("sum", None)
    row["sum"] = json.loads(with_sum(json.dumps(row, separators=(",", ":"))))["sum"]


def settings(folder: Path, edit: Callable[[dict[str, Any]], None], history: bool = True) -> None:
    """Edit `run.json`; `history=False` also takes away what it says of its own settings."""
    path = folder / "run.json"
    found = json.loads(path.read_text())
    edit(found)
    if not history:
        for start in found["history"]:
            start.pop("settings", None)
    path.write_text(json.dumps(found))


def row(rows: Rows, task: str, rollout: int) -> dict[str, Any]:
    """Return the row of a rollout."""
    return next(r for r in rows if r.get("task_id") == task and r.get("rollout") == rollout)
