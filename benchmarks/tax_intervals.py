"""Time the intervals of many cells against rebuilding curves, in the same process.

Run: OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/tax_intervals.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from agentenvs.harness.tax import (
    TaxInterval,
    bootstrap_cells,
    pass_at_k,
    sharpening_tax_interval,
)

CELLS, TASKS, N, DRAWS = 42, 1000, 128, 10_000
# Replicates of the plain ways that are really drawn.
PART = 400

Pair = tuple[tuple[np.ndarray, int], tuple[np.ndarray, int]]


def cell(rng: np.random.Generator) -> Pair:
    p = rng.beta(0.5, 1.2, TASKS)
    q = np.where(rng.random(TASKS) < 0.4, p**2, 1 - (1 - p) ** 3)
    return (rng.binomial(N, p), N), (rng.binomial(N, q), N)


def rebuilt(c: np.ndarray) -> np.ndarray:
    """Return the mean pass@k of tasks with these successes, k = 1, ..., N."""
    tried = np.arange(N)
    missed = np.cumprod(np.maximum(N - c[:, None] - tried, 0) / (N - tried), axis=1)
    return 1 - missed.mean(axis=0)


def looked_up(c: np.ndarray, table: np.ndarray) -> np.ndarray:
    return table[c].mean(axis=0)


def resampled(pair: Pair, curve: Callable[[np.ndarray], np.ndarray]) -> list[float]:
    """Return Tax_S(N) of `PART` replicates, each from two curves of N budgets."""
    rng = np.random.default_rng(0)
    taxes = []
    for _ in range(PART):
        drawn = rng.integers(0, TASKS, TASKS)
        s = []
        for c, _ in pair:
            hits = curve(c[drawn])
            s.append(float((hits[-1] - hits).sum() / ((N - 1) * (1 - hits[0]))))
        taxes.append(s[0] - s[1])
    return taxes


def seconds(function: Callable[[], object], repeats: int = 1) -> float:
    """Return the least CPU time of a call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    rng = np.random.default_rng(0)
    pairs = [cell(rng) for _ in range(CELLS)]
    print(f"{CELLS} cells x {TASKS} tasks x n = K = {N}, {DRAWS:,} resamples; CPU time\n")
    plain: list[float] = []
    table = pass_at_k(np.arange(N + 1)[:, None], N, np.arange(1, N + 1))
    part = seconds(lambda: plain.extend(resampled(pairs[0], rebuilt)))
    gathered = seconds(lambda: resampled(pairs[0], partial(looked_up, table=table)))
    slow, quicker = (spent * CELLS * DRAWS / PART for spent in (part, gathered))
    drawn: list[TaxInterval] = []
    boot = seconds(lambda: drawn.extend(bootstrap_cells(pairs, N, draws=DRAWS)))
    deltas = [sharpening_tax_interval(*pair, N) for pair in pairs]
    delta = seconds(lambda: [sharpening_tax_interval(*pair, N) for pair in pairs], 20)
    rows = (
        ("resampled, curves rebuilt from counts *", slow),
        ("resampled, curves looked up in a table *", quicker),
        ("resampled, bootstrap_cells", boot),
        ("delta method, sharpening_tax_interval", delta),
    )
    for name, spent in rows:
        print(f"{name:41} {spent:10.3f} s   x {slow / spent:9,.0f}")
    print(
        f"* scaled, Tax_S alone: {PART} of {CELLS * DRAWS:,} replicates took {part:.2f} s "
        f"and {gathered:.2f} s"
    )
    errors = [(one.tax_S.se, other.tax_S.se) for one, other in zip(drawn, deltas, strict=True)]
    ratios = [one / other for one, other in errors]
    print(
        f"\nstandard error of Tax_S({N}), first cell: rebuilt {np.std(plain, ddof=1):.5f}, "
        f"bootstrap {errors[0][0]:.5f}, delta {errors[0][1]:.5f}"
    )
    print(f"bootstrap / delta over all cells: {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
