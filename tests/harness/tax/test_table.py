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
    Comparison,
    Counts,
    compare,
    crossover,
    crossover_set,
    partition_interval,
    sharpening_tax,
    sharpening_tax_interval,
)
from agentenvs.harness.tax.table import default_budgets


def outcomes(c: list[int], n: int, **settings: object) -> Outcomes:
    rows = ({"task_id": f"t{i}", "pass_flags": [r < k for r in range(n)]} for i, k in enumerate(c))
    return Outcomes(rows, settings)


BASE = [1, 2, 3, 0, 5, 8, 1, 0]
POST = [8, 0, 7, 0, 6, 8, 0, 0]


def rendered(comparison: Comparison, width: int = 80) -> str:
    out = io.StringIO()
    comparison.render(Console(file=out, width=width))
    return out.getvalue()


def text(base: object, post: object, ks: list[int] | None = None, width: int = 80) -> str:
    return rendered(compare(base, post, ks), width)


@pytest.mark.parametrize(
    ("n", "budgets"),
    [
        (1, (1,)),
        (2, (2,)),
        (3, (2, 3)),
        (4, (2, 4)),
        (8, (2, 4, 8)),
        (10, (2, 5, 8, 10)),
        (16, (4, 8, 2, 16)),
        (24, (6, 12, 2, 4, 24)),
        (32, (8, 16, 2, 4, 32)),
        (128, (32, 64, 2, 4, 8, 128)),
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
    assert found.shares == (partition_interval(BASE, 8), partition_interval(POST, 8))
    assert found.crossing_set.ks == crossover_set((BASE, 8), (POST, 8), 8).ks
    assert found.pass_1[0].value == pytest.approx(np.mean(BASE) / 8)
    assert (found.tasks, found.m, found.rollouts) == (8, 8, ((8, 8), (8, 8)))
    assert found.labels == ("base", "post")


def test_arms_are_matched_by_task_and_standardised_to_the_fewer_rollouts() -> None:
    post = Outcomes(reversed(list(outcomes(POST, 16))))
    found = compare(outcomes(BASE, 8), post)
    plain = sharpening_tax((BASE, 8), (POST, 16), 8)
    assert found.rows[-1].measures.tax_A.value == pytest.approx(plain.tax_A)
    assert found.m == 8
    assert found.shares[1] == partition_interval(POST, 16, 8)


def test_the_table_shows_every_measure_with_its_interval() -> None:
    shown = text(outcomes(BASE, 8, policy="a"), outcomes(POST, 8, policy="b"))
    assert "base: a, 8 tasks, n = 8" in shown
    tax = sharpening_tax_interval((BASE, 8), (POST, 8), 4).tax_S
    assert f"{tax.value:+.3f} {tax.low:.3f}..{tax.high:.3f}" in shown
    for name in ("pass@1", "pass@8 *", "A(2)", "S(4)", "Tax_A", "k*", "never in 8", "always in 8"):
        assert name in shown
    assert "* high variance" in shown
    assert "not cover other training runs" in shown
    assert "SCRIPTED" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_what_one_try_and_the_most_tries_solve_is_said_in_words() -> None:
    shown = " ".join(text(outcomes([4, 4], 8), outcomes([8, 0], 8)).split())
    assert "One try solves 50 % of the tasks in base, 50 % in post; 8 tries 100 %" in shown
    alone = " ".join(text(outcomes([1, 0], 1), outcomes([1, 1], 1)).split())
    assert "One try solves 50 % of the tasks in base, 100 % in post." in alone


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
    assert sum(share["value"] for share in again["partition"]["post"].values()) == pytest.approx(1)
    assert set(again["partition"]["base"]["never"]) == {"value", "se", "low", "high"}
    at = again["crossover"]
    assert (at["k"], at["low"], at["high"], at["K"]) == (3, 1, 8, 8)
    assert (at["same"], at["decides"], at["draws"], at["confidence"]) == (False, True, 2000, 0.95)
    assert (at["share_censored"], 0 < at["share_at_1"] < 1) == (0, True)
    assert at["budgets"] == [*range(1, 9)]


def test_why_something_is_undefined_is_said() -> None:
    solved = outcomes([8] * 8, 8)
    shown = text(outcomes(BASE, 8), solved, [1, 2])
    assert "K = 1: S needs a second try: undefined at K = 1." in shown
    assert "K = 2: post never failed: S is undefined." in shown
    assert "S(2), Tax_S" in shown
    assert "undefined" in shown.split("S(2), Tax_S", 1)[1].splitlines()[0]
    assert "post: no spread of A between tasks (K = 2), so no interval of A, S and" in shown
    assert "1.000 0.646..1.000" in shown


def test_the_crossing_is_told_in_words_with_its_interval() -> None:
    shown = text(([1, 0] * 40, 8), ([4, 6] * 40, 8))
    assert "k* > 8 (95 %: > 8): base stays below post at every budget." in shown
    ahead = text(([4, 6] * 40, 8), ([1, 0] * 40, 8))
    assert "k* = 1 (95 %: 1): base is not behind post at the first try." in ahead
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 300)
    q = np.where(rng.random(300) < 0.3, 0, 1 - (1 - p) ** 4)
    arms = (rng.binomial(128, p), 128), (rng.binomial(128, q), 128)
    found = crossover_set(*arms, 128)
    expected = f"k* = {found.k} (95 %: {found.low} to {found.high}): from there base solves"
    assert 1 < found.low < found.high <= 128
    assert expected in text(*arms)
    assert "(50 %:" in rendered(compare(*arms, confidence=0.5))


def test_a_crossing_that_is_not_decided_is_not_stated() -> None:
    arms = ([0, 8, 0, 1], 8), ([8, 0, 1, 2], 8)
    assert crossover(*arms, 8).k is None
    assert "k* > 8, but its 95 % interval is 1 to > 8: the data do not decide." in text(*arms)
    shown = text(([3], 8), ([5], 8))
    assert "k* = 6, but its 95 % interval is 1 to > 8: the data do not decide." in shown


def test_curves_that_change_places_again() -> None:
    base, post = [60] * 3 + [1] * 7 + [0] * 12, [30] * 4 + [0] * 18
    flips = crossover((base * 9, 64), (post * 9, 64), 64).sign_changes
    shown = text((base * 9, 64), (post * 9, 64))
    assert f"The curves change places again: at k = {flips[0]}, {flips[1]}." in shown


@pytest.mark.parametrize("c", [BASE, [0] * 8])
def test_equal_runs_do_not_cross(c: list[int]) -> None:
    shown = text(outcomes(c, 8), outcomes(c, 8))
    assert "k*: the two curves are the same at every budget up to 8; neither crosses" in shown
    assert "k* =" not in shown
    at = compare(outcomes(c, 8), outcomes(c, 8)).to_dict()["crossover"]
    assert (at["same"], at["k"], at["low"], at["high"]) == (True, None, 1, None)


def test_an_arm_at_0_has_a_bound_and_is_not_taken_for_exact() -> None:
    shown = text(([0] * 24, 8), ([1, 0, 2, 3] * 6, 8))
    line = next(row for row in shown.splitlines() if row.startswith("pass@1"))
    assert "0.000 0.000..0.143" in line
    tax = next(row for row in shown.splitlines() if row.startswith("S(4), Tax_S"))
    assert tax.split()[-1] == "?"


def test_words_under_the_table_say_what_the_numbers_are() -> None:
    shown = text((BASE, 8), (POST, 8))
    below = shown.split("always in 8", 1)[1]
    for name in ("A(K): ", "S(K): ", "Tax: base minus post", "k*: ", "low..high: 95 % intervals"):
        assert name in below
    assert "Tax > 0: the second run (post) lost." in below


def test_one_task_is_one_task() -> None:
    shown = text(([3], 8), ([5], 8))
    assert "base: 1 task, n = 8" in shown
    assert "the data do not decide" in shown
    assert "1 tasks" not in shown


@pytest.mark.parametrize("n", [8, 32, 128])
def test_everything_fits_80_columns(n: int) -> None:
    rng = np.random.default_rng(n)
    p = rng.beta(0.2, 3, 40)
    arms = [outcomes(rng.binomial(n, p).tolist(), n, policy=f"scripted:{x}") for x in ("wide", "b")]
    lines = text(*arms).splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if line.startswith(f"S({n}), Tax_S *"))
    assert row.count("..") == 3


