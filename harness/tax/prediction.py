"""Whether a few rollouts foretell the tax: the split-half experiment, and how reliable it is.

Half of the tasks of each cell (a base, its post-trained model, a benchmark) give an early tax
from a few rollouts; the other half gives the tax that was to be foretold, from all of them. No
task and no rollout is on both sides. The experiment asks whether the cells come out in the same
order, again and again with other halves (arXiv 2610.01509 reports 0.85 over 42 cells).

Two noisy measures cannot agree more than each agrees with itself. So the result comes with both
reliabilities, measured on the same splits, and with the ceiling that they leave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import (
    Arm,
    Paired,
    Tasks,
    check_seed,
    check_times,
    paired,
    single_k,
)
from agentenvs.harness.tax.estimators import area
from agentenvs.harness.tax.rank import Correlation, rank_interval, rho_of
from agentenvs.harness.tax.shares import quantile

__all__ = ["OverSplits", "SplitHalf", "split_half"]

_MAX_SPLITS = 10_000
_Floats = NDArray[np.float64]


class OverSplits(NamedTuple):
    """How a number varies with the way in which the tasks are halved.

    Its ends are no interval for the truth: other halves of the same tasks and cells, no new ones.

    Attributes:
        mean, sd: over the splits.
        low, high: percentiles of the splits, 2.5 and 97.5 at confidence 0.95.
    """

    mean: float
    sd: float
    low: float
    high: float


class SplitHalf(NamedTuple):
    """What the split-half experiment found.

    With fewer than four cells, or without spread, all correlations are NaN.

    Attributes:
        rho: Spearman's correlation of the early tax with the late one, over splits.
        over_cells: the mean of `rho` with the interval that M independently drawn cells give.
        reliability_early: mean correlation of the early tax on one half with the early tax on
            the other half: how well it foretells itself.
        reliability_late: the same of the late tax.
        ceiling: the root of the product of both: about the correlation to expect if the two taxes
            were one and the same but for noise; NaN where a reliability is not positive.
        early, late: (M,) mean over splits of each cell's early and late tax.
        rhos: (splits,) the correlation of each split; NaN where it is undefined.
        cells: M, how many cells.
        tasks: (M,) tasks of each cell.
        early_rollouts, early_K, late_rollouts, late_K, splits, seed, confidence: what was asked;
            `late_rollouts` is None for all.
        undefined: splits in which a tax of some cell was undefined, since an arm failed in no
            rollout. Such cells are left out of the split.
    """

    rho: OverSplits
    over_cells: Correlation
    reliability_early: float
    reliability_late: float
    ceiling: float
    early: _Floats
    late: _Floats
    rhos: _Floats
    cells: int
    tasks: tuple[int, ...]
    early_rollouts: int
    early_K: int  # noqa: N815
    late_rollouts: int | None
    late_K: int  # noqa: N815
    splits: int
    undefined: int
    seed: int
    confidence: float


def split_half(
    cells: Sequence[tuple[Arm, Arm]],
    early_rollouts: int = 8,
    early_K: int = 8,  # noqa: N803
    late_K: int = 32,  # noqa: N803
    late_rollouts: int | None = None,
    splits: int = 300,
    seed: int = 0,
    confidence: float = 0.95,
) -> SplitHalf:
    """Return how well an early Tax_S on half of the tasks orders cells by Tax_S on the others.

    For each split and cell: tasks are halved at random (an odd one goes to the late half);
    `early_rollouts` rollouts of each task and arm are drawn without replacement for
    Tax_S(early_K); the other half gives Tax_S(late_K). Cells with as many tasks are halved alike,
    by position, so that cells which share a base never have one task on both sides.

    Args:
        cells: M pairs (base, post), each arm a pair (c, n) of (T,) arrays or `Counts`.
        early_rollouts: rollouts of each early task, at most the smallest n.
        early_K: the early budget, 2 <= early_K <= early_rollouts.
        late_K: the late budget, 2 <= late_K <= late_rollouts.
        late_rollouts: rollouts of each late task, drawn anew in each split; None for all.
        splits: how often the tasks are halved, up to 10,000.
        seed: of the halves and the draws.
        confidence: of the percentiles over splits and the interval over cells.

    Raises:
        BadArgument: no cells, a cell with a single task or with counts that make no sense (its
            position is named), or a budget beyond the rollouts.
    """
    arms = _arms(cells)
    quantile(confidence)
    check_times("splits", splits, most=_MAX_SPLITS)
    check_seed(seed)
    smallest = min(int(arm.n.min()) for pair in arms for arm in pair)
    few = single_k("early_rollouts", early_rollouts, smallest)
    many = None if late_rollouts is None else single_k("late_rollouts", late_rollouts, smallest)
    budgets = (single_k("early_K", early_K, few), single_k("late_K", late_K, many or smallest))
    for name, budget in zip(("early_K", "late_K"), budgets, strict=True):
        if budget < 2:
            raise BadArgument(f"Expected `{name}` of at least 2, where a tax exists, got {budget}.")
    halves = _halves([len(pair.base.c) for pair in arms], splits, seed)
    early, late = np.empty((2, len(arms), splits)), np.empty((2, len(arms), splits))
    for at, pair in enumerate(arms):
        rng = np.random.default_rng((seed, 1, at))
        half = halves[len(pair.base.c)]
        for side, (rolls, budget) in zip(
            (early, late), ((few, budgets[0]), (many, budgets[1])), strict=True
        ):
            base, post = (_scalabilities(arm, rolls, budget, half, rng) for arm in pair)
            side[:, at] = base - post
    rhos = _over_cells(early[0], late[1])
    twin_early, twin_late = _over_cells(*early), _over_cells(*late)
    rho = _over_splits(rhos, confidence)
    reliable = _mean(twin_early), _mean(twin_late)
    return SplitHalf(
        rho=rho,
        over_cells=rank_interval(rho.mean, len(arms), confidence),
        reliability_early=reliable[0],
        reliability_late=reliable[1],
        ceiling=math.sqrt(reliable[0] * reliable[1]) if min(reliable) > 0 else math.nan,
        early=np.array([_mean(row) for row in early[0]]),
        late=np.array([_mean(row) for row in late[1]]),
        rhos=rhos,
        cells=len(arms),
        tasks=tuple(len(pair.base.c) for pair in arms),
        early_rollouts=few,
        early_K=budgets[0],
        late_rollouts=many,
        late_K=budgets[1],
        splits=splits,
        undefined=int(np.isnan(early[0] + late[1]).any(axis=0).sum()),
        seed=seed,
        confidence=confidence,
    )


def _arms(cells: Sequence[tuple[Arm, Arm]]) -> list[Paired]:
    found = []
    for at, cell in enumerate(cells):
        try:
            base, post = cell
            pair = paired(base, post)
        except (TypeError, ValueError) as error:
            reason = str(error) if isinstance(error, BadArgument) else "expected a pair of arms."
            raise BadArgument(f"In cell {at}: {reason}") from None
        if len(pair.base.c) < 2:
            raise BadArgument(f"In cell {at}: expected two tasks or more to halve, got one.")
        found.append(pair)
    if not found:
        raise BadArgument("Expected one or more `cells`, got none.")
    return found


def _halves(sizes: list[int], splits: int, seed: int) -> dict[int, NDArray[np.bool_]]:
    """Return for each number of tasks T which are on the early side, (splits, T)."""
    out = {}
    for size in set(sizes):
        rng = np.random.default_rng((seed, 0, size))
        order = rng.permuted(np.tile(np.arange(size), (splits, 1)), axis=1)
        out[size] = order < size // 2
    return out


def _scalabilities(
    arm: Tasks,
    rolls: int | None,
    budget: int,
    half: NDArray[np.bool_],
    rng: np.random.Generator,
) -> _Floats:
    """Return S(budget) on the early half and on the late one, (2, splits).

    Args:
        arm: T tasks.
        rolls: how many of the rollouts are drawn in each split; None for all.
        budget: K.
        half: (splits, T) which tasks are in the early half.
        rng: of the draws.
    """
    if rolls is None:
        areas, fails = area(arm.c, arm.n, budget), (arm.n - arm.c) / arm.n
    else:
        hits = rng.hypergeometric(arm.c, arm.n - arm.c, rolls, size=half.shape)
        areas = area(np.arange(rolls + 1), rolls, budget)[hits]
        fails = (rolls - hits) / rolls
    parts = (half, ~half)
    top, below = (np.array([(x * part).sum(axis=1) for part in parts]) for x in (areas, fails))
    with np.errstate(invalid="ignore"):
        return np.where(below > 0, top / ((budget - 1) * below), math.nan)


def _over_cells(one: _Floats, two: _Floats) -> _Floats:
    """Return the rank correlation over cells of each split, (splits,); arguments (M, splits)."""
    kept = ~np.isnan(one + two)
    return np.array([rho_of(x[ok], y[ok]) for x, y, ok in zip(one.T, two.T, kept.T, strict=True)])


def _mean(values: _Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def _over_splits(values: _Floats, confidence: float) -> OverSplits:
    known = values[~np.isnan(values)]
    if not known.size:
        return OverSplits(math.nan, math.nan, math.nan, math.nan)
    sd = float(known.std(ddof=1)) if known.size > 1 else math.nan
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, (tail, 1 - tail)).tolist()
    return OverSplits(float(known.mean()), sd, low, high)
