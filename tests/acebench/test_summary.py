from __future__ import annotations

import pytest

from agentenvs.acebench.records import AGENT, CATEGORIES, DIALOGUES, NORMAL, SPECIAL, Records
from agentenvs.acebench.summary import WEIGHTS, summarize, summarize_solvable
from agentenvs.acebench.tasks import unsolvable
from agentenvs.core import Rules
from agentenvs.errors import BadArgument, UnknownName


def name(category: str, number: int = 0) -> str:
    return f"en/{category}_{number}"


def test_the_formula() -> None:
    outcomes = {name(category): True for category in CATEGORIES}
    outcomes |= {name(category, 1): False for category in NORMAL[:6]}
    outcomes |= {name(category, 1): False for category in (SPECIAL[0], AGENT[0])}
    found = summarize(outcomes)["en"]
    assert found.normal == pytest.approx(0.75)
    assert found.special == pytest.approx(2.5 / 3)
    assert found.agent == pytest.approx(0.75)
    assert found.overall == pytest.approx(0.578 * 0.75 + 0.2676 * 2.5 / 3 + 0.1545 * 0.75)
    assert sum(WEIGHTS) == pytest.approx(1.0001)


def test_categories_weigh_the_same_whatever_their_size() -> None:
    outcomes = {name(category): True for category in AGENT}
    outcomes |= {name(AGENT[0], number): False for number in range(1, 10)}
    found = summarize(outcomes)["en"]
    assert found.agent == pytest.approx(0.55)
    assert (found.categories[AGENT[0]].passed, found.categories[AGENT[0]].total) == (1, 10)
    assert found.normal is found.special is found.overall is None


def test_dialogues_pass_as_a_whole() -> None:
    outcomes = {f"en/{DIALOGUES[0]}_4_{turn}": turn != 1 for turn in range(3)}
    outcomes |= {f"en/{DIALOGUES[0]}_5_{turn}": True for turn in range(2)}
    accuracy = summarize(outcomes)["en"].categories[DIALOGUES[0]]
    assert (accuracy.passed, accuracy.total) == (1, 2)
    assert summarize({f"en/{DIALOGUES[0]}_4": 0.25})["en"].categories[DIALOGUES[0]].share == 0.25


def test_shares_and_languages() -> None:
    found = summarize({"en/agent_multi_step_0": 0.5, "zh/agent_multi_step_0": 1})
    assert list(found) == ["en", "zh"]
    assert found["en"].categories["agent_multi_step"].share == 0.5


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_without_what_cannot_be_solved(records: Records, rules: Rules) -> None:
    outcomes = {task.name: task.unit not in unsolvable(rules) for task in records.values()}
    everything, solvable = summarize(outcomes), summarize_solvable(outcomes, rules)
    for lang in ("en", "zh"):
        assert everything[lang].overall < solvable[lang].overall  # type: ignore[operator]
        assert solvable[lang].overall == pytest.approx(1.0001)
    left_out = sum(
        everything[lang].categories[category].total - solvable[lang].categories[category].total
        for lang in ("en", "zh")
        for category in CATEGORIES
    )
    assert left_out == len(unsolvable(rules))


@pytest.mark.parametrize("bad", [[("en/agent_multi_step_0", True)], "runs/base", None])
def test_outcomes_are_a_mapping(bad: object) -> None:
    with pytest.raises(BadArgument, match=r"mapping .* `outcomes.shares\(\)`"):
        summarize(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [2, -0.1, "yes", None])
def test_outcomes_out_of_range(bad: object) -> None:
    with pytest.raises(BadArgument, match="agent_multi_step_0"):
        summarize({"en/agent_multi_step_0": bad})  # type: ignore[dict-item]


def test_turns_need_booleans() -> None:
    with pytest.raises(BadArgument, match="to be a bool, got 0.5"):
        summarize({f"en/{DIALOGUES[0]}_4_0": 0.5})
    with pytest.raises(BadArgument, match="by turn as well"):
        summarize({f"en/{DIALOGUES[0]}_4_0": True, f"en/{DIALOGUES[0]}_4": True})


@pytest.mark.parametrize("bad", ["agent_multi_step_0", "fr/agent_multi_step_0", "en/x_0", 3])
def test_names_of_no_task(bad: str) -> None:
    with pytest.raises(UnknownName):
        summarize({bad: True})
