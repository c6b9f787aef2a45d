from __future__ import annotations

import copy
import json
import pickle
import random
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import agentenvs
from agentenvs.acebench import OneSide, dialogue, gold_actions, mini, task_ids
from agentenvs.acebench.conversation import END
from agentenvs.acebench.env import ACEBenchEnv
from agentenvs.acebench.plans import _written
from agentenvs.acebench.records import AGENT, NORMAL, Task
from agentenvs.acebench.states import milestone_lists
from agentenvs.acebench.tasks import turns_of
from agentenvs.actions import canonical
from agentenvs.core import ToolCall
from agentenvs.errors import BadArgument, SourceMissing, UnknownName
from agentenvs.syntax import UnreadableCall, parse_call_list
from agentenvs.wrappers import RelaxedToolCalls

ID = "agentenvs/ACEBench-v0"
SINGLE = "mini/normal_single_turn_single_function_0"
ADJUST = "mini/normal_multi_turn_user_adjust_0"
SPECIAL = "mini/special_irrelevant_0"
STEP = "mini/agent_multi_step_0"
TURN = "mini/agent_multi_turn_0"
KINDS = (SINGLE, ADJUST, SPECIAL, STEP, TURN)

Env = gymnasium.Env[Any, Any]
End = dict[str, Any]


def make(**kwargs: Any) -> Env:
    return gymnasium.make(ID, **{"tasks": "mini", **kwargs})


def start(task: str, **kwargs: Any) -> tuple[Env, str, dict[str, Any]]:
    env = make(**kwargs)
    observation, info = env.reset(seed=3, options={"task": task})
    return env, observation, info


def play(env: Env, task: str, actions: Sequence[str], seed: int = 0) -> End:
    """Return the last `info`; the actions may be more than it takes."""
    env.reset(seed=seed, options={"task": task})
    info: End = {}
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            assert float(reward) == float(info["success"])
            return info
        assert float(reward) == 0.0
    return info


def as_json(text: str) -> str:
    try:
        calls = parse_call_list(text)
    except UnreadableCall:
        return json.dumps({"content": text, "tool_calls": []}, ensure_ascii=False)
    return canonical([ToolCall(call.name, dict(call.kwargs)) for call in calls])


def references(task: Task) -> list[Any]:
    return task.answer if isinstance(task.answer, list) else [task.answer]


@pytest.mark.parametrize("decoding", ["native", "official"])
@pytest.mark.parametrize("task", KINDS)
def test_gymnasium_finds_nothing(task: str, decoding: str) -> None:
    env = make(task=task, decoding=decoding, render_mode="ansi")
    check_env(env.unwrapped)


@pytest.mark.parametrize("task", KINDS)
def test_gymnasium_finds_nothing_in_free_dialogues(task: str) -> None:
    check_env(make(task=task, dialogue="free").unwrapped)


@pytest.mark.parametrize("tasks", ["en", "zh"])
def test_gymnasium_finds_nothing_in_official_tasks(official_acebench: None, tasks: str) -> None:
    kinds = {name.rpartition("_")[0]: name for name in task_ids(tasks)}
    for name in kinds.values():
        check_env(make(tasks=tasks, task=name).unwrapped)


@pytest.mark.parametrize("reading", ["native", "official", "json", "relaxed", "strict"])
@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_gold_actions_solve_the_bundled_tasks(rules: Any, reading: str) -> None:
    env = make(rules=rules, decoding="official" if reading == "official" else "native")
    if reading in ("relaxed", "strict"):
        env = RelaxedToolCalls(env, mode=reading)  # type: ignore[arg-type]
    for name in task_ids("mini"):
        actions = gold_actions(name, rules)
        end = play(env, name, [as_json(one) if reading == "json" else one for one in actions])
        assert end["success"], (name, end["reason"])


@pytest.mark.parametrize("tasks", ["en", "zh"])
def test_gold_actions_solve_the_official_tasks(official_acebench: None, tasks: str) -> None:
    lost = Counter[str]()
    for rules in ("official", "fixed"):
        env = make(tasks=tasks, rules=rules)
        for name in task_ids(tasks):
            lost[rules] += not play(env, name, gold_actions(name, rules))["success"]
    assert lost == {"official": 27 if tasks == "en" else 8, "fixed": 0}


