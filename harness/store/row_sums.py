"""Check sums: what a record says of itself, so that a change by a single character shows.

A sum says that a text is the one that was written. It is no signature: whoever changes a record
on purpose can write a new one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["TextNames", "setting_sums", "sum_holds", "text_key", "with_sum"]

_LENGTH = 16
# Prompts differ from task to task in some environments.
_MOST_NAMES = 1_000
_TAIL = re.compile(rb',"sum":"([0-9a-f]{%d})"\}' % _LENGTH)
_TAIL_BYTES = len(',"sum":""}') + _LENGTH


def with_sum(line: str) -> str:
    """Return a line of JSON, an object in ASCII, with a sum of itself as its last field."""
    found = hashlib.sha256(line.encode("ascii")).hexdigest()[:_LENGTH]
    return f'{line[:-1]},"sum":"{found}"}}'


def sum_holds(line: bytes) -> bool | None:
    """Return whether a line is the one that its sum was made for; None where it has none.

    Args:
        line: the bytes of `with_sum`, without the end of the line.
    """
    tail = _TAIL.fullmatch(line, max(0, len(line) - _TAIL_BYTES))
    if tail is None:
        return None
    rest = line[: tail.start()] + b"}"
    return hashlib.sha256(rest).hexdigest()[:_LENGTH].encode() == tail[1]


def text_key(content: str) -> str:
    """Return the name of a text that the transcripts of a segment share."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class TextNames:
    """Names of texts, each worked out once; the latest thousand are remembered."""

    def __init__(self) -> None:
        self._keys: dict[str, str] = {}

    def of(self, content: str) -> str:
        """Return `text_key` of a text."""
        key = self._keys.get(content)
        if key is None:
            if len(self._keys) >= _MOST_NAMES:
                self._keys.clear()
            key = self._keys[content] = text_key(content)
        return key


def setting_sums(settings: Mapping[str, Any], without: Collection[str]) -> dict[str, str]:
    """Return a short sum of each setting.

    Args:
        settings: the settings of a run, plain data.
        without: settings that may change later.
    """
    return {
        key: hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]
        for key, value in settings.items()
        if key not in without
    }
