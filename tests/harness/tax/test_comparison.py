from __future__ import annotations

import dataclasses
import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from agentenvs.errors import BadArgument
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.tax import (
    Comparison,
    Counts,
    compare,
    crossover_set,
    partition_interval,
    s_max,
    sharpening_tax_interval,
)


def outcomes(c: list[int], n: int) -> Outcomes:
    rows = ({"task_id": f"t{i}", "pass_flags": [r < k for r in range(n)]} for i, k in enumerate(c))
    return Outcomes(rows, {"temperature": 1})


BASE = [1, 2, 3, 0, 5, 8, 1, 0]
POST = [8, 0, 7, 0, 6, 8, 0, 0]


def rendered(comparison: Comparison) -> str:
    out = io.StringIO()
    comparison.render(Console(file=out, width=80))
    return out.getvalue()


IDS = [f"t{i}" for i in range(8)]


def test_tasks_that_nobody_can_solve_are_left_out_beside() -> None:
    base, post = outcomes(BASE, 8), outcomes(POST, 8)
    found = compare(base, post, unsolvable={"t3", "t7", "of another benchmark"})
    plain = compare(base, post)
    assert (plain.unsolvable, plain.without) == (0, None)
    assert repr(found) == repr(dataclasses.replace(plain, unsolvable=2, without=found.without))
    kept = [at for at in range(8) if at not in (3, 7)]
    other = compare(*(([c[at] for at in kept], 8) for c in (BASE, POST)))
    assert found.without is not None
    assert found.without.tasks == 6
    assert found.without.rows == other.rows
    assert found.without.shares == other.shares
    assert found.without.crossing_set.ks == other.crossing_set.ks
    assert (found.without.warnings, found.without.without) == ((), None)


def test_both_headlines_are_shown() -> None:
    found = compare(outcomes(BASE, 8), outcomes(POST, 8), [4, 2], unsolvable=["t3"])
    shown = rendered(found)
    assert "1 of 8 tasks is tagged as unsolvable. Without, on the other 7:" in shown
    whole, without = (x.rows[0].measures.tax_S for x in (found, found.without))
    lines = [line for line in shown.splitlines() if line.startswith("S(4), Tax_S")]
    assert len(lines) == 2
    for line, tax in zip(lines, (whole, without), strict=True):
        assert f"{tax.value:+.3f} {tax.low:.3f}..{tax.high:.3f}" in line
    assert shown.count("S(2), Tax_S") == 1
    assert max(map(len, shown.splitlines())) <= 80
    told = json.loads(json.dumps(found.to_dict()))
    assert (told["unsolvable"], told["without_unsolvable"]["tasks"]) == (1, 7)
    assert told["without_unsolvable"]["rows"][0]["tax_S"]["value"] == without.value
    assert compare(outcomes(BASE, 8), outcomes(POST, 8)).to_dict()["without_unsolvable"] is None


def test_budgets_stay_where_the_tasks_with_fewest_rollouts_are_left_out() -> None:
    ids = ["a", "b", "c", "d"]
    arms = [Counts(ids, np.array(c), np.array([4, 8, 8, 8])) for c in ([1, 2, 0, 5], [0, 8, 0, 6])]
    found = compare(*arms, unsolvable=["a"])
    assert found.without is not None
    assert (found.without.m, found.without.crossing.K) == (4, 4)
    assert [row.K for row in found.without.rows] == [row.K for row in found.rows] == [2, 4]
    assert [row.high_variance for row in found.without.rows] == [False, True]


@pytest.mark.parametrize(
    ("unsolvable", "says"),
    [(IDS, "not in `unsolvable`: all 8 are"), ("t1", "to list task ids, got the text 't1'")],
)
def test_unsolvable_tasks_that_make_no_sense(unsolvable, says: str) -> None:
    with pytest.raises(BadArgument, match=says):
        compare(outcomes(BASE, 8), outcomes(POST, 8), unsolvable=unsolvable)


def test_unsolvable_tasks_need_ids() -> None:
    assert compare((BASE, 8), (POST, 8), unsolvable=()).without is None
    with pytest.raises(BadArgument, match="task ids for `unsolvable`, got pairs"):
        compare((BASE, 8), (POST, 8), unsolvable=["t1"])


