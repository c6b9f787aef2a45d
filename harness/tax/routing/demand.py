"""What tries are to achieve and what they cost: a coverage to reach, or a budget to keep to.

Cost is per task. With `stop="never"` all k tries are paid. With `stop="success"` a verifier ends
the tries of a task at its first success: of k tries as many are paid as come up to it, on average

    E[min(H, k)] = sum_{j<k} r_j = (n + 1) / (c + 1) * (1 - C(f, k) / C(n + 1, k))

with H the rank of the first success and r_j = C(f, j) / C(n, j) the chance that j tries all fail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import single_k, whole_counts
from agentenvs.harness.tax.estimators import area, pass_at_k
from agentenvs.harness.tax.measures import TIE

__all__ = ["Demand", "Stop", "check_demand", "expected_tries"]

# Costs beyond overflow in products; in any sensible unit they are slips.
_LEAST, _LARGEST = 1e-100, 1e100

Stop = Literal["never", "success"]
"""Whether all tries are paid, or those up to the first success."""

_Floats = NDArray[np.float64]


class Demand(NamedTuple):
    """What is asked for: exactly one of `target` and `budget` is set.

    Attributes:
        price: of a rollout of base, and of post, in any unit.
        target: the share of tasks to solve by at least one try.
        budget: the mean cost of a task that must not be passed, in the unit of `price`.
        stop: which tries are paid.
    """

    price: tuple[float, float]
    target: float | None
    budget: float | None
    stop: Stop

    def costs(self, missed: _Floats, arm: int) -> _Floats:
        """Return the mean cost of 1 to K tries.

        Args:
            missed: (..., K) chances that 0, ..., K - 1 tries all fail.
            arm: 0 for base, 1 for post.
        """
        if self.stop == "never":
            tries = np.broadcast_to(np.arange(1.0, missed.shape[-1] + 1), missed.shape)
        else:
            tries = np.cumsum(missed, axis=-1)
        paid: _Floats = self.price[arm] * tries
        return paid

    def choose(self, coverage: _Floats, costs: _Floats) -> NDArray[np.int64]:
        """Return the k that the demand picks of each row of options, 0 where none will do.

        For a target that is the least k that reaches it, for a budget the least k of those with
        the most coverage that it allows. Both rise with k.

        Args:
            coverage: (..., K) at 1 to K tries.
            costs: (..., K).
        """
        if self.target is not None:
            fits = coverage >= self.target - TIE
        else:
            allowed = costs <= self._limit
            best = np.max(np.where(allowed, coverage, -1.0), axis=-1, keepdims=True)
            fits = allowed & (coverage >= best - TIE)
        return np.where(fits.any(axis=-1), fits.argmax(axis=-1) + 1, 0)

    def prefers(self, coverage: _Floats, cost: _Floats, rival: tuple[_Floats, _Floats]) -> _Floats:
        """Return above 0 where the first option is better, below where the rival is, 0 at a tie.

        For a target the cheaper one is better, and the one with more coverage at the same cost;
        for a budget the other way about.
        """
        more, less = _sign(coverage - rival[0], 1.0), _sign(rival[1] - cost, rival[1])
        first, second = (less, more) if self.target is not None else (more, less)
        found: _Floats = np.where(first != 0, first, second)
        return found

    @property
    def _limit(self) -> float:
        return math.inf if self.budget is None else self.budget * (1 + TIE)


def check_demand(
    price: Sequence[float], target: float | None, budget: float | None, stop: str
) -> Demand:
    """Return what is asked for.

    Raises:
        BadArgument: not exactly one of `target` and `budget`, a target outside (0, 1], a budget
            or a price that is no positive number, or another `stop` than "never" or "success".
    """
    prices = tuple(price) if isinstance(price, tuple | list | np.ndarray) else ()
    if len(prices) != 2 or not all(_positive(one) for one in prices):
        raise BadArgument(
            f"Expected `price` of a rollout of base and of post, both above 0, got {price!r}."
        )
    for name, values in (("price", prices), ("budget", () if budget is None else (budget,))):
        for value in values:
            if _positive(value) and not _LEAST <= _plain(value) <= _LARGEST:
                raise BadArgument(
                    f"Expected `{name}` of {_LEAST:g} to {_LARGEST:g}, got {value!r:.40}."
                )
    if (target is None) == (budget is None):
        got = "neither" if target is None else "both"
        raise BadArgument(f"Expected either a `target` or a `budget`, got {got}.")
    if target is not None and not (_positive(target) and target <= 1):
        raise BadArgument(f"Expected `target` above 0 and at most 1, got {target!r}.")
    if budget is not None and not _positive(budget):
        raise BadArgument(f"Expected `budget` above 0, got {budget!r}.")
    if not isinstance(stop, str) or stop not in ("never", "success"):
        raise BadArgument(f'Expected `stop` to be "never" or "success", got {stop!r}.')
    return Demand(
        (float(prices[0]), float(prices[1])),
        None if target is None else float(target),
        None if budget is None else float(budget),
        "never" if stop == "never" else "success",
    )


def expected_tries(c: ArrayLike, n: ArrayLike, k: int) -> _Floats:
    """Return how many of k tries are paid if the first success ends them, task by task.

    Args:
        c: successes, whole numbers of any shape.
        n: rollouts, 0 <= c <= n.
        k: tries, 1 <= k <= the smallest n.

    Returns:
        Numbers from 1 to k, unbiased.

    Raises:
        BadArgument: as `pass_at_k`.
    """
    tasks = whole_counts(c, n)
    tries = single_k("k", k, int(tasks.n.min()) if tasks.n.size else k)
    # A(k) counts the failures before a first success within k tries; to them come that success,
    # or k failures without one.
    solved = pass_at_k(tasks.c, tasks.n, tries)
    paid: _Floats = area(tasks.c, tasks.n, tries) + solved + tries * (1 - solved)
    return paid


def _positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return bool(0 < value < math.inf)


def _plain(value: Any) -> Any:
    """Return a number of Python: one of NumPy may be too narrow to be compared with."""
    return value.item() if isinstance(value, np.generic) else value


def _sign(difference: _Floats, scale: _Floats | float) -> _Floats:
    found: _Floats = np.where(np.abs(difference) <= TIE * scale, 0.0, np.sign(difference))
    return found
