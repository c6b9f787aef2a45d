"""The temperature's map and what it is for: formulas of a success chance p and a group of n.

    h(p)   = 1 - p / p~  for p <= p~,   -(p - p~) / (1 - p~)  above;   p~ is the target
    T(p)   = T_ref tau ** h(p)          from tau T_ref at p = 0 down to T_ref / tau at p = 1
    I_n(p) = 1 - (1 - p)^n              a group of n holds a success
    J_n(p) = 1 - p^n - (1 - p)^n        it holds successes and failures: it is mixed

I_n rises with p everywhere, J_n up to p = 1/2. So a hotter rollout of a hard task makes its
groups more informative as long as heat raises the chance of success and leaves it at or below
1/2 (arXiv 2610.01509, Theorem 3). Whether heat does that is a property of the policy:
`heating_premise` measures it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._ranges import chances, number, whole
from agentenvs.harness.ptgs.posterior import PRIOR_MASS
from agentenvs.harness.tax import partition

__all__ = ["expected_mixed", "heat", "informative", "mixed", "temperature", "visits_to_rail"]

_Floats = NDArray[np.float64]


def heat(p: ArrayLike, target: ArrayLike) -> _Floats:
    """Return h(p), from 1 at p = 0 over 0 at the target to -1 at p = 1.

    Args:
        p: chances of success, of any shape.
        target: p~, strictly between 0 and 1, of a shape that broadcasts with `p`.

    Raises:
        BadArgument: a value out of range, or shapes that do not broadcast.
    """
    success, aim = chances("p", p), chances("target", target, open_ends=True)
    try:
        success, aim = np.broadcast_arrays(success, aim)
    except ValueError:
        shapes = f"{success.shape} and {aim.shape}"
        raise BadArgument(f"Expected `p` and `target` of matching shapes, got {shapes}.") from None
    # The side that is thrown away overflows where the target is tiny.
    with np.errstate(over="ignore"):
        sign: _Floats = np.where(success <= aim, 1 - success / aim, (aim - success) / (1 - aim))
    return sign[()]


def temperature(
    p: ArrayLike, tau: float = 1.5, target: ArrayLike = 0.5, t_ref: float = 1.0
) -> _Floats:
    """Return T(p) = t_ref tau ** h(p).

    Args:
        p: chances of success, of any shape.
        tau: how hot the hardest task gets, as a multiple of `t_ref`; at least 1.
        target: the chance that is played at `t_ref`.
        t_ref: the temperature that heat is measured from.

    Raises:
        BadArgument: a value out of range.
    """
    factor = number("tau", tau, low=1.0)
    hot: _Floats = number("t_ref", t_ref, above=0.0) * factor ** heat(p, target)
    return hot


def informative(p: ArrayLike, n: int) -> _Floats:
    """Return I_n(p), the chance that a group of `n` rollouts holds a success.

    Raises:
        BadArgument: `p` outside [0, 1], or `n` below 1.
    """
    size = whole("n", n, low=1)
    with np.errstate(divide="ignore"):
        hit: _Floats = -np.expm1(size * np.log1p(-chances("p", p)))
    return hit


def mixed(p: ArrayLike, n: int) -> _Floats:
    """Return J_n(p), the chance that a group of `n` rollouts holds a success and a failure.

    Group-relative advantages vanish in every other group.

    Raises:
        BadArgument: as `informative`.
    """
    # 1 - (1 - p)^n as one term keeps small p exact, where the plain sum cancels.
    both: _Floats = informative(p, n) - chances("p", p) ** n
    return np.maximum(both, 0.0)[()] if n > 1 else np.zeros_like(both)[()]


def expected_mixed(c: ArrayLike, n: ArrayLike, m: int) -> float:
    """Return the share of groups of `m` that would be mixed, estimated from counts.

    Unbiased: the mean over tasks of pass@m - pass^m, `sometimes` of the tax's partition.

    Args:
        c: (T,) successes.
        n: (T,) rollouts, or one number for all tasks.
        m: the size of a group, at most the smallest n.

    Raises:
        BadArgument: counts that make no sense, or `m` beyond the smallest n.
    """
    return partition(c, n, m).sometimes


def visits_to_rail(n: int, gamma: float = 0.95, within: float = 0.05) -> int | None:
    """Return how many groups of failures in a row bring a task to full heat; None for never.

    Heat is full when h of the posterior mean is at least 1 - `within`, that is, when the prior
    holds at most that share of the mass 2 + f, with f = n (1 + gamma + gamma^2 + ...). Neither
    tau nor the target matters, and successes bring a task to the cool end as fast.

    Args:
        n: rollouts in a group that feed the posterior.
        gamma: the sampler's discount, in [0, 1].
        within: how close to the end, in (0, 1).

    Raises:
        BadArgument: a value out of range.
    """
    size, keep = whole("n", n, low=1), number("gamma", gamma, low=0.0, high=1.0)
    share = number("within", within, above=0.0, below=1.0)
    groups = PRIOR_MASS * (1 / share - 1) / size
    if keep == 1:
        return math.ceil(groups)
    left = 1 - groups * (1 - keep)
    if keep == 0 or left <= 0:
        return 1 if groups <= 1 else None
    return max(1, math.ceil(math.log(left) / math.log(keep) - 1e-9))