def test_clusters_reach_every_interval() -> None:
    labels = [0, 0, 1, 2, 2, 3, 4, 5]
    found = compare((BASE, 8), (POST, 8), clusters=labels)
    assert (found.tasks, found.clusters) == (8, 6)
    for row in found.rows:
        plain = sharpening_tax_interval((BASE, 8), (POST, 8), row.K, clusters=labels)
        assert row.measures == plain
    assert found.shares[0] == partition_interval(BASE, 8, clusters=labels)
    crossing = crossover_set((BASE, 8), (POST, 8), 8, clusters=labels)
    assert found.crossing_set.ks == crossing.ks
    assert "base: 8 tasks in 6 clusters, n = 8" in rendered(found)
    assert found.to_dict()["clusters"] == 6


def test_clusters_by_task_id_or_in_base_s_order() -> None:
    labels = dict(zip(IDS, [0, 0, 1, 2, 2, 3, 4, 5], strict=True))
    base, post = outcomes(BASE, 8), Outcomes(reversed(list(outcomes(POST, 8))))
    found = compare(base, post, clusters=labels)
    assert repr(found) == repr(compare(base, post, clusters=list(labels.values())))
    own = compare(base, post, clusters=IDS)
    assert repr(own) == repr(compare(base, post))


def test_clusters_with_fewer_tasks() -> None:
    labels = [0, 0, 1, 2, 2, 3, 4, 4]
    rows = [row for row in outcomes(POST, 8) if row["task_id"] > "t0"]
    post = Outcomes(rows)
    found = compare(outcomes(BASE, 8), post, common=True, clusters=labels, unsolvable=["t7"])
    assert (found.tasks, found.clusters) == (7, 5)
    plain = compare((BASE[1:], 8), (POST[1:], 8), clusters=labels[1:])
    assert found.rows == plain.rows
    assert found.without is not None
    assert (found.without.tasks, found.without.clusters) == (6, 5)
    by_id = dict(zip(IDS[1:], labels[1:], strict=True))
    again = compare(outcomes(BASE, 8), post, common=True, clusters=by_id)
    assert again.rows == found.rows


@pytest.mark.parametrize(
    ("clusters", "says"),
    [
        ([0, 1], "for each of 8 tasks, got 2"),
        ({"t1": 0}, "for each task, got none for 't0'"),
        ([[0]] * 8, "hashable labels"),
        ("abcdefgh", "a list or a mapping, got str"),
    ],
)
def test_clusters_that_do_not_fit(clusters, says: str) -> None:
    with pytest.raises(BadArgument, match=says):
        compare(outcomes(BASE, 8), outcomes(POST, 8), clusters=clusters)


def test_clusters_of_pairs_are_listed() -> None:
    with pytest.raises(BadArgument, match="no task ids to look up"):
        compare((BASE, 8), (POST, 8), clusters=dict.fromkeys(IDS, 0))


def test_one_cluster_says_nothing_of_the_spread() -> None:
    found = compare((BASE, 8), (POST, 8), clusters=["one"] * 8)
    assert math.isnan(found.rows[0].measures.tax_S.se)
    assert not found.crossing_set.decides


def test_scalability_as_a_share_of_the_most_it_can_be() -> None:
    found = compare((BASE, 8), (POST, 8), [4, 8])
    row = found.rows[0]
    shares = row.measures.S_base.value / s_max(4), row.measures.S_post.value / s_max(4)
    assert row.of_max == shares
    told = found.to_dict()["rows"][0]
    assert told["S_of_max"] == {"base": shares[0], "post": shares[1]}
    assert told["s_max"] == s_max(4)
    base, post = (
        f"{label} reaches {100 * share:.0f} %"
        for label, share in zip(("base", "post"), shares, strict=True)
    )
    assert f"Of the most that S(4) can be, 0.460, {base}, {post}." in rendered(found)
    solved = rendered(compare((BASE, 8), ([8] * 8, 8), [4]))
    assert f"Of the most that S(4) can be, 0.460, {base}.\n" in solved


@pytest.mark.parametrize(
    ("base", "post", "k"),
    [(([1, 0, 1], 1), ([1, 1, 0], 1), 1), ((BASE, 8), (POST, 8), 2), (([8], 8), ([8], 8), 4)],
)
def test_a_share_that_says_nothing_is_not_shown(base, post, k: int) -> None:
    assert "Of the most" not in rendered(compare(base, post, [k]))
