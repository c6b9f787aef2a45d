"""What a pilot decides: one option for all tasks, or one for each result that a task can have.

A task's own few rollouts say little of it; what helps is how the tasks are spread, which all
pilots together tell. That spread of the two success rates is fitted by maximum likelihood over a
grid (nonparametric, Kiefer and Wolfowitz 1956, by EM), and then says what further tries would
give a task with a successes of base and b of post. It is a guess, used for deciding alone: what
is decided is judged on other rollouts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax.routing.demand import Demand, Stop

__all__ = ["Guess", "allocate", "guess"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

# Rates between 0 and 1 for a pilot of up to 8, and of many more.
_FEW, _MANY = 13, 21
_STEPS = 60
_HALVINGS = 30


class Guess(NamedTuple):
    """What k tries would give, guessed from a pilot; S pilots, X results a task can have in it.

    Attributes:
        overall: the chances that 0, ..., K tries of a task all fail, for base and post, (S, K + 1).
        given: for a task with a known result, for base and post: the chances that M numbers of
            tries all fail, and how many of them are paid, both (S, X, M).
    """

    overall: tuple[_Floats, _Floats]
    given: tuple[tuple[_Floats, _Floats], tuple[_Floats, _Floats]]


def guess(
    results: _Ints, shares: _Floats, pilot: int, tries: _Ints, most: int, stop: Stop
) -> Guess:
    """Return what more tries would give, from S pilots at once.

    Args:
        results: (X, 2) successes of base and post.
        shares: (S, X) shares of tasks with each result.
        pilot: rollouts of each policy.
        tries: (M,) numbers of tries for which `given` is wanted.
        most: the largest number of tries for `overall`.
        stop: which tries are paid.
    """
    grid = min(max(_FEW, round(4 * pilot**0.5) + 1), _MANY)
    # Closer together near the ends, as the errors of rates are smaller there.
    rate = np.sin(np.linspace(0, np.pi / 2, grid)) ** 2
    rate[-1] = 1.0
    like = [_likelihood(hits, pilot, rate) for hits in results.T]
    both = (like[0][:, :, None] * like[1][:, None, :]).reshape(len(results), -1)
    weight = np.full((len(shares), both.shape[1]), 1 / both.shape[1])
    for _ in range(_STEPS):
        weight *= (shares / (weight @ both.T)) @ both
    spread = weight.reshape(-1, grid, grid)
    fail_all = (1 - rate)[:, None] ** np.arange(most + 1)
    fail_some = fail_all[:, tries]
    paid = np.cumsum(fail_all, axis=1)[:, tries - 1]
    if stop == "never":
        paid = np.broadcast_to(tries, paid.shape).astype(np.float64)
    overall = tuple(spread.sum(axis=axis) @ fail_all for axis in (2, 1))
    given = []
    for arm in (0, 1):
        ours, theirs = like[arm], like[1 - arm]
        turned = spread if arm == 0 else spread.transpose(0, 2, 1)
        # (S, X, grid): this policy's rate given the result, the other's summed out.
        belief = (turned @ theirs.T).transpose(0, 2, 1) * ours
        belief /= belief.sum(axis=2, keepdims=True)
        given.append((belief @ fail_some, belief @ paid))
    return Guess((overall[0], overall[1]), (given[0], given[1]))


def _likelihood(hits: _Ints, pilot: int, rate: _Floats) -> _Floats:
    """Return (X, grid) how likely each rate makes so many hits, the likeliest one 1.

    Only ratios within a row matter, and in large pilots all of them would be 0 without.
    """
    logs = np.zeros((len(hits), len(rate)))
    with np.errstate(divide="ignore", invalid="ignore"):
        for many, log in ((hits, np.log(rate)), (pilot - hits, np.log1p(-rate))):
            logs += np.where(many[:, None] > 0, many[:, None] * log, 0.0)
    found: _Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    return found


def allocate(coverage: _Floats, cost: _Floats, shares: _Floats, demand: Demand) -> _Ints:
    """Return the option for each result such that all together meet the demand.

    Each result gets the option with the largest coverage minus a price of coverage times cost;
    that price is the one at which the whole just meets the target or keeps to the budget. No
    other allocation of the same cost has more coverage.

    Args:
        coverage: (S, X, O) of each option where it is given to tasks with a result.
        cost: the same for the cost.
        shares: (S, X) of the tasks.
        demand: what is asked for; where it cannot be met, the most coverage, or the least cost.

    Returns:
        (S, X) options.
    """
    low, high = (np.full(len(shares), np.log(end)) for end in (1e-9, 1e4))
    cheapest = cost.min()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        chosen = _chosen(coverage, cost, np.exp(middle) / cheapest)
        if demand.target is not None:
            cheaper = _total(coverage, chosen, shares) >= demand.target
        else:
            cheaper = _total(cost, chosen, shares) > (demand.budget or 0)
        low, high = np.where(cheaper, middle, low), np.where(cheaper, high, middle)
    end = low if demand.target is not None else high
    return _chosen(coverage, cost, np.exp(end) / cheapest)


def _chosen(coverage: _Floats, cost: _Floats, price: _Floats) -> _Ints:
    found: _Ints = np.argmax(coverage - price[:, None, None] * cost, axis=2)
    return found


def _total(values: _Floats, chosen: _Ints, shares: _Floats) -> _Floats:
    taken = np.take_along_axis(values, chosen[:, :, None], axis=2)[:, :, 0]
    total: _Floats = (taken * shares).sum(axis=1)
    return total
