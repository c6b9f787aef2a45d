from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from agentenvs.harness.report.changes import fisher, task_changes
from agentenvs.harness.tax._checks import paired


def _exact(c: int, n: int, d: int, m: int) -> float:
    total = c + d
    chance = {
        x: Fraction(comb(n, x) * comb(m, total - x), comb(n + m, total))
        for x in range(max(0, total - m), min(n, total) + 1)
    }
    return float(sum(p for p in chance.values() if p <= chance[c]))


def test_fisher_agrees_with_rational_arithmetic() -> None:
    for n, m in ((1, 1), (3, 5), (8, 8), (6, 4)):
        for c in range(n + 1):
            for d in range(m + 1):
                assert fisher(c, n, d, m) == pytest.approx(_exact(c, n, d, m), rel=1e-12)


def test_fisher_carries_many_rollouts() -> None:
    assert fisher(128, 128, 0, 128) == pytest.approx(2 / comb(256, 128), rel=1e-9)
    assert fisher(5000, 10_000, 5000, 10_000) == 1.0


def _changes(base: list[int], post: list[int], n: int):
    names = [f"t{at}" for at in range(len(base))]
    return task_changes(names, paired((base, n), (post, n)))


def test_losses_come_first_and_gains_last() -> None:
    found = _changes([8, 0, 4, 4, 8], [0, 8, 4, 5, 7], 8)
    assert [one.task_id for one in found.tasks] == ["t0", "t4", "t2", "t3", "t1"]
    assert (found.vanished, found.appeared) == (1, 1)
    assert [one.change for one in found.tasks] == [-1, -0.125, 0, 0.125, 1]


def test_marks_allow_for_the_number_of_tasks() -> None:
    # One difference of p = 0.026 stands alone, and not among a hundred.
    alone = _changes([6], [1], 8)
    assert alone.tasks[0].p_value < 0.05
    assert alone.lost == 1
    among = _changes([6] + [4] * 99, [1] + [4] * 99, 8)
    assert among.lost == 0


def test_few_marks_are_false_where_nothing_changed() -> None:
    rng = np.random.default_rng(0)
    marked = 0
    for _ in range(40):
        chance = rng.beta(0.5, 0.5, 100)
        base, post = (rng.binomial(16, chance) for _ in range(2))
        found = _changes(base.tolist(), post.tolist(), 16)
        marked += bool(found.lost + found.gained)
    assert marked <= 4


def test_places_that_one_side_leaves_free_go_to_the_other() -> None:
    found = _changes([8] * 3 + [0] * 30, [0] * 3 + [8] * 30, 8)
    lost, gained = found.shown(20)
    assert (len(lost), len(gained)) == (3, 17)
    both = _changes([8] * 30 + [0] * 30, [0] * 30 + [8] * 30, 8).shown(20)
    assert [len(side) for side in both] == [10, 10]
    assert _changes([4], [4], 8).shown(20) == ((), ())
