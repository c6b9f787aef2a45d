from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import agentenvs
from agentenvs.errors import BadArgument, UnknownName
from agentenvs.toollab import Design, task_ids
from agentenvs.toollab.design import CHANNELS, CODES, COUNTS, ERRANDS, ITEMS, LABELS, TAGS
from agentenvs.toollab.env import ToolLabEnv
from agentenvs.toollab.tasks import index_of

ID = "agentenvs/ToolLab-v0"
TASK = "0/order/lamp/seven"


class Errand(NamedTuple):
    """What a task asks for, and words that are wrong for it."""

    item: str
    call: str
    code: str
    wrong: str
    other_code: str


def errand(tag: str, task: str = TASK) -> Errand:
    design = Design.of(0)
    row, item, count = design.task(index_of(task))
    channel, label, code = design.truth[row, item]
    amount = COUNTS[design.counted[label, count]]
    return Errand(
        ITEMS[item],
        f"{CHANNELS[channel]} {tag} {LABELS[label]} {amount}",
        CODES[code],
        f"{CHANNELS[channel - 1]} {tag} {LABELS[label]} {amount}",
        CODES[code - 1],
    )


class Played(NamedTuple):
    replies: list[str]
    reward: float
    ended: str
    info: dict[str, Any]


def play(texts: Sequence[str], seed: int = 0, task: str = TASK, **kwargs: Any) -> Played:
    """Play texts as far as the episode goes."""
    env = ToolLabEnv(task=task, **kwargs)
    env.reset(seed=seed)
    replies: list[str] = []
    for text in texts:
        observation, reward, terminated, truncated, info = env.step(text)
        replies.append(observation)
        if terminated or truncated:
            assert reward == float(info["success"]) == info["score"]
            assert bool(info["reason"]) is not info["success"]
            return Played(replies, reward, "terminated" if terminated else "truncated", info)
        assert reward == 0.0
        assert "success" not in info
    return Played(replies, 0.0, "", info)


def test_gymnasiums_own_check() -> None:
    check_env(gymnasium.make(ID).unwrapped)


def test_an_errand_carried_out(seeds: Mapping[str, int]) -> None:
    for tag, seed in seeds.items():
        right = errand(tag)
        done = play([f"find {right.item}", right.call, right.code], seed)
        assert done[:3] == ([tag, "ok", ""], 1.0, "terminated")
        assert done.info["reason"] == ""


def test_the_opening() -> None:
    observation, info = ToolLabEnv(task=TASK).reset(seed=0)
    assert observation == "order lamp seven"
    assert info["messages"] == [{"role": "user", "content": "order lamp seven"}]
    assert (info["task"], info["system"], info["policy"]) == (TASK, "", "")
    assert [tool["name"] for tool in info["tools"]] == ["find", *CHANNELS]
    assert info["data_version"] == Design.of(0).digest


def test_the_manual() -> None:
    _, info = ToolLabEnv(task=TASK, manual=True).reset()
    assert info["policy"]
    assert info["system"].startswith(info["policy"])
    assert info["own_roles"] is False


def test_find_answers_the_tag_of_the_item_asked_for_alone(seeds: Mapping[str, int]) -> None:
    done = play(["find chair", "find nothing", "find lamp", "find lamp"], seeds["k4"])
    assert done.replies == ["unknown", "unknown", "k4", "k4"]
    assert done.ended == ""


def test_tags_are_drawn_at_reset() -> None:
    env = ToolLabEnv(task=TASK)
    drawn = []
    for at in range(600):
        env.reset(seed=11 if at == 0 else None)
        drawn.append(TAGS.index(env.step("find lamp")[0]))
    counts = np.bincount(drawn, minlength=10)
    assert ((counts - 60) ** 2 / 60).sum() < 27.9  # chi square, 9 degrees: 1 in 1000


