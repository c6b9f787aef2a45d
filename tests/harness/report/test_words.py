from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import ArrayLike

from agentenvs.harness import Outcomes
from agentenvs.harness.report.facts import facts
from agentenvs.harness.report.gather import Findings, find
from agentenvs.harness.report.voice import voice
from agentenvs.harness.report.words import headline, meaning, ranges, verdict
from agentenvs.harness.tax import Counts

pytestmark = pytest.mark.usefixtures("few_pilots")


def _arm(c: ArrayLike, n: int) -> Counts:
    hits = np.asarray(c)
    return Counts([f"t{at}" for at in range(len(hits))], hits, np.full(len(hits), n))


def _found(base: ArrayLike, post: ArrayLike, n: int, **more: object) -> Findings:
    return find(_arm(base, n), _arm(post, n), **more)  # type: ignore[arg-type]


def _sharpened() -> Findings:
    rng = np.random.default_rng(1)
    base = rng.binomial(16, rng.beta(1, 2, 120))
    return _found(base, np.where(rng.random(120) < 0.55, 16, 0), 16)


def _plain(words: str) -> str:
    return words.replace("\u00a0", " ")


def test_a_sharpened_model_is_told_with_the_crossing() -> None:
    found = _sharpened()
    told = _plain(headline(found))
    at = found.crossing
    assert at.low != at.high
    assert at.high is not None
    assert told.startswith("After training, one try solves ")
    assert ", but 16 tries solve " in told
    assert told.endswith(
        f": from about {at.k} tries ({at.low} to {at.high}) on the model before training is ahead."
    )
    assert verdict(found).level == "decided"
    text = "The trained model does better at one try and worse at 16 tries."
    assert verdict(found).text == text


def test_losses_and_gains_at_both_ends_are_told_as_such() -> None:
    low, high = [1, 2, 0, 3] * 20, [14, 15, 16, 12] * 20
    gained, lost = _found(low, high, 16), _found(high, low, 16)
    assert verdict(gained).text == "The trained model does better at one try and at 16 tries."
    assert verdict(lost).text == "The trained model does worse at one try and at 16 tries."
    assert ", and 16 tries" in headline(gained)
    assert "ahead" not in headline(gained)
    assert facts(gained)[2].value == "not within 16 tries"
    ahead = facts(lost)[2]
    assert (ahead.title, ahead.value) == (
        "The model before training is ahead",
        "from the first try",
    )
    assert (ahead.told, ahead.decided) == ("it has nothing to catch up", True)


def test_a_crossing_that_the_data_leave_open_is_not_called_decided() -> None:
    found = _sharpened()
    at = found.crossing
    once = replace(found, crossing=at._replace(k=1, low=1, high=2))
    assert (facts(once)[2].value, facts(once)[2].decided) == ("from the first try", False)
    assert facts(once)[2].told == "it may be behind at first: not decided"
    beyond = replace(found, crossing=at._replace(k=None, low=7, high=None))
    assert (facts(beyond)[2].told, facts(beyond)[2].decided) == (
        "it may yet do so: not decided",
        False,
    )
    maybe = replace(found, crossing=at._replace(k=7, low=7, high=None))
    assert facts(maybe)[2].decided is False
    # The trained model is worse at 16 tries, beyond doubt, and the crossing may lie beyond.
    assert facts(maybe)[2].told.endswith("so that here the two differ")


def test_a_crossing_without_doubt_is_told_as_one_number() -> None:
    found = _sharpened()
    one = replace(found, crossing=found.crossing._replace(k=3, low=3, high=3))
    assert headline(one).endswith(": from 3 tries on the model before training is ahead.")
    late = replace(found, crossing=found.crossing._replace(k=9, low=8, high=None))
    assert "ahead" not in headline(late)


@pytest.mark.parametrize(
    ("base", "post", "told"),
    [
        ([1, 2, 0, 3] * 20, [16, 0, 0, 16] * 20, "That is what is seen here."),
        ([1, 2, 0, 3] * 20, [14, 15, 16, 12] * 20, "solves more at once and more in 16 tries"),
        ([14, 15, 16, 12] * 20, [1, 2, 0, 3] * 20, "solves less at once and less in 16 tries"),
        ([16, 0, 0, 16] * 20, [1, 2, 0, 3] * 20, "Here it is the other way round"),
        ([3, 0, 4, 1], [4, 1, 3, 2], "these tries do not tell"),
        ([3, 0, 4, 1], [3, 0, 4, 1], "the two do not differ"),
    ],
)
def test_the_explanation_fits_what_was_seen(base: list[int], post: list[int], told: str) -> None:
    assert told in meaning(_found(base, post, 16))


