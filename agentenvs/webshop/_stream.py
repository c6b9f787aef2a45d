"""Large JSON files, read one entry at a time."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from json import JSONDecodeError
from pathlib import Path
from typing import Any, BinaryIO

from agentenvs.errors import SourceError, SourceMissing

__all__ = ["OnBytes", "array", "members"]

_CHUNK = 1 << 20
#: the longest entry in characters; a record of a shop is some thousands
MAX_ENTRY = 8 << 20
_SPACE = " \t\n\r"

OnBytes = Callable[[int], None]


def array(path: Path, on_bytes: OnBytes | None = None) -> Iterator[Any]:
    """Yield the elements of the array that a JSON file holds, as `json.load` reads them.

    The standard decoder reads each element, so that whatever it takes (NaN, lone surrogates,
    integers of any size) is taken here too.

    Args:
        path: the file, UTF-8.
        on_bytes: told the number of bytes read so far, about once a mebibyte.

    Raises:
        SourceMissing: there is no such file.
        SourceError: it is truncated, no valid JSON, or no array; says at which byte.
    """
    with _opened(path) as stream:
        reader = _Reader(path, stream, on_bytes)
        reader.expect("[", "an array")
        if reader.takes("]"):
            reader.end()
            return
        while True:
            yield reader.value()
            if reader.takes("]"):
                reader.end()
                return
            reader.expect(",", "a comma or the end of the array")


def members(path: Path, on_bytes: OnBytes | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of the object that a JSON file holds; see `array`."""
    with _opened(path) as stream:
        reader = _Reader(path, stream, on_bytes)
        reader.expect("{", "an object")
        if reader.takes("}"):
            reader.end()
            return
        while True:
            key = reader.value()
            if not isinstance(key, str):
                raise reader.error(f"Expected a key, got {key!r:.40}")
            reader.expect(":", "a colon after the key")
            yield key, reader.value()
            if reader.takes("}"):
                reader.end()
                return
            reader.expect(",", "a comma or the end of the object")


def _opened(path: Path) -> BinaryIO:
    try:
        return open(path, "rb")
    except FileNotFoundError:
        raise SourceMissing(f"There is no file {path}.") from None
    except OSError as error:
        raise SourceError(f"Could not read {path}: {error}") from error


class _Reader:
    def __init__(self, path: Path, stream: BinaryIO, on_bytes: OnBytes | None) -> None:
        self._path = path
        self._stream = stream
        self._on_bytes = on_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._passed = 0
        self._read = 0
        self._ended = False

    def expect(self, mark: str, what: str) -> None:
        if not self.takes(mark):
            found = repr(self._next()) if self._next() else "the end of the file"
            raise self.error(f"Expected {what}, got {found}")

    def takes(self, mark: str) -> bool:
        if self._next() != mark:
            return False
        self._at += 1
        return True

    def end(self) -> None:
        if self._next():
            raise self.error(f"Expected the end of the file, got {self._next()!r}")

    def value(self) -> Any:
        self._next()
        wanted = _CHUNK
        while True:
            problem, at = "", self._at
            try:
                value, end = self._scan(self._text, self._at)
            except JSONDecodeError as error:
                problem, at = error.msg, error.pos
            except (RecursionError, ValueError) as error:
                raise self.error(f"An entry that cannot be read ({error})") from error
            else:
                # A number may go on behind what was read: `1` may be the start of `1e+5`.
                if self._ended or len(self._text) - end >= len("e+5"):
                    self._at = end
                    return value
            if self._ended:
                raise self.error(f"Truncated or malformed JSON ({problem})", at)
            if len(self._text) - self._at > MAX_ENTRY:
                what = problem or "no end"
                raise self.error(f"Malformed JSON, or an entry too long ({what})", at)
            self._more()
            while len(self._text) - self._at < wanted and not self._ended:
                self._more()
            wanted = 2 * max(wanted, len(self._text) - self._at)

    def _next(self) -> str:
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more()

    def _more(self) -> None:
        try:
            chunk = self._stream.read(_CHUNK)
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{self._path}: not UTF-8 near byte {self._read + error.start} ({error.reason})."
            ) from error
        except OSError as error:
            raise SourceError(f"Could not read {self._path}: {error}") from error
        self._passed += len(self._text[: self._at].encode("utf-8"))
        self._text = self._text[self._at :] + text
        self._at = 0
        self._read += len(chunk)
        self._ended = not chunk
        if self._on_bytes is not None:
            self._on_bytes(self._read)

    def error(self, problem: str, at: int | None = None) -> SourceError:
        place = self._passed + len(self._text[: self._at if at is None else at].encode("utf-8"))
        return SourceError(f"{self._path}: {problem}, at byte {place}.")
