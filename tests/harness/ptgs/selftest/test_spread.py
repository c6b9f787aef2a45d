"""Whether groups have a temperature a rollout, from what was asked and what was played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra `hf`")

from agentenvs.harness.ptgs.selftest import Played, Recorder, Trace
from agentenvs.harness.ptgs.selftest.outcome import Undecided, Wrong
from agentenvs.harness.ptgs.selftest.recorder import Given
from agentenvs.harness.ptgs.selftest.spread import spread
from agentenvs.harness.ptgs.selftest.steps import Run, Step

THREE = Given("a", (0.8, 1.1, 0.9), rolled=True)


def run(heard: list[Any], played: Sequence[float]) -> Run:
    rollouts = [Played("a", t, (i,), True) for i, t in enumerate(played)]
    trainer: Any = None
    return Run(trainer, Recorder(), [Step(Trace(rollouts, []), heard, [], None, None)])


@pytest.mark.parametrize(
    "played",
    [(0.8, 1.1, 0.9), (0.9, 0.8, 1.1), (0.8, 1.1, 0.9) * 2, (0.8, 0.9), (0.8, 0.8, 0.9, 1.1)],
)
def test_groups_whole_in_any_order_twice_or_in_part(played: tuple[float, ...]) -> None:
    assert spread(run([THREE], played)).numbers == {"groups": 1.0}


@pytest.mark.parametrize("played", [(0.8, 0.8, 0.9), (1.1,) * 3, (0.8, 0.8), (1.1,) * 6])
def test_one_temperature_for_several_rollouts(played: tuple[float, ...]) -> None:
    with pytest.raises(Wrong, match="the sampler gave each of 3 its own"):
        spread(run([THREE], played))


def test_the_largest_group_that_was_asked_for_counts() -> None:
    one = Given("a", (0.8,), rolled=True)
    assert spread(run([one, THREE], (0.8, 1.1, 0.9))).numbers == {"groups": 1.0}
    with pytest.raises(Wrong):
        spread(run([THREE, one], (0.8, 0.8, 0.8)))


def test_groups_of_one() -> None:
    one = Given("a", (0.8,), rolled=True)
    assert "had one rollout" in spread(run([one], (0.8,))).words
    with pytest.raises(Undecided, match="asked for the temperature of one"):
        spread(run([one], (0.8, 0.8)))


def test_what_was_asked_for_and_not_played() -> None:
    other = Given("b", (0.7, 1.2), rolled=True)
    assert spread(run([THREE, other], (0.8, 1.1, 0.9))).numbers == {"groups": 1.0}
    for heard, played in (([other], (0.8,)), ([THREE], (0.8, 1.0, 0.9))):
        with pytest.raises(Undecided, match="see `temperatures`"):
            spread(run(heard, played))


def test_groups_asked_for_as_such() -> None:
    with pytest.raises(Undecided, match="one temperature a group"):
        spread(run([Given("a", (0.8,))], (0.8, 0.8)))