def warnings(base: dict[str, object], post: dict[str, object]) -> tuple[str, ...]:
    return compare(outcomes(BASE, 8, **base), outcomes(POST, 8, **post)).warnings


def test_settings_that_differ_are_named() -> None:
    same = {"prompt": {"name": "light", "examples": 2}, "data": "ab", "seed": 1, "policy": "x"}
    assert warnings(same, {**same, "seed": 2, "policy": "y", "history": [1]}) == ()
    other = {**same, "data": "cd", "prompt": {"name": "none"}, "temperature": 0.7}
    remedy = "; run one of them again with the other's."
    assert warnings(same, other) == (
        f'settings differ: prompt.name is "light" in base, "none" in post{remedy}',
        f"settings differ: prompt.examples is 2 in base, not set in post{remedy}",
        f'settings differ: data is "ab" in base, "cd" in post{remedy}',
        f"settings differ: temperature is not set in base, 0.7 in post{remedy}",
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
    (told,) = warnings(one, two)
    assert told.startswith("settings differ: policy.sampling.top_k is 64 in base, null in post;")


def test_unknown_settings_are_said_once() -> None:
    known = {"temperature": 1.0, "top_p": 0.9}
    what = "nothing is known of how the outcomes were made; compare run folders, or see to it"
    for arms, who in ((({}, known), "base"), ((known, {}), "post"), (({}, {}), "base and post")):
        (told,) = warnings(*arms)
        assert told.startswith(f"{who}: {what}")


def test_warnings_stand_above_the_table() -> None:
    shown = text((BASE, 8), (POST, 8))
    assert shown.index("warning: base and post: nothing is known") < shown.index("measure")


PLANNED = [f"t{i}" for i in range(8)]
RUN = {"task_ids": PLANNED, "n": 8, "policy": "a", "temperature": 1}


def test_incomplete_runs_are_named() -> None:
    rows = list(outcomes(BASE, 8))
    rows.pop()
    short = Outcomes(rows, RUN)
    short.torn = True
    few = Outcomes(outcomes(POST, 8), {**RUN, "task_ids": [*PLANNED, "t8"]})
    assert compare(short, few).warnings == (
        "base: 63 of 64 rollouts played (1 not yet, 0 void), so that tasks have 7 to 8 rollouts "
        "and budgets end at 7; the same run command goes on with it.",
        "base: the last line of the outcomes broke off and was left out; "
        "the same run command plays it again.",
        "post: 64 of 72 rollouts played (8 not yet, 0 void); the same run command goes on with it.",
    )
    assert compare(short, few).m == 7


def test_a_part_is_said_to_be_one_and_lacks_nothing() -> None:
    settings = {**RUN, "n": 16, "rollouts": [0, 8]}
    part = Outcomes(outcomes(BASE, 8), settings)
    assert compare(part, part).warnings == (
        "base is the part 0:8 of n = 16.",
        "post is the part 0:8 of n = 16.",
    )
    rows = list(part)[:-2]
    void = {"task_id": "t7", "rollout": 7, "attempt": 0, "reason": "timeout", "error": "late"}
    lacking = Outcomes(rows, settings, [{**void, "wall_s": 1.0}])
    assert compare(part, lacking).warnings[1] == (
        "post: 62 of 64 rollouts of the part 0:8 of n = 16 played (1 not yet, 1 void), so that "
        "tasks have 6 to 8 rollouts and budgets end at 6; the same run command goes on with it."
    )


def test_an_unfinished_run_is_said_to_be_one_where_tasks_are_missing() -> None:
    short = Outcomes([row for row in outcomes(POST, 8) if row["task_id"] < "t5"], RUN)
    says = r"post: 40 of 64 rollouts played \(24 not yet, 0 void\); the same run .*--common"
    with pytest.raises(BadArgument, match=f"only in base: 't5', 't6', 't7'.*{says}"):
        compare(outcomes(BASE, 8), short)
    with pytest.raises(BadArgument, match="got none. post: 0 of 64 rollouts played"):
        compare(outcomes(BASE, 8), Outcomes([], RUN))


def test_common_compares_on_the_tasks_that_both_have() -> None:
    rows = [row for row in outcomes(POST, 8) if "t1" < row["task_id"] < "t6"]
    short = Outcomes(reversed(rows[:-3]), RUN)
    found = compare(outcomes(BASE, 8), short, common=True)
    plain = sharpening_tax((BASE[2:6], 8), ([*POST[2:5], 5], [8, 8, 8, 5]), 5)
    assert (found.tasks, found.m) == (4, 5)
    assert found.rows[-1].measures.tax_S.value == pytest.approx(plain.tax_S)
    assert found.warnings[:2] == (
        "base: compared on 4 of its 8 tasks, those that post has too; post wants the others as "
        "well, since they may be the hard ones.",
        "post: 29 of 64 rollouts played (35 not yet, 0 void), so that tasks have 5 to 8 rollouts "
        "and budgets end at 5; the same run command goes on with it.",
    )
    assert len(found.warnings) == 3
    whole = compare(outcomes(BASE, 8), outcomes(POST, 8), common=True)
    assert repr(whole) == repr(compare(outcomes(BASE, 8), outcomes(POST, 8)))


def test_common_needs_task_ids_and_a_shared_task() -> None:
    with pytest.raises(BadArgument, match="task ids in `base` for `common`, got a pair"):
        compare((BASE, 8), (POST, 8), common=True)
    other = Outcomes([{"task_id": "z", "c": 1, "n": 2}])
    with pytest.raises(BadArgument, match="that `base` and `post` share, found none"):
        compare(outcomes(BASE, 8), other, common=True)


def test_pairs_and_counts_compare_as_outcomes_do() -> None:
    expected = compare(outcomes(BASE, 8), outcomes(POST, 8))
    ids = [f"t{i}" for i in range(8)]
    counts = [Counts(ids, np.array(c), np.full(8, 8)) for c in (BASE, POST)]
    for arms in (((BASE, 8), (POST, 8)), counts, (outcomes(BASE, 8), counts[1])):
        assert repr(compare(*arms)) == repr(expected)
    with pytest.raises(BadArgument, match="both as Counts or both as pairs"):
        compare(outcomes(BASE, 8), (POST, 8))
    with pytest.raises(BadArgument, match="`post` to be Counts or a pair"):
        compare((BASE, 8), 3)


def test_messages_about_scripted_runs_use_their_names() -> None:
    wide = outcomes(BASE, 8, policy="scripted:wide")
    narrow = {"policy": "scripted:narrow"}
    for other in (
        Outcomes(outcomes(POST[:5], 8), narrow),
        Outcomes([], narrow),
        Outcomes([{"task_id": "z", "c": 1, "n": 2}], narrow),
    ):
        for common in (False, True):
            if common and len(other) == 40:
                continue
            with pytest.raises(BadArgument) as caught:
                compare(wide, other, common=common)
            message = str(caught.value)
            assert "scripted:narrow" in message
            assert "base" not in message
            assert "post" not in message


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
