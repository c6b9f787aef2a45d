"""The official files beside the products: attributes, instructions, and what is wrong with them."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from agentenvs.webshop._stream import OnBytes, members
from agentenvs.webshop.goals import HumanWish, SyntheticWish
from agentenvs.webshop.official import NO_ATTRIBUTES, plain

__all__ = ["SideFile", "attributes_of", "human_wishes"]

#: told a reason for which something was left out
Complain = Callable[[str], None]


class SideFile:
    """A JSON object by asin, kept on disk: memory holds a number for each asin.

    Args:
        path: the official file; None reads as an empty one.
        scratch: a file to write to.
        on_bytes: told the number of bytes read so far, now and then.

    Raises:
        SourceMissing: there is no such file.
        SourceError: it is truncated or no JSON object.
    """

    def __init__(self, path: Path | None, scratch: Path, on_bytes: OnBytes | None = None) -> None:
        self._places: dict[str, int] = {}
        self._starts = array("q", [0])
        with open(scratch, "wb") as stream:
            for asin, record in members(path, on_bytes) if path is not None else ():
                data = json.dumps(record, separators=(",", ":")).encode()
                stream.write(data)
                # As `json.load` does, the last of several equal keys counts.
                self._places[asin] = len(self._starts) - 1
                self._starts.append(self._starts[-1] + len(data))
        self._stream = open(scratch, "rb")  # noqa: SIM115

    def __len__(self) -> int:
        return len(self._places)

    def get(self, asin: str) -> Any:
        """Return the record of `asin`; None where there is none."""
        place = self._places.get(asin)
        if place is None:
            return None
        start, end = self._starts[place], self._starts[place + 1]
        self._stream.seek(start)
        return json.loads(self._stream.read(end - start))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def attributes_of(
    record: object, complain: Complain
) -> tuple[tuple[str, ...], SyntheticWish | None]:
    """Return a product's attributes and its mined instruction, if any."""
    if record is None:
        complain("no attribute record")
        return NO_ATTRIBUTES, None
    attributes = _texts(record.get("attributes")) if isinstance(record, dict) else None
    if not isinstance(record, dict) or attributes is None:
        complain("attribute record malformed")
        return NO_ATTRIBUTES, None
    instruction = record.get("instruction")
    if instruction is None:
        return attributes, None
    wanted = _texts(record.get("instruction_attributes"))
    if not isinstance(instruction, str) or not wanted:
        complain("instruction malformed")
        return attributes, None
    return attributes, SyntheticWish(plain(instruction), wanted)


def human_wishes(records: object, complain: Complain) -> tuple[HumanWish, ...]:
    """Return the usable instructions that people wrote for one product."""
    if records is None:
        return ()
    if not isinstance(records, list):
        complain("human instruction malformed")
        return ()
    found = []
    for record in records:
        fields = record if isinstance(record, dict) else {}
        instruction = fields.get("instruction")
        wanted = _texts(fields.get("instruction_attributes"))
        options = _texts(fields.get("instruction_options"))
        if not isinstance(instruction, str) or wanted is None or options is None:
            complain("human instruction malformed")
        elif not wanted:
            complain("human instruction without attributes")
        else:
            found.append(HumanWish(plain(instruction), wanted, options))
    return tuple(found)


def _texts(values: object) -> tuple[str, ...] | None:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return None
    return tuple(plain(value) for value in values)
