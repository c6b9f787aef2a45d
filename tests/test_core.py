from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import agentenvs
from agentenvs.core import MAX_ACTION, MAX_OBSERVATION, TaskIds, TextEnv, Tool, Transition
from agentenvs.errors import BadAction, BadArgument, UnknownName

GUESSES = tuple(f"guess_{i}" for i in range(5))


class Guess(TextEnv):
    """Say the number that the task names, within three tries."""

    def __init__(self, task_ids: Sequence[str] = GUESSES, **kwargs: Any) -> None:
        super().__init__(task_ids=task_ids, **kwargs)
        self.said: list[str] = []
        self.noise = 0.0

    def _start(self, task: str, options: Mapping[str, Any]) -> Transition:
        self.said = []
        self.noise = float(self.np_random.random())
        return Transition("Guess.", [{"role": "user", "content": "Guess."}], info={"tools": []})

    def _act(self, action: str) -> Transition:
        self.said.append(action)
        self.noise = float(self.np_random.random())
        right = action == self._current[-1]
        text = f"{len(self.said)} {self.noise:.6f}"
        return Transition(
            text,
            [{"role": "user", "content": text}],
            terminated=right,
            truncated=not right and len(self.said) == 3,
            success=right,
            score=1.0 if right else 0.25,
            reason="" if right else "wrong",
        )

    def _save(self) -> Any:
        return tuple(self.said), self.noise

    def _load(self, state: Any) -> None:
        self.said, self.noise = list(state[0]), state[1]


def test_episode_that_succeeds() -> None:
    env = Guess(task="guess_3")
    observation, info = env.reset(seed=1)
    assert observation == "Guess."
    assert info["task"] == "guess_3"
    assert info["messages"] == [{"role": "user", "content": "Guess."}]
    _, reward, terminated, truncated, info = env.step("3")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["success"], info["score"], info["reason"]) == (True, 1.0, "")


def test_graded_reward_only_at_the_end() -> None:
    env = Guess(task="guess_3", reward="score")
    env.reset()
    assert [env.step("x")[1] for _ in range(3)] == [0.0, 0.0, 0.25]


def test_verdict_stays_out_of_info_before_the_end() -> None:
    env = Guess()
    env.reset()
    assert not {"success", "score", "reason"} & set(env.step("x")[4])


def test_bare_reset_draws_from_the_environments_generator() -> None:
    env = Guess()
    drawn = [env.reset(seed=s)[1]["task"] for s in range(30)]
    assert len(set(drawn)) == 5
    assert drawn == [env.reset(seed=s)[1]["task"] for s in range(30)]


def test_options_name_the_task() -> None:
    assert Guess(task="guess_1").reset(options={"task": "guess_4"})[1]["task"] == "guess_4"


class Many(TaskIds):
    """Counts what was made, since a large set must never be written out."""

    made = 0

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: Any) -> Any:
        Many.made += 1
        return f"guess_{index}"

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name[:6] == "guess_" and name[6:].isdigit()


def test_ids_of_a_large_set_are_made_when_asked_for() -> None:
    Many.made = 0
    env = Guess(task_ids=Many())
    assert agentenvs.fork(env).task_ids is env.task_ids
    _, info = env.reset(seed=0)
    assert info["task"] in env.task_ids
    assert env.reset(options={"task": "guess_9999999"})[1]["task"] == "guess_9999999"
    assert Many.made == 1
    with pytest.raises(UnknownName, match="Did you mean"):
        env.reset(options={"task": "guess_x1"})


