from __future__ import annotations

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS, Fixed, HeatMatched, Spread
from agentenvs.harness.ptgs.trl.groups import ask, tell

IDS = ["a", "a", "b", "b"]
ALL = np.ones(4, dtype=bool)


def test_rows_of_a_group_have_what_the_sampler_gives() -> None:
    given = PTGS(seed=3).temperatures(["a", "b"])
    assert ask(PTGS(seed=3), IDS, 2).tolist() == np.repeat(given, 2).tolist()


def test_each_row_has_its_own_temperature_where_the_sampler_spreads() -> None:
    assert ask(Spread(0.5, 2.0), IDS, 2).tolist() == [0.5, 2.0, 0.5, 2.0]


def test_a_task_that_comes_twice_has_the_same_temperatures_twice() -> None:
    heat = ask(PTGS(seed=3, ref_share=0.5), ["a", "a", "b", "b", "a", "a"], 2)
    assert heat[:2].tolist() == heat[4:].tolist()
    assert heat[0] == 1.0 != heat[1]


def test_a_sampler_that_goes_by_the_batch_sees_the_whole_batch() -> None:
    assert len(set(ask(HeatMatched(PTGS(seed=3)), IDS, 2).tolist())) == 1


def test_a_sampler_is_asked_once_a_batch() -> None:
    asked: list[object] = []

    class Counted(Spread):
        def temperatures(self, ids: object) -> np.ndarray:
            asked.append("temperatures")
            return super().temperatures(ids)  # type: ignore[arg-type]

        def rollout_temperatures(self, ids: object, n: int) -> np.ndarray:
            asked.append(ids)
            return super().rollout_temperatures(ids, n)  # type: ignore[arg-type]

    ask(Counted(0.5, 2.0), ["b", "b", "a", "a", "b", "b"], 2)
    assert asked == [["b", "a"]]


def test_every_group_is_told_uniform_ones_too() -> None:
    sampler = PTGS(keep_events=True)
    ask(sampler, IDS, 2)
    assert tell(sampler, IDS, 2, np.array([True, True, True, False]), ALL) == 0
    assert [(row["task"], row["s"], row["n"]) for row in sampler.events.rows()] == [
        ("a", 2, 2),
        ("b", 1, 2),
    ]


def test_groups_of_one_task_are_pooled() -> None:
    sampler = PTGS(keep_events=True)
    tell(sampler, ["a"] * 4, 2, np.array([True, False, False, False]), ALL)
    assert [(row["s"], row["n"]) for row in sampler.events.rows()] == [(1, 4)]


def test_rows_without_a_verdict_are_left_out_of_n() -> None:
    sampler = PTGS(keep_events=True)
    scored = np.array([True, False, False, False])
    assert tell(sampler, IDS, 2, ALL, scored) == 1
    assert [(row["task"], row["s"], row["n"]) for row in sampler.events.rows()] == [("a", 1, 1)]


def test_nothing_is_told_where_no_row_has_a_verdict() -> None:
    sampler = PTGS()
    assert tell(sampler, IDS, 2, ALL, ~ALL) == 2
    assert sampler.step == 0


@pytest.mark.parametrize("wrap", [lambda sampler: sampler, HeatMatched])
def test_rows_at_t_ref_are_told_apart_in_groups_with_holes(wrap: object) -> None:
    sampler = PTGS(ref_share=0.5)
    scored = np.array([True, True, True, False, True, True, True, True])
    won = np.array([True, False, False, True, False, False, True, True])
    assert tell(wrap(sampler), ["a"] * 4 + ["b"] * 4, 4, won, scored) == 0  # type: ignore[operator]
    # Of a group of four the first two are at T_ref, and they alone count.
    assert [one.tolist() for one in sampler.posterior(["a", "b"])] == [[2.0, 1.0], [2.0, 3.0]]


def test_a_sampler_with_the_protocol_alone_is_told_too() -> None:
    sampler = Fixed(1.0)
    tell(sampler, IDS, 2, ALL, np.array([True, True, True, False]))
    assert sampler.stats()["groups"] == 2


@pytest.mark.parametrize("first", [0, 1])
def test_a_sampler_of_yours_may_learn_from_the_first_rollouts_alone(first: int) -> None:
    told: list[object] = []

    class Own(Fixed):
        def ref_rollouts(self, n: int) -> int:
            return first

        def update(self, ids: object, successes: object, n: object, **more: object) -> None:
            told.append([ids, successes, n, more])

    scored = np.array([True, True, False, True])
    # Without a verdict on the first rollouts there is nothing to learn.
    assert tell(Own(1.0), IDS, 2, ALL, scored) == first
    ((ids, s, n, more),) = told  # type: ignore[misc]
    kept = ["a", "b"][: 2 - first]
    assert (ids, s.tolist(), n.tolist()) == (kept, [2, 1][: 2 - first], [2, 1][: 2 - first])
    assert sorted(more) == (["ref_n", "ref_successes"] if first else [])


@pytest.mark.parametrize(
    ("ids", "message"),
    [(["a", "b"], "rows 0 to 1 to be one group, got tasks 'a' and 'b'"), (["a"], "whole groups")],
)
def test_rows_that_are_no_groups_are_refused(ids: list[str], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        ask(Fixed(1.0), ids, 2)


def test_a_sampler_that_gives_too_few_temperatures_is_named() -> None:
    class Short(Fixed):
        def rollout_temperatures(self, ids: object, n: int) -> np.ndarray:
            return np.ones((1, n))

    with pytest.raises(BadArgument, match=r"shape \(2, 2\), got \(1, 2\)"):
        ask(Short(1.0), IDS, 2)
