"""What the sampler's loop does to groups: outcomes move the estimate, and it the temperature.

Outcomes are seen at the temperature that was played. Where heat lowers success, a task that
fails is heated, fails the more, and stays hot for good. A share of the group at T_ref that alone
feeds the posterior opens that loop. `feedback` plays it for any curve of success over temperature;
`tracked` and `tracking_error` say how far the estimate lags behind a task that is being learned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._ranges import chances, number, whole
from agentenvs.harness.ptgs.posterior import PRIOR_MASS
from agentenvs.harness.ptgs.settings import Settings
from agentenvs.harness.ptgs.theory import mixed, temperature

__all__ = ["Feedback", "feedback", "tracked", "tracking_error"]

_Floats = NDArray[np.float64]


class Feedback(NamedTuple):
    """Means over tasks at each visit, each (visits,).

    Attributes:
        temperature: what the group was heated or cooled to.
        estimate: the posterior's mean before the visit.
        mixed: the chance that the group is mixed, the part at T_ref included.
        fixed: that chance with every rollout at T_ref; one number.
    """

    temperature: _Floats
    estimate: _Floats
    mixed: _Floats
    fixed: float


def feedback(
    curve: Callable[[_Floats], ArrayLike],
    n: int,
    *,
    tau: float = 1.5,
    gamma: float = 0.95,
    target: float = 0.5,
    t_ref: float = 1.0,
    ref_share: float = 0.0,
    visits: int = 100,
    tasks: int = 2000,
    seed: int = 0,
) -> Feedback:
    """Simulate the sampler on tasks whose chance of success depends on temperature alone.

    >>> import numpy as np
    >>> trap = feedback(lambda t: 0.05 * np.exp(-6 * (t - 1)), n=16)
    >>> round(trap.fixed, 2), round(float(trap.mixed.mean()), 2)
    (0.56, 0.05)

    Args:
        curve: gives (tasks,) chances of success for (tasks,) temperatures; values beyond [0, 1]
            are cut.
        n: rollouts in a group.
        tau: as in `PTGS`, and so are `gamma`, `target`, `t_ref` and `ref_share`.
        gamma: the discount of past outcomes.
        target: the chance that is played at `t_ref`.
        t_ref: the middle temperature.
        ref_share: the share of each group at `t_ref`, which alone feeds the posterior.
        visits: groups that each task gets.
        tasks: how many to average over.
        seed: of the draws.

    Raises:
        BadArgument: a setting out of range, or a curve that gives something else than chances.
    """
    rule = Settings(tau, gamma, target, t_ref, seed, ref_share, 0, None)
    rounds, size = whole("visits", visits, low=1), whole("tasks", tasks, low=1)
    at_ref, rng = rule.ref_count(n), np.random.default_rng(seed)
    middle = _chances(curve, np.full(size, float(t_ref)))
    success, failure = np.zeros(size), np.zeros(size)
    rows = np.empty((3, rounds))
    for visit in range(rounds):
        a, b = PRIOR_MASS * target + success, PRIOR_MASS * (1 - target) + failure
        played = temperature(rng.beta(a, b), tau, target, t_ref)
        p = _chances(curve, played)
        all_right = p ** (n - at_ref) * middle**at_ref
        all_wrong = (1 - p) ** (n - at_ref) * (1 - middle) ** at_ref
        rows[:, visit] = played.mean(), (a / (a + b)).mean(), (1 - all_right - all_wrong).mean()
        fed = at_ref or n
        hits = rng.binomial(fed, middle if at_ref else p)
        success, failure = gamma * success + hits, gamma * failure + fed - hits
    return Feedback(rows[0], rows[1], rows[2], float(np.mean(mixed(middle, n))))


def tracked(p: ArrayLike, n: int, gamma: float = 0.95, target: float = 0.5) -> _Floats:
    """Return the expected estimate after each of a task's visits.

    Args:
        p: (visits,) the true chance of success at each visit.
        n: rollouts in a group that feed the posterior.
        gamma: the discount, in [0, 1].
        target: the prior's mean, in (0, 1).

    Returns:
        (visits,) posterior means, with the counts at their expectations.

    Raises:
        BadArgument: a value out of range.
    """
    truth = chances("p", p)
    if truth.ndim != 1:
        raise BadArgument(f"Expected `p` to list visits, got shape {truth.shape}.")
    size, keep = whole("n", n, low=1), number("gamma", gamma, low=0.0, high=1.0)
    aim = number("target", target, above=0.0, below=1.0)
    out, success, mass = np.empty(len(truth)), 0.0, 0.0
    for visit, chance in enumerate(truth):
        success, mass = keep * success + size * chance, keep * mass + size
        out[visit] = (PRIOR_MASS * aim + success) / (PRIOR_MASS + mass)
    return out


def tracking_error(
    gamma: ArrayLike,
    n: int,
    drift: float,
    *,
    target: float = 0.5,
    visits: int = 50,
    tasks: int = 2000,
    seed: int = 0,
) -> _Floats:
    """Return how far the estimate is off before a visit, root mean square over visits and tasks.

    The log-odds of each task start from a normal distribution of standard deviation 1.5 and
    move by a normal step between visits. The smallest of several discounts is the one to take.

    Args:
        gamma: discounts in [0, 1], of any shape.
        n: rollouts in a group that feed the posterior.
        drift: the standard deviation of a step, in log-odds.
        target: the prior's mean.
        visits: visits of each task; the first is not judged.
        tasks: how many to average over.
        seed: of the draws; the same outcomes judge every discount.

    Raises:
        BadArgument: a value out of range.
    """
    keep, size = chances("gamma", gamma), whole("n", n, low=1)
    step, aim = number("drift", drift, low=0.0), number("target", target, above=0.0, below=1.0)
    rounds, many = whole("visits", visits, low=2), whole("tasks", tasks, low=1)
    rng = np.random.default_rng(seed)
    odds = rng.normal(0.0, 1.5, many)
    past = keep[..., None]
    success = np.zeros((*keep.shape, many))
    mass, total = np.zeros((*keep.shape, 1)), np.zeros(keep.shape)
    for visit in range(rounds):
        p = 1 / (1 + np.exp(-odds))
        if visit:
            guess = (PRIOR_MASS * aim + success) / (PRIOR_MASS + mass)
            total += ((guess - p) ** 2).mean(axis=-1)
        success, mass = past * success + rng.binomial(size, p), past * mass + size
        odds = odds + step * rng.normal(size=many)
    error: _Floats = np.sqrt(total / (rounds - 1))
    return error[()]


def _chances(curve: Callable[[_Floats], ArrayLike], t: _Floats) -> _Floats:
    p = np.asarray(curve(t))
    if p.shape != t.shape or p.dtype.kind not in "fiu" or not np.isfinite(p).all():
        raise BadArgument(f"Expected `curve` to give finite numbers of shape {t.shape}, got {p!r}.")
    return np.clip(p.astype(np.float64), 0.0, 1.0)
