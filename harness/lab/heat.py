"""Does heating raise success? Over temperature, by difficulty, for every model."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.lab.probe import heating, profile
from agentenvs.harness.lab.results import Results
from agentenvs.harness.tax import Counts

__all__ = ["Bin", "Curve", "heat_bins", "heat_curve"]


class Bin(NamedTuple):
    """The tasks of one difficulty, and what heating does to them.

    Attributes:
        low, high: chances of success that the bin spans, for this model.
        tasks: how many.
        cold, hot: mean success at the reference and at the probe's hot temperature.
        gain: hot minus cold.
        se: its standard error over tasks; NaN with fewer than two.
        more, fewer: shares of tasks with surely more and surely fewer successes when hot.
    """

    low: float
    high: float
    tasks: int
    cold: float
    hot: float
    gain: float
    se: float
    more: float
    fewer: float


class Curve(NamedTuple):
    """Mean success by temperature, for each bin of difficulty: temperatures (H,), p (B, H)."""

    temperatures: tuple[float, ...]
    p: NDArray[np.float64]
    tasks: NDArray[np.int64]


def heat_curve(results: Results, arm: str, seed: int) -> Curve:
    """Return success over temperature of one model, its tasks binned by its own evaluation.

    At the reference the probe's own rollouts count, which did not decide the bins.
    """
    found, config = results.found[arm, seed], results.config
    rank = _rates(results.counts(arm, seed))
    others = {
        heat: found.played["train", heat]
        for heat in config.evaluation.temperatures
        if heat not in found.probe
    }
    at = dict(sorted({**found.probe, **others}.items()))
    profiles = [profile(_flags(counts)[None], rank, config.probe.bins) for counts in at.values()]
    p = np.concatenate([one.p for one in profiles], axis=1)
    return Curve(tuple(at), p, profiles[0].tasks)


def heat_bins(results: Results, arm: str, seed: int) -> list[Bin]:
    """Return what the hot temperature does in each bin of difficulty of one model."""
    found, config = results.found[arm, seed], results.config
    rank = _rates(results.counts(arm, seed))
    ends = [0.0, *config.probe.bins, 1.0]
    place = np.searchsorted(np.asarray(config.probe.bins), rank, side="right")
    cold, hot = found.probe[config.reference], found.probe[config.probe.hot]
    told = []
    for at, (low, high) in enumerate(itertools.pairwise(ends)):
        mine = place == at
        if not mine.any():
            told.append(Bin(low, high, 0, *(math.nan,) * 6))
            continue
        one = heating(_flags(cold)[mine], _flags(hot)[mine])
        before, after = (float(_rates(counts)[mine].mean()) for counts in (cold, hot))
        told.append(
            Bin(
                low,
                high,
                one.tasks,
                before,
                after,
                one.gain,
                one.se,
                one.surely_more,
                one.surely_fewer,
            )
        )
    return told


def _rates(counts: Counts) -> NDArray[np.float64]:
    rates: NDArray[np.float64] = counts.c / counts.n
    return rates


def _flags(counts: Counts) -> NDArray[np.bool_]:
    """Return (T, n) successes, those of a task first; in what order they came is not known."""
    flags: NDArray[np.bool_] = np.arange(int(counts.n.max())) < counts.c[:, None]
    return flags
