"""Does heat raise success? The premise of tempering, checked on counts.

Theorem 3 of arXiv 2610.01509 says that a hotter rollout makes groups of hard tasks more
informative if it succeeds more often and at most half of the time. Whether it does is a property
of the policy: of a sharpened one it may hold, of a broad one heat spoils the rollouts.

Bins of difficulty come from one half of each task's rollouts at T_ref and the test from the
other: bins and test on the same rollouts would call the unlucky tasks hard and then see them do
better when hot (regression to the mean). All ways of halving are averaged in closed form: given c
successes in n, the number in the first half is hypergeometric. So nothing is drawn, and a task
lies in several bins with weights that sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._ranges import number, whole
from agentenvs.harness.tax import Estimate, pass_at_k, pass_hat_k
from agentenvs.harness.tax.halves import EDGES, Span, first_part, in_bins, spans_of
from agentenvs.harness.tax.student import student_quantile

__all__ = ["HeatingBin", "HeatingPremise", "Verdict", "heating_premise"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

Verdict = Literal["holds", "fails", "undecided"]
"""The interval of the change of success lies above 0, below 0, or on both sides."""

# How many pairs of a task and a half are worked out at a time.
_BLOCK = 2**20


class HeatingBin(NamedTuple):
    """Tasks of similar difficulty, at T_ref and hotter.

    Attributes:
        low, high: success at T_ref in the rollouts that place a task, low <= rate < high (the
            last bin includes 1).
        tasks: how many, in parts: a task that some halves place here counts in part.
        ref, hot: rates of success in the other rollouts at T_ref, and at the hotter temperature.
        change: hot minus ref, with its interval over tasks.
        higher, lower: shares of tasks whose observed rate is higher, or lower, when hot. Chance
            alone gives some of both; only their balance says something.
        mixed_ref, mixed_hot: expected share of mixed groups.
        mixed_change: hot minus ref, with its interval over tasks.
        verdict: what `change` says of the premise.
    """

    low: float
    high: float
    tasks: float
    ref: float
    hot: float
    change: Estimate
    higher: float
    lower: float
    mixed_ref: float
    mixed_hot: float
    mixed_change: Estimate
    verdict: Verdict


class HeatingPremise(NamedTuple):
    """Whether heat raises success, over all tasks that would be heated and by difficulty.

    Attributes:
        heated: all tasks placed below the target.
        bins: the same by difficulty, the easy tasks too; an interval holds for its bin alone.
        group: the size of groups that `mixed` is about.
        confidence: what the intervals aim at.
        verdict: that of `heated`.
    """

    heated: HeatingBin
    bins: tuple[HeatingBin, ...]
    group: int
    confidence: float
    verdict: Verdict

    @property
    def words(self) -> str:
        """The verdict in a few sentences."""
        row = self.heated
        if not row.tasks:
            return f"The premise is undecided: no task lies below {row.high:g}."
        head = {
            "holds": "The premise holds: heat raises success",
            "fails": "The premise fails: heat lowers success",
            "undecided": "The premise is undecided: heat may raise or lower success",
        }[self.verdict]
        change = row.change
        span = (
            "interval unknown"
            if math.isnan(change.low)
            else f"{100 * self.confidence:g} % interval {change.low:+.3f} to {change.high:+.3f}"
        )
        by = ", ".join(f"{b.low:g} to {b.high:g} {b.verdict}" for b in self.bins if b.tasks)
        return (
            f"{head} of tasks below {row.high:g}, from {row.ref:.3f} to {row.hot:.3f} "
            f"({change.value:+.3f}, {span}; {row.tasks:.0f} tasks, {row.higher:.0%} higher, "
            f"{row.lower:.0%} lower). Groups of {self.group} are mixed in {row.mixed_hot:.1%} "
            f"instead of {row.mixed_ref:.1%}. By success at T_ref: {by}."
        )


class _Cells(NamedTuple):
    """What each task adds to a bin: its weight, and sums with that weight; all (T, bins)."""

    weight: _Floats
    ref: _Floats
    mixed_ref: _Floats
    higher: _Floats
    lower: _Floats


class _Counts(NamedTuple):
    c: _Ints
    n: _Ints


def heating_premise(
    c_ref: ArrayLike,
    n_ref: ArrayLike,
    c_hot: ArrayLike,
    n_hot: ArrayLike,
    *,
    by: tuple[ArrayLike, ArrayLike] | None = None,
    target: float = 0.5,
    edges: Sequence[float] = EDGES,
    group: int | None = None,
    confidence: float = 0.95,
) -> HeatingPremise:
    """Return whether a hotter temperature raises success, task by task and by difficulty.

    Args:
        c_ref: (T,) successes at T_ref.
        n_ref: (T,) rollouts at T_ref, at least 2 (4 or more are of use); half of them place a
            task in its bin.
        c_hot: (T,) successes of the same tasks, in the same order, at the hotter temperature.
        n_hot: (T,) rollouts there, or one number.
        by: counts (c, n) of further rollouts at T_ref that place the tasks; then all of `n_ref`
            is for the test.
        target: tasks below it would be heated; the verdict is about them.
        edges: of the bins, from 0 to 1.
        group: size of the groups that `mixed` is about; default the most that the rollouts
            allow, at most 16.
        confidence: the share of intervals that should hold the truth.

    Raises:
        BadArgument: counts that make no sense or are of different tasks, too few rollouts for
            `group`, edges that do not rise from 0 to 1, or a number out of range.
    """
    ref, hot = _tasks("ref", c_ref, n_ref), _tasks("hot", c_hot, n_hot)
    if len(ref.c) != len(hot.c):
        raise BadArgument(f"Expected the same tasks, got {len(ref.c)} at T_ref, {len(hot.c)} hot.")
    if by is None and ref.n.min() < 2:
        raise BadArgument("Expected `n_ref` of at least 2: half of the rollouts place a task.")
    place = None if by is None else _tasks("by", *by)
    if place is not None and len(place.c) != len(ref.c):
        raise BadArgument(f"Expected {len(ref.c)} tasks in `by`, got {len(place.c)}.")
    aim = number("target", target, above=0.0, below=1.0)
    sure = number("confidence", confidence, above=0.0, below=1.0)
    tested = ref.n if place else ref.n - ref.n // 2
    most = int(min(tested.min(), hot.n.min()))
    size = min(most, 16) if group is None else whole("group", group, low=1)
    if size > most:
        raise BadArgument(f"Expected `group` of at most {most}, got {size}: too few rollouts.")
    spans = [*spans_of(edges), (0.0, aim)]
    cells = _cells(ref, hot, place, spans, size)
    mixed_hot = pass_at_k(hot.c, hot.n, size) - pass_hat_k(hot.c, hot.n, size)
    *bins, heated = (
        _bin(span, _Cells(*(column[:, at] for column in cells)), hot.c / hot.n, mixed_hot, sure)
        for at, span in enumerate(spans)
    )
    return HeatingPremise(heated, tuple(bins), size, sure, heated.verdict)


def _tasks(name: str, c: ArrayLike, n: ArrayLike) -> _Counts:
    try:
        pass_at_k(c, n, 1)
    except BadArgument as error:
        raise BadArgument(f"In `{name}`: {error}") from None
    hits, rolls = np.broadcast_arrays(np.asarray(c), np.asarray(n))
    if hits.ndim != 1 or not hits.size:
        raise BadArgument(f"Expected `{name}` to list one or more tasks, got {hits.shape}.")
    return _Counts(hits.astype(np.int64), rolls.astype(np.int64))


def _cells(
    ref: _Counts, hot: _Counts, by: _Counts | None, spans: Sequence[Span], size: int
) -> _Cells:
    """Return what each task adds to each bin, averaged over all halves."""
    cells = _Cells(*(np.zeros((len(ref.c), len(spans))) for _ in _Cells._fields))
    for n in np.unique(ref.n).tolist():
        of_n = np.flatnonzero(ref.n == n)
        rest = n - (0 if by else n // 2)
        counts = np.arange(rest + 1)
        mixed = pass_at_k(counts, rest, size) - pass_hat_k(counts, rest, size)
        block = max(1, _BLOCK // (n // 2 + 1))
        for start in range(0, len(of_n), block):
            here = of_n[start : start + block]
            c = ref.c[here]
            if by is None:
                first = np.arange(n // 2 + 1)
                chance, inside = first_part(c, n, n // 2), in_bins(first / (n // 2), spans)
                left = np.clip(c[:, None] - first, 0, rest)
            else:
                chance, left = np.ones((len(here), 1)), c[:, None]
                inside = in_bins(by.c[here] / by.n[here], spans)[:, None, :]
            over, rate = (hot.c[here] / hot.n[here])[:, None], left / rest
            for column, value in zip(
                cells, (1.0, rate, mixed[left], over > rate, over < rate), strict=True
            ):
                column[here] = ((chance * value)[:, None, :] @ inside)[:, 0]
    return cells


def _bin(
    span: tuple[float, float], cells: _Cells, hot: _Floats, mixed_hot: _Floats, confidence: float
) -> HeatingBin:
    weight, total = cells.weight, float(cells.weight.sum())
    change = _mean(weight * hot - cells.ref, weight, confidence)

    def share(part: _Floats) -> float:
        return float(part.sum()) / total if total else math.nan

    return HeatingBin(
        *span,
        tasks=total,
        ref=share(cells.ref),
        hot=share(weight * hot),
        change=change,
        higher=share(cells.higher),
        lower=share(cells.lower),
        mixed_ref=share(cells.mixed_ref),
        mixed_hot=share(weight * mixed_hot),
        mixed_change=_mean(weight * mixed_hot - cells.mixed_ref, weight, confidence),
        verdict="holds" if change.low > 0 else "fails" if change.high < 0 else "undecided",
    )


def _mean(part: _Floats, weight: _Floats, confidence: float) -> Estimate:
    """Return sum(part) / sum(weight) with Student's interval over tasks."""
    total = float(weight.sum())
    if not total:
        return Estimate(math.nan, math.nan, math.nan, math.nan)
    value = float(part.sum()) / total
    pull = part - value * weight
    like = total**2 / float(np.dot(weight, weight))
    if like < 2 or float(np.abs(pull).max()) < 1e-13:
        # One task, or tasks that all change alike, say nothing of how another would.
        return Estimate(value, math.nan, math.nan, math.nan)
    se = math.sqrt(float(np.dot(pull, pull)) * like / (like - 1)) / total
    half = student_quantile(confidence, like - 1) * se
    return Estimate(value, se, max(value - half, -1.0), min(value + half, 1.0))
