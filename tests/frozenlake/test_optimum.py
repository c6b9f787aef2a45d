"""Best play, against the same told once more: exact fractions, and no table of Gymnasium's."""

from __future__ import annotations

import functools
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import BadArgument, UnknownName
from agentenvs.frozenlake import best_moves, gold_actions, success_probability, task_ids
from agentenvs.frozenlake.env import FrozenLakeTextEnv
from agentenvs.frozenlake.lakes import Lake, rows_of
from agentenvs.frozenlake.optimum import lines_of, plan_of
from agentenvs.frozenlake.tasks import all_ids, seed_of

WAYS = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}
AROUND = list(WAYS)


class Told:
    """A lake by its rules, in fractions."""

    def __init__(self, task: str, rate: Fraction) -> None:
        self.map, self.rate = rows_of(seed_of(task)), rate
        self.value = functools.cache(self._value)

    def after(self, cell: tuple[int, int], way: str) -> list[tuple[Fraction, tuple[int, int]]]:
        if self.map[cell[0]][cell[1]] in "GH":
            return [(Fraction(1), cell)]
        at = AROUND.index(way)
        side = (1 - self.rate) / 2
        return [
            (chance, self.step(cell, AROUND[(at + turn) % 4]))
            for turn, chance in ((-1, side), (0, self.rate), (1, side))
        ]

    def step(self, cell: tuple[int, int], way: str) -> tuple[int, int]:
        row, column = (a + b for a, b in zip(cell, WAYS[way], strict=True))
        return (row, column) if 0 <= row < 4 and 0 <= column < 4 else cell

    def line(self, cell: tuple[int, int], ways: tuple[str, ...], turns: int, most: int) -> Fraction:
        if not ways:
            return self.value(cell, turns - 1, most)
        return sum(
            (p * self.line(then, ways[1:], turns, most) for p, then in self.after(cell, ways[0])),
            Fraction(0),
        )

    def _value(self, cell: tuple[int, int], turns: int, most: int) -> Fraction:
        if self.map[cell[0]][cell[1]] in "GH" or not turns:
            return Fraction(self.map[cell[0]][cell[1]] == "G")
        lines = [line for n in range(most + 1) for line in product(WAYS, repeat=n)]
        return max(self.line(cell, line, turns, most) for line in lines)


@pytest.mark.parametrize(
    ("task", "rate", "turns", "most"),
    [
        *[(task, "4/5", 5, 2) for task in (*task_ids("mini")[:3], "4x4/480")],
        ("4x4/1", "1/3", 5, 2),
        ("4x4/2", "0", 4, 2),
        ("4x4/4", "1", 3, 2),
        ("4x4/5", "1/2", 9, 1),
        ("4x4/6", "4/5", 2, 3),
    ],
)
def test_the_best_success_and_moves(task: str, rate: str, turns: int, most: int) -> None:
    told, chance = Told(task, Fraction(rate)), float(Fraction(rate))
    found = success_probability(task, chance, max_steps=turns, moves_per_step=most)
    assert found == pytest.approx(float(told.value((0, 0), turns, most)), abs=1e-12)
    for left, cell in product(range(1, turns + 1), range(16)):
        place = divmod(cell, 4)
        if told.map[place[0]][place[1]] in "GH":
            continue
        line = best_moves(task, cell, left, chance, moves_per_step=most)
        lost = told.value(place, left, most) - told.line(place, line, left, most)
        assert lost < Fraction(1, 10**11)


def test_a_single_turn_is_a_line_chosen_beforehand() -> None:
    told = Told("4x4/0", Fraction(4, 5))
    best = 0.0
    for line in product(WAYS, repeat=6):
        spread = {(0, 0): 1.0}
        for way in line:
            then: dict[tuple[int, int], float] = {}
            for cell, chance in spread.items():
                for p, after in told.after(cell, way):
                    then[after] = then.get(after, 0.0) + chance * float(p)
            spread = then
        best = max(best, spread.get((3, 3), 0.0))
    found = success_probability("4x4/0", max_steps=1, moves_per_step=6)
    assert found == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("task", ["4x4/0", "4x4/9", "4x4/480"])
def test_who_plays_the_best_moves_succeeds_as_often_as_is_said(task: str) -> None:
    env, episodes, won = FrozenLakeTextEnv(task=task), 1500, 0
    for at in range(episodes):
        shown, _ = env.reset(seed=7 if at == 0 else None)
        for left in range(5, 0, -1):
            line = " ".join(best_moves(task, shown.split().index("P"), left))
            shown, reward, terminated, truncated, _ = env.step(line)
            if terminated or truncated:
                won += int(reward)
                break
    chance = success_probability(task)
    assert abs(won - episodes * chance) < 4 * (episodes * chance * (1 - chance)) ** 0.5


def test_how_hard_the_tasks_are() -> None:
    chances = np.array([success_probability(task) for task in all_ids()])
    assert np.quantile(chances, [0, 0.5, 1]).round(2).tolist() == [0.42, 0.7, 0.93]