@pytest.mark.parametrize(("lang", "at"), [("en", 0), ("zh", 1)])
def test_references_are_accepted_as_the_original_accepts_them(
    official_acebench: None, lang: str, at: int, official_counts: Mapping[str, tuple[int, int]]
) -> None:
    env = make(tasks=lang, decoding="official")
    accepted = Counter[str]()
    for name in task_ids(lang):
        turns = turns_of(name)
        category = turns[0].category
        if category in AGENT:
            plans = [[*steps, END] for steps in milestone_lists(turns[0])]
            accepted[category] += any(play(env, name, plan)["success"] for plan in plans)
        else:
            end = play(env, name, [_written(turn, references(turn)[0]) for turn in turns])
            accepted[category] += sum(end.get("turns", [end["success"]]))
    assert accepted == {category: pair[at] for category, pair in official_counts.items()}
    assert sum(accepted.values()) == (972, 999)[at]


@pytest.mark.parametrize("task", KINDS)
def test_reset_tells_everything(task: str) -> None:
    _, observation, info = start(task)
    record = turns_of(task)[0]
    assert info["task"] == task
    assert info["messages"][-1]["role"] == "user"
    assert info["messages"][-1]["content"] in observation
    assert [tool["name"] for tool in info["tools"]] == [one["name"] for one in record.functions]
    assert info["policy"] in info["system"]
    assert str(list(record.functions)) in info["system"]
    assert info["data_version"] == mini.version()
    assert info["turn"] == 0
    assert "fresh" not in info


def test_one_reply_ends_a_single_shot_task() -> None:
    env, observation, info = start(SINGLE)
    assert turns_of(SINGLE)[0].question.strip() in observation
    assert [one["role"] for one in info["messages"]] == [
        "user" if line.startswith("user") else "assistant"
        for line in turns_of(SINGLE)[0].question.strip().split("\n")
    ]
    observation, reward, terminated, truncated, info = env.step("no idea")
    assert (observation, reward, terminated, truncated) == ("", 0.0, True, False)
    assert (info["reason"], info["success"], info["score"]) == ("wrong_output_format", False, 0.0)
    assert info["parse"] == {"status": "words", "reason": ""}


def test_a_forced_dialogue_begins_each_turn_anew() -> None:
    turns = turns_of(ADJUST)
    env, observation, info = start(ADJUST)
    seen = [observation]
    for turn in turns[1:]:
        observation, _, over, _, info = env.step("words")
        assert not over
        assert info["fresh"]
        assert info["turn"] == turn.turn
        assert info["system"]
        assert turn.question.strip() in observation
        seen.append(observation)
    assert all("words" not in text for text in seen)
    assert any(one["role"] == "tool" for one in info["messages"])
    *_, over, _, info = env.step(gold_actions(ADJUST)[-1])
    assert over
    assert info["turns"] == [False] * (len(turns) - 1) + [True]
    assert info["score"] == pytest.approx(info["process_accuracy"], abs=1e-3) == 1 / len(turns)
    assert not info["success"]
    assert info["reason"] == "wrong_output_format"


def test_a_free_dialogue_goes_on_behind_the_agents_own_answers() -> None:
    turns = turns_of(ADJUST)
    env, _, _ = start(ADJUST, dialogue="free", reward="score")
    for turn, action in zip(turns[1:], gold_actions(ADJUST), strict=False):
        observation, _, over, _, info = env.step(action)
        assert not over
        assert "fresh" not in info
        assert turns[0].question.strip() not in observation
        assert turn.question.rstrip("\n").endswith(observation)
        assert info["messages"][0]["role"] in ("tool", "user")
        assert info["messages"][-1]["role"] == "user"
        assert not any(one["content"].startswith("[") for one in info["messages"])
    _, reward, over, _, info = env.step("words")
    assert over
    assert reward == info["score"] == (len(turns) - 1) / len(turns)