def test_one_refused_call_can_be_mended(seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    done = play(["find lamp", right.wrong, right.call, right.code], seeds["k0"])
    assert done[:3] == (["k0", "error", "ok", ""], 1.0, "terminated")


def test_the_second_refusal_ends_the_episode(seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    done = play([right.wrong, right.wrong, right.call], seeds["k0"])
    assert done.replies == ["error", "error"]
    assert (done.ended, done.info["reason"]) == ("terminated", "rejected twice")


def test_a_second_call_after_acceptance_ends_the_episode(seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    for again in (right.call, right.wrong, "mail", '[{"name": "mail"}]', '{"tool_calls": 3}'):
        done = play([right.call, again, right.code], seeds["k0"])
        assert done.replies == ["ok", ""]
        assert (done.ended, done.info["reason"]) == ("terminated", "carried out twice")
    assert play([right.call, "find lamp", right.code], seeds["k0"]).reward == 1.0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda words: [*words, "now"],
        lambda words: words[:-1],
        lambda words: [words[0]],
        lambda words: [words[0], words[2], words[1], words[3]],
        lambda words: [words[0], "k9", *words[2:]],
        lambda words: [*words[:3], "eleven"],
        lambda words: [*words[:2], "Boxed", words[3]],
    ],
)
def test_a_call_has_to_be_right_in_every_word(spoil: Any, seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    text = " ".join(spoil(right.call.split()))
    done = play([text, right.call, right.code], seeds["k0"])
    assert done.replies == ["error", "ok", ""]
    assert done.reward == 1.0


def test_the_count_goes_as_the_right_label_counts_it(seeds: Mapping[str, int]) -> None:
    channel, tag, label, amount = errand("k0").call.split()
    replies = [play([f"{channel} {tag} {label} {count}"], seeds["k0"]).replies for count in COUNTS]
    assert replies == [["ok"] if count == amount else ["error"] for count in COUNTS]


@pytest.mark.parametrize("words", ["", " ", "Signed", "signed.", "done", "find", "find it now"])
def test_other_words_after_an_accepted_call(words: str, seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    done = play([right.call, words, right.code], seeds["k0"])
    assert (done.ended, done.info["reason"]) == ("terminated", "wrong closing word")


def test_closing_words_have_to_be_one_word(seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    for words, reward in (
        (f"{right.code}\n", 1.0),
        (f"{right.code} {right.code}", 0.0),
        (right.other_code, 0.0),
        (json.dumps({"content": right.code, "tool_calls": []}), 1.0),
        ("[]", 0.0),
    ):
        assert play([right.call, words], seeds["k0"]).reward == reward


@pytest.mark.parametrize("words", ["", "signed", "unknown word", "[]", "<end>", "\x00"])
def test_closing_too_soon(words: str) -> None:
    done = play([words])
    assert (done.ended, done.info["reason"]) == (
        "terminated",
        "closed before the errand was carried out",
    )
    assert done.info["messages"] == []


def test_the_limit_of_steps(seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    done = play(["find lamp"] * 9)
    assert (len(done.replies), done.ended, done.info["reason"]) == (5, "truncated", "out of steps")
    assert done.replies[-1] in TAGS
    last = ["find lamp"] * 3 + [right.call]
    assert play([*last, right.code], seeds["k0"]).reward == 1.0
    assert play(["find lamp", *last, right.code], seeds["k0"]).ended == "truncated"
    assert play(["find lamp"], max_steps=1).ended == "truncated"
    assert play([right.wrong] * 2, max_steps=2).ended == "terminated"


def test_malformed_calls_are_a_refused_call(seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    env = ToolLabEnv(task=TASK)
    env.reset(seed=seeds["k0"])
    observation, *_, info = env.step('{"content": null, "tool_calls": "mail"}')
    assert observation == "error"
    assert info["parse"] == {"status": "malformed", "reason": "tool_calls is not a list"}
    assert env.step(right.call)[0] == "ok"
    assert play(["[{}]", "x" * 100_001]).info["reason"] == "rejected twice"


def as_json(*calls: tuple[str, dict[str, Any]]) -> str:
    return json.dumps([{"name": name, "arguments": arguments} for name, arguments in calls])


def in_json(command: str) -> tuple[str, dict[str, Any]]:
    name, *values = command.split()
    return name, dict(zip(("tag", "label", "count"), values, strict=True))


def test_json_calls_mean_the_same(seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    texts = [
        as_json(("find", {"item": "lamp"})),
        as_json(in_json(right.wrong)),
        as_json(in_json(right.call)),
        json.dumps({"content": right.code, "tool_calls": None}),
    ]
    done = play(texts, seeds["k0"])
    assert done[:3] == (["k0", "error", "ok", ""], 1.0, "terminated")
    assert play([as_json(("find", {"items": "lamp"}))]).replies == ["unknown"]
    assert play([as_json(("sign", {}))]).replies == ["error"]


def test_several_calls_in_one_action_run_until_the_end(seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    find, call, wrong = ("find", {"item": "lamp"}), in_json(right.call), in_json(right.wrong)
    done = play([as_json(find, wrong, call), right.code], seeds["k0"])
    assert done[:2] == (["k0\nerror\nok", ""], 1.0)
    done = play([as_json(wrong, wrong, call), right.code], seeds["k0"])
    assert (done.replies, done.info["reason"]) == (["error\nerror"], "rejected twice")
    done = play([as_json(call, call, find)], seeds["k0"])
    assert (done.replies, done.info["reason"]) == (["ok"], "carried out twice")


def test_it_stands_for_the_tag_once_that_is_found(seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    it = right.call.replace("k0", "it")
    assert play([it], seeds["k0"]).replies == ["error"]
    assert play(["find chair", it], seeds["k0"]).replies == ["unknown", "error"]
    assert play(["find lamp", it], seeds["k0"]).replies == ["k0", "ok"]


@pytest.mark.parametrize("text", ["find lamp", "mail k0", "", '[{"name": "find"}]'])
def test_parse_says_how_it_was_read(text: str) -> None:
    env = ToolLabEnv(task=TASK)
    env.reset()
    status = "words" if text == "" else "calls"
    assert env.step(text)[-1]["parse"] == {"status": status, "reason": ""}


def judged(texts: Sequence[str], tag: str, max_steps: int) -> tuple[list[str], bool | None]:
    """Return replies and outcome by the rules, told once more and without state objects."""
    right = errand(tag)
    replies: list[str] = []
    for step, text in enumerate(texts, 1):
        words = text.split()
        tried = [reply for reply in replies if reply in ("ok", "error")]
        if len(words) == 2 and words[0] == "find":
            replies.append(tag if words[1] == right.item else "unknown")
        elif words and words[0] in CHANNELS:
            if "ok" in tried:
                return [*replies, ""], False
            replies.append("ok" if words == right.call.split() else "error")
            if replies[-1] == "error" and "error" in tried:
                return replies, False
        else:
            return [*replies, ""], "ok" in tried and words == [right.code]
        if step == max_steps:
            return replies, False
    return replies, None


RIGHT = errand("k3")
WORDS = st.sampled_from(
    ["find", "lamp", "chair", *RIGHT.call.split(), *CHANNELS, *CODES, "k4", *LABELS, "two", "ok"]
)
TEXTS = st.one_of(
    st.sampled_from([RIGHT.call, RIGHT.wrong, "find lamp", RIGHT.code, RIGHT.other_code, ""]),
    st.lists(WORDS, max_size=6).map(" ".join),
    st.text(max_size=6).filter(lambda text: "[" not in text and "{" not in text),
)


@settings(max_examples=250, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=7), max_steps=st.integers(1, 6))
def test_the_rules_on_random_texts(
    seeds: Mapping[str, int], texts: list[str], max_steps: int
) -> None:
    replies, outcome = judged(texts, "k3", max_steps)
    done = play(texts, seeds["k3"], max_steps=max_steps)
    assert done.replies == replies
    assert (done.info["success"] if done.ended else None) is outcome


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(TEXTS, max_size=4), more=st.lists(TEXTS, min_size=1, max_size=4))
def test_a_snapshot_and_a_fork_go_on_alike(texts: list[str], more: list[str]) -> None:
    env = gymnasium.make(ID, task=TASK, disable_env_checker=True)
    env.reset(seed=5)
    base = env.unwrapped
    assert isinstance(base, ToolLabEnv)
    for text in texts:
        if env.step(text)[2]:
            return
    kept, twin = base.snapshot(), agentenvs.fork(env)
    seen = []
    for _ in range(2):
        said = []
        for text in more:
            *now, info = env.step(text)
            said.append((*now, info))
            if now[2] or now[3]:
                break
        seen.append(said)
        base.restore(kept)
    assert seen[0] == seen[1]
    assert [twin.step(text) for text, _ in zip(more, seen[0], strict=False)] == seen[0]


def test_a_fork_draws_the_next_tag_alike() -> None:
    env = gymnasium.make(ID, tasks="mini")
    env.reset(seed=1)
    twin = agentenvs.fork(env)
    assert env.reset()[1]["task"] == twin.reset()[1]["task"]
    item = env.reset()[0].split()[1]
    twin.reset()
    assert env.step(f"find {item}")[0] == twin.step(f"find {item}")[0] != "unknown"


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_vector_of_errands(mode: Any) -> None:
    names = task_ids("mini")[:3]
    envs = agentenvs.make_vec("ToolLab", names, mode=mode)
    try:
        observations, info = envs.reset(seed=0)
        assert list(info["task"]) == names
        assert [text.split()[0] for text in observations] == [name.split("/")[1] for name in names]
        found, rewards, *_ = envs.step([f"find {text.split()[1]}" for text in observations])
        assert set(found) <= set(TAGS)
        assert not rewards.any()
    finally:
        envs.close()


def test_make_vec_of_gymnasium() -> None:
    envs = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync", tasks="mini")
    observations, _ = envs.reset(seed=0)
    assert all(text.split()[0] in ERRANDS for text in observations)
    envs.close()


def test_a_bare_reset_draws_from_the_tasks() -> None:
    env = ToolLabEnv("mini")
    drawn = set()
    for at in range(300):
        drawn.add(env.reset(seed=0 if at == 0 else None)[1]["task"])
    assert drawn == set(task_ids("mini"))


def test_other_worlds_have_other_tasks() -> None:
    env = ToolLabEnv(world=3)
    assert env.reset(seed=0)[1]["task"].startswith("3/")
    assert env.reset(options={"task": "3/order/lamp/one"})[1]["data_version"] == Design.of(3).digest
    with pytest.raises(UnknownName, match="no task '0/order/lamp/one'. Did you mean"):
        env.reset(options={"task": "0/order/lamp/one"})


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"world": -1}, "`world` to be an int >= 0"),
        ({"world": True}, "`world` to be an int >= 0"),
        ({"manual": 1}, "`manual` to be a bool"),
        ({"max_steps": 0}, "`max_steps` to be an int >= 1"),
        ({"max_steps": True}, "`max_steps` to be an int >= 1"),
        ({"rules": "lax"}, "`rules`"),
        ({"reward": "shaped"}, "`reward`"),
        ({"tasks": []}, "at least one task"),
    ],
)
def test_arguments_out_of_range(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        ToolLabEnv(**kwargs)


def test_rules_and_rewards_are_the_same_here(seeds: Mapping[str, int]) -> None:
    right = errand("k0")
    for kwargs in ({"rules": "fixed"}, {"reward": "score"}):
        assert play([right.call, right.code], seeds["k0"], **kwargs).reward == 1.0


def test_stepping_before_a_reset() -> None:
    with pytest.raises(gymnasium.error.ResetNeeded):
        ToolLabEnv().step("find lamp")
