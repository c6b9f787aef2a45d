"""How often intervals hold the truth, by simulation; `scripts/coverage` prints the tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from agentenvs.harness.tax import (
    TaxInterval,
    bootstrap_tax,
    rollout_interval,
    sharpening_tax_interval,
)

N, RUNS, DRAWS = 32, 600, 2000
MEASURES = ("pass_base", "pass_gap", "S_base", "S_post", "tax_A", "tax_S")

Arms = tuple[tuple[np.ndarray, int], tuple[np.ndarray, int]]
Shares = dict[str, dict[str, float]]


def chances(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw tasks: their chance of success before training, and after it."""
    p = rng.beta(0.5, 1.2, size)
    return p, np.where(rng.random(size) < 0.4, p**2, 1 - (1 - p) ** 3)


def truth_of(p: np.ndarray, q: np.ndarray, k: int) -> dict[str, float]:
    """Return the measures of tasks with these chances, as sums of p (1 - p)^j."""
    found = []
    for chance in (p, q):
        missed, area = np.ones_like(chance), 0.0
        for tries in range(k):
            area += tries * float(np.mean(chance * missed))
            missed = missed * (1 - chance)
        s = area / ((k - 1) * float(np.mean(1 - chance)))
        found.append((1 - float(np.mean(missed)), area, s))
    (hit, area, s), (hit_post, area_post, s_post) = found
    values = hit, hit - hit_post, s, s_post, area - area_post, s - s_post
    return dict(zip(MEASURES, values, strict=True))


@cache
def world(k: int) -> dict[str, float]:
    return truth_of(*chances(np.random.default_rng(1), 2_000_000), k)


def shares_held(
    title: str,
    truth: dict[str, float],
    draw: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]],
    **methods: Callable[..., TaxInterval],
) -> Shares:
    """Print and return how many intervals held the truth, by method and measure."""
    rng = np.random.default_rng(7)
    held = {name: dict.fromkeys(MEASURES, 0) for name in methods}
    for _ in range(RUNS):
        p, q = draw(rng)
        arms = (rng.binomial(N, p), N), (rng.binomial(N, q), N)
        for name, method in methods.items():
            found = method(*arms)
            for measure, value in truth.items():
                _, _, low, high = getattr(found, measure)
                held[name][measure] += low <= value <= high
    shares = {
        name: {measure: count / RUNS for measure, count in row.items()}
        for name, row in held.items()
    }
    print(f"\n{title:30}" + "".join(f"{measure:>10}" for measure in MEASURES))
    for name, row in shares.items():
        print(f"  {name:28}" + "".join(f"{share:10.3f}" for share in row.values()))
    return shares


@pytest.mark.slow
@pytest.mark.parametrize("size", [8, 24, 50, 200])
@pytest.mark.parametrize("k", [16, 32])
def test_intervals_over_tasks(size: int, k: int) -> None:
    shares = shares_held(
        f"{size} tasks, K = {k}",
        world(k),
        lambda rng: chances(rng, size),
        delta=lambda *arms: sharpening_tax_interval(*arms, k),
        bootstrap=lambda *arms: bootstrap_tax(*arms, [k], draws=DRAWS).intervals[0],
    )
    for row in shares.values():
        assert 0.92 <= row["tax_S"] <= 0.98
        assert 0.92 <= row["tax_A"] <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "sizes"),
    [(10, (1, 2, 4, 5)), (20, (1, 2, 4, 5)), (50, (4,)), (50, (1, 2, 4, 5)), (100, (1, 1, 1, 20))],
)
def test_intervals_over_clusters_of_tasks(count: int, sizes: tuple[int, ...]) -> None:
    labels = np.repeat(np.arange(count), np.resize(sizes, count))

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        p, q = chances(rng, count)
        return p[labels], q[labels]

    shares = shares_held(
        f"{count} clusters of {', '.join(map(str, sizes))}",
        world(16),
        draw,
        delta=lambda *arms: sharpening_tax_interval(*arms, 16, clusters=labels),
        bootstrap=lambda *arms: bootstrap_tax(*arms, [16], draws=DRAWS, clusters=labels).intervals[
            0
        ],
        ignored=lambda *arms: sharpening_tax_interval(*arms, 16),
    )
    for name in ("delta", "bootstrap"):
        assert 0.92 <= shares[name]["tax_S"] <= 0.98
        assert 0.92 <= shares[name]["tax_A"] <= 0.98
    assert shares["ignored"]["tax_S"] < 0.85


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 24, 50, 200])
@pytest.mark.parametrize("k", [8, 16])
def test_intervals_of_these_very_tasks(size: int, k: int) -> None:
    p, q = chances(np.random.default_rng(3), size)
    shares = shares_held(
        f"the same {size} tasks, K = {k}",
        truth_of(p, q, k),
        lambda _: (p, q),
        rollouts=lambda *arms: rollout_interval(*arms, k),
        delta=lambda *arms: sharpening_tax_interval(*arms, k),
    )
    # At K = n / 2 some of the few tasks' intervals are NaN, and count as not holding.
    if size >= 24 or k < N // 2:
        assert 0.92 <= shares["rollouts"]["tax_S"] <= 0.98
        assert 0.92 <= shares["rollouts"]["tax_A"] <= 0.98
    assert shares["delta"]["tax_S"] > 0.98
