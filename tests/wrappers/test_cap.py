from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core import TextEnv
from agentenvs.errors import BadArgument
from agentenvs.wrappers import CapObservation, RelaxedToolCalls
from agentenvs.wrappers.cap import cut_middle


def test_a_long_observation_keeps_head_and_tail(echo: type[TextEnv]) -> None:
    env = CapObservation(echo(), 100)
    env.reset(seed=0)
    text = "".join(f"{i:04d}" for i in range(1000))
    observation, *_, info = env.step(text)
    assert len(observation) <= 100
    assert (observation[:8], observation[-8:]) == (text[:8], text[-8:])
    assert f"[... {info['observation_cut']} characters left out ...]" in observation
    assert info["messages"][0]["content"] == observation


def test_a_short_observation_is_left_alone(echo: type[TextEnv]) -> None:
    env = CapObservation(echo(), 100)
    observation, info = env.reset(seed=0)
    assert (observation, info["observation_cut"]) == ("hello", 0)
    assert env.step("x" * 100)[0] == "x" * 100


def test_the_environment_keeps_its_own_messages(echo: type[TextEnv]) -> None:
    inner = echo(render_mode="ansi")
    env = CapObservation(inner, 100)
    env.reset(seed=0)
    env.step("y" * 500)
    assert "y" * 500 in str(inner.render())


def test_observations_stay_in_the_space(echo: type[TextEnv]) -> None:
    env = CapObservation(RelaxedToolCalls(echo()), 120)
    env.reset(seed=0)
    assert env.step("[cat('" + "x" * 5000 + "')]")[0] in env.observation_space
    assert env.observation_space.contains("x" * 121) is False


@given(st.text(max_size=2000), st.integers(100, 300))
def test_what_is_left_out_is_counted(text: str, limit: int) -> None:
    short, left_out = cut_middle(text, limit)
    assert len(short) <= limit
    if left_out:
        note = f"\n[... {left_out} characters left out ...]\n"
        head, _, tail = short.partition(note)
        assert len(head) + len(tail) + left_out == len(text)
        assert text.startswith(head)
        assert text.endswith(tail)
    else:
        assert short == text


@pytest.mark.parametrize("limit", [99, -1, 1.5, True, "100"])
def test_a_bad_limit_is_an_error(echo: type[TextEnv], limit: Any) -> None:
    with pytest.raises(BadArgument, match="Expected `max_chars`"):
        CapObservation(echo(), limit)
