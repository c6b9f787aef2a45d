from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.harness.ptgs.draws import beta, uniform

SIZE = 20_000
SHAPES = [0.02, 0.5, 1.0, 3.7, 40.0, 1000.0]


def drawn(a: float, b: float, size: int = SIZE, visit: int = 0, seed: int = 11) -> np.ndarray:
    tasks = np.arange(size, dtype=np.uint64)
    visits = np.full(size, visit, dtype=np.uint64)
    return beta(np.full(size, a), np.full(size, b), tasks, visits, seed)


def distribution(a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and the Beta's distribution there, by the trapezoid rule.

    Over the logit the density is p ** a (1 - p) ** b, smooth and with exponential tails.
    """
    centre, width = np.log(a / b), np.sqrt(1 / a + 1 / b)
    x = np.linspace(
        centre - 40 * width - 45 / a * (a < 1), centre + 40 * width + 45 / b * (b < 1), 400_001
    )
    log_density = -a * np.logaddexp(0, -x) - b * np.logaddexp(0, x)
    density = np.exp(log_density - log_density.max())
    area = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2)))
    return x, area / area[-1]


@pytest.mark.parametrize("b", SHAPES)
@pytest.mark.parametrize("a", SHAPES)
def test_moments(a: float, b: float) -> None:
    p = drawn(a, b)
    mean, mass = a / (a + b), a + b
    variance = mean * (1 - mean) / (mass + 1)
    assert p.min() >= 0
    assert p.max() <= 1
    assert abs(p.mean() - mean) < 4.5 * np.sqrt(variance / SIZE)
    excess = 6 * ((a - b) ** 2 * (mass + 1) - a * b * (mass + 2))
    excess /= a * b * (mass + 2) * (mass + 3)
    spread = np.sqrt((excess + 2) / SIZE)
    assert abs(p.var() / variance - 1) < 5 * spread + 1e-3


@pytest.mark.parametrize(
    ("a", "b"),
    [(0.02, 1.98), (0.02, 0.02), (1.9, 0.1), (0.5, 1.5), (1, 1), (5, 80), (1000, 3), (700, 1000)],
)
def test_the_whole_distribution(a: float, b: float) -> None:
    """Kolmogorov and Smirnov's distance, where double precision can tell draws apart."""
    logits, cdf = distribution(a, b)
    inside = (logits > -700) & (logits < 36)
    logits, cdf = logits[inside], cdf[inside]
    found = np.sort(drawn(a, b))
    at = np.searchsorted(found, 1 / (1 + np.exp(-logits)), side="right") / SIZE
    assert np.abs(at - cdf).max() < 2.2 / np.sqrt(SIZE)


def test_a_shape_of_a_hundredth_underflows_to_an_end_and_not_to_nan() -> None:
    p = drawn(0.001, 0.001)
    assert np.isfinite(p).all()
    assert 0.4 < (p < 0.5).mean() < 0.6
    assert ((p == 0) | (p == 1)).mean() > 0.4


def test_visits_tasks_and_seeds_are_independent() -> None:
    first = drawn(2, 3)
    for other in (drawn(2, 3, visit=1), drawn(2, 3, seed=12), np.roll(first, 1)):
        assert abs(np.corrcoef(first, other)[0, 1]) < 4 / np.sqrt(SIZE)
    tasks, visits = np.arange(SIZE, dtype=np.uint64), np.zeros(SIZE, dtype=np.uint64)
    assert abs(np.corrcoef(first, uniform(tasks, visits, 11))[0, 1]) < 4 / np.sqrt(SIZE)


def test_high_halves_of_tasks_count() -> None:
    tasks = np.array([5, 5 + (1 << 32), 5 + (1 << 63)], dtype=np.uint64)
    p = beta(np.ones(3), np.ones(3), tasks, np.zeros(3, dtype=np.uint64), 0)
    assert len(set(p.tolist())) == 3


def test_uniform_is_uniform() -> None:
    tasks, visits = np.arange(SIZE, dtype=np.uint64), np.zeros(SIZE, dtype=np.uint64)
    found = np.sort(uniform(tasks, visits, 3))
    assert found[0] > 0
    assert found[-1] < 1
    grid = (np.arange(SIZE) + 0.5) / SIZE
    assert np.abs(found - grid).max() < 2.2 / np.sqrt(SIZE)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0.02, 1000),
            st.floats(0.02, 1000),
            st.integers(0, 2**64 - 1),
            st.integers(0, 2**32 - 1),
        ),
        min_size=1,
        max_size=40,
    ),
    st.integers(0, 2**64 - 1),
    st.randoms(use_true_random=False),
)
def test_a_draw_does_not_hang_on_its_neighbours(rows: list, seed: int, random: object) -> None:
    def draw(these: list) -> list[float]:
        a, b, tasks, visits = zip(*these, strict=True)
        return beta(
            np.array(a),
            np.array(b),
            np.array(tasks, dtype=np.uint64),
            np.array(visits, dtype=np.uint64),
            seed,
        ).tolist()

    together = dict(zip(rows, draw(rows), strict=True))
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert dict(zip(shuffled, draw(shuffled), strict=True)) == together
    for row in rows[:5]:
        assert draw([row])[0] == together[row]
