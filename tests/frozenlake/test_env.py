from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv, generate_random_map
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import agentenvs
from agentenvs.errors import BadArgument, UnknownName
from agentenvs.frozenlake import data_version, task_ids
from agentenvs.frozenlake.env import FrozenLakeTextEnv
from agentenvs.frozenlake.lakes import MOVES, Lake
from agentenvs.frozenlake.tasks import all_ids, seed_of

ID = "agentenvs/FrozenLakeText-v0"
#: SFFF HHFF FHHF HFFG
TASK = "4x4/0"
OPEN = "P . . .\nO O . .\n. O O .\nO . . G"


class Played(NamedTuple):
    cells: list[int]
    reward: float
    ended: str
    info: dict[str, Any]


def place(observation: str) -> int:
    return observation.split().index("P")


def play(texts: Sequence[str], seed: int = 0, task: str = TASK, **kwargs: Any) -> Played:
    """Play texts as far as the episode goes, where no move slips unless asked for."""
    env = FrozenLakeTextEnv(task=task, **{"success_rate": 1, **kwargs})
    observation, info = env.reset(seed=seed)
    cells = [place(observation)]
    for text in texts:
        observation, reward, terminated, truncated, info = env.step(text)
        cells.append(place(observation))
        if terminated or truncated:
            assert reward == float(info["success"]) == info["score"]
            assert bool(info["reason"]) is not info["success"]
            return Played(cells, reward, "terminated" if terminated else "truncated", info)
        assert reward == 0.0
        assert "success" not in info
    return Played(cells, 0.0, "", info)


def test_gymnasiums_own_check() -> None:
    check_env(gymnasium.make(ID).unwrapped)
    check_env(gymnasium.make(ID, manual=False, success_rate=1, tasks="mini").unwrapped)


def test_the_opening() -> None:
    observation, info = FrozenLakeTextEnv(task=TASK).reset(seed=0)
    assert observation == OPEN
    assert info["messages"] == [{"role": "user", "content": OPEN}]
    assert info["task"] == TASK
    assert info["system"].startswith(info["policy"])
    assert "five turns" in info["policy"]
    assert info["own_roles"] is False
    assert [tool["name"] for tool in info["tools"]] == ["move"]
    assert info["data_version"] == data_version()


def test_without_the_manual() -> None:
    env = FrozenLakeTextEnv(task=TASK, manual=False)
    _, info = env.reset(seed=0)
    assert (info["system"], info["policy"], info["own_roles"]) == ("", "", True)
    observation, *_, info = env.step("up")
    assert info["own_roles"] is True
    assert info["messages"] == [{"role": "tool", "content": observation}]


def test_a_crossing() -> None:
    done = play(["right right", "right, down", "down down"])
    assert done[:3] == ([0, 2, 7, 15], 1.0, "terminated")
    assert done.info["messages"][0]["content"] == ". . . .\nO O . .\n. O O .\nO . . P"


def test_moves_that_go_past_the_end_are_not_made() -> None:
    done = play(["right right", "right down", "down down up"], moves_per_step=3)
    assert done[:3] == ([0, 2, 7, 15], 1.0, "terminated")
    done = play(["down up"])
    assert done[:3] == ([0, 4], 0.0, "terminated")
    assert done.info["reason"] == "fell into a hole"


def test_the_edge_keeps_the_player_in() -> None:
    assert play(["left up", "right right", "right right", "up"]).cells == [0, 0, 2, 3, 3]


def test_a_turn_has_so_many_moves() -> None:
    done = play(["right right right"])
    assert done.cells == [0, 2]
    assert done.info["parse"] == {"status": "calls", "reason": "only 2 of 3 are carried out"}
    assert play(["right right right"], moves_per_step=1).cells == [0, 1]
    assert play(["right right right down down down"], moves_per_step=6).reward == 1.0


@pytest.mark.parametrize("text", ["", "go right", "right.", "[]", "[{}]", "x" * 100_001])
def test_a_turn_without_a_move_counts(text: str) -> None:
    rest = ["right right", "right down", "down down"]
    assert play([text, text, *rest]).reward == 1.0
    done = play([text, text, text, *rest])
    assert (done.ended, done.info["reason"]) == ("truncated", "out of steps")
    assert play([text]).info["parse"]["status"] in ("words", "malformed")