def test_the_tax_is_told_with_its_scale() -> None:
    found = _sharpened()
    row = next(row for row in found.comparison.rows if row.K == found.K)
    one, two = row.measures.S_base.value, row.measures.S_post.value
    card = facts(found)[3]
    assert card.title == "Sharpening Tax at 8 tries"
    assert card.told.startswith(
        f"S, what trying again mends ({row.s_max:.2f} at most), fell from {one:.3f} to "
    )
    assert two == 0
    same = facts(_found([3, 0, 4, 1], [3, 0, 4, 1], 16))[3]
    assert "stayed at" in same.told


def test_what_is_not_decided_is_not_claimed() -> None:
    found = _found([3, 0, 4, 1], [4, 1, 3, 2], 8)
    assert headline(found).endswith("; that does not tell the two apart.")
    judged = verdict(found)
    assert (judged.level, judged.mark) == ("open", "Not decided")
    assert "may be better or worse" in judged.text
    assert all(one.decided is False for one in facts(found))


@pytest.mark.parametrize(
    ("rates", "level"),
    [((0.2, 0.2), "open"), ((0.1, 0.6), "decided"), ((0.6, 0.1), "decided")],
)
def test_the_verdict_follows_the_intervals(rates: tuple[float, float], level: str) -> None:
    rng = np.random.default_rng(3)
    base, post = (rng.binomial(4, rng.beta(5 * rate, 5 * (1 - rate), 150)) for rate in rates)
    found = _found(base, post, 4)
    gaps = [found.comparison.pass_1_gap]
    gaps.append(max(found.comparison.rows, key=lambda row: row.K).measures.pass_gap)
    clear = [gap.low > 0 or gap.high < 0 for gap in gaps]
    assert verdict(found).level == level
    assert (level == "decided") is all(clear)


def test_nothing_solved() -> None:
    found = _found([0] * 24, [0] * 24, 2)
    assert _plain(headline(found)) == "Neither model solved any of the 24 tasks in 2 tries."
    assert verdict(found).level == "open"
    assert "up to 14 % of the tasks" in _plain(verdict(found).text)


def test_everything_solved() -> None:
    found = _found([4] * 5, [4] * 5, 4)
    assert _plain(headline(found)) == "Both models solved each of the 5 tasks at every try."
    assert verdict(found).mark == "No difference seen"


def test_equal_runs_are_not_told_apart() -> None:
    found = _found([1, 2, 3, 0], [1, 2, 3, 0], 4)
    assert "the same share of the tasks at every number of tries" in headline(found)
    assert "That does not show that they always will." in verdict(found).text
    assert facts(found)[2].value == "no crossing"


def test_one_task_is_told_in_the_singular() -> None:
    found = _found([3], [6], 8)
    assert "the task 75 % of the time against 38 % before" in _plain(headline(found))
    assert verdict(found).level == "open"


def test_one_try_speaks_of_no_more() -> None:
    found = _found([1, 0, 1, 0], [1, 1, 1, 0], 1)
    assert "tries" not in headline(found)
    assert len(facts(found)) == 1
    assert "several tries" in meaning(found)
    assert "1 tries" not in ranges(found)


def test_the_largest_budget_asked_for_heads_the_page() -> None:
    rng = np.random.default_rng(0)
    base, post = rng.binomial(16, 0.4, (2, 40))
    assert "4 tries solve" in headline(_found(base, post, 16, ks=[2, 4]))


def _run(name: str, **policy: object) -> Outcomes:
    rows = [
        {"task_id": f"t{task}", "rollout": at, "success": at < task}
        for task in range(5)
        for at in range(4)
    ]
    return Outcomes(rows, {"policy": {"name": name, **policy}})


def test_scripted_policies_are_called_by_their_names() -> None:
    found = find(_run("scripted:narrow"), _run("scripted:wide"))
    assert voice(found).columns == ("scripted:narrow", "scripted:wide")
    assert "training" not in headline(found) + ranges(found) + verdict(found).text
    assert "scripted:narrow and scripted:wide solve the same share" in headline(found)


def test_two_runs_of_one_model_are_not_called_trained() -> None:
    found = find(_run("a", weights="f00"), _run("b", weights="f00"))
    assert voice(found).titles == ("the first run", "the second run")
    assert "training" not in headline(found) + ranges(found)
    assert voice(find(_run("a", weights="f00"), _run("b", weights="bar"))).opening == (
        "After training"
    )
