"""Where each transcript lies in a run folder, so that one can be read without the rest."""

from __future__ import annotations

import json
import os
import re
import sys
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agentenvs.errors import RunDamaged
from agentenvs.harness.store.segments import segments, unpacked
from agentenvs.harness.store.transcripts import spell_out

__all__ = ["Key", "TranscriptIndex"]

Key = tuple[str, int]

_STRING = rb'"(?:[^"\\]|\\.)*"'
_ROLLOUT = re.compile(rb'\{"task_id":(' + _STRING + rb'),"rollout":(\d{1,16}),')
_SHARED = re.compile(rb'\{"text":"(\w{1,64})","content":')
# Within a JSON string every quote is escaped, so that no text of a model can look like this.
_REPAIRS = re.compile(rb'"repairs":\[("[^\]]*)\]')
_MAX_SEGMENT = 256 * 2**20
_BLOCK = 2**20
_KEPT = 4


class _Place(NamedTuple):
    segment: int
    start: int
    end: int
    repairs: tuple[str, ...]


class TranscriptIndex:
    """Find and read single transcripts of a run folder.

    Segments are looked through in their order, each once and only as far as something asks;
    what stays in memory is where each transcript lies, its repairs, and the segments read last.
    Works on a run that goes on or was killed: a line that broke off is left out.

    Args:
        folder: the run folder.
        finished: the rollouts that have an outcome; transcripts of others are left out.
        kept: how many unpacked segments (about 4 MB each) stay in memory.

    Attributes:
        problems: what could not be read, one message a segment or line; the rest is there.
    """

    def __init__(
        self, folder: str | os.PathLike[str], finished: Collection[Key], kept: int = _KEPT
    ) -> None:
        self.problems: list[str] = []
        self._finished = finished
        self._kept = kept
        self._paths = segments(Path(folder))
        self._next = 0
        self._places: dict[Key, _Place] = {}
        self._shared: list[dict[str, tuple[int, int]]] = []
        self._recent: OrderedDict[int, bytes] = OrderedDict()

    def __bool__(self) -> bool:
        """Return whether the folder holds transcripts at all."""
        return bool(self._paths)

    def read(self, key: Key) -> dict[str, Any] | None:
        """Return a transcript as `read_transcripts` does, or None where there is none.

        Raises:
            RunDamaged: it is there and cannot be read.
        """
        while key not in self._places:
            if not self._look_further():
                return None
        place = self._places[key]
        data = self._segment(place.segment)
        try:
            row = json.loads(data[place.start : place.end])
            if (row["task_id"], row["rollout"]) != key:
                raise ValueError("another rollout")
            spell_out(row, lambda name: self._text(place.segment, data, name))
            _check(row)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise RunDamaged(
                f"{self._paths[place.segment]}: {key} is no transcript ({error!r:.80}), or the "
                "run was changed since it was opened."
            ) from None
        return dict(row)

    def _text(self, segment: int, data: bytes, name: str) -> str:
        start, end = self._shared[segment][name]
        text: str = json.loads(data[start:end])["content"]
        return text

    def repairs(self, key: Key) -> tuple[str, ...]:
        """Return the names of the repairs of an episode's replies, one for each reply and kind.

        Only what was looked through by `read` or `complete` is known.
        """
        place = self._places.get(key)
        return () if place is None else place.repairs

    def complete(self, progress: Callable[[float], None] = lambda share: None) -> None:
        """Look through every segment that was not yet; a finished index does nothing."""
        while self._look_further():
            progress(self._next / len(self._paths))

    def search(
        self,
        text: str,
        keys: Collection[Key],
        progress: Callable[[float], None] = lambda share: None,
    ) -> Iterator[Key]:
        """Yield those of some rollouts in which a text occurs, whatever its case.

        Searched is what the policy wrote, what came back, and the opening without the system
        prompt.
        """
        self.complete()
        needle = text.lower()
        may = _prefilter(text)
        where: dict[int, list[tuple[Key, _Place]]] = {}
        for key in keys:
            if key in self._places:
                place = self._places[key]
                where.setdefault(place.segment, []).append((key, place))
        for done, (segment, found) in enumerate(sorted(where.items())):
            progress(done / len(where))
            try:
                data = self._segment(segment)
            except RunDamaged:
                continue
            lowered = data.lower()
            for key, place in found:
                if may(lowered, place.start, place.end) and self._says(key, needle):
                    yield key

    def _says(self, key: Key, needle: str) -> bool:
        try:
            row = self.read(key)
        except RunDamaged:
            return False
        return row is not None and any(needle in said.lower() for said in _said(row))

    def _segment(self, number: int) -> bytes:
        if number in self._recent:
            self._recent.move_to_end(number)
            return self._recent[number]
        data = self._recent[number] = _whole(self._paths[number])
        while len(self._recent) > self._kept:
            self._recent.popitem(last=False)
        return data

    def _look_further(self) -> bool:
        if self._next >= len(self._paths):
            return False
        number = self._next
        self._next += 1
        self._shared.append({})
        try:
            data = self._segment(number)
        except RunDamaged as error:
            self.problems.append(str(error))
            return True
        start, size = 0, len(data)
        while start < size:
            end = data.find(b"\n", start)
            whole = end >= 0
            end = end if whole else size
            problem = self._note(number, data, start, end)
            if problem and whole:
                self.problems.append(f"{self._paths[number]}: at byte {start}: {problem}.")
            start = end + 1
        return True

    def _note(self, number: int, data: bytes, start: int, end: int) -> str:
        """Note where a line lies; return what is wrong with it, or ""."""
        try:
            if end == len(data):
                # Nothing ends this line: it may have broken off anywhere.
                json.loads(data[start:end])
            if found := _SHARED.match(data, start, end):
                self._shared[number].setdefault(found[1].decode(), (start, end))
                return ""
            if found := _ROLLOUT.match(data, start, end):
                key: Key = (json.loads(found[1]), int(found[2]))
            else:
                row = json.loads(data[start:end])
                if isinstance(row, dict) and isinstance(row.get("text"), str):
                    self._shared[number].setdefault(row["text"], (start, end))
                    return ""
                key = (row["task_id"], row["rollout"])
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            return f"expected a transcript: {error!r:.80}"
        if key in self._finished and key not in self._places:
            repairs = tuple(
                sys.intern(name.decode("ascii", "replace").strip('"'))
                for match in _REPAIRS.finditer(data, start, end)
                for name in match[1].split(b",")
            )
            self._places[key] = _Place(number, start, end, repairs)
        return ""


