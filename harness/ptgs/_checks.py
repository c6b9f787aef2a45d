"""What samplers are told: counts and outcomes that make sense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._ranges import shown

__all__ = ["Groups", "check_array", "group_counts", "outcome_table", "part_of"]

_MAX_N = 1 << 24


class Groups(NamedTuple):
    """Checked successes and rollouts of m groups, both (m,)."""

    s: NDArray[np.int64]
    n: NDArray[np.int64]


def group_counts(
    size: int, s: ArrayLike, n: ArrayLike, names: tuple[str, str] = ("successes", "n")
) -> Groups:
    """Return the counts of `size` groups; one number stands for all.

    Raises:
        BadArgument: wrong types or lengths, n below 1, or not 0 <= successes <= n.
    """
    hits, rolls = _column(names[0], s, size), _column(names[1], n, size)
    if size:
        if rolls.min() < 1:
            raise BadArgument(f"Expected `{names[1]}` of at least 1, got {rolls.min()}.")
        if rolls.max() > _MAX_N:
            raise BadArgument(f"Expected `{names[1]}` of at most {_MAX_N}, got {rolls.max()}.")
        wrong = (hits < 0) | (hits > rolls)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise BadArgument(
                f"Expected 0 <= {names[0]} <= {names[1]}, got {hits[at]} of {rolls[at]} "
                f"at position {at}."
            )
    return Groups(hits, rolls)


def part_of(
    groups: Groups, s: ArrayLike, n: ArrayLike, names: tuple[str, str] = ("ref_successes", "ref_n")
) -> Groups:
    """Return the counts of a part of each group.

    Raises:
        BadArgument: as `group_counts`, or the rest of a group makes no sense.
    """
    part = group_counts(len(groups.s), s, n, names)
    rest = Groups(groups.s - part.s, groups.n - part.n)
    wrong = (rest.s < 0) | (rest.s > rest.n)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise BadArgument(
            f"Expected {names[0]} and {names[1]} to be a part of the group, got {part.s[at]} of "
            f"{part.n[at]} in {groups.s[at]} of {groups.n[at]} at position {at}."
        )
    return part


def outcome_table(size: int, outcomes: ArrayLike) -> NDArray[np.bool_]:
    """Return who succeeded, (size, n).

    Raises:
        BadArgument: another shape, or values besides true and false, 0 and 1.
    """
    table = _array("outcomes", outcomes)
    if table.ndim != 2 or table.shape[0] != size or table.shape[1] < 1:
        raise BadArgument(
            f"Expected `outcomes` of shape ({size}, n), a row for each task, got {table.shape}."
        )
    if table.dtype.kind not in "biuf":
        raise BadArgument(f"Expected `outcomes` to hold booleans, got {_held(table)}.")
    odd = table[(table != 0) & (table != 1)]
    if odd.size:
        raise BadArgument(f"Expected `outcomes` to hold booleans, got {odd.flat[0]}.")
    return table.astype(bool)


def check_array(arrays: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> None:
    """Check an array of sums in a state: finite, and no larger than counts can make them.

    Raises:
        BadArgument: it is missing, has another shape, or does not hold such numbers.
    """
    if name not in arrays:
        raise BadArgument(f"Expected the state to have `{name}`, got {sorted(arrays)}.")
    array = np.asarray(arrays[name])
    if array.shape != shape or array.dtype.kind not in "iuf":
        raise BadArgument(
            f"Expected `{name}` of the state to hold numbers of shape {shape}, got {array.dtype} "
            f"of shape {array.shape}."
        )
    odd = array[~(np.abs(array) <= 2.0**53)]
    if odd.size:
        raise BadArgument(f"Expected `{name}` of the state to hold finite sums, got {odd.flat[0]}.")


def _column(name: str, value: ArrayLike, size: int) -> NDArray[np.int64]:
    array = _array(name, value)
    if not array.size and not size:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind == "f":
        odd = array[~(np.isfinite(array) & (array == np.floor(array)))]
        if odd.size:
            raise BadArgument(f"Expected `{name}` to hold whole numbers, got {odd.flat[0]}.")
        if array.size and np.abs(array).max() > 2**53:
            raise BadArgument(f"Expected `{name}` to hold counts, got {np.abs(array).max():g}.")
    elif array.dtype.kind not in "iu":
        raise BadArgument(f"Expected `{name}` to hold integers, got {_held(array)}.")
    elif array.size and int(array.max()) > 2**53:
        raise BadArgument(f"Expected `{name}` to hold counts, got {array.max()}.")
    if array.ndim == 0:
        return np.full(size, int(array), dtype=np.int64)
    if array.shape != (size,):
        raise BadArgument(
            f"Expected `{name}` with one entry for each of {size} tasks, got shape {array.shape}."
        )
    return array.astype(np.int64)


def _held(array: NDArray[np.generic]) -> str:
    """Return what an array of a wrong type holds: the first odd value, or the type."""
    if array.dtype.kind != "O":
        return str(array.dtype)
    values = array.ravel().tolist()
    odd = [one for one in values if type(one) is not int]
    return shown(odd[0]) if odd else f"{shown(max(values, key=abs))}, beyond 64 bits"


def _array(name: str, value: ArrayLike) -> NDArray[np.generic]:
    if np.ma.is_masked(value):
        raise BadArgument(f"Expected `{name}` without masked values.")
    try:
        return np.asarray(value)
    except ValueError:
        raise BadArgument(f"Expected `{name}` to be an array, got a ragged list.") from None
