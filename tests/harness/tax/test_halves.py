from __future__ import annotations

from math import comb

import numpy as np
import pytest

from agentenvs.harness.tax.halves import first_part, in_bins, spans_of


@pytest.mark.parametrize(("n", "m"), [(1, 0), (1, 1), (5, 2), (8, 8), (9, 4), (128, 64)])
def test_all_ways_of_splitting_are_counted(n: int, m: int) -> None:
    c = np.arange(n + 1)
    want = [
        [comb(one, h) * comb(n - one, m - h) / comb(n, m) for h in range(m + 1)]
        for one in c.tolist()
    ]
    assert first_part(c, n, m) == pytest.approx(np.array(want), rel=1e-9, abs=1e-15)


def test_large_numbers_neither_overflow_nor_lose_mass() -> None:
    chance = first_part(np.array([0, 1, 5000, 10_000]), 10_000, 5000)
    assert chance.sum(axis=1) == pytest.approx(1)
    assert chance @ np.arange(5001) == pytest.approx([0, 0.5, 2500, 5000])


def test_a_rate_lies_in_one_bin_and_1_in_the_last() -> None:
    spans = spans_of((0, 0.25, 1))
    assert in_bins(np.array([0, 0.2, 0.25, 1]), spans).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
