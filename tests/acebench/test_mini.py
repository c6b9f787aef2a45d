# ruff: noqa: RUF001 - Chinese punctuation is meant

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentenvs.acebench import mini
from agentenvs.acebench.conversation import Conversation
from agentenvs.acebench.env import ACEBenchEnv
from agentenvs.acebench.judge import judge_answer, judge_state
from agentenvs.acebench.outcome import Verdict
from agentenvs.acebench.overlay import overlay
from agentenvs.acebench.plans import agent_plan, gold_actions
from agentenvs.acebench.records import AGENT, CATEGORIES, LANGS, Lang, Records, Task
from agentenvs.acebench.replay import END, replay
from agentenvs.acebench.replies import Decoding
from agentenvs.acebench.slots import scripted_tasks
from agentenvs.acebench.tasks import is_official, task_ids, turns_of
from agentenvs.acebench.users import ScriptedUser
from agentenvs.acebench.worlds import SERVICES, World
from agentenvs.core import Rules
from agentenvs.errors import SourceMismatch, UnknownName

RULES: tuple[Rules, ...] = ("official", "fixed")
#: what the executing code itself demands, and the sentence that the official checker looks for
FORCED = {"Economy Class", "Business Class", "经济舱", "商务舱", "bank", "cash", "available"}
FORCED |= {"regular", "silver", "gold"}


def _agents() -> list[Task]:
    return [task for task in mini.tasks().values() if task.category in AGENT]


def test_every_category_and_every_service_is_there_in_both_languages() -> None:
    tasks = mini.tasks().values()
    kinds = {(task.lang, task.category) for task in tasks}
    assert {category for _, category in kinds} == set(CATEGORIES)
    for lang in LANGS:
        assert {(lang, category) for category in AGENT} <= kinds
        used = {name for task in _agents() if task.lang == lang for name in task.involved_classes}
        assert used == set(SERVICES)


def test_how_many_there_are_of_each() -> None:
    count = dict.fromkeys(CATEGORIES, 0)
    for name in task_ids("mini"):
        count[turns_of(name)[0].category] += 1
    assert sum(count.values()) == 54
    assert count["agent_multi_step"] == 12
    assert count["agent_multi_turn"] == 13
    assert min(count.values()) >= 1


def test_names_are_their_own() -> None:
    assert all(name.startswith("mini/") and not is_official(name) for name in task_ids("mini"))
    assert all(name == task.name for name, task in mini.tasks().items())


@pytest.mark.parametrize("rules", RULES)
def test_every_task_can_be_solved(rules: Rules) -> None:
    for name in task_ids("mini"):
        turns, said = turns_of(name), gold_actions(name, rules)
        if turns[0].category in AGENT:
            assert _judged(turns[0], said, rules)
        else:
            assert all(
                judge_answer(turn, text, rules).valid
                for turn, text in zip(turns, said, strict=True)
            )


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("decoding", ["native", "official"])
def test_every_task_can_be_solved_through_the_environment(rules: Rules, decoding: Decoding) -> None:
    env = ACEBenchEnv(tasks="mini", rules=rules, decoding=decoding)
    for name in task_ids("mini"):
        env.reset(seed=1, options={"task": name})
        *before, last = gold_actions(name, rules)
        for action in before:
            _, reward, terminated, truncated, _ = env.step(action)
            assert (reward, terminated, truncated) == (0.0, False, False)
        _, reward, terminated, truncated, info = env.step(last)
        assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("words", ["", "[]", "Done.", END])
def test_doing_nothing_solves_none(rules: Rules, words: str) -> None:
    for task in mini.tasks().values():
        if task.category in AGENT:
            assert not _judged(task, [words, END], rules)
        else:
            assert not judge_answer(task, words, rules).valid


@pytest.mark.parametrize("rules", RULES)
def test_looking_without_acting_solves_none(rules: Rules) -> None:
    for task in _agents():
        names = {function["name"] for function in task.functions}
        look = "get_flight_details" if "get_flight_details" in names else "login_device"
        assert not _judged(task, [f"[{look}()]", END], rules)


def test_no_step_of_a_plan_can_be_left_out() -> None:
    for task in _agents():
        said = agent_plan(task, mini.world(task.lang), ask=False)
        for at in range(len(said) - 1):
            shorter = said[:at] + said[at + 1 :]
            assert not _judged(task, shorter, "fixed")
            # the official checker does not see what should be gone
            assert not _judged(task, shorter, "official") or "[delete_reminder(" in said[at]


def _judged(task: Task, said: list[str], rules: Rules) -> bool:
    return _verdict(task, said, rules).valid


def _verdict(task: Task, said: list[str], rules: Rules) -> Verdict:
    initial = mini.world(task.lang)
    done = replay(task, said, initial, rules)
    return judge_state(task, done.final_state, done.process, rules, lambda: initial)


def test_scripted_users_know_what_a_polite_agent_asks_for() -> None:
    for task in _agents():
        if task.category == "agent_multi_turn":
            said = agent_plan(task, mini.world(task.lang))
            for seed in range(20):
                user = ScriptedUser(task, seed)
                talk = _talk(task, user, said, RULES[seed % 2])
                assert talk.ended == "agent"
                assert talk.verdict().valid
                assert user.told == user.table.slots.keys()


