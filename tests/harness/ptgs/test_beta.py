from __future__ import annotations

import mpmath
import numpy as np
import pytest

from agentenvs.harness.ptgs import _beta

SHAPES = [(0.02, 1.98), (0.5, 1.5), (1.0, 1.0), (0.5, 17.5), (40.0, 2.0), (161.0, 161.0), (3, 0.2)]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_the_distribution_function(a: float, b: float) -> None:
    x = np.array([0, 1e-12, 1e-3, 0.02, 0.25, a / (a + b), 0.5, 0.9, 0.999, 1 - 1e-9, 1])
    expected = [float(mpmath.betainc(a, b, 0, at, regularized=True)) for at in x]
    assert _beta.cdf(x, a, b) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_quantiles_undo_the_distribution_function(a: float, b: float) -> None:
    q = np.array([0.01, 0.3, 0.5, 0.9, 0.99])
    x = _beta.quantile(q, a, b)
    # Where the density has a pole at 1, no double lies close enough to the quantile.
    near = (x > 1e-12) & (x < 1 - 1e-9)
    assert near.sum() >= 2
    assert _beta.cdf(x, a, b)[near] == pytest.approx(q[near], abs=1e-8)
    assert _beta.quantile([0.0, 1.0], a, b).tolist() == [0, 1]


@pytest.mark.parametrize(("a", "b"), [*SHAPES, (0.01, 2.0), (5000.0, 300.0), (2.0, 1e5)])
@pytest.mark.parametrize("kink", [0.01, 0.25, 0.9])
def test_means_of_powers(a: float, b: float, kink: float) -> None:
    assert _beta.expectation(np.ones_like, a, b, kink) == pytest.approx(1, abs=1e-8)
    first = _beta.expectation(lambda p: p, a, b, kink)
    assert first == pytest.approx(a / (a + b), rel=1e-8)
    second = _beta.expectation(lambda p: p * p, a, b, kink)
    assert second == pytest.approx(a * (a + 1) / ((a + b) * (a + b + 1)), rel=1e-8)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_the_mean_of_a_function_with_a_corner(a: float, b: float) -> None:
    """E |p - k| = k (2 F(k) - 1) + m (1 - 2 F1(k)), with F1 of Beta(a + 1, b)."""
    for kink in (0.05, 0.5):
        under = float(mpmath.betainc(a, b, 0, kink, regularized=True))
        shifted = float(mpmath.betainc(a + 1, b, 0, kink, regularized=True))
        expected = kink * (2 * under - 1) + a / (a + b) * (1 - 2 * shifted)
        found = _beta.expectation(lambda p, k=kink: np.abs(p - k), a, b, kink)  # type: ignore[misc]
        assert found == pytest.approx(expected, abs=1e-10)
