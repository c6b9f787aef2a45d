"""Transcripts of a run: what was said in every rollout, in compressed JSON lines.

A run folder holds segments `transcripts-0000.jsonl.gz`, ... and, while a run goes on, one plain
`transcripts-NNNN.jsonl` that grows. Each segment can be read alone. A line is either a text
that rollouts share, `{"text": HASH, "content": ...}` (system prompts are long), or a rollout:

    {"task_id": ..., "rollout": ..., "seed": ..., "temperature": ..., "success": ...,
     "reason": ..., "opening": [message, ...], "steps": [step, ...], "sum": ...}

with a message as `{"role": ..., "content": ...}`, or `{"role": ..., "text": HASH}` where the text
is a shared one, and a step as the list `[text, [message, ...], parse, finish_reason, reward]`.
`sum` is a check sum of the line without it; earlier versions wrote none.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agentenvs.core import Message
from agentenvs.errors import RunDamaged
from agentenvs.harness.episode import Episode, Step
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.row_sums import text_key, with_sum

__all__ = ["TranscriptWriter", "conversation", "lines_of", "read_transcripts", "segments"]

_NAME = re.compile(r"transcripts-(\d{4,})\.jsonl(\.gz)?")
_STEP = Step._fields
_SEGMENT_BYTES = 4 * 2**20
_LEVEL = 1

# ASCII escapes keep lone surrogates, which models do write, representable. Rows are trees.
_dump = json.JSONEncoder(separators=(",", ":"), default=repr, check_circular=False).encode


class TranscriptWriter:
    """Append transcripts to a run folder so that a kill at any moment loses no finished one.

    Each rollout is one unbuffered write to the growing segment. A full segment is compressed
    by a thread of its own, and so is the last one by `close`.

    Args:
        folder: the run folder; it exists.
        finished: the rollouts that have an outcome. A segment that a killed run left behind is
            compressed, without what broke off and without rollouts that have none.
        segment_bytes: how large a segment grows.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        finished: Collection[tuple[str, int]] = (),
        segment_bytes: int = _SEGMENT_BYTES,
    ) -> None:
        self._folder = Path(folder)
        self._segment_bytes = segment_bytes
        self._sealer = ThreadPoolExecutor(1, thread_name_prefix="transcripts")
        self._sealing: list[Future[None]] = []
        self._fd = -1
        self._size = 0
        self._shared: dict[str, str] = {}
        _tidy(self._folder, finished)
        self._number = max(map(_number, segments(self._folder)), default=-1)

    def write(self, episode: Episode, temperature: float) -> None:
        """Append the transcript of a finished episode."""
        lines: list[str] = []
        if self._fd < 0:
            self._begin()
        opening = [self._message(message, lines) for message in episode.opening]
        row = {
            "task_id": episode.task,
            "rollout": episode.rollout,
            "seed": episode.seed,
            "temperature": temperature,
            "success": episode.success,
            "reason": episode.reason,
            "opening": opening,
            "steps": episode.steps,
        }
        lines.append(with_sum(_dump(row)))
        lines.append("")
        data = "\n".join(lines).encode("ascii")
        self._size += _write_all(self._fd, data)
        if self._size >= self._segment_bytes:
            self._end()

    def _message(self, message: Message, lines: list[str]) -> Mapping[str, Any]:
        if message["role"] != "system":
            return message
        content = message["content"]
        key = self._shared.get(content)
        if key is None:
            key = self._shared[content] = text_key(content)
            lines.append(_dump({"text": key, "content": content}))
        return {"role": "system", "text": key}

    def _begin(self) -> None:
        self._number += 1
        path = self._folder / f"transcripts-{self._number:04}.jsonl"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self._fd = os.open(path, flags, 0o666)
        self._path, self._size, self._shared = path, 0, {}

    def _end(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._sealing.append(self._sealer.submit(_seal, self._path, None))

    def close(self) -> None:
        """Compress what is left; harmless when repeated."""
        self._end()
        self._sealer.shutdown()
        sealing, self._sealing = self._sealing, []
        for future in sealing:
            future.result()


def _write_all(fd: int, data: bytes) -> int:
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, data[written:])
    return written


def segments(folder: Path) -> list[Path]:
    """Return the segments in order; a compressed one goes before its plain leftover."""
    found: dict[int, Path] = {}
    for path in sorted(folder.glob("transcripts-*.jsonl*"), key=lambda path: path.name):
        match = _NAME.fullmatch(path.name)
        if match is not None and (match[2] or _number(path) not in found):
            found[_number(path)] = path
    return [path for _, path in sorted(found.items())]


