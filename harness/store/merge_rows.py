"""The rows of several run folders, copied into one: outcomes, void tries and transcripts."""

from __future__ import annotations

import codecs
import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agentenvs.errors import RunDamaged
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.store.durable import OUTCOMES, LineWriter, bounded, open_plain
from agentenvs.harness.store.outcomes_file import dump, write_settings
from agentenvs.harness.store.outcomes_rows import decode
from agentenvs.harness.store.row_sums import sum_holds, text_key, with_sum
from agentenvs.harness.store.transcripts import Line, TranscriptWriter, transcript_lines
from agentenvs.harness.store.voids import VOIDS

__all__ = ["Part", "write_parts"]

_BLOCK = 2**20
_MOST_KNOWN = 1000

Key = tuple[str, int]


class Part(NamedTuple):
    """One of the run folders.

    Attributes:
        path: the folder.
        settings: what its `run.json` holds.
        outcomes: what came out.
        start: what is added to its rollouts' numbers.
    """

    path: Path
    settings: dict[str, Any]
    outcomes: Outcomes
    start: int

    @property
    def n(self) -> int:
        """How many rollouts a task it was to have."""
        n: int = self.settings["n"]
        return n

    @property
    def origins(self) -> list[dict[str, Any]]:
        """Where its rollouts come from: runs, with the number that their rollout 0 has now."""
        known = self.settings.get("merged_from")
        if known is None:
            seed, rollouts = self.settings.get("seed"), len(self.outcomes)
            known = [
                {"run": self.path.resolve().name, "seed": seed, "n": self.n, "first": 0}
                | {"tasks": len(self.settings["task_ids"]), "rollouts": rollouts}
            ]
        return [{**one, "first": one["first"] + self.start} for one in known]


def write_parts(half: Path, parts: Sequence[Part], settings: Mapping[str, Any]) -> None:
    """Write the files of a new run folder.

    Args:
        half: the folder, there and empty.
        parts: the run folders, which agree.
        settings: those of the whole.

    Raises:
        RunError: the disk has no room.
        RunDamaged: a row or a transcript that cannot be read or was edited.
    """
    with contextlib.closing(LineWriter(half / OUTCOMES, lock=True, fresh=True)) as rows:
        _append(rows, _outcome_lines(parts))
        if any((part.path / VOIDS).exists() for part in parts):
            with contextlib.closing(LineWriter(half / VOIDS, fresh=True)) as voids:
                _append(voids, dict.fromkeys(_void_lines(parts)))
        _write_transcripts(half, parts)
        write_settings(half, settings)


def _append(writer: LineWriter, lines: Iterable[bytes]) -> None:
    """Write many lines at a time, since what is half done is thrown away."""
    block = bytearray()
    for line in lines:
        block += line
        if len(block) >= _BLOCK:
            writer.write(bytes(block))
            block.clear()
    writer.write(bytes(block))


def _outcome_lines(parts: Sequence[Part]) -> Iterator[bytes]:
    """Yield the rows of all, as they stand there but for their numbers, each rollout once."""
    seen: set[Key] = set()
    for part in parts:
        for line, row in _rows(part.path / OUTCOMES):
            if "rollout" not in row:
                raise RunDamaged(f"{part.path}: expected a row for each rollout, got one a task.")
            key = (str(row["task_id"]), row["rollout"] + part.start)
            if key not in seen:
                seen.add(key)
                yield dump({**row, "rollout": key[1]}) if part.start else line + b"\n"


def _rows(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield the lines of outcomes that were read before, a last one that broke off excepted."""
    with contextlib.suppress(FileNotFoundError), open_plain(path) as file:
        for line in bounded(file):
            bare = line.strip(b"\r\n\0 \t").removeprefix(codecs.BOM_UTF8)
            with contextlib.suppress(ValueError, RecursionError):
                yield bare, decode(bare.decode())


def _void_lines(parts: Sequence[Part]) -> Iterator[bytes]:
    for part in parts:
        for row in part.outcomes.voids:
            yield dump({**row, "rollout": row["rollout"] + part.start})


def _write_transcripts(half: Path, parts: Sequence[Part]) -> None:
    seen: set[Key] = set()
    known: dict[str, str] = {}
    with contextlib.closing(TranscriptWriter(half)) as transcripts:
        for part in parts:
            outcomes = _Verdicts(part)
            for line in transcript_lines(part.path, outcomes.place):
                outcomes.check(line)
                key = (line.row["task_id"], line.row["rollout"] + part.start)
                if key not in seen:
                    seen.add(key)
                    transcripts.append(_moved(line, part.start), _texts(line, known))


class _Verdicts:
    """What the outcomes of a run say that its transcripts say too.

    Args:
        part: the run folder.

    Attributes:
        place: which row a rollout has.
    """

    def __init__(self, part: Part) -> None:
        found = part.outcomes
        keys = zip(found.column("task_id"), found.column("rollout"), strict=True)
        self.place: dict[Key, int] = {key: at for at, key in enumerate(keys)}
        self._path = part.path
        self._columns = {
            name: found.column(name) if name in ("success", *found.fields) else None
            for name in ("success", "reason", "seed", "temperature")
        }

    def check(self, line: Line) -> None:
        """Raise where a transcript and its outcome contradict one another.

        Raises:
            RunDamaged: says in what.
        """
        task, rollout = line.row["task_id"], line.row["rollout"]
        at = self.place[task, rollout]
        for name, column in self._columns.items():
            own, said = column[at] if column is not None else None, line.row.get(name)
            if own != said:
                raise RunDamaged(
                    f"{self._path}: task {task!r}, rollout {rollout} was edited: its outcome has "
                    f"`{name}` {own!r:.60}, its transcript {said!r:.60}. `agentenvs verify "
                    f"{self._path}` tells which of them holds."
                )


def _moved(line: Line, start: int) -> str:
    """Return a transcript's line with its rollout's number in the whole.

    Raises:
        RunDamaged: it is not the line that was written.
    """
    task, rollout = line.row["task_id"], line.row["rollout"]
    if not (sum_holds(line.text) or "sum" not in line.row):
        raise RunDamaged(
            f"{line.segment}: the transcript of task {task!r}, rollout {rollout} is not the one "
            "that was written; its check sum is another."
        )
    if not start and line.text.isascii():
        return line.text.decode("ascii")
    row = {**line.row, "rollout": rollout + start}
    vouched = row.pop("sum", None) is not None
    text = json.dumps(row, separators=(",", ":"))
    return with_sum(text) if vouched else text


def _texts(line: Line, known: dict[str, str]) -> dict[str, str]:
    """Return the texts that a transcript shares with others.

    Args:
        line: the transcript.
        known: texts that are the ones that were written; gets more of them.

    Raises:
        RunDamaged: one of them is missing, or is not the one that was written.
    """
    try:
        keys = [message["text"] for message in line.row["opening"] if "text" in message]
        texts = {str(key): line.shared[key] for key in keys}
    except (KeyError, TypeError):
        raise RunDamaged(
            f"{line.segment}: the transcript of task {line.row['task_id']!r}, rollout "
            f"{line.row['rollout']} misses a text, or is none."
        ) from None
    for key, content in texts.items():
        if known.get(key) != content:
            if text_key(content) != key:
                raise RunDamaged(f"{line.segment}: the text {key} is not the one that was written.")
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[key] = content
    return texts
