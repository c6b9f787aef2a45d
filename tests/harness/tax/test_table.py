from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from agentenvs.errors import BadArgument
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.tax import (
    compare,
    crossover,
    partition,
    sharpening_tax,
    sharpening_tax_interval,
)
from agentenvs.harness.tax.table import default_budgets


def outcomes(c: list[int], n: int, **settings: object) -> Outcomes:
    rows = ({"task_id": f"t{i}", "pass_flags": [r < k for r in range(n)]} for i, k in enumerate(c))
    return Outcomes(rows, settings)


BASE = [1, 2, 3, 0, 5, 8, 1, 0]
POST = [8, 0, 7, 0, 6, 8, 0, 0]


def text(base: Outcomes, post: Outcomes, ks: list[int] | None = None, width: int = 80) -> str:
    out = io.StringIO()
    compare(base, post, ks).render(Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize(
    ("n", "budgets"),
    [
        (1, (1,)),
        (2, (2,)),
        (3, (2, 3)),
        (8, (2, 4, 8)),
        (10, (2, 5, 8, 10)),
        (32, (2, 8, 16, 32)),
        (128, (2, 8, 32, 64, 128)),
    ],
)
def test_default_budgets(n: int, budgets: tuple[int, ...]) -> None:
    assert default_budgets(n) == budgets


def test_numbers_are_those_of_the_measures() -> None:
    found = compare(outcomes(BASE, 8), outcomes(POST, 8))
    assert [row.K for row in found.rows] == [2, 4, 8]
    assert [row.high_variance for row in found.rows] == [False, False, True]
    for row in found.rows:
        plain = sharpening_tax((BASE, 8), (POST, 8), row.K)
        assert row.measures == sharpening_tax_interval((BASE, 8), (POST, 8), row.K)
        assert row.measures.tax_S.value == plain.tax_S
    assert found.crossing.k == crossover((BASE, 8), (POST, 8), 8).k
    assert found.shares == (partition(BASE, 8), partition(POST, 8))
    assert found.pass_1[0].value == pytest.approx(np.mean(BASE) / 8)
    assert (found.tasks, found.m, found.rollouts) == (8, 8, ((8, 8), (8, 8)))
    assert found.labels == ("base", "post")


def test_arms_are_matched_by_task_and_standardised_to_the_fewer_rollouts() -> None:
    post = Outcomes(reversed(list(outcomes(POST, 16))))
    found = compare(outcomes(BASE, 8), post)
    plain = sharpening_tax((BASE, 8), (POST, 16), 8)
    assert found.rows[-1].measures.tax_A.value == pytest.approx(plain.tax_A)
    assert found.m == 8
    assert found.shares[1] == pytest.approx(partition(POST, 16, 8))


def test_the_table_shows_every_measure_with_its_interval() -> None:
    shown = text(outcomes(BASE, 8, policy="a"), outcomes(POST, 8, policy="b"))
    assert "base: a, 8 tasks, n = 8" in shown
    tax = sharpening_tax_interval((BASE, 8), (POST, 8), 4).tax_S
    assert f"Tax_S {tax.value:+.3f} ± {tax.high - tax.value:.3f}" in shown
    for name in ("pass@1", "pass@8 *", "A(2)", "S(4)", "Tax_A", "k*", "never in 8", "always in 8"):
        assert name in shown
    assert "* high variance" in shown
    assert "do not cover" in shown
    assert "SCRIPTED" not in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("both", [True, False])
def test_scripted_policies_are_marked_and_named(both: bool) -> None:
    first = outcomes(BASE, 8, policy="scripted:wide")
    second = outcomes(POST, 8, policy="scripted:narrow" if both else "hf:some[model]")
    shown = text(first, second)
    assert shown.startswith("SCRIPTED POLICIES: no model was measured\n")
    assert "scripted:wide" in shown
    assert ("scripted:narrow" if both else "hf:some[model]") in shown
    told = json.dumps(compare(first, second).to_dict())
    for word in ("base", "post"):
        assert word not in shown
        assert word not in told


def test_two_runs_of_one_scripted_policy_keep_names_of_their_own() -> None:
    run = outcomes(BASE, 8, policy="scripted:wide")
    assert compare(run, run).labels == ("scripted:wide (1)", "scripted:wide (2)")
    nameless = outcomes(BASE, 8, scripted=True)
    assert compare(nameless, nameless).labels == ("first", "second")


def test_plain_data() -> None:
    told = compare(outcomes(BASE, 8, policy="a"), outcomes(POST, 8, policy="b"), [1, 4]).to_dict()
    again = json.loads(json.dumps(told))
    assert again["labels"] == ["base", "post"]
    assert again["policies"] == {"base": "a", "post": "b"}
    row = again["rows"][1]
    assert (row["K"], row["high_variance"], row["undefined"]) == (4, False, "")
    assert row["tax_A"]["value"] == row["A"]["base"]["value"] - row["A"]["post"]["value"]
    assert set(row["tax_S"]) == {"value", "se", "low", "high"}
    assert math.isnan(again["rows"][0]["S"]["base"]["value"])
    assert sum(again["partition"]["post"].values()) == pytest.approx(1)
    assert again["crossover"]["K"] == 8


def test_why_something_is_undefined_is_said() -> None:
    solved = outcomes([8] * 8, 8)
    shown = text(outcomes(BASE, 8), solved, [1, 2])
    assert "K = 1: S needs a second try: undefined at K = 1." in shown
    assert "K = 2: post never failed: S is undefined." in shown
    assert "Tax_S undefined" in shown
    assert "1.000 ± ?" in shown


def test_the_crossing_is_told_in_words() -> None:
    assert "k* > 7" not in text(outcomes(BASE, 8), outcomes(POST, 8))
    behind = text(outcomes([1, 0], 8), outcomes([2, 4], 8))
    assert "k* > 8: base stays below post at every budget." in behind
    ahead = text(outcomes([2, 4], 8), outcomes([1, 0], 8))
    assert "k* = 1: base is not behind post at the first try." in ahead
    base, post = [60] * 3 + [1] * 7 + [0] * 12, [30] * 4 + [0] * 18
    flips = crossover((base, 64), (post, 64), 64).sign_changes
    shown = text(outcomes(base, 64), outcomes(post, 64))
    assert f"The curves change places again: at k = {flips[0]}, {flips[1]}." in shown


def warnings(base: dict[str, object], post: dict[str, object]) -> tuple[str, ...]:
    return compare(outcomes(BASE, 8, **base), outcomes(POST, 8, **post)).warnings


def test_settings_that_differ_are_named() -> None:
    same = {"prompt": {"name": "light", "examples": 2}, "data": "ab", "seed": 1, "policy": "x"}
    assert warnings(same, {**same, "seed": 2, "policy": "y", "history": [1]}) == ()
    other = {**same, "data": "cd", "prompt": {"name": "none"}, "temperature": 0.7}
    assert warnings(same, other) == (
        'settings differ: prompt.name is "light" in base, "none" in post.',
        "settings differ: prompt.examples is 2 in base, not set in post.",
        'settings differ: data is "ab" in base, "cd" in post.',
        "settings differ: temperature is not set in base, 0.7 in post.",
    )


def test_of_a_policy_s_own_settings_only_sampling_is_compared() -> None:
    one = {
        "policy": {
            "name": "hf:a",
            "weights": "1",
            "ignored_defaults": {"top_p": 1},
            "sampling": {"top_k": 64},
        }
    }
    two = {"policy": {"name": "hf:b", "weights": "2", "sampling": {"top_k": None}}}
    assert warnings(one, two) == (
        "settings differ: policy.sampling.top_k is 64 in base, null in post.",
    )


def test_unknown_settings_are_said_once() -> None:
    assert warnings({}, {"temperature": 1.0, "top_p": 0.9}) == (
        "base: nothing is known of how its outcomes were made.",
    )


def test_incomplete_runs_are_named() -> None:
    rows = list(outcomes(BASE, 8))
    rows.pop()
    planned = [f"t{i}" for i in range(8)]
    short = Outcomes(rows, {"task_ids": planned, "n": 8, "policy": "a"})
    short.torn = True
    few = Outcomes(outcomes(POST, 8), {"task_ids": [*planned, "t8"], "n": 8, "policy": "b"})
    assert compare(short, few).warnings == (
        "base: tasks have 7 to 8 rollouts; budgets end at the fewest.",
        "base: the run is not finished: fewer than 8 rollouts in 1 of 8 tasks.",
        "base: the last line of the outcomes broke off and was left out.",
        "post: 1 of 9 tasks have no outcome yet.",
    )
    assert compare(short, few).m == 7


@pytest.mark.parametrize(
    ("base", "post", "ks", "says"),
    [
        (outcomes(BASE, 8), outcomes(POST[:7], 8), None, "only in base: 't7'; only in post: none"),
        (outcomes(BASE, 8), Outcomes([]), None, "outcomes in `post`, got none"),
        (outcomes(BASE, 8), outcomes(POST, 4), [8], "K = 8, but the smallest n is 4"),
        (outcomes(BASE, 8), outcomes(POST, 8), [], "at least one budget"),
        (outcomes(BASE, 8), outcomes(POST, 8), [0], "`K` of at least 1"),
    ],
)
def test_runs_that_cannot_be_compared(base, post, ks, says: str) -> None:
    if says.endswith("4"):
        post = Outcomes(row for row in outcomes(BASE, 8) if row["rollout"] < 4)
    with pytest.raises(BadArgument, match=says):
        compare(base, post, ks)
