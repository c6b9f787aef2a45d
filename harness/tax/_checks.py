"""Arguments of the measures: types, ranges, and tasks in one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax.counts import Counts

__all__ = [
    "Arm",
    "Paired",
    "Tasks",
    "as_tasks",
    "check_k",
    "check_seed",
    "check_times",
    "integers",
    "listed",
    "paired",
    "single_k",
    "whole_counts",
]

Arm = Counts | tuple[ArrayLike, ArrayLike]
"""What stands for a policy's results: `Counts`, or a pair (c, n) in the order of the tasks."""

_MAX_N = 10_000_000
_MAX_TIMES = 1_000_000


class Tasks(NamedTuple):
    """Checked successes and rollouts of T tasks, both (T,)."""

    c: NDArray[np.int64]
    n: NDArray[np.int64]

    def kinds(self) -> tuple[Tasks, NDArray[np.intp]]:
        """Return the U different pairs of c and n, and which of them each task is, (T,)."""
        base = int(self.n.max()) + 1
        pairs, where = np.unique(self.n * base + self.c, return_inverse=True)
        n, c = np.divmod(pairs, base)
        return Tasks(c, n), where


class Paired(NamedTuple):
    """Two arms over the same tasks in the same order."""

    base: Tasks
    post: Tasks

    @property
    def smallest_n(self) -> int:
        """The rollouts of the task that has fewest, up to which budgets can be judged."""
        return int(min(arm.n.min() for arm in self))

    def in_order(self) -> Paired:
        """Return the tasks in an order that does not hang on theirs."""
        order = np.lexsort((*self.base, *self.post))
        return Paired(*(Tasks(arm.c[order], arm.n[order]) for arm in self))


def integers(name: str, value: ArrayLike) -> NDArray[np.int64]:
    """Return an integer array; floats pass where they are whole numbers.

    Raises:
        BadArgument: booleans, fractions, NaN, infinities, masked values, or no numbers at all.
    """
    if np.ma.is_masked(value):
        raise BadArgument(f"Expected `{name}` without masked values.")
    try:
        array = np.asarray(value)
    except ValueError:
        raise BadArgument(
            f"Expected `{name}` to be a number or an array, got a ragged list."
        ) from None
    if array.dtype.kind == "f":
        odd = array[~(np.isfinite(array) & (array == np.floor(array)))]
        if odd.size:
            raise BadArgument(f"Expected `{name}` to hold whole numbers, got {odd.flat[0]}.")
        if array.size and np.abs(array).max() > 2**53:
            raise BadArgument(f"Expected `{name}` to hold counts, got {np.abs(array).max():g}.")
    elif array.dtype.kind not in "iu":
        raise BadArgument(f"Expected `{name}` to hold integers, got {array.dtype}.")
    elif array.dtype == np.uint64 and array.size and int(array.max()) > 2**53:
        raise BadArgument(f"Expected `{name}` to hold counts, got {array.max()}.")
    return array.astype(np.int64)


def whole_counts(c: ArrayLike, n: ArrayLike) -> Tasks:
    """Return `c` and `n` as broadcast integer arrays of any shape.

    Raises:
        BadArgument: wrong types, shapes that do not broadcast, or not 0 <= c <= n, n >= 1.
    """
    hits, rolls = integers("c", c), integers("n", n)
    if rolls.size:
        if rolls.min() < 1:
            raise BadArgument(f"Expected `n` of at least 1, got {rolls.min()}.")
        if rolls.max() > _MAX_N:
            raise BadArgument(f"Expected `n` of at most {_MAX_N}, got {rolls.max()}.")
    if not rolls.ndim:
        rolls = np.full(hits.shape, rolls)
    elif hits.shape != rolls.shape:
        try:
            hits, rolls = np.broadcast_arrays(hits, rolls)
        except ValueError:
            shapes = f"{hits.shape} and {rolls.shape}"
            raise BadArgument(f"Expected `c` and `n` of matching shapes, got {shapes}.") from None
    wrong = (hits < 0) | (hits > rolls)
    if wrong.any():
        one, of = hits[wrong].flat[0], rolls[wrong].flat[0]
        raise BadArgument(f"Expected 0 <= c <= n, got c = {one} with n = {of}.")
    return Tasks(hits, rolls)


def as_tasks(c: ArrayLike, n: ArrayLike) -> Tasks:
    """Return `c` and `n` of one or more tasks, both (T,); `n` may be one number for all.

    Raises:
        BadArgument: as `whole_counts`, or no task, or more than one dimension.
    """
    hits, rolls = whole_counts(c, n)
    if hits.ndim != 1 or not hits.size:
        raise BadArgument(f"Expected `c` to list one or more tasks, got shape {hits.shape}.")
    return Tasks(hits, rolls)