def test_the_limit_of_turns() -> None:
    done = play(["left"] * 9)
    assert (len(done.cells), done.ended, done.info["reason"]) == (6, "truncated", "out of steps")
    ways = ["right right", "right down", "down down"]
    assert play(ways, max_steps=3).ended == "terminated"
    assert play(ways, max_steps=2).ended == "truncated"
    assert play(["down"], max_steps=1).ended == "terminated"


def test_json_calls_mean_the_same() -> None:
    def calls(*ways: str) -> str:
        return json.dumps([{"name": "move", "arguments": {"direction": way}} for way in ways])

    ways = [calls("right", "right"), calls("right", "down"), calls("down", "down", "down")]
    done = play(ways)
    assert done[:3] == ([0, 2, 7, 15], 1.0, "terminated")
    assert done.info["parse"]["reason"] == "only 2 of 3 are carried out"
    done = play([calls("north", "right")])
    assert (done.cells, done.info["parse"]["reason"]) == ([0, 1], "call 1 is no move")


def test_gymnasiums_own_lake_goes_the_same_way() -> None:
    """Thousands of random crossings beside `FrozenLakeEnv` on the same generator."""
    rng = np.random.default_rng(0)
    ends = dict.fromkeys(("goal", "hole", "time"), 0)
    for rate in (0.8, 1 / 3):
        for number, task in enumerate(all_ids()):
            rows = generate_random_map(4, seed=int(task.removeprefix("4x4/")))
            theirs = FrozenLakeEnv(desc=rows, is_slippery=True, success_rate=rate)
            ours = FrozenLakeTextEnv(task=task, success_rate=rate, moves_per_step=3, max_steps=8)
            for again in range(4):
                # A generator that goes on from episode to episode is the same one too.
                seed = number if again == 0 else None
                cell, _ = theirs.reset(seed=seed)
                assert place(ours.reset(seed=seed)[0]) == cell
                for turn in range(8):
                    # More down and right than not, so that goals are met too.
                    moves = rng.choice([0, 1, 1, 1, 2, 2, 2, 3], rng.integers(0, 4)).tolist()
                    over, reward = False, 0
                    for move in moves:
                        cell, reward, over, _, _ = theirs.step(move)
                        if over:
                            break
                    shown, own, terminated, truncated, _ = ours.step(
                        " ".join(MOVES[move] for move in moves)
                    )
                    assert (place(shown), own, terminated) == (cell, reward, over)
                    assert truncated is (turn == 7 and not over)
                    if over:
                        ends["goal" if reward else "hole"] += 1
                        break
                else:
                    ends["time"] += 1
    assert sum(ends.values()) == 2400
    assert min(ends.values()) > 100


def test_the_lakes_table_and_letters_are_gymnasiums() -> None:
    for task in task_ids("mini"):
        lake = Lake.of(seed_of(task), 0.8)
        theirs = FrozenLakeEnv(desc=list(lake.rows), is_slippery=True, success_rate=0.8)
        assert lake.table == theirs.P
        assert "".join(lake.rows).translate(str.maketrans("SFH", "..O")) == "".join(lake.cells)


def test_slips_are_as_frequent_as_said() -> None:
    # From the second cell of the first row of 4x4/0: right, down into a hole, or up and stay.
    counts = np.zeros(3)
    env = FrozenLakeTextEnv(task=TASK, success_rate=0.6)
    for at in range(3000):
        env.reset(seed=4 if at == 0 else None)
        start = place(env.step("right")[0])
        if start == 1:
            counts[[2, 5, 1].index(place(env.step("right")[0]))] += 1
    meant = counts.sum() * np.array([0.6, 0.2, 0.2])
    assert ((counts - meant) ** 2 / meant).sum() < 13.8  # chi square, 2 degrees: 1 in 1000


TEXTS = st.one_of(
    st.lists(st.sampled_from(MOVES), max_size=4).map(" ".join),
    st.sampled_from(["", "hello", "[]", "[{}]", "left, up"]),
    st.text(max_size=5),
)


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(TEXTS, max_size=3), more=st.lists(TEXTS, min_size=1, max_size=5))
def test_a_snapshot_and_a_fork_go_on_alike(texts: list[str], more: list[str]) -> None:
    env = gymnasium.make(ID, task="4x4/9", success_rate=0.5, disable_env_checker=True)
    env.reset(seed=5)
    base = env.unwrapped
    assert isinstance(base, FrozenLakeTextEnv)
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


