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

import json
import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentenvs.core import Message
from agentenvs.errors import RunDamaged, RunError
from agentenvs.harness.episode import Step
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.store.durable import LONGEST, LineWriter, stopped
from agentenvs.harness.store.row_sums import TextNames, with_sum
from agentenvs.harness.store.segments import lines_of, number_of, seal, segments, tidy

if TYPE_CHECKING:
    from agentenvs.harness.records import Played

__all__ = [
    "Line",
    "TranscriptWriter",
    "conversation",
    "lines_of",
    "read_transcripts",
    "segments",
    "spell_out",
    "transcript_lines",
]

_STEP = Step._fields
_SEGMENT_BYTES = 4 * 2**20

# ASCII escapes keep lone surrogates, which models do write, representable. Rows are trees.
_dump = json.JSONEncoder(separators=(",", ":"), default=repr, check_circular=False).encode


class TranscriptWriter:
    """Append transcripts to a run folder so that a kill at any moment loses no finished one.

    Each rollout is one unbuffered write to the growing segment. A full segment is compressed
    by a thread of its own as the next one begins, and the last one by `close`.

    Args:
        folder: the run folder; it exists.
        finished: the rollouts that have an outcome. A segment that a killed run left behind is
            compressed, without what broke off and without rollouts that have none.
        segment_bytes: how large a segment grows.

    Raises:
        RunError: what was left behind cannot be compressed; says how much is kept.
        RunDamaged: it cannot be read.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        finished: Collection[tuple[str, int]] = (),
        segment_bytes: int = _SEGMENT_BYTES,
    ) -> None:
        self._folder = Path(folder)
        self._segment_bytes = segment_bytes
        self._segment: LineWriter | None = None
        self._shared: set[str] = set()
        self._names = TextNames()
        self._failed: RunError | None = None
        tidy(self._folder, finished)
        self._number = max(map(number_of, segments(self._folder)), default=-1)
        self._sealer = ThreadPoolExecutor(1, thread_name_prefix="transcripts")
        self._sealing: deque[tuple[Path, Future[None]]] = deque()

    def write(self, played: Played, temperature: float) -> None:
        """Append the transcript of a finished rollout.

        Raises:
            RunError: the disk did not take it, or an earlier segment compressed; says how much
                is kept. No further one is taken.
        """
        texts: dict[str, str] = {}
        row = {
            "task_id": played.task,
            "rollout": played.rollout,
            "seed": played.seed,
            "temperature": temperature,
            "success": played.success,
            "reason": played.reason,
            "opening": [self._message(message, texts) for message in played.opening],
            "steps": played.steps,
        }
        self.append(with_sum(_dump(row)), texts)

    def append(self, line: str, texts: Mapping[str, str]) -> None:
        """Append a rollout as a line of its own.

        Args:
            line: the line, without its end.
            texts: the texts that it shares with others, by their names; they are written where
                the segment lacks them.

        Raises:
            RunError: as for `write`.
        """
        if self._failed is not None:
            raise RunError(str(self._failed)) from self._failed
        try:
            while self._sealing and self._sealing[0][1].done():
                self._check()
            # Not before: a full segment may hold a rollout whose outcome is still to come, and
            # only what is plain is sorted out should that one fail.
            if self._segment is not None and self._segment.size >= self._segment_bytes:
                self._end()
            segment = self._segment or self._begin()
            new = [key for key in texts if key not in self._shared]
            lines = [_dump({"text": key, "content": texts[key]}) for key in new]
            segment.write("\n".join([*lines, line, ""]).encode("ascii"))
            self._shared.update(new)
        except BaseException as error:
            self.leave(error)
            raise

    def leave(self, why: BaseException) -> None:
        """Leave the growing segment plain, since its last rollout may have no outcome.

        The next writer of the folder keeps of it what has one. No further one is taken here.

        Args:
            why: what kept the outcome from being written; told if a further one comes.
        """
        if self._failed is None:
            stop = f"{self._folder}: the run was stopped by {type(why).__name__}."
            self._failed = why if isinstance(why, RunError) else RunError(stop)

    def _message(self, message: Message, texts: dict[str, str]) -> Mapping[str, Any]:
        if message["role"] != "system":
            return message
        content = message["content"]
        key = self._names.of(content)
        texts[key] = content
        return {"role": "system", "text": key}

    def _begin(self) -> LineWriter:
        self._number += 1
        path = self._folder / f"transcripts-{self._number:04}.jsonl"
        self._segment, self._shared = LineWriter(path, fresh=True), set()
        return self._segment

    def _end(self) -> None:
        if self._segment is not None:
            segment, self._segment = self._segment, None
            segment.close()
            sealing = self._sealer.submit(seal, segment.path, None)
            self._sealing.append((segment.path, sealing))

    def _check(self) -> None:
        path, sealing = self._sealing.popleft()
        try:
            sealing.result()
        except OSError as error:
            raise stopped(path, error) from error

    def close(self) -> None:
        """Compress what is left; harmless when repeated.

        Raises:
            RunError: the disk has no room for it. Nothing is lost: it stays plain, and the next
                writer of the folder compresses it.
        """
        try:
            if self._failed is None:
                self._end()
            elif self._segment is not None:
                self._segment.close()
        finally:
            self._sealer.shutdown()
        while self._sealing:
            try:
                self._check()
            except RunError as error:
                # What stopped the run is told already; what comes of it is not.
                if self._failed is None:
                    self.leave(error)
                    raise


class Line(NamedTuple):
    """A transcript as it stands in a segment.

    Attributes:
        segment: the segment.
        text: the line, without its end.
        row: what it says.
        shared: the texts that it may name, by their names.
    """

    segment: Path
    text: bytes
    row: dict[str, Any]
    shared: Mapping[str, str]


def transcript_lines(
    folder: str | os.PathLike[str], finished: Collection[tuple[str, int]]
) -> Iterator[Line]:
    """Yield the lines of the transcripts of a run folder, each rollout once.

    Args:
        folder: the run folder.
        finished: the rollouts that are wanted, those with an outcome.

    Raises:
        RunDamaged: a segment that cannot be read, with its name.
    """
    seen: set[tuple[str, int]] = set()
    for path in segments(Path(folder)):
        shared: dict[str, str] = {}
        held = 0
        for line, row in _rows(path):
            if "text" in row:
                content = row.get("content")
                if not isinstance(content, str):
                    raise RunDamaged(f"{path}: expected a text, got {content!r:.40}.")
                shared[str(row["text"])] = content
                held += len(content)
                if held > LONGEST:
                    raise RunDamaged(f"{path}: expected at most {LONGEST} characters to share.")
                continue
            task, rollout = row.get("task_id"), row.get("rollout")
            if not isinstance(task, str) or type(rollout) is not int:
                raise RunDamaged(
                    f"{path}: expected a task and a rollout, got {task!r:.40} and {rollout!r:.40}."
                )
            key = (task, rollout)
            if key in finished and key not in seen:
                seen.add(key)
                yield Line(path, line, row, shared)


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
    for path, _, row, shared in transcript_lines(folder, Outcomes.load(folder).keys()):
        key = (row["task_id"], row["rollout"])
        try:
            spell_out(row, shared.__getitem__)
        except KeyError as missing:
            raise RunDamaged(f"{path}: {key} misses {missing}, or a text of that name.") from None
        except (TypeError, ValueError):
            raise RunDamaged(
                f"{path}: {key} is no transcript: an opening of messages, a verdict, and steps "
                f"that are lists of {_STEP}."
            ) from None
        yield row


def spell_out(row: dict[str, Any], text_of: Callable[[str], str]) -> None:
    """Give every message of a rollout's line its `content`, and make its steps dictionaries.

    Args:
        row: the line; changed in place.
        text_of: gives a shared text by its name.

    Raises:
        KeyError: something is missing, or a text.
        TypeError: something is of another type.
        ValueError: a step has other parts.
    """
    if type(row["success"]) is not bool:
        raise TypeError
    row["opening"] = [
        {"role": m["role"], "content": text_of(m["text"])} if "text" in m else m
        for m in _messages(row["opening"])
    ]
    row["steps"] = [dict(zip(_STEP, step, strict=True)) for step in row["steps"]]
    for step in row["steps"]:
        _messages(step["news"])


def _messages(found: Any) -> list[Mapping[str, Any]]:
    """Return messages as they are.

    Raises:
        TypeError: they are none.
    """
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise TypeError
    return found


def _rows(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    for number, line in lines_of(path):
        line = line.rstrip(b"\0")
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if line.endswith(b"\n"):
                raise RunDamaged(f"{path}:{number}: expected JSON: {error}.") from None
            continue
        if not isinstance(row, dict):
            raise RunDamaged(f"{path}:{number}: expected a JSON object.")
        yield line.rstrip(b"\r\n"), row


def conversation(row: Mapping[str, Any]) -> list[Message]:
    """Return a row of `read_transcripts` as role-tagged messages."""
    messages: list[Message] = list(row["opening"])
    for step in row["steps"]:
        messages.append({"role": "assistant", "content": step["text"]})
        messages.extend(step["news"])
    return messages