def _whole(path: Path) -> bytes:
    data = bytearray()
    try:
        with unpacked(path) as file:
            while len(data) <= _MAX_SEGMENT and (block := file.read(_BLOCK)):
                data += block
    except (OSError, EOFError, zlib.error) as error:
        raise RunDamaged(f"{path}: {error}.") from None
    if len(data) > _MAX_SEGMENT:
        raise RunDamaged(f"{path}: expected a segment of at most {_MAX_SEGMENT} bytes.")
    return bytes(data)


def _check(row: Mapping[str, Any]) -> None:
    """Check the types of what is shown.

    Raises:
        TypeError: one is another.
        KeyError: a message misses something.
    """
    messages = list(row["opening"])
    for step in row["steps"]:
        if not isinstance(step["text"], str) or not isinstance(step["parse"], dict | None):
            raise TypeError(step["parse"])
        messages += step["news"]
    for message in messages:
        if not isinstance(message["content"], str) or not isinstance(message["role"], str):
            raise TypeError(message)


def _said(row: Mapping[str, Any]) -> Iterator[str]:
    for message in row["opening"]:
        if message["role"] != "system":
            yield message["content"]
    for step in row["steps"]:
        yield step["text"]
        for message in step["news"]:
            yield message["content"]


def _prefilter(text: str) -> Callable[[bytes, int, int], bool]:
    """Return a quick test on lowered lines of JSON that holds wherever a text may occur.

    Only the longest run of plain letters is looked for: other cases of other letters are
    escaped in other ways.
    """
    parts = re.findall(r"[ -!#-.0-\[\]-~]+", text)
    plain = max(parts, key=len, default="").lower().encode("ascii")
    if not plain:
        return lambda data, start, end: True
    return lambda data, start, end: data.find(plain, start, end) >= 0