@pytest.mark.parametrize("lang", LANGS)
def test_scripted_users_end_when_they_see_that_all_is_done(lang: Lang) -> None:
    claim = {"en": "That is done. Anything else?", "zh": "已经办好了，还有别的事吗？"}[lang]
    for task in _agents():
        if task.category == "agent_multi_turn" and task.lang == lang:
            said = agent_plan(task, mini.world(lang))[:-1]
            talk = _talk(task, ScriptedUser(task), [*said, claim], "fixed")
            assert talk.ended == "user"
            assert talk.verdict().valid
            talk = _talk(task, ScriptedUser(task), [claim] * 20, "fixed")
            assert talk.ended == "user"
            assert not talk.verdict().valid


def test_scripted_users_are_there_for_the_multi_turn_tasks_alone() -> None:
    theirs = {task.name for task in _agents() if task.category == "agent_multi_turn"}
    known = scripted_tasks("en") | scripted_tasks("zh")
    assert {name for name in known if name.startswith("mini/")} == theirs


def _talk(task: Task, user: ScriptedUser, said: list[str], rules: Rules) -> Conversation:
    talk = Conversation(task, mini.world(task.lang), rules)
    messages = iter(said)
    while not talk.over:
        if talk.turn == "user":
            talk.user(user.speak(talk))
        else:
            talk.agent(next(messages))
    return talk


def test_milestones_do_the_job_and_count_in_full() -> None:
    for task in _agents():
        steps = list(task.milestones)
        assert _verdict(task, steps, "official").valid
        met = (len(steps) - 1) / len(steps)
        assert _verdict(task, steps[:-1], "official").process_accuracy == round(met, 3)


def test_what_is_offered_can_be_called_with_the_arguments_described() -> None:
    for task in _agents():
        world = World.of(
            task.lang, mini.world(task.lang), task.initial_config, task.involved_classes
        )
        for function in task.functions:
            described = function["parameters"]["properties"]
            assert set(world.parameters(function["name"])) == set(described)
            assert set(function["parameters"]["required"]) <= set(described)


def test_functions_are_all_used() -> None:
    offered = {(task.lang, f["name"]) for task in mini.tasks().values() for f in task.functions}
    described = mini._object("functions.json")
    assert offered == {(lang, name) for lang in LANGS for name in described[lang]}


def test_findings_about_official_tasks_of_the_same_number_do_not_reach_these() -> None:
    task = mini.tasks()["mini/agent_multi_turn_9"]
    assert dataclasses.replace(task, shelf="").name in overlay().corrected
    assert overlay().references(task, dict) == [task.answer]


def test_a_damaged_file_is_named() -> None:
    row, described = {"id": "agent_multi_turn_0", "lang": "en"}, {"en": {}}
    with pytest.raises(SourceMismatch, match="agent_multi_turn_0"):
        mini._task(row, {"id": "agent_multi_turn_0"}, described)
    with pytest.raises(SourceMismatch, match="agent_multi_turn_1"):
        mini._task(row, {"id": "agent_multi_turn_1"}, described)


def test_there_are_two_languages() -> None:
    with pytest.raises(UnknownName):
        mini.world("de")  # type: ignore[arg-type]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


@pytest.fixture(scope="module")
def official(acebench_data: Path) -> str:
    """Return all official files as one text, escapes resolved."""
    found: list[str] = []
    for path in sorted(acebench_data.glob("data_*/**/*.json")):
        for line in path.read_text("utf-8").splitlines():
            found += _texts(json.loads(line))
    found += _texts(json.loads((acebench_data / "world.json").read_text("utf-8")))
    return "\n".join(found).casefold()


def test_no_question_description_or_message_is_an_official_one(official: str) -> None:
    for task in mini.tasks().values():
        assert task.question.strip().casefold() not in official
        for line in task.question.splitlines():
            assert line.casefold() not in official
        assert not task.profile or task.profile.casefold() not in official
        for function in task.functions:
            assert function["description"].casefold() not in official
    for lang in LANGS:
        state = mini.world(lang)
        for text in _texts([state["MessageApi"], state["ReminderApi"]]):
            if len(text) > 4 and not text[0].isdigit():
                assert text.casefold() not in official


def test_no_person_menu_flight_or_password_is_an_official_one(records: Records) -> None:
    for lang in LANGS:
        ours, theirs = mini.world(lang), records.world(lang)
        for name in SERVICES:
            mine = set(_texts(ours[name]["state"])) | _keys(ours[name]["state"])
            other = set(_texts(theirs[name]["state"])) | _keys(theirs[name]["state"])
            assert {text for text in mine & other if not text.startswith("res_")} <= FORCED


def _keys(state: dict[str, Any]) -> set[str]:
    """Return the names of people and merchants: keys of the objects inside the attributes."""
    named = ("user_list", "users", "merchant_list")
    return {key for name in named for key in state.get(name, {})}


def test_no_function_of_the_single_shot_tasks_is_an_official_one(records: Records) -> None:
    theirs = {function["name"] for task in records.values() for function in task.functions}
    ours = {
        function["name"]
        for task in mini.tasks().values()
        if task.category not in AGENT
        for function in task.functions
    }
    assert not ours & theirs