@pytest.mark.parametrize(
    "make", [lambda: Guess(task="guess_9"), lambda: Guess().reset(options={"task": "guess_9"})]
)
def test_unknown_task_is_named_with_a_suggestion(make: Any) -> None:
    with pytest.raises(UnknownName, match="no task 'guess_9'. Did you mean 'guess_"):
        make()


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"rules": "mine"}, "`rules` to be 'official' or 'fixed', got 'mine'"),
        ({"reward": 1}, "`reward` to be 'success' or 'score', got 1"),
        ({"render_mode": "human"}, "`render_mode` to be None or 'ansi', got 'human'"),
        ({"task": 3}, "`task` to be a str"),
    ],
)
def test_constructor_says_what_was_expected(kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        Guess(**kwargs)


def test_action_that_is_no_text_is_refused() -> None:
    env = Guess()
    env.reset()
    with pytest.raises(BadAction, match="RelaxedToolCalls"):
        env.step([{"name": "f"}])  # type: ignore[arg-type]


def test_a_reset_that_fails_leaves_the_episode_as_it_was() -> None:
    env = Guess()
    env.reset(options={"task": "guess_3"})
    for wrong in ({"task": "guess_1", "typo": 1}, {"task": "guess_9"}, {1: 2}, ["task"]):
        with pytest.raises((BadArgument, UnknownName)):
            env.reset(options=wrong)
    *_, info = env.step("3")
    assert (info["task"], info["success"]) == ("guess_3", True)


def test_step_after_the_end_is_refused() -> None:
    env = Guess(task="guess_3")
    with pytest.raises(ResetNeeded):
        env.step("3")
    env.reset()
    env.step("3")
    with pytest.raises(ResetNeeded):
        env.step("3")


def test_overlong_action_is_malformed_and_none_of_it_is_carried_out() -> None:
    env = Guess(task="guess_3", render_mode="ansi")
    env.reset()
    info = env.step("3" + " " * MAX_ACTION)[-1]
    assert info["parse"]["status"] == "malformed"
    assert "over 100000 characters" in info["parse"]["reason"]
    assert env.said[0] != "3"
    assert len(str(env.render())) < MAX_ACTION + 200


def test_overlong_observation_stays_within_the_space() -> None:
    env = Guess()
    outcome = Transition("y" * (MAX_OBSERVATION + 5), [])
    assert env._deliver(outcome) in env.observation_space


def test_info_messages_are_copies() -> None:
    env = Guess(render_mode="ansi")
    _, info = env.reset(seed=0)
    info["messages"][0]["content"] = "changed"
    assert "changed" not in str(env.render())


def test_render_shows_the_conversation() -> None:
    env = Guess(task="guess_3", render_mode="ansi")
    assert env.render() == "not begun"
    env.reset(seed=0)
    env.step("three")
    assert str(env.render()).startswith(
        "task guess_3\n[user] Guess.\n[assistant] three\n[user] 1 0."
    )
    assert Guess().render() is None


def test_snapshot_restores_state_log_and_generator() -> None:
    env = Guess(task="guess_3", render_mode="ansi")
    env.reset(seed=0)
    env.step("1")
    saved = env.snapshot()
    first = [env.step("2"), env.render()]
    env.restore(saved)
    assert [env.step("2"), env.render()] == first
    other = Guess(render_mode="ansi")
    other.restore(saved)
    assert [other.step("2"), other.render()] == first


def test_snapshot_of_a_finished_episode_stays_finished() -> None:
    env = Guess(task="guess_3")
    env.reset(seed=0)
    env.step("3")
    saved = env.snapshot()
    env.reset()
    env.restore(saved)
    with pytest.raises(ResetNeeded):
        env.step("3")


def test_foreign_snapshot_is_refused() -> None:
    with pytest.raises(BadArgument, match="a snapshot of Guess"):
        Guess().restore({"task": "guess_1"})  # type: ignore[arg-type]


def test_snapshot_under_other_rules_is_refused() -> None:
    env = Guess(task="guess_3")
    env.reset()
    with pytest.raises(BadArgument, match="with rules 'fixed', got one with 'official'"):
        Guess(rules="fixed").restore(env.snapshot())


def test_fork_of_a_wrapped_environment_is_independent() -> None:
    env = gymnasium.wrappers.TimeLimit(Guess(task="guess_3"), 2)
    env.reset(seed=0)
    env.step("1")
    twin = agentenvs.fork(env)
    assert env.step("2") == twin.step("2")
    assert env.unwrapped.said is not twin.unwrapped.said  # type: ignore[attr-defined]


def test_gymnasiums_checker_is_content() -> None:
    check_env(Guess(), skip_render_check=True)


def test_tool_from_either_schema_form() -> None:
    flat = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
    assert Tool.of(flat) == Tool.of({"type": "function", "function": flat})
    assert Tool.of(flat).schema() == flat


@pytest.mark.parametrize("bad", [3, {"description": "no name"}, {"name": "f", "parameters": [1]}])
def test_tool_schema_that_is_none(bad: Any) -> None:
    with pytest.raises(BadArgument):
        Tool.of(bad)