def test_ice_that_is_not_slippery_is_crossed_for_sure() -> None:
    assert {success_probability(task, 1.0) for task in all_ids()} == {1.0}


def test_gold_is_right_where_no_move_slips() -> None:
    env = FrozenLakeTextEnv(success_rate=1)
    for task in all_ids():
        env.reset(options={"task": task})
        info: dict[str, Any] = {}
        gold = gold_actions(task)
        for action in gold:
            assert "success" not in info
            *_, info = env.step(action)
        assert info["success"]
        assert success_probability(task, 1.0, max_steps=len(gold)) == 1.0
        assert len(gold) == 3 or success_probability(task, 1.0, max_steps=len(gold) - 1) == 0.0


def test_of_moves_as_good_those_that_arrive_sooner_and_then_the_fewest() -> None:
    # P at the cell left of the goal: one move does, with whatever turns are left.
    rows = rows_of(seed_of("4x4/6"))
    assert rows[3][2:] == "FG"
    assert best_moves("4x4/6", 14, 5, 1.0) == ("right",)
    # Nothing that can be done gets there any more: still some move, and the first.
    assert best_moves("4x4/6", 0, 1, 1.0) == ("left",)


@settings(max_examples=60, deadline=None)
@given(
    task=st.sampled_from(task_ids("mini")),
    rate=st.floats(0, 1),
    turns=st.integers(1, 12),
    most=st.integers(1, 3),
)
def test_more_turns_and_more_moves_never_harm(
    task: str, rate: float, turns: int, most: int
) -> None:
    here = success_probability(task, rate, max_steps=turns, moves_per_step=most)
    assert 0 <= here <= 1 + 1e-12
    more = success_probability(task, rate, max_steps=turns + 1, moves_per_step=most)
    longer = success_probability(task, rate, max_steps=turns, moves_per_step=most + 1)
    seen = success_probability(task, rate, max_steps=turns * most, moves_per_step=1)
    assert min(more, longer, seen) >= here - 1e-12


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"success_rate": 1.1}, "`success_rate` to be a number from 0 to 1, got 1.1"),
        ({"success_rate": float("nan")}, "`success_rate`"),
        ({"success_rate": True}, "`success_rate`"),
        ({"max_steps": 0}, "`max_steps` to be an int from 1 to 1000, got 0"),
        ({"max_steps": 1001}, "`max_steps`"),
        ({"max_steps": 5.0}, "`max_steps`"),
        ({"moves_per_step": 7}, "`moves_per_step` to be an int from 1 to 6, got 7"),
        ({"moves_per_step": True}, "`moves_per_step`"),
    ],
)
def test_numbers_out_of_range(kwargs: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        success_probability("4x4/0", **kwargs)


@pytest.mark.parametrize("cell", [-1, 16, True, "P", 1.0])
def test_cells_that_there_are_not(cell: Any) -> None:
    with pytest.raises(BadArgument, match="`cell` to be an int from 0 to 15"):
        best_moves("4x4/0", cell, 5)


def test_cells_at_which_an_episode_is_over() -> None:
    shown, _ = FrozenLakeTextEnv(task="4x4/0").reset(seed=0)
    for cell in (15, shown.split().index("O")):
        with pytest.raises(BadArgument, match="where an episode ends"):
            best_moves("4x4/0", cell, 5)
    with pytest.raises(BadArgument, match="`steps_left` to be an int from 1 to 1000, got 0"):
        best_moves("4x4/0", 0, 0)


def test_what_all_who_ask_share_cannot_be_changed() -> None:
    plan, lake = plan_of(0, 0.8, 5, 2), Lake.of(0, 0.8)
    assert plan is plan_of(0, 0.8, 5, 2)
    for array in (*plan, lake.starts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_plans_of_all_lengths_take_little_memory() -> None:
    plan_of.cache_clear()
    longest = success_probability("4x4/0", max_steps=1000)
    assert best_moves("4x4/0", 0, 1000) == best_moves("4x4/0", 0, 999)
    assert plan_of.cache_info().currsize == 1
    assert longest == success_probability("4x4/0", max_steps=1000)
    size = sum(array.nbytes for array in plan_of(0, 0.8, 1280, 2))
    assert size * (plan_of.cache_info().maxsize or 0) < 2**27
    every = [(best_moves("4x4/0", 0, left), left) for left in range(1, 41)]
    assert plan_of.cache_info().currsize == 5
    for line, left in every:
        assert lines_of(2)[plan_of(0, 0.8, left, 2).choice[left - 1, 0]] == line


@pytest.mark.parametrize("task", ["4x4/3", "train", "8x8/0"])
def test_unknown_tasks(task: str) -> None:
    for ask in (success_probability, gold_actions, lambda name: best_moves(name, 0, 5)):
        with pytest.raises(UnknownName, match="no task"):
            ask(task)