@pytest.mark.parametrize("task", [name for name in task_ids("mini") if "special" in name])
@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_words_are_the_answer_in_special_tasks(task: str, rules: Any) -> None:
    (words,) = gold_actions(task, rules)
    sentence = words.strip("[]'\"")
    forms = [words, sentence, json.dumps({"content": sentence, "tool_calls": []})]
    for text in forms:
        end = play(make(rules=rules), task, [text])
        assert end["success"], text
    relaxed = RelaxedToolCalls(make(rules=rules))
    prose = [f"Sorry.\n{sentence}\n"] if rules == "official" else []
    for text in (words, sentence, *prose):
        assert play(relaxed, task, [text])["success"], text
    assert not play(make(rules=rules), task, ["[nothing(a=1)]"])["success"]


def test_calls_around_words_are_read_by_the_original_alone() -> None:
    (gold,) = gold_actions(SINGLE)
    for text in (f"Here: {gold}", f"```\n{gold}\n```"):
        assert play(make(decoding="official"), SINGLE, [text])["success"]
        end = play(make(), SINGLE, [text])
        assert not end["success"]
        assert end["parse"]["status"] == "malformed"
        assert play(RelaxedToolCalls(make()), SINGLE, [text])["success"]


def test_words_that_hold_calls_stay_words() -> None:
    (gold,) = gold_actions(SINGLE)
    said = json.dumps({"content": f"I would do {gold}", "tool_calls": []})
    assert play(make(), SINGLE, [said])["reason"] == "wrong_output_format"
    env, _, _ = start(STEP)
    said = json.dumps({"content": "[turn_on_wifi()]", "tool_calls": []})
    _, _, _, _, info = env.step(said)
    assert info["parse"]["status"] == "words"
    assert info["messages"][0]["role"] == "user"
    assert env.unwrapped._state.talk.process == ["[turn_on_wifi()]"]  # type: ignore[attr-defined]
    assert not env.unwrapped._state.talk.world.scored()[0]["BaseApi"]["wifi"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("decoding", ["native", "official"])
def test_structured_calls_are_written_for_the_decoding_in_force(decoding: str) -> None:
    env = make(decoding=decoding)
    for name in (SINGLE, "mini/normal_atom_enum_1", STEP):
        nodes = [parse_call_list(text) for text in gold_actions(name) if text != END]
        calls = [[ToolCall(one.name, dict(one.kwargs)) for one in some] for some in nodes]
        texts = [env.unwrapped.write_calls(some, None) for some in calls]  # type: ignore[attr-defined]
        assert play(env, name, [*texts, END])["success"]


@pytest.mark.parametrize("task", [SINGLE, ADJUST, STEP])
def test_words_beside_structured_calls_do_no_harm(task: str) -> None:
    actions = [as_json(text) for text in gold_actions(task)]
    told = [json.dumps({**json.loads(text), "content": "Well [then]:"}) for text in actions[:-1]]
    if task != STEP:
        told.append(json.dumps({**json.loads(actions[-1]), "content": "Well [then]:"}))
    assert play(make(), task, [*told, END])["success"]


def test_the_phrase_beside_structured_calls_ends_an_episode() -> None:
    env, _, _ = start(STEP)
    env.step("[turn_on_wifi()]")
    call = {"name": "login_device", "arguments": {}}
    *_, over, _, info = env.step(json.dumps({"content": END, "tool_calls": [call]}))
    assert over
    assert not info["success"]


def test_positional_values_are_bound_by_the_native_grammar_alone() -> None:
    env, _, _ = start(STEP)
    names = [one["name"] for one in turns_of(STEP)[0].functions]
    assert "view_messages_between_users" in names
    observation, *_ = env.step("[view_messages_between_users('a', 'b')]")
    assert "missing" not in observation
    env, _, _ = start(STEP, decoding="official")
    observation, *_ = env.step("[view_messages_between_users('a', 'b')]")
    assert "missing 2 required" in observation


def test_results_come_back_one_message_a_call() -> None:
    env, _, _ = start(STEP)
    observation, _, _, _, info = env.step("[turn_on_wifi(), login_device()]")
    assert observation.startswith("[{'status': True")
    assert [one["name"] for one in info["messages"]] == ["turn_on_wifi", "login_device"]
    assert all(json.loads(one["content"])["status"] for one in info["messages"])
    assert info["parse"] == {"status": "calls", "reason": ""}


def test_an_agent_alone_is_told_not_to_ask() -> None:
    env, observation, info = start(STEP)
    assert observation == turns_of(STEP)[0].question
    observation, _, over, _, info = env.step("May I?")
    assert not over
    assert info["messages"] == [{"role": "user", "content": observation}]


@pytest.mark.parametrize("task", [STEP, TURN])
def test_the_limit_truncates_and_judges(task: str) -> None:
    env, _, _ = start(task, max_messages=4)
    over, count = False, 0
    while not over:
        *_, terminated, truncated, info = env.step("[turn_on_wifi()]")
        over = terminated or truncated
        count += 1
    assert count == 2
    assert (terminated, truncated, info["success"]) == (False, True, False)
    assert info["final_state"][0]["BaseApi"]["wifi"] is True


def test_an_agents_score_is_its_process_accuracy() -> None:
    task = next(name for name in task_ids("mini") if turns_of(name)[0].milestones)
    steps = milestone_lists(turns_of(task)[0])[0]
    env = make(reward="score", decoding="official")
    env.reset(seed=0, options={"task": task})
    env.step(steps[0])
    _, reward, _, _, info = env.step(END)
    assert reward == info["score"] == info["process_accuracy"] == round(1 / len(steps), 3)


def test_the_user_answers_and_may_be_anyone() -> None:
    env, opening, _ = start(TURN)
    asked, *_ = env.step("Whom shall I write to?")
    assert asked
    assert asked != opening
    seen: list[Any] = []

    def user(messages: Any) -> str:
        seen.append(copy.deepcopy(messages))
        return "hello" if len(seen) == 1 else "never mind, finish conversation"

    env, opening, _ = start(TURN, user=user)
    assert opening == "hello"
    observation, _, over, _, _ = env.step("What is it?")
    assert over
    assert END in observation
    assert seen[1][-1] == {"role": "user", "content": "What is it?"}
    env, opening, _ = start(TURN, user=["first", "second"])
    assert (opening, env.step("hm")[0]) == ("first", "second")


def test_a_scripted_user_is_seeded() -> None:
    env = make()
    openings = {env.reset(seed=seed, options={"task": TURN})[0] for seed in range(12)}
    assert len(openings) > 1
    first = [env.reset(seed=4, options={"task": TURN})[0] for _ in range(2)]
    assert first[0] == first[1]
    canonical_one = {
        env.reset(seed=seed, options={"task": TURN, "user_seed": 0})[0] for seed in range(5)
    }
    assert len(canonical_one) == 1
    with pytest.raises(BadArgument, match="`user_seed` to be an int >= 0"):
        env.reset(options={"task": TURN, "user_seed": -1})


@pytest.mark.parametrize("name", [name for name in task_ids("mini") if "agent_multi_turn" in name])
def test_the_dialogue_and_the_environment_are_one_loop(name: str) -> None:
    """The same user and the same words lead to the same observations under every face."""
    script = ["Well.", *gold_actions(name)]
    env = make(user=_echo)
    side = OneSide(dialogue.raw_env(tasks=[name]), _echo)
    pairs = [(env.reset(options={"task": name})[0], side.reset(options={"task": name})[0])]
    ends: tuple[Any, Any] = ((), ())
    for action in script:
        ends = env.step(action), side.step(action)
        pairs.append((ends[0][0], ends[1][0]))
        assert ends[0][1:4] == ends[1][1:4]
        if ends[0][2]:
            break
    assert all(one == other for one, other in pairs[:-1])
    assert ends[0][4]["success"] == ends[1][4]["success"]
    assert ends[0][4]["reason"] == ends[1][4]["reason"]


def _echo(messages: Any) -> str:
    return f"I heard: {messages[-1]['content'][:40]}"


@pytest.mark.parametrize("task", KINDS)
def test_environments_and_snapshots_are_pickled(task: str) -> None:
    env, _, _ = start(task)
    twin, _, _ = start(task)
    snapshot = env.unwrapped.snapshot()  # type: ignore[attr-defined]
    snapshot = pickle.loads(pickle.dumps(snapshot))  # noqa: S301
    twin.unwrapped.restore(snapshot)  # type: ignore[attr-defined]
    third = pickle.loads(pickle.dumps(env.unwrapped))  # noqa: S301
    text = "[turn_on_wifi()]"
    found = [str(one.step(text)) for one in (env, twin, third)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("task", [*KINDS, "mini/agent_multi_turn_8"])
def test_snapshots_and_forks_go_on_alike(task: str) -> None:
    actions = gold_actions(task)
    env, *_ = start(task)
    for cut in range(len(actions)):
        env.reset(seed=5, options={"task": task})
        for action in actions[:cut]:
            env.step(action)
        snapshot = env.unwrapped.snapshot()  # type: ignore[attr-defined]
        twin = agentenvs.fork(env)
        env.step("something else")
        ways = []
        for which in (env, env, twin):
            if which is env:
                env.reset(seed=9, options={"task": SINGLE})
                env.unwrapped.restore(snapshot)  # type: ignore[attr-defined]
            ways.append([copy.deepcopy(which.step(action)) for action in actions[cut:]])
        assert ways[0] == ways[1] == ways[2]
        assert ways[0][-1][4]["success"]


def test_attempts_in_both_languages_never_touch(official_acebench: None) -> None:
    names = [f"{lang}/{kind}_{at}" for lang in ("en", "zh") for kind in AGENT for at in (0, 4, 15)]
    alone = {name: _trace(make(tasks=[name]), name) for name in names}
    envs = [(name, make(tasks=[name])) for name in names for _ in range(2)]
    plans = [iter(gold_actions(name)) for name, _ in envs]
    traces: list[list[Any]] = [[env.reset(seed=1)[0]] for _, env in envs]
    order = random.Random(0)
    alive = list(range(len(envs)))
    while alive:
        at = order.choice(alive)
        step = envs[at][1].step(next(plans[at]))
        traces[at].append(step[0])
        if step[2] or step[3]:
            traces[at].append(step[4]["final_state"])
            alive.remove(at)
    assert all(trace == alone[name] for (name, _), trace in zip(envs, traces, strict=True))


def test_threads_never_touch() -> None:
    names = [name for name in task_ids("mini") if "agent" in name]
    alone = {name: _trace(make(tasks=[name]), name) for name in names}
    found: dict[int, bool] = {}

    def work(index: int) -> None:
        order = names[index:] + names[:index]
        env = make()
        found[index] = all(_trace(env, name) == alone[name] for name in order)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(6), True)


def _trace(env: Env, name: str) -> list[Any]:
    trace: list[Any] = [env.reset(seed=1, options={"task": name})[0]]
    for action in gold_actions(name):
        observation, _, terminated, truncated, info = env.step(action)
        trace.append(observation)
        if terminated or truncated:
            trace.append(info["final_state"])
            break
    return trace


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_agent_that_does_nothing_passes_one_task_under_official_rules(
    official_acebench: None, lang: str
) -> None:
    looks = {
        "MessageApi": "[search_messages(user_name='x', keyword='y')]",
        "ReminderApi": "[view_all_reminders()]",
        "FoodPlatform": "[view_logged_in_users()]",
        "Travel": "[get_flight_details()]",
    }
    passed: dict[str, list[str]] = {}
    for rules in ("official", "fixed"):
        env = make(tasks=lang, rules=rules)
        for name in task_ids(lang):
            if "agent" in name:
                look = next(
                    looks[one] for one in turns_of(name)[0].involved_classes if one in looks
                )
                if play(env, name, [look, END])["success"]:
                    passed.setdefault(rules, []).append(name)
    assert passed == {"official": [f"{lang}/agent_multi_turn_7"]}


def test_gold_never_shows() -> None:
    env = make(decoding="official")
    for name in task_ids("mini"):
        if turns_of(name)[0].category not in NORMAL:
            continue
        observation, info = env.reset(options={"task": name})
        for gold in gold_actions(name):
            assert gold not in f"{observation} {info}"
            observation, *_, info = env.step("[wrong(a=1)]")
        assert info.keys() - {"turns"} == {
            "task",
            "messages",
            "turn",
            "process_accuracy",
            "parse",
            "success",
            "score",
            "reason",
        }


@pytest.mark.parametrize(
    ("kwargs", "kind", "said"),
    [
        ({"tasks": "nothing"}, UnknownName, "no task set or task 'nothing'"),
        ({"task": "mini/agent_multi_step_99"}, UnknownName, "Did you mean"),
        ({"decoding": "lenient"}, BadArgument, "`decoding` to be 'native' or 'official'"),
        ({"dialogue": "loose"}, BadArgument, "`dialogue` to be 'teacher' or 'free'"),
        ({"max_messages": 0}, BadArgument, "`max_messages` to be an int >= 1"),
        ({"max_messages": True}, BadArgument, "`max_messages` to be an int >= 1"),
        ({"exclude": "mini"}, BadArgument, "`exclude` to be a list"),
        ({"rules": "new"}, BadArgument, "`rules`"),
        ({"reward": "much"}, BadArgument, "`reward`"),
        ({"user": "me"}, BadArgument, "`user` to be 'scripted'"),
        ({"prompts": {"x": "y"}}, BadArgument, "`prompts` by category"),
    ],
)
def test_arguments_are_checked(kwargs: Any, kind: Any, said: str) -> None:
    with pytest.raises(kind, match=said):
        ACEBenchEnv(**{"tasks": "mini", **kwargs})


def test_own_prompts_are_shown() -> None:
    prompts = {
        "normal_single_turn_single_function": {"system": "{functions}!", "user": "{history}"}
    }
    _, observation, info = start(SINGLE, prompts=prompts)
    assert info["system"].endswith("]!")
    assert observation == turns_of(SINGLE)[0].question.rstrip("\n")


def test_excluded_tasks_are_never_drawn_but_can_be_named() -> None:
    left = task_ids("mini")[1:]
    env = make(exclude=left)
    assert {env.reset(seed=seed)[1]["task"] for seed in range(5)} == {task_ids("mini")[0]}
    assert env.reset(options={"task": left[0]})[1]["task"] == left[0]


def test_missing_data_is_said_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    from agentenvs.acebench import tasks

    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path))
    monkeypatch.setenv("AGENTENVS_OFFLINE", "1")
    for name in ("AGENTENVS_ACEBENCH", "AGENTENVS_DATA"):
        monkeypatch.delenv(name, raising=False)
    tasks.open_tree.cache_clear()
    try:
        with pytest.raises(SourceMissing, match="agentenvs data import acebench PATH"):
            ACEBenchEnv()
        assert ACEBenchEnv(tasks="mini").reset()[0]
    finally:
        tasks.open_tree.cache_clear()


def test_vectors_agree() -> None:
    names = list(KINDS)
    found = []
    for mode in ("sync", "async"):
        vector = agentenvs.make_vec(ID, names, mode=mode)  # type: ignore[arg-type]
        observations = [list(vector.reset(seed=2)[0])]
        observations.append(list(vector.step(("[turn_on_wifi()]",) * len(names))[0]))
        vector.close()
        found.append(observations)
    assert found[0] == found[1]
    assert all(isinstance(text, str) for text in found[0][0])


def test_renders_the_conversation() -> None:
    env, observation, _ = start("mini/agent_multi_step_8", render_mode="ansi")
    env.step("[turn_on_wifi()]")
    shown = env.render()
    assert isinstance(shown, str)
    assert observation in shown
    assert "[tool turn_on_wifi]" in shown