def single_k(name: str, k: object, smallest_n: int) -> int:
    """Return one budget.

    Raises:
        BadArgument: it is no integer of 1 to the smallest n.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise BadArgument(f"Expected `{name}` to be an integer, got {k!r}.")
    check_k(name, int(k), int(k), smallest_n)
    return int(k)


def listed(name: str, ks: object) -> list[Any]:
    """Return budgets as a list; each is still to be checked.

    Raises:
        BadArgument: a single budget, text, or none at all.
    """
    if isinstance(ks, str | bytes) or not isinstance(ks, Iterable):
        raise BadArgument(f"Expected `{name}` to list budgets, got {ks!r:.40}.")
    found = list(ks)
    if not found:
        raise BadArgument(f"Expected `{name}` to name at least one budget, got none.")
    return found


def check_k(name: str, low: int, high: int, smallest_n: int) -> None:
    """Check budgets from `low` to `high` against the smallest number of rollouts of a task.

    Raises:
        BadArgument: below 1, or above the smallest n, where no unbiased estimate exists.
    """
    if low < 1:
        raise BadArgument(f"Expected `{name}` of at least 1, got {low}.")
    if high > smallest_n:
        raise BadArgument(
            f"Expected `{name}` of at most n, got {name} = {high}, but the smallest n is "
            f"{smallest_n}: {high} tries cannot be judged from fewer rollouts."
        )


def check_times(name: str, value: object, least: int = 1, most: int = _MAX_TIMES) -> int:
    """Return how often something is drawn.

    Raises:
        BadArgument: it is no integer from `least` to `most`, by default a million.
    """
    if type(value) is not int or not least <= value <= most:
        raise BadArgument(f"Expected `{name}` of {least} to {most}, got {value!r}.")
    return value


def check_seed(value: object) -> int:
    """Return a seed of draws.

    Raises:
        BadArgument: it is no integer of 0 or more.
    """
    if type(value) is not int or value < 0:
        raise BadArgument(f"Expected `seed` to be an integer of 0 or more, got {value!r}.")
    return value


def paired(base: Arm, post: Arm, labels: tuple[str, str] = ("base", "post")) -> Paired:
    """Return two arms with their tasks in one order.

    Two `Counts` are matched by task id; two pairs (c, n) by position.

    Args:
        base: the first arm.
        post: the second.
        labels: what messages call them.

    Raises:
        BadArgument: not the same tasks (names the difference), a task listed twice, one arm as
            `Counts` and one as a pair, or counts that make no sense.
    """
    one, two = labels
    ids_base, first = _arm(one, base)
    ids_post, second = _arm(two, post)
    if (ids_base is None) != (ids_post is None):
        raise BadArgument(
            f"Expected `{one}` and `{two}` both as Counts or both as pairs (c, n): "
            "a pair has no task ids to match."
        )
    same = f"Expected `{one}` and `{two}` over the same tasks"
    if ids_base is None or ids_post is None:
        if len(first.c) != len(second.c):
            raise BadArgument(f"{same}, got {len(first.c)} and {len(second.c)} tasks.")
        return Paired(first, second)
    if ids_base == ids_post:
        return Paired(first, second)
    place = {name: at for at, name in enumerate(ids_post)}
    only_base = [name for name in ids_base if name not in place]
    known = set(ids_base)
    only_post = [name for name in ids_post if name not in known]
    if only_base or only_post:
        alone = f"only in {one}: {_some(only_base)}; only in {two}: {_some(only_post)}"
        raise BadArgument(f"{same}; {alone}.")
    order = np.array([place[name] for name in ids_base], dtype=np.intp)
    return Paired(first, Tasks(second.c[order], second.n[order]))


def _arm(name: str, arm: Any) -> tuple[list[str] | None, Tasks]:
    if hasattr(arm, "task_ids") and hasattr(arm, "c") and hasattr(arm, "n"):
        ids, c, n = list(arm.task_ids), arm.c, arm.n
    elif isinstance(arm, tuple | list) and len(arm) == 2:
        ids, (c, n) = None, arm
    else:
        what = type(arm).__name__
        raise BadArgument(f"Expected `{name}` to be Counts or a pair (c, n), got {what}.")
    try:
        tasks = as_tasks(c, n)
    except BadArgument as error:
        raise BadArgument(f"In `{name}`: {error}") from None
    if ids is not None:
        if len(ids) != len(tasks.c):
            sizes = f"{len(ids)} ids for {len(tasks.c)} counts"
            raise BadArgument(f"Expected a task id for each count in `{name}`, got {sizes}.")
        if len(set(ids)) != len(ids):
            twice = sorted((task for task, times in Counter(ids).items() if times > 1), key=repr)
            raise BadArgument(f"Expected each task once in `{name}`, twice: {_some(twice)}.")
    return ids, tasks


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3]) or "none"
    return f"{shown}, ... ({len(names)})" if len(names) > 3 else shown
