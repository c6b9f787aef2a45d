from __future__ import annotations

import itertools
from typing import Any, Literal

import gymnasium
import pytest

import agentenvs
from agentenvs import bfcl
from agentenvs.bfcl import mini
from agentenvs.syntax import call_text, parse_call_list

Turns = list[list[list[str]]]

ROWS = {row["id"]: row for row in mini.rows()}
GOLD = mini.answers()
each_task = pytest.mark.parametrize("task", list(ROWS))
each_rule = pytest.mark.parametrize("rules", ["official", "fixed"])


def steps(task: str) -> Turns:
    """The gold plan, one call a step."""
    return [[[call] for call in turn] for turn in GOLD[task]]


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value} two"
    if isinstance(value, dict):
        return {key: other(item) for key, item in value.items()}
    return [*value, "more"]


@each_task
@each_rule
def test_gold_is_valid(task: str, rules: Literal["official", "fixed"]) -> None:
    assert bfcl.verdict(task, steps(task), rules) == (True, "", None)
    together = [[turn] if turn else [] for turn in GOLD[task]]
    assert bfcl.verdict(task, together, rules).valid


@each_task
def test_dropping_any_call_fails(task: str) -> None:
    for turn, step in itertools.product(range(len(GOLD[task])), range(5)):
        plan = steps(task)
        if step < len(plan[turn]):
            dropped = plan[turn].pop(step)
            assert not bfcl.verdict(task, plan).valid, dropped


@each_task
def test_any_other_argument_fails(task: str) -> None:
    for turn, calls in enumerate(GOLD[task]):
        for step, text in enumerate(calls):
            (node,) = parse_call_list(text)
            for key, value in node.kwargs:
                plan = steps(task)
                call = call_text(node.name, {**dict(node.kwargs), key: other(value)}, ())
                plan[turn][step] = [call]
                assert not bfcl.verdict(task, plan).valid, call


@each_task
def test_doing_nothing_or_all_at_once_fails(task: str) -> None:
    plan = steps(task)
    assert not bfcl.verdict(task, [[] for _ in plan]).valid
    if len(plan) > 1:
        at_once = [[call] for turn in GOLD[task] for call in turn]
        assert not bfcl.verdict(task, [at_once, *([] for _ in plan[1:])]).valid


@each_task
@each_rule
def test_looking_around_never_hurts(task: str, rules: Literal["official", "fixed"]) -> None:
    known = [doc for name in ROWS[task]["involved_classes"] for doc in mini.docs(name)]
    looks = [
        f"{doc['name']}()"
        for doc in known
        if doc["name"].startswith("list_") and not doc["parameters"]["required"]
    ]
    plan = [[looks, *turn, ["no_such_tool()"]] if turn else [looks] for turn in steps(task)]
    assert bfcl.verdict(task, plan, rules).valid


@pytest.mark.parametrize(
    ("task", "step"),
    [
        ("mini_home_0", ["turn_on(device='Kitchen Lamp')"]),
        ("mini_home_0", ["turn_on(device='kitchen_lamp')", "turn_on(device='kitchen lamp')"]),
        ("mini_files_0", ["list_files(folder='/')"]),
        ("mini_files_1", ["delete_file('old.txt')"]),
        ("mini_desk_0", ["assign_ticket(ticket_id=7.0, person='priya')"]),
        (
            "mini_desk_0",
            ["assign_ticket(ticket_id='7', person='Priya')", GOLD["mini_desk_0"][0][0]],
        ),
    ],
)
def test_another_spelling_or_a_mended_slip_is_valid(task: str, step: list[str]) -> None:
    assert bfcl.verdict(task, [[step]]).valid


def test_an_argument_of_another_type_does_nothing() -> None:
    plan = [[["assign_ticket(ticket_id='7', person='Priya')"]]]
    assert not bfcl.verdict("mini_desk_0", plan).valid


@each_task
@pytest.mark.parametrize("decoding", ["native", "official"])
def test_gold_as_text_solves_the_environment(task: str, decoding: str) -> None:
    env = gymnasium.make("agentenvs/BFCLv4-v0", tasks="mini", task=task, decoding=decoding)
    env.reset(seed=0)
    reward, over = 0.0, False
    for turn in GOLD[task]:
        assert not over
        if turn:
            env.step(f"[{', '.join(turn)}]")
        _, reward, over, truncated, info = env.step("That is all.")
        assert not truncated
    assert over
    assert (reward, info["success"], info["reason"]) == (1.0, True, "")


@each_task
def test_gold_actions_solve_the_environment(task: str) -> None:
    env = gymnasium.make("agentenvs/BFCLv4-v0", tasks="mini", rules="fixed")
    env.reset(options={"task": task})
    rewards = [env.step(action)[1] for action in bfcl.gold_actions(task)]
    assert rewards[-1] == 1.0
    assert not any(rewards[:-1])


def test_a_withheld_function_is_offered_in_its_turn() -> None:
    env = gymnasium.make("agentenvs/BFCLv4-v0", tasks="mini")
    for task, row in ROWS.items():
        for index, names in row.get("missed_function", {}).items():
            _, info = env.reset(options={"task": task})
            offered = {tool["name"] for tool in info["tools"]}
            assert not offered & set(names)
            for _ in range(int(index)):
                _, _, _, _, info = env.step("I cannot do that.")
            assert {tool["name"] for tool in info["tools"]} == offered | set(names)


def test_the_set_is_listed_in_file_order() -> None:
    assert agentenvs.tasks("BFCLv4", "mini") == list(ROWS)
