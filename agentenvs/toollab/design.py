"""The desk's conventions, their exceptions, and who knows of them: drawn once for each world."""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from agentenvs.core import Shared
from agentenvs.errors import BadArgument

__all__ = [
    "CHANNELS",
    "CODES",
    "COUNTS",
    "ERRANDS",
    "FIELDS",
    "ITEMS",
    "KINDS",
    "LABELS",
    "TAGS",
    "TASKS",
    "Design",
    "Ints",
    "check_world",
]

Ints = NDArray[np.int64]
_T = TypeVar("_T")

ERRANDS = ("order", "return", "repair", "reserve")
KINDS = ("furnishings", "clothes", "tools", "stationery")
#: ten of each kind, in the order of `KINDS`
ITEMS = (
    *("lamp", "chair", "table", "shelf", "mirror"),
    *("carpet", "curtain", "cushion", "kettle", "vase"),
    *("coat", "scarf", "glove", "shirt", "sweater"),
    *("belt", "sock", "jacket", "boot", "hat"),
    *("hammer", "saw", "drill", "wrench", "ladder"),
    *("rope", "bucket", "brush", "spade", "chisel"),
    *("pencil", "notebook", "ruler", "stapler", "folder"),
    *("envelope", "marker", "eraser", "calendar", "binder"),
)
COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
TAGS = ("k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9")
CHANNELS = ("courier", "locker", "mail", "pickup")
LABELS = ("bagged", "boxed", "bundled", "crated")
CODES = ("filed", "noted", "sealed", "signed")
#: what a convention says, in the order of the last axis of `canonical` and `truth`
FIELDS = ("channel", "label", "code")
TASKS = len(ERRANDS) * len(ITEMS) * len(COUNTS)

_MANY = len(ITEMS) // len(KINDS)
_EXCEPTIONS = 4
#: ids are read back, and no number in them may be of any length
_WORLDS = 10**19
_KNOWN_SHAPE = (0.6, 7.0)
#: pairs of each errand that the sets take: canonical ones, exceptions
_TRAINED = (15, 10)
_MINI = ((4, 2), (3, 3))


@dataclass(frozen=True, slots=True, eq=False)
class Design(Shared):
    """One world: what the desk wants for each errand, and what its demonstrators know.

    All arrays are read-only. A pair is an errand and an item; a task is a pair and a count, its
    index `(errand * 40 + item) * 10 + count`. Four items in ten of each kind are exceptions for
    an errand: one or two of the three fields differ from the convention of the errand and kind.

    Attributes:
        world: the number that everything is drawn from.
        kind: (40,) kind of each item.
        canonical: (4, 4, 3) channel, label and code by errand and kind.
        truth: (4, 40, 3) what a pair really asks for.
        exception: (4, 40) whether that differs from the convention.
        known: (4, 40) the chance that a demonstrator knows it: 1 for canonical pairs, else drawn
            from Beta(0.6, 7), whose mean is 0.079 and whose median is 0.045.
        counted: (4, 10) label, count -> the count to say: each label has a permutation.
        train: (200,) task indices in order: 25 pairs of each errand, 10 of them exceptions, with
            two counts each.
        heldout: (120,) the same of the other 15 pairs of each errand, 6 of them exceptions.
        mini: (24,) tasks of `train`, 6 of each errand, a pair each, 10 of them exceptions.
        digest: a hash of all of this, in twelve hexadecimal digits.
    """

    world: int
    kind: Ints
    canonical: Ints
    truth: Ints
    exception: NDArray[np.bool_]
    known: NDArray[np.float64]
    counted: Ints
    train: Ints
    heldout: Ints
    mini: Ints
    digest: str

    @staticmethod
    def of(world: int = 0) -> Design:
        """Return the design of a world, shared by all who ask; the last 64 worlds are kept.

        Raises:
            BadArgument: `world` is not an int from 0 of up to 19 digits.
        """
        return _design(check_world(world))

    def task(self, index: int) -> tuple[int, int, int]:
        """Return errand, item and count of a task.

        Raises:
            BadArgument: there is no such index.
        """
        if not 0 <= index < TASKS:
            raise BadArgument(f"Expected a task index from 0 to {TASKS - 1}, got {index!r}.")
        pair, count = divmod(int(index), len(COUNTS))
        return *divmod(pair, len(ITEMS)), count

    def index(self, errand: int, item: int, count: int) -> int:
        """Return the index of a task."""
        return (errand * len(ITEMS) + item) * len(COUNTS) + count

    def parts(self, indices: Ints) -> tuple[Ints, Ints, Ints]:
        """Return errands, items and counts of an array of task indices."""
        pairs, counts = np.divmod(indices, len(COUNTS))
        errands, items = np.divmod(pairs, len(ITEMS))
        return errands, items, counts

    def is_exception(self, indices: Ints) -> NDArray[np.bool_]:
        """Return which of the tasks with these indices belong to exceptional pairs."""
        errands, items, _ = self.parts(indices)
        found: NDArray[np.bool_] = self.exception[errands, items]
        return found