def test_the_same_seed_and_actions_are_the_same_episode() -> None:
    for seed in range(30):
        ways = ["right down", "down right", "right", "down", "right down"]
        assert play(ways, seed, success_rate=0.5) == play(ways, seed, success_rate=0.5)
    cells = {tuple(play(["right down"] * 5, seed, success_rate=0.5).cells) for seed in range(30)}
    assert len(cells) > 5


def test_a_snapshot_goes_into_another_environment() -> None:
    one, other = (FrozenLakeTextEnv(task=TASK, success_rate=0.5) for _ in range(2))
    one.reset(seed=3)
    one.step("up")
    other.restore(one.snapshot())
    assert [one.step("up") for _ in range(4)] == [other.step("up") for _ in range(4)]


def test_a_fork_shares_the_lake_and_nothing_that_changes() -> None:
    env = FrozenLakeTextEnv(task=TASK, success_rate=1)
    env.reset(seed=0)
    twin = agentenvs.fork(env)
    env.step("right")
    assert place(twin.step("left")[0]) == 0
    assert place(env.step("left")[0]) == 0


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_vector_of_lakes(mode: Any) -> None:
    names = task_ids("mini")[:3]
    envs = agentenvs.make_vec("FrozenLakeText", names, mode=mode, success_rate=1)
    try:
        observations, info = envs.reset(seed=0)
        assert list(info["task"]) == names
        assert {place(text) for text in observations} == {0}
        shown, rewards, *_ = envs.step(["left"] * 3)
        assert tuple(shown) == tuple(observations)
        assert not rewards.any()
    finally:
        envs.close()


def test_make_vec_of_gymnasium() -> None:
    envs = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync", tasks="mini")
    observations, _ = envs.reset(seed=0)
    assert all(place(text) == 0 for text in observations)
    envs.close()


def test_a_bare_reset_draws_from_the_tasks() -> None:
    env = FrozenLakeTextEnv("mini")
    drawn = {env.reset(seed=0 if at == 0 else None)[1]["task"] for at in range(300)}
    assert drawn == set(task_ids("mini"))


def test_a_task_of_another_set_may_be_named() -> None:
    env = FrozenLakeTextEnv("mini")
    assert env.reset(options={"task": "4x4/480"})[1]["task"] == "4x4/480"
    with pytest.raises(UnknownName, match="no task '4x4/3'"):
        env.reset(options={"task": "4x4/3"})


def test_rendering() -> None:
    env = FrozenLakeTextEnv(task=TASK, success_rate=1, render_mode="ansi")
    env.reset(seed=0)
    env.step("right")
    assert env.render() == f"task {TASK}\n[user] {OPEN}\n[assistant] right\n[tool] {shifted()}"


def shifted() -> str:
    return OPEN.replace("P .", ". P")


def test_rules_and_rewards_are_the_same() -> None:
    ways = ["right right", "right down", "down down"]
    for kwargs in ({"rules": "fixed"}, {"reward": "score"}):
        assert play(ways, **kwargs) == play(ways)


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"success_rate": -0.1}, "`success_rate` to be a number from 0 to 1, got -0.1"),
        ({"success_rate": "0.8"}, "`success_rate`"),
        ({"success_rate": float("nan")}, "`success_rate`"),
        ({"manual": 1}, "`manual` to be a bool, got 1"),
        ({"max_steps": 0}, "`max_steps` to be an int >= 1, got 0"),
        ({"moves_per_step": True}, "`moves_per_step`"),
        ({"moves_per_step": 2.0}, "`moves_per_step`"),
        ({"rules": "lenient"}, "`rules`"),
        ({"tasks": []}, "at least one task"),
    ],
)
def test_arguments_are_checked(kwargs: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        FrozenLakeTextEnv(**kwargs)


def test_numpy_numbers_are_numbers() -> None:
    assert FrozenLakeTextEnv(success_rate=np.float64(0.5)).success_rate == 0.5
    assert FrozenLakeTextEnv(success_rate=np.float32(1)).success_rate == 1.0


def test_a_step_before_reset() -> None:
    env = FrozenLakeTextEnv(task=TASK)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("left")
