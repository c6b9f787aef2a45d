from __future__ import annotations

import copy
from typing import Any

import pytest

from agentenvs.acebench.records import Task
from agentenvs.acebench.states import check, check_both_ways, process_accuracy

ANSWER: list[dict[str, Any]] = [
    {"BaseApi": {"wifi": True, "logged_in": True}},
    {"MessageApi": {"inbox": {"1": {"message": "Hi."}, "2": {"message": "Yo"}}}},
]


def task(answer: Any = ANSWER, milestones: Any = ("[a()]", "[b()]")) -> Task:
    return Task(
        "agent_multi_turn_0",
        "en",
        "agent_multi_turn",
        0,
        None,
        "?",
        (),
        involved_classes=("BaseApi", "MessageApi"),
        answer=answer,
        milestones=milestones,
    )


def changed(*path: Any, value: Any = None, drop: bool = False) -> Any:
    state: Any = copy.deepcopy(ANSWER)
    place = state
    for key in path[:-1]:
        place = place[key]
    if drop:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return state


@pytest.mark.parametrize(
    ("state", "official", "fixed"),
    [
        (ANSWER, "", ""),
        (ANSWER[::-1], "", ""),
        (changed(1, "MessageApi", "inbox", "3", value={}), "", "class attributes wrong"),
        (changed(0, "BaseApi", "wifi", drop=True), "", "class attributes wrong"),
        (changed(0, "BaseApi", "zzz", value=1), *["class attributes wrong"] * 2),
        (changed(0, "BaseApi", "wifi", value=False), *["class attributes wrong"] * 2),
        (changed(0, "BaseApi", "wifi", value=1), "", "class attributes wrong"),
        (changed(1, "MessageApi", "inbox", "1", drop=True), *["class attributes wrong"] * 2),
        (
            changed(1, "MessageApi", "inbox", "1", "message", value="hi"),
            "class attributes wrong",
            "",
        ),
        ([ANSWER[0], {"Other": {}}], "", "wrong number of class"),
        (ANSWER[:1], "wrong number of class", "wrong number of class"),
        ([], "wrong number of class", "wrong number of class"),
        ([{**ANSWER[0], **ANSWER[1]}], "wrong number of class", "wrong number of class"),
    ],
)
def test_states(state: Any, official: str, fixed: str) -> None:
    found = check(task(), state, ())
    assert found.error_type == official
    assert found.final_state == state
    mended = check_both_ways(task(), state, (), [ANSWER])
    assert mended.error_type == fixed
    assert mended.valid == (not fixed) == (not mended.detail)


def test_a_reference_of_an_unknown_class() -> None:
    answer = [ANSWER[0], {"MesageApi": ANSWER[1]["MessageApi"]}]
    nothing = [ANSWER[0], {"MessageApi": {"inbox": {}}}]
    assert check(task(answer), nothing, ()).valid
    found = check_both_ways(task(answer), nothing, (), [answer])
    assert found.error_type == "fixed:unknown class"
    assert "MesageApi" in found.detail


def test_any_alternative_will_do() -> None:
    other = changed(1, "MessageApi", "inbox", "2", drop=True)
    assert check_both_ways(task(), other, (), [ANSWER, other]).valid


@pytest.mark.parametrize(
    ("milestones", "process", "share"),
    [
        (["a", "b", "c"], [], 0.0),
        (["a", "b", "c"], ["a", "c", "b"], 0.667),
        (["a", "b", "c"], ["x", " a\n", "b", "y", "c"], 1.0),
        (["a", "b", "c"], ["b", "c"], 0.0),
        (["a", "a"], ["a"], 0.5),
        ([["a", "b", "c"], ["b", "z"]], ["b"], 0.5),
    ],
)
def test_process_accuracy(milestones: Any, process: list[str], share: float) -> None:
    assert process_accuracy(task(milestones=milestones), process) == share


def test_process_accuracy_of_a_valid_episode_is_one() -> None:
    assert check(task(), ANSWER, ()).process_accuracy == 1.0
    assert check(task(), [], ("[a()]",)).process_accuracy == 0.5
    assert check_both_ways(task(), [], ("[a()]",), [ANSWER]).process_accuracy == 0.5
