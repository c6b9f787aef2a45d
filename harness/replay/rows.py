"""The rows of a run folder as they stand there, outcome and transcript side by side."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agentenvs.errors import RunDamaged
from agentenvs.harness.replay.findings import OUTCOMES, Finding, Kind
from agentenvs.harness.replay.sums import RowSums
from agentenvs.harness.store.durable import bounded, open_plain
from agentenvs.harness.store.outcomes_rows import RowError, check, decode, show
from agentenvs.harness.store.row_sums import text_key
from agentenvs.harness.store.segments import lines_of, segments

__all__ = ["Record", "Rows"]

_KEY = re.compile(rb'\{"task_id":("(?:[^"\\]|\\.)*"),"rollout":(\d{1,16}),')
_TEXT = b'{"text":'
_USED = re.compile(rb'"role":"system","text":"([0-9a-f]{16})"')
_REWRITTEN = "changed after it was written; its check sum is another"
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Record(NamedTuple):
    """One rollout as the two files have it.

    Attributes:
        task: the task's id.
        rollout: its number among the task's.
        outcome: its row of `outcomes.jsonl`.
        transcript: its line of a segment.
        segment: the segment's name.
    """

    task: str
    rollout: int
    outcome: Mapping[str, Any]
    transcript: bytes
    segment: str


class Rows:
    """Reads the rows of a run folder once; nothing in it is changed.

    Iterating yields a `Record` for each rollout that has both an outcome and a transcript.
    Whatever else is there is a finding.

    Args:
        folder: the run folder.
        settings: what its `run.json` holds.

    Attributes:
        findings: what does not hold of the files themselves.
        notes: what a stop of the run left behind, which is no fault.
        outcomes, transcripts: sums of the rows.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self.outcomes = RowSums()
        self.transcripts = RowSums()
        tasks, n = settings.get("task_ids"), settings.get("n")
        self._tasks = frozenset(tasks) if isinstance(tasks, list) else frozenset()
        self._n = n if type(n) is int else 0

    def __iter__(self) -> Iterator[Record]:
        """Yield the rollouts, in the order of their transcripts."""
        waiting: dict[tuple[str, int], Mapping[str, Any]] = {}
        rows = self._outcomes()
        left: list[tuple[str, int, str, bool]] = []
        for task, rollout, line, segment, last in self._transcripts():
            key = (task, rollout)
            # Both files are written in one order, so that the next row is mostly the right one.
            while key not in waiting:
                found = next(rows, None)
                if found is None:
                    break
                waiting[found[0], found[1]] = found[2]
            if key in waiting:
                yield Record(task, rollout, waiting.pop(key), line, segment)
            else:
                left.append((task, rollout, segment, last))
        waiting.update(((task, rollout), row) for task, rollout, row in rows)
        for task, rollout in waiting:
            self._find("missing", task, rollout, OUTCOMES, "transcript", "an outcome without one")
        for task, rollout, segment, last in left:
            if last:
                self.notes.append(
                    f"{segment} ends with a transcript of {task} #{rollout}, which was stopped "
                    "before its outcome was written."
                )
            else:
                self._find("missing", task, rollout, segment, "outcome", "a transcript without one")

    def _find(
        self,
        kind: Kind,
        task: str | None,
        rollout: int | None,
        file: str,
        field: str,
        told: str,
        recorded: Any = None,
    ) -> None:
        self.findings.append(Finding(kind, task, rollout, file, field, recorded, None, told))

    def _outcomes(self) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
        seen: dict[str, dict[int, int]] = {}
        path = self.folder / OUTCOMES
        try:
            with open_plain(path) as file:
                for number, line in enumerate(bounded(file), 1):
                    row = self._outcome(line, number)
                    if row is None:
                        continue
                    task, rollout = row["task_id"], row["rollout"]
                    numbers = seen.setdefault(task, {})
                    if rollout in numbers:
                        where = f"{OUTCOMES}:{number}"
                        told = f"once more, after the row in line {numbers[rollout]}"
                        self._find("edited", task, rollout, where, "row", told)
                        continue
                    numbers[rollout] = number
                    kept = {k: v for k, v in row.items() if k != "wall_s" and v is not None}
                    self.outcomes.add(task, rollout, _canonical(kept).encode("ascii"))
                    self._check_place(task, rollout, f"{OUTCOMES}:{number}")
                    yield task, rollout, row
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise RunDamaged(f"{path}: {error}.") from None

    def _outcome(self, line: bytes, number: int) -> dict[str, Any] | None:
        where = f"{OUTCOMES}:{number}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            if text.isspace():
                return None
            row = decode(text)
            if not isinstance(row, dict):
                raise RowError(number, f"expected an object, got {show(row)}")
            check(row, number)
            if type(row.get("task_id")) is not str:
                raise RowError(number, f"expected a text as task, got {show(row.get('task_id'))}")
            if type(row.get("success")) is not bool:
                raise RowError(number, f"expected true or false, got {show(row.get('success'))}")
        except (ValueError, RecursionError) as error:
            if line.endswith(b"\n"):
                self._find("edited", None, None, where, "row", f"no JSON ({error})", show(line))
            else:
                self.notes.append(f"{where} broke off, as a kill leaves it.")
            return None
        except RowError as bad:
            self._find("edited", None, None, where, "row", f"no outcome ({bad})", show(line))
            return None
        return row

    def _check_place(self, task: str, rollout: int, where: str) -> None:
        if task not in self._tasks:
            self._find("edited", task, rollout, where, "task_id", "no task of the run")
        elif rollout >= self._n:
            self._find("edited", task, rollout, where, "rollout", f"not below n = {self._n}")

    def _transcripts(self) -> Iterator[tuple[str, int, bytes, str, bool]]:
        """Yield task, rollout, line, segment, and whether a stopped run ended with it."""
        seen: dict[str, set[int]] = {}
        for path in segments(self.folder):
            held: tuple[str, int, bytes] | None = None
            for found in self._segment(path):
                if held is not None:
                    yield *held, path.name, False
                held = None
                task, rollout, line = found
                numbers = seen.setdefault(task, set())
                if rollout in numbers:
                    self._find(
                        "edited", task, rollout, path.name, "row", "the transcript is there twice"
                    )
                    continue
                numbers.add(rollout)
                self.transcripts.add(task, rollout, line)
                held = found
            if held is not None:
                yield *held, path.name, path.suffix != ".gz"

    def _segment(self, path: Path) -> Iterator[tuple[str, int, bytes]]:
        """Yield the rollouts of a segment; its shared texts are checked."""
        texts: set[bytes] = set()
        names: dict[bytes, str] = {}
        try:
            for number, line in lines_of(path):
                where = f"{path.name}:{number}"
                whole = line.endswith(b"\n")
                line = line.rstrip(b"\n")
                if line.startswith(_TEXT):
                    self._check_text(line, where, texts)
                    continue
                match = _KEY.match(line)
                if match is not None and match[1] not in names:
                    try:
                        names[match[1]] = json.loads(match[1])
                    except ValueError:
                        match = None
                if match is None:
                    if whole or path.suffix == ".gz":
                        self._find("edited", None, None, where, "row", "no transcript", show(line))
                    else:
                        self.notes.append(f"{where} broke off, as a kill leaves it.")
                    continue
                if not whole and path.suffix != ".gz" and not line.endswith(b"}"):
                    self.notes.append(f"{where} broke off, as a kill leaves it.")
                    continue
                for key in _USED.findall(line):
                    if key not in texts:
                        texts.add(key)
                        told = f"the text {key.decode()} that transcripts share is not there"
                        self._find("missing", None, None, where, "text", told)
                yield names[match[1]], int(match[2]), line
        except RunDamaged as damage:
            self._find("edited", None, None, path.name, "file", f"no whole segment ({damage})")

    def _check_text(self, line: bytes, where: str, texts: set[bytes]) -> None:
        try:
            row = json.loads(line)
            key, content = row["text"], row["content"]
            # Some readers go by the first `text` of a line, some by the last.
            if row.keys() != {"text", "content"} or not line.startswith(
                b'{"text":"%s","content":' % key.encode()
            ):
                raise ValueError
            if text_key(content) != key:
                self._find("edited", None, None, where, "text", _REWRITTEN)
            texts.add(key.encode())
        except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
            self._find("edited", None, None, where, "text", "no shared text", show(line))
