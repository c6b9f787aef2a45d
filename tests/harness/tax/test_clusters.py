from __future__ import annotations

import math

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import Counts
from agentenvs.harness.tax.clusters import (
    by_cluster,
    cluster_codes,
    cluster_count,
    effective_count,
    standard_error,
)

PAIR = ([1, 2, 0, 3], 4)
COUNTS = Counts(["d", "a", "c", "b"], np.array([1, 2, 0, 3]), np.full(4, 4))


def test_labels_become_numbers_in_the_order_in_which_they_come() -> None:
    codes = cluster_codes(["x", 7, "x", None], PAIR, 4)
    assert codes is not None
    assert codes.tolist() == [0, 1, 0, 2]
    assert cluster_count(codes, 4) == 3


def test_a_mapping_is_read_in_the_order_of_base() -> None:
    known = {"a": "one", "b": "two", "c": "one", "d": "two", "unused": "three"}
    codes = cluster_codes(known, COUNTS, 4)
    assert codes is not None
    assert codes.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    "labels", [None, [0, 1, 2, 3], np.array([3, 1, 0, 2]), {"a": 1, "b": 2, "c": 3, "d": 4}]
)
def test_tasks_by_themselves_are_no_clusters(labels) -> None:
    assert cluster_codes(labels, COUNTS, 4) is None
    assert cluster_count(None, 4) == effective_count(None, 4) == 4


def test_a_few_large_clusters_count_as_few() -> None:
    assert effective_count(np.repeat(np.arange(7), 3), 21) == pytest.approx(7)
    assert effective_count(np.repeat(np.arange(20), [1, 1, 1, 20] * 5), 115) == pytest.approx(
        5.07, abs=0.01
    )


def test_the_error_is_that_of_the_jackknife_over_clusters() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(12), rng.integers(1, 9, 12))
    values = rng.random(len(codes)) + rng.random(12)[codes]
    left_out = np.array([values[codes != at].mean() for at in range(12)])
    jackknife = math.sqrt(11 / 12 * float(((left_out - values.mean()) ** 2).sum()))
    assert standard_error(values - values.mean(), codes) == pytest.approx(jackknife)


def test_the_error_of_a_mean_is_that_of_the_textbook() -> None:
    values = np.array([1.0, 4.0, 2.0, 9.0])
    assert standard_error(values - 4) == pytest.approx(values.std(ddof=1) / 2)


def test_tasks_repeated_in_clusters_are_no_more_than_the_clusters() -> None:
    pull = np.array([-3.0, 0.0, -2.0, 5.0])
    codes = np.repeat(np.arange(4), 5)
    assert standard_error(np.repeat(pull, 5), codes) == pytest.approx(standard_error(pull))
    assert standard_error(np.repeat(pull, 5)) < standard_error(pull) / 2


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([2.0], None),
        ([0.1] * 7, None),
        ([1000.1] * 7, None),
        ([1.0, 2.0, 3.0], [0, 0, 0]),
        ([0.1, 0.7, 0.7, 0.1], [0, 0, 1, 1]),
    ],
)
def test_no_spread_is_unknown_and_not_0(values: list[float], codes: list[int] | None) -> None:
    pull = np.array(values) - np.mean(values)
    assert math.isnan(standard_error(pull, None if codes is None else np.array(codes)))


def test_sums_over_the_tasks_of_each_cluster() -> None:
    values = np.array([[1.0, 2.0, 4.0, 8.0], [0.0, 1.0, 0.0, 1.0]])
    sums = by_cluster(values, np.array([1, 0, 1, 2]))
    assert sums.tolist() == [[2, 5, 8], [1, 0, 1]]
    assert by_cluster(values, None) is values


@pytest.mark.parametrize(
    ("clusters", "arm", "message"),
    [
        ([0, 1], PAIR, "each of 4 tasks, got 2"),
        ("abcd", PAIR, "a list or a mapping, got str"),
        (7, PAIR, "a list or a mapping, got int"),
        ({0, 1, 2, 3}, PAIR, "a list or a mapping, got set"),
        ([[0], [1], [0], [1]], PAIR, "hashable labels"),
        (np.zeros((4, 2)), PAIR, "hashable labels"),
        ({"a": 0}, PAIR, "no task ids to look up"),
        ({"a": 0, "b": 0}, COUNTS, r"got none for 'd' \(2 of 4 lack one\)"),
    ],
)
def test_what_names_no_cluster_for_each_task_is_refused(clusters, arm, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        cluster_codes(clusters, arm, 4)
