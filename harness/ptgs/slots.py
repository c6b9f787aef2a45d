"""Where each task's numbers lie: from ids to slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._ranges import shown
from agentenvs.harness.ptgs.protocol import Ids

__all__ = ["MOST_SLOTS", "Found", "Read", "Slots"]

MOST_SLOTS = 1 << 26
"""Whole-number ids lie below this: they are slots, and the state has an entry up to the largest."""

_WORDS = {"str": "strings", "int": "whole numbers"}


class Found(NamedTuple):
    """Slots of m tasks, both (m,).

    Attributes:
        slots: where each lies; -1 where a string was not known and not added.
        hashes: 64 bits that tell tasks apart: the number itself, or a digest of the string.
    """

    slots: NDArray[np.int64]
    hashes: NDArray[np.uint64]


class Read:
    """Task ids of one kind: `strings`, or `numbers`, (m,)."""

    def __init__(self, strings: list[str], numbers: NDArray[np.int64] | None = None) -> None:
        self.kind = "str" if numbers is None else "int"
        self.strings = strings
        self.numbers = np.zeros(0, dtype=np.int64) if numbers is None else numbers

    def __len__(self) -> int:
        return len(self.numbers) if self.kind == "int" else len(self.strings)

    def name(self, at: int) -> str | int:
        """Return one of the ids."""
        return self.strings[at] if self.kind == "str" else int(self.numbers[at])

    def names(self) -> Sequence[str | int]:
        """Return the ids."""
        return self.strings if self.kind == "str" else self.numbers.tolist()

    def once(self) -> None:
        """Check that no task is listed twice.

        Raises:
            BadArgument: one is; names it.
        """
        if self.kind == "str":
            if len(set(self.strings)) == len(self.strings):
                return
            twice: object = Counter(self.strings).most_common(1)[0][0]
        else:
            numbers = self.numbers
            if (numbers[1:] > numbers[:-1]).all():
                return
            ordered = np.sort(numbers)
            same = ordered[1:] == ordered[:-1]
            if not same.any():
                return
            twice = int(ordered[int(np.argmax(same))])
        raise BadArgument(
            f"Expected each task once in an update, got {shown(twice)} twice: pool the rollouts of "
            "a task into one entry, since past counts are discounted once a group."
        )


class Slots:
    """Maps task ids to the slots 0, 1, 2, ...; the first ids seen fix their kind.

    Whole numbers are their own slots. Strings get the next one free.
    """

    def __init__(self) -> None:
        self.kind: str | None = None
        self._size = 0
        self._slot: dict[str, int] = {}
        self._hashes = np.zeros(0, dtype=np.uint64)

    def __len__(self) -> int:
        return self._size

    @property
    def ids(self) -> list[str]:
        """The strings in the order of their slots; empty where ids are numbers."""
        return list(self._slot)

    def read(self, ids: Ids) -> Read:
        """Return task ids once they are known to be of the one kind.

        Raises:
            BadArgument: neither strings nor whole numbers, both, another kind than before, or
                a number that is negative or beyond `MOST_SLOTS`.
        """
        read = _read(ids)
        if len(read) and self.kind not in (None, read.kind):
            raise BadArgument(
                f"Expected task ids to be {_WORDS[str(self.kind)]} as before, "
                f"got {_WORDS[read.kind]}."
            )
        return read

    def find(self, read: Read, *, add: bool) -> Found:
        """Return the slots of tasks; with `add`, give those that are new one."""
        if not len(read):
            return Found(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64))
        if read.kind == "int":
            found = Found(read.numbers, read.numbers.astype(np.uint64))
            wanted = int(read.numbers.max()) + 1
        else:
            found = self._find_strings(read.strings, add)
            wanted = len(self._slot)
        if add:
            self.kind, self._size = read.kind, max(self._size, wanted)
        return found

    def restore(self, kind: str | None, size: int, ids: Iterable[str]) -> None:
        """Take over what another `Slots` held; this one has to be empty."""
        if kind == "str":
            self.find(Read(list(ids)), add=True)
        self.kind, self._size = kind, size

    def _find_strings(self, values: list[str], add: bool) -> Found:
        known = list(map(self._slot.get, values))
        slots = np.array([-1 if one is None else one for one in known], dtype=np.int64)
        new = np.flatnonzero(slots < 0)
        if not new.size:
            return Found(slots, self._hashes[slots])
        if not add:
            hashes = self._hashes[slots] if len(self._hashes) else np.zeros_like(slots, np.uint64)
            hashes[new] = [_digest(values[at]) for at in new]
            return Found(slots, hashes)
        fresh: list[int] = []
        for at in new.tolist():
            name = values[at]
            slot = self._slot.setdefault(name, len(self._slot))
            if slot == self._size + len(fresh):
                fresh.append(_digest(name))
            slots[at] = slot
        total = len(self._slot)
        if total > len(self._hashes):
            grown = np.zeros(max(total, 3 * len(self._hashes) // 2), dtype=np.uint64)
            grown[: self._size] = self._hashes[: self._size]
            self._hashes = grown
        self._hashes[self._size : total] = fresh
        return Found(slots, self._hashes[slots])


def _digest(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _read(ids: Ids) -> Read:
    if isinstance(ids, str | bytes | bytearray):
        raise BadArgument(f"Expected a list of task ids, got {shown(ids)} alone.")
    if isinstance(ids, np.ndarray):
        if np.ma.is_masked(ids):
            raise BadArgument("Expected task ids without masked ones.")
        if ids.ndim != 1:
            raise BadArgument(f"Expected a list of task ids, got an array of shape {ids.shape}.")
        if ids.dtype.kind in "iu":
            return Read([], _whole(np.asarray(ids)))
    elif not (hasattr(ids, "__len__") and hasattr(ids, "__iter__")):
        # What can be read only once would be empty the second time.
        raise BadArgument(f"Expected a list of task ids, got {type(ids).__name__}.")
    values: list[Any] = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    kinds = set(map(type, values))
    if kinds <= {str}:
        return Read(values)
    if all(issubclass(kind, str) for kind in kinds):
        # What a subclass prints, as members of a str Enum do, need not be what it equals.
        return Read([str.__str__(one) for one in values])
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        return Read([], _whole(np.array(values, dtype=object)))
    told = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise BadArgument(f"Expected task ids to be all strings or all whole numbers, got {told}.")


def _whole(ids: NDArray[Any]) -> NDArray[np.int64]:
    if len(ids):
        low, high = int(ids.min()), int(ids.max())
        if low < 0:
            raise BadArgument(f"Expected task ids of at least 0, got {shown(low)}.")
        if high >= MOST_SLOTS:
            raise BadArgument(
                f"Expected task ids below {MOST_SLOTS}, got {shown(high)}: whole numbers are slots "
                "of the state, 0 to N - 1. Number the tasks, or use strings."
            )
    return ids.astype(np.int64)
