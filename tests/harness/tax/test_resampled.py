from __future__ import annotations

import numpy as np
import pytest

from agentenvs.harness.tax.resampled import drawn_again


def test_each_replicate_holds_as_many_tasks() -> None:
    times = np.concatenate(list(drawn_again(7, 50, np.random.default_rng(0))))
    assert times.shape == (50, 7)
    assert (times.sum(axis=1) == 7).all()
    assert times.mean() == 1
    assert times.var() == pytest.approx(6 / 7, rel=0.2)


def test_blocks_make_no_difference(monkeypatch) -> None:
    whole = np.concatenate(list(drawn_again(7, 50, np.random.default_rng(0))))
    monkeypatch.setattr("agentenvs.harness.tax.resampled._BLOCK", 30)
    blocks = list(drawn_again(7, 50, np.random.default_rng(0)))
    assert len(blocks) > 1
    assert (np.concatenate(blocks) == whole).all()


def test_tasks_of_a_cluster_are_drawn_together() -> None:
    codes = np.array([0, 1, 0, 2, 1])
    (times,) = drawn_again(5, 20, np.random.default_rng(0), codes)
    assert (times[:, 0] == times[:, 2]).all()
    assert (times[:, 1] == times[:, 4]).all()
    assert (times[:, [0, 1, 3]].sum(axis=1) == 3).all()