def check_world(world: object) -> int:
    """Return `world` where it is the number of one, an int from 0 of up to 19 digits.

    Raises:
        BadArgument: it is not.
    """
    if isinstance(world, bool) or not isinstance(world, int) or world < 0:
        raise BadArgument(f"Expected `world` to be an int >= 0, got {world!r}.")
    if world >= _WORLDS:
        raise BadArgument(
            f"Expected `world` to be below 10**19, got one of {world.bit_length()} bits."
        )
    return world


class _Draw:
    """Draws from `random.random()` alone, whose stream no version of Python changes."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def below(self, size: int) -> int:
        """Return an int in [0, size)."""
        return int(self._random() * size)

    def other(self, value: int, size: int) -> int:
        """Return one of [0, size) that is not `value`."""
        return (value + 1 + self.below(size - 1)) % size

    def some(self, among: Sequence[_T], number: int) -> list[_T]:
        """Return `number` of `among` in random order, each at most once."""
        left = list(among)
        for at in range(number):
            other = at + self.below(len(left) - at)
            left[at], left[other] = left[other], left[at]
        return left[:number]

    def beta(self, a: float, b: float) -> float:
        """Return a Beta(a, b) variate (Jöhnk's method), to six decimals."""
        while True:
            x: float = self._random() ** (1 / a)
            y: float = self._random() ** (1 / b)
            if 0.0 < x + y <= 1.0:
                # No last bit of a power, which differs between machines, is let through.
                return round(x / (x + y), 6)


@functools.lru_cache(maxsize=64)
def _design(world: int) -> Design:
    draw = _Draw(f"toollab/{world}")
    sizes = (len(CHANNELS), len(LABELS), len(CODES))
    kind = np.arange(len(ITEMS)) // _MANY
    canonical = np.array([[[draw.below(n) for n in sizes] for _ in KINDS] for _ in ERRANDS])
    counted = np.array([draw.some(range(len(COUNTS)), len(COUNTS)) for _ in LABELS])
    truth = canonical[:, kind].copy()
    exception = np.zeros(truth.shape[:2], dtype=bool)
    known = np.ones(exception.shape)
    for errand in range(len(ERRANDS)):
        for first in range(0, len(ITEMS), _MANY):
            for item in sorted(draw.some(range(first, first + _MANY), _EXCEPTIONS)):
                exception[errand, item] = True
                known[errand, item] = draw.beta(*_KNOWN_SHAPE)
                for at in draw.some(range(len(FIELDS)), 1 + draw.below(2)):
                    truth[errand, item, at] = draw.other(truth[errand, item, at], sizes[at])
    drawn: dict[str, Any] = {
        "kind": kind,
        "canonical": canonical,
        "truth": truth,
        "exception": exception,
        "known": known,
        "counted": counted,
        **_sets(draw, exception),
    }
    for array in drawn.values():
        array.flags.writeable = False
    text = hashlib.sha256(f"world{world}".encode())
    for name, array in drawn.items():
        text.update(f"{name}{array.tolist()}".encode())
    return Design(world=world, **drawn, digest=text.hexdigest()[:12])


def _sets(draw: _Draw, exception: NDArray[np.bool_]) -> dict[str, Ints]:
    """Return the task indices of the three sets, every errand and exception with its share."""
    train, heldout, mini = [], [], []
    for errand, row in enumerate(exception):
        for special in (False, True):
            items = np.flatnonzero(row == special).tolist()
            pairs = [
                [
                    (errand * len(ITEMS) + item) * len(COUNTS) + count
                    for count in draw.some(range(len(COUNTS)), 2)
                ]
                for item in draw.some(items, len(items))
            ]
            known, shown = _TRAINED[special], _MINI[errand % 2][special]
            train += [task for both in pairs[:known] for task in both]
            heldout += [task for both in pairs[known:] for task in both]
            mini += [both[0] for both in pairs[:shown]]
    return {
        name: np.array(sorted(found), dtype=np.int64)
        for name, found in (("train", train), ("heldout", heldout), ("mini", mini))
    }
