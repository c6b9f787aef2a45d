from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness import Outcomes
from agentenvs.harness.report.gather import find
from agentenvs.harness.tax import Counts, sharpening_tax_interval

pytestmark = pytest.mark.usefixtures("few_pilots")


def _outcomes(successes: dict[str, int], n: int = 8, **settings: Any) -> Outcomes:
    rows = [
        {"task_id": task, "rollout": at, "success": at < c}
        for task, c in successes.items()
        for at in range(n)
    ]
    return Outcomes(rows, settings)


BASE = {"a": 1, "b": 3, "c": 0, "d": 5, "e": 2}
POST = {"e": 8, "a": 8, "b": 0, "c": 0, "d": 6}


def test_findings_agree_with_the_measures_themselves() -> None:
    found = find(_outcomes(BASE), _outcomes(POST))
    assert (found.n, found.top, found.K) == (8, 8, 4)
    row = next(row for row in found.comparison.rows if row.K == 4)
    base, post = (tuple(arm) for arm in found.arms)
    assert row.measures.tax_S == sharpening_tax_interval(base, post, 4).tax_S
    assert found.decomposition is not None
    assert found.decomposition.tax_A.sum() == pytest.approx(row.measures.tax_A.value)
    assert found.flow.sum() == pytest.approx(1)


def test_tasks_keep_their_names_whatever_the_order() -> None:
    found = find(_outcomes(BASE), _outcomes(POST))
    changed = {one.task_id: (one.c_base, one.c_post) for one in found.changes.tasks}
    assert changed == {task: (BASE[task], POST[task]) for task in BASE}


def test_pairs_without_names_are_numbered() -> None:
    found = find(([1, 3], 4), ([4, 0], 4))
    assert found.task_ids == ("task 1", "task 2")


def test_common_leaves_the_others_out() -> None:
    found = find(_outcomes(BASE), _outcomes({"b": 2, "c": 1, "z": 8}), common=True)
    assert found.task_ids == ("b", "c")
    with pytest.raises(BadArgument, match="over the same tasks"):
        find(_outcomes(BASE), _outcomes({"b": 2}))


def test_clusters_reach_every_interval() -> None:
    base, post = _outcomes(BASE), _outcomes(POST)
    by_name = dict(zip(BASE, "xxyzz", strict=True))
    for clusters in (by_name, list("xxyzz")):
        found = find(base, post, clusters=clusters)
        assert found.comparison.clusters == 3
        assert found.bands.clusters == 3
        assert found.crossing.clusters == 3
        assert found.decomposition is not None
        assert found.decomposition.clusters == 3
        assert {one.clusters for one in found.routes} == {3}


def test_unsolvable_tasks_are_told_apart() -> None:
    found = find(_outcomes(BASE), _outcomes(POST), unsolvable=["c", "elsewhere"])
    assert found.comparison.unsolvable == 1
    assert found.comparison.without is not None
    assert found.comparison.without.tasks == 4


def test_a_target_and_a_price_decide_what_is_routed() -> None:
    base, post = _outcomes(BASE), _outcomes(POST)
    (asked,) = find(base, post, target=0.6, price=(1.0, 3.0)).routes
    assert (asked.target, asked.price) == (0.6, (1.0, 3.0))
    several = find(base, post).routes
    assert 1 < len(several) <= 4
    assert find(_outcomes(dict.fromkeys("ab", 0)), _outcomes(dict.fromkeys("ab", 0))).pilot is None


def test_budgets_lead_to_the_tax_that_is_told() -> None:
    base, post = _outcomes(BASE, 16), _outcomes(POST, 16)
    assert find(base, post).K == 8
    assert find(base, post, ks=[2, 4, 16]).K == 4
    assert find(base, post, ks=[16]).K == 16
    assert find(base, post, ks=[1]).K is None
    assert find(_outcomes(BASE, 1), _outcomes(POST, 1)).tax_bands is None


def test_everything_becomes_plain_data() -> None:
    found = find(_outcomes(BASE, seed=1), _outcomes(POST, seed=2), unsolvable=["c"])
    told = json.loads(json.dumps(found.to_dict()))
    assert told["top"] == 8
    assert told["changes"]["tasks"][0]["task_id"] == "b"
    assert told["rows"][0]["K"] == 2
    assert told["flow"] == found.flow.tolist()


def _rows(outcomes: Outcomes) -> Iterator[dict[str, Any]]:
    for row in outcomes:
        opening = [{"role": "user", "content": row["task_id"]}]
        yield {**row, "reason": "", "opening": opening, "steps": []}


def test_transcripts_are_of_tasks_that_changed() -> None:
    base, post = _outcomes(BASE), _outcomes(POST)
    found = find(base, post, transcripts=(_rows(base), None))
    assert set(found.talks[0]) == {("b", True), ("a", False), ("d", False), ("e", False)}
    assert found.talks[1] == {}


def test_bad_input_is_refused() -> None:
    counts = Counts(["a"], np.array([9]), np.array([8]))
    with pytest.raises(BadArgument, match="0 <= c <= n"):
        find(counts, counts)
    with pytest.raises(BadArgument, match="target"):
        find(_outcomes(BASE), _outcomes(POST), target=1.5)
    with pytest.raises(BadArgument, match="at most n"):
        find(_outcomes(BASE), _outcomes(POST), ks=[9])
