"""The measures' intervals from tasks drawn again, for many pairs of arms at once.

A measure is a ratio of sums over tasks of a few numbers that have closed forms: the share of
failures of each arm, and at each budget its A(K) and pass@K. A replicate is one weighting of the
tasks, the same for both arms; all replicates of all measures are one product of matrices. No
curve is built again and no rollout drawn again: a task's counts hold their noise already.

Weights are Poisson with mean 1, one draw a task, not a multinomial of all of them: given their
sum they are the same, and the sum cancels in every measure. They come from a table of 65,536
entries, which gives the variance to 1 part in 5,000.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, check_seed, check_times, listed, paired
from agentenvs.harness.tax.clusters import Clusters, by_cluster, cluster_codes
from agentenvs.harness.tax.estimators import area, pass_at_k
from agentenvs.harness.tax.intervals import TaxInterval, sharpening_tax_interval
from agentenvs.harness.tax.linear import critical_for
from agentenvs.harness.tax.shares import Estimate

__all__ = ["TaxBootstrap", "bootstrap_cells", "bootstrap_tax"]

# How many weights are drawn at a time.
_BLOCK = 2**20
_NAMES = (
    ("pass_base", "pass_post", "pass_gap"),
    ("A_base", "A_post", "tax_A"),
    ("S_base", "S_post", "tax_S"),
)


class TaxBootstrap(NamedTuple):
    """Intervals at several budgets from one set of replicates.

    Attributes:
        intervals: for each budget what `sharpening_tax_interval` gives, `method` "bootstrap".
        draws: replicates.
        seed: of the draws.
        undefined: the share of replicates without Tax_S, since an arm's tasks in them never
            failed; intervals of S and Tax_S rest on the others.
    """

    intervals: tuple[TaxInterval, ...]
    draws: int
    seed: int
    undefined: float


def bootstrap_tax(
    base: Arm,
    post: Arm,
    Ks: Sequence[int],  # noqa: N803
    confidence: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> TaxBootstrap:
    """Return the measures at several budgets with percentile intervals over tasks.

    Standard errors are the replicates' standard deviations. The percentiles are those that a
    normal estimate would reach with Student's quantile, a little further out where tasks are few:
    plain percentiles are too narrow there. Where `sharpening_tax_interval` finds no spread, there
    is none to draw again: what it gives there is given here.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        Ks: budgets, each at most the smallest n of both.
        confidence: the share of intervals that should hold the truth.
        draws: replicates, 100 to a million.
        seed: of the draws. The same seed gives every pair with as many tasks the same weights.
        clusters: as for `sharpening_tax_interval`; whole clusters are drawn again.

    Raises:
        BadArgument: as `sharpening_tax_interval`, no budget, or no sensible `draws` or `seed`.
    """
    return _bootstrap([(base, post)], Ks, confidence, draws, seed, [clusters])[0]


def bootstrap_cells(
    pairs: Sequence[tuple[Arm, Arm]],
    K: int,  # noqa: N803
    confidence: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
    clusters: Sequence[Clusters | None] | None = None,
) -> tuple[TaxInterval, ...]:
    """Return for each pair of arms what `bootstrap_tax` does at one budget, in one go.

    Weights are drawn once for all pairs with as many tasks, so that each pair has the interval
    that it has alone (up to rounding).

    Args:
        pairs: (base, post) for each cell.
        K: the budget, at most the smallest n of all.
        confidence: the share of intervals that should hold the truth.
        draws: replicates, 100 to a million; each takes 56 bytes a pair.
        seed: of the draws.
        clusters: for each cell its clusters or None; None where no cell has any.

    Raises:
        BadArgument: as `bootstrap_tax`, or not an entry of `clusters` for each cell.
    """
    each = [None] * len(pairs) if clusters is None else list(clusters)
    if len(each) != len(pairs):
        raise BadArgument(
            f"Expected `clusters` for each of {len(pairs)} pairs, got {len(each)} entries."
        )
    found = _bootstrap(pairs, [K], confidence, draws, seed, each)
    return tuple(cell.intervals[0] for cell in found)


def _bootstrap(
    pairs: Sequence[tuple[Arm, Arm]],
    ks: Sequence[int],
    confidence: float,
    draws: int,
    seed: int,
    clusters: Sequence[Clusters | None],
) -> list[TaxBootstrap]:
    budgets = listed("Ks", ks)
    check_times("draws", draws, least=100)
    check_seed(seed)
    deltas = [
        [sharpening_tax_interval(*pair, k, confidence, labels) for k in budgets]
        for pair, labels in zip(pairs, clusters, strict=True)
    ]
    groups: dict[int, list[int]] = {}
    for at, delta in enumerate(deltas):
        groups.setdefault(delta[0].clusters, []).append(at)
    found: dict[int, TaxBootstrap] = {}
    for cells in groups.values():
        columns = [_columns(pairs[at], budgets, clusters[at]) for at in cells]
        sums = _weighted_sums(np.concatenate(columns, axis=1), draws, seed)
        width = columns[0].shape[1]
        for at, start in zip(cells, range(0, sums.shape[0], width), strict=True):
            tail = _tail(confidence, pairs[at][0], deltas[at][0].tasks, clusters[at])
            found[at] = _cell(deltas[at], sums[start : start + width], tail, seed)
    return [found[at] for at in range(len(pairs))]


def _columns(
    pair: tuple[Arm, Arm], budgets: list[int], clusters: Clusters | None
) -> NDArray[np.float32]:
    """Return (G, 3 + 4 M): 1, q of both arms, then for each budget A and pass@K of both arms."""
    arms = paired(*pair)
    size = len(arms.base.c)
    rows = [np.ones(size), *((arm.n - arm.c) / arm.n for arm in arms)]
    for k in budgets:
        rows += [area(arm.c, arm.n, k) for arm in arms]
        rows += [pass_at_k(arm.c, arm.n, k) for arm in arms]
    codes = cluster_codes(clusters, pair[0], size)
    columns: NDArray[np.float32] = by_cluster(np.stack(rows), codes).T.astype(np.float32)
    # Sorted, so that the order of the tasks does not matter.
    return columns[np.lexsort(columns.T)]


def _weighted_sums(columns: NDArray[np.float32], draws: int, seed: int) -> NDArray[np.float64]:
    """Return (M, draws) sums of (G, M) columns under Poisson weights."""
    rng = np.random.default_rng(seed)
    table = _poisson_table()
    groups = len(columns)
    sums = np.empty((columns.shape[1], draws))
    step = max(1, _BLOCK // groups)
    for start in range(0, draws, step):
        end = min(start + step, draws)
        picks = rng.integers(0, 2**16, (end - start, groups), dtype=np.uint16)
        sums[:, start:end] = (table[picks] @ columns).T
    return sums


def _poisson_table() -> NDArray[np.float32]:
    """Return 65,536 numbers, each k as often as a Poisson variable of mean 1 has it."""
    chances = [math.exp(-1) / math.factorial(k) for k in range(12)]
    ends = np.rint(np.cumsum(chances) * 2**16)
    return np.searchsorted(ends, np.arange(2**16), side="right").astype(np.float32)


def _tail(confidence: float, base: Arm, size: int, clusters: Clusters | None) -> float:
    """Return the share of replicates left out at each end."""
    critical = critical_for(confidence, cluster_codes(clusters, base, size), size)
    return 0.5 if math.isnan(critical) else NormalDist().cdf(-critical)


def _cell(
    deltas: list[TaxInterval], sums: NDArray[np.float64], tail: float, seed: int
) -> TaxBootstrap:
    """Return the intervals of one pair from its (3 + 4 M, draws) weighted sums."""
    draws = sums.shape[1]
    # A replicate without any task says nothing; with ten groups it is 1 in 20,000.
    sums = sums[:, sums[0] > 0]
    total, fails = sums[0], sums[1:3]
    intervals = []
    for at, delta in enumerate(deltas):
        areas, hits = sums[3 + 4 * at : 5 + 4 * at], sums[5 + 4 * at : 7 + 4 * at]
        with np.errstate(divide="ignore", invalid="ignore"):
            scales = areas / ((delta.K - 1) * fails)
        means = hits / total, areas / total, scales
        found = {}
        for names, (base, post) in zip(_NAMES, means, strict=True):
            for name, values in zip(names, (base, post, base - post), strict=True):
                found[name] = _estimate(getattr(delta, name), values, tail)
        intervals.append(TaxInterval(**{**delta._asdict(), **found, "method": "bootstrap"}))
    undefined = 1 - float(np.mean((fails > 0).all(axis=0)))
    return TaxBootstrap(tuple(intervals), draws, seed, undefined)


def _estimate(known: Estimate, values: NDArray[np.float64], tail: float) -> Estimate:
    """Return the percentile interval, or what is known already where there is no spread."""
    if math.isnan(known.se):
        return known
    values = values[~np.isnan(values)]
    low, high = np.quantile(values, [tail, 1 - tail]).tolist()
    return Estimate(known.value, float(values.std(ddof=1)), low, high)
