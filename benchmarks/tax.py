"""Compare the measures with the plain loop over math.comb, in the same process.

Run: python benchmarks/tax.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import comb

import numpy as np

from agentenvs.harness.tax import area, curve, sharpening_tax_interval


def loop_curve(c: list[int], n: int, ks: list[int]) -> list[float]:
    return [sum(1 - comb(n - i, k) / comb(n, k) for i in c) / len(c) for k in ks]


def loop_area(c: list[int], n: int, top: int) -> list[float]:
    out = []
    for i in c:
        hits = [1 - comb(n - i, k) / comb(n, k) for k in range(1, top + 1)]
        out.append(sum(hits[-1] - hit for hit in hits))
    return out


def exact_area(c: int, n: int, top: int) -> Fraction:
    f = n - c
    return (f - Fraction(comb(f, top), comb(n, top)) * (n + c * (top - 1))) / (c + 1)


def seconds(function: Callable[[], object], repeats: int) -> float:
    """Return the least CPU time of a call."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def worst(found: np.ndarray, c: list[int], n: int, top: int) -> float:
    errors = [0.0]
    for value, i in zip(found.tolist(), c, strict=True):
        truth = exact_area(i, n, top)
        errors.append(abs(float(Fraction(value) / truth - 1)) if truth else abs(value))
    return max(errors)


def main() -> None:
    rng = np.random.default_rng(0)
    print(
        f"{'measure':>8} {'tasks':>6} {'n':>6} {'K':>6} {'loop ms':>9} {'ours ms':>8} {'ratio':>7}"
    )
    for tasks, n, top in ((200, 32, 16), (500, 128, 64), (500, 128, 128), (200, 1000, 500)):
        c = rng.binomial(n, rng.beta(0.5, 1.2, tasks))
        plain, ks = c.tolist(), list(range(1, top + 1))
        pairs = (
            ("area", partial(loop_area, plain, n, top), partial(area, c, n, top)),
            ("curve", partial(loop_curve, plain, n, ks), partial(curve, c, n, ks)),
        )
        for name, loop, ours in pairs:
            np.testing.assert_allclose(ours(), loop(), rtol=1e-8, atol=1e-12)
            slow, fast = 1e3 * seconds(loop, 2), 1e3 * seconds(ours, 20)
            ratio = slow / fast
            print(f"{name:>8} {tasks:6} {n:6} {top:6} {slow:9.1f} {fast:8.3f} {ratio:7.0f}")

    print("\nworst relative error of A(K) against rational arithmetic")
    for n in (24, 128, 129, 1000, 10_000):
        for top in sorted({2, n // 100 + 1, n // 2, n}):
            hits = sorted({*range(min(n, 20) + 1), *rng.integers(0, n + 1, 30).tolist()})
            print(f"  n = {n:6} K = {top:6}: {worst(area(hits, n, top), hits, n, top):.1e}")

    arms = [(rng.binomial(128, rng.beta(0.5, 1.2, 500)), 128) for _ in range(84)]
    pairs_of_arms = list(zip(arms[::2], arms[1::2], strict=True))
    spent = seconds(
        lambda: [sharpening_tax_interval(base, post, 128) for base, post in pairs_of_arms], 3
    )
    print(f"\n42 pairs of 500 tasks, K = n = 128, every interval: {1e3 * spent:.1f} ms")


if __name__ == "__main__":
    main()