def _number(segment: Path) -> int:
    return int(segment.name.split("-")[1].split(".")[0])


def _tidy(folder: Path, finished: Collection[tuple[str, int]]) -> None:
    """Bring in order what a killed run left behind."""
    for part in folder.glob("transcripts-*.part"):
        part.unlink()
    for plain in folder.glob("transcripts-*.jsonl"):
        if plain.with_name(plain.name + ".gz").exists():
            plain.unlink()
        else:
            _seal(plain, finished)


def _seal(path: Path, finished: Collection[tuple[str, int]] | None) -> None:
    """Compress a segment, whole or not at all, and remove the plain one.

    Args:
        path: the plain segment.
        finished: keep these rollouts alone and drop a torn line; None keeps every byte.
    """
    whole = path.with_name(path.name + ".gz")
    part = path.with_name(f"{path.name}.gz.{os.getpid()}.part")
    with path.open("rb") as plain, gzip.open(part, "wb", compresslevel=_LEVEL) as packed:
        if finished is None:
            while chunk := plain.read(2**20):
                packed.write(chunk)
        else:
            packed.writelines(line for line in plain if _belongs(line, finished))
    part.replace(whole)
    path.unlink()


def _belongs(line: bytes, finished: Collection[tuple[str, int]]) -> bool:
    try:
        row = json.loads(line)
    except ValueError:
        return False
    if not isinstance(row, dict):
        return False
    return "text" in row or (row.get("task_id"), row.get("rollout")) in finished


def read_transcripts(folder: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Yield the transcripts of a run folder, in the order in which the rollouts ended.

    Works on a run that goes on or was killed: rollouts without an outcome, and a line that
    broke off, are left out. Each rollout comes once.

    Returns:
        Rows as in the module's description, every message with its `content`, every step as a
        dictionary `{"text", "news", "parse", "finish_reason", "reward"}`.

    Raises:
        RunDamaged: no run folder, or a segment that cannot be read, with its name.
    """
    where = Path(folder)
    finished = Outcomes.load(where).keys()
    seen: set[tuple[str, int]] = set()
    for path in segments(where):
        shared: dict[str, str] = {}
        for row in _rows(path):
            if "text" in row:
                shared[str(row["text"])] = row.get("content", "")
                continue
            task, rollout = row.get("task_id"), row.get("rollout")
            if not isinstance(task, str) or type(rollout) is not int:
                raise RunDamaged(
                    f"{path}: expected a task and a rollout, got {task!r:.40} and {rollout!r:.40}."
                )
            key = (task, rollout)
            if key not in finished or key in seen:
                continue
            seen.add(key)
            try:
                if type(row["success"]) is not bool:
                    raise TypeError
                row["opening"] = [
                    {"role": m["role"], "content": shared[m["text"]]} if "text" in m else m
                    for m in _messages(row["opening"])
                ]
                row["steps"] = [dict(zip(_STEP, step, strict=True)) for step in row["steps"]]
                for step in row["steps"]:
                    _messages(step["news"])
            except KeyError as missing:
                raise RunDamaged(
                    f"{path}: {key} misses {missing}, or a text of that name."
                ) from None
            except (TypeError, ValueError):
                raise RunDamaged(
                    f"{path}: {key} is no transcript: an opening of messages, a verdict, and steps "
                    f"that are lists of {_STEP}."
                ) from None
            yield row


def _messages(found: Any) -> list[Mapping[str, Any]]:
    """Return messages as they are.

    Raises:
        TypeError: they are none.
    """
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise TypeError
    return found


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in lines_of(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if line.endswith(b"\n"):
                raise RunDamaged(f"{path}:{number}: expected JSON: {error}.") from None
            continue
        if not isinstance(row, dict):
            raise RunDamaged(f"{path}:{number}: expected a JSON object.")
        yield row


def lines_of(segment: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a segment as they are, each with its number from 1.

    Raises:
        RunDamaged: it cannot be read.
    """
    packed = segment.suffix == ".gz"
    try:
        with gzip.open(segment, "rb") if packed else segment.open("rb") as file:
            yield from enumerate(file, 1)
    except (OSError, EOFError, zlib.error) as error:
        raise RunDamaged(f"{segment}: {error}.") from None


def conversation(row: Mapping[str, Any]) -> list[Message]:
    """Return a row of `read_transcripts` as role-tagged messages."""
    messages: list[Message] = list(row["opening"])
    for step in row["steps"]:
        messages.append({"role": "assistant", "content": step["text"]})
        messages.extend(step["news"])
    return messages
