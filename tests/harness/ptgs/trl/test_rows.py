from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs.trl import Row, with_temperatures
from agentenvs.harness.ptgs.trl.rows import temperatures_of

IDS = st.lists(st.integers(0, 99), max_size=5)


@given(IDS, IDS, IDS, st.floats(0.1, 3.0))
def test_a_prompt_keeps_its_temperature_as_a_tool_loop_adds_to_it(
    prompt: list[int], drawn: list[int], suffix: list[int], t: float
) -> None:
    longer = Row(prompt, t) + drawn + suffix
    assert longer == prompt + drawn + suffix
    assert longer.temperature == t


def test_what_is_cut_out_of_a_prompt_is_no_prompt() -> None:
    assert type(Row([1, 2, 3], 0.5)[1:]) is list


def test_a_prompt_keeps_its_temperature_on_the_way_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(Row([1, 2], 0.5)))  # noqa: S301
    assert (sent, sent.temperature) == ([1, 2], 0.5)


def test_each_prompt_has_one_temperature() -> None:
    assert temperatures_of(with_temperatures([[1], [2, 3]], [0.5, 2.0])) == [0.5, 2.0]
    with pytest.raises(BadArgument, match="each of 2 prompts, got 1"):
        with_temperatures([[1], [2]], [0.5])


def test_a_prompt_without_temperature_is_named() -> None:
    with pytest.raises(BadArgument, match="none with prompt 1"):
        temperatures_of([Row([1], 0.5), [2]])
