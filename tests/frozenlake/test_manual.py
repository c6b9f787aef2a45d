from __future__ import annotations

import pytest

from agentenvs.frozenlake.grammar import read
from agentenvs.frozenlake.manual import policy, system


def test_the_numbers_are_those_of_the_environment() -> None:
    text = policy(0.7, 12, 3)
    assert "You have 12 turns. In each turn you make one to three moves." in text
    assert "the way you mean with probability 0.7" in text
    assert "to each with probability 0.15:" in text


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (1, "is not slippery"),
        (1 / 3, "0.3333. Otherwise"),
        (0.8, "each with probability 0.1:"),
        (0.99999, "with probability 0.99999. Otherwise"),
        (0.99999, "each with probability 0.000005:"),
        (1e-5, "with probability 0.00001. Otherwise"),
        (1e-5, "each with probability 0.499995:"),
    ],
)
def test_slips(rate: float, said: str) -> None:
    assert said in policy(rate, 5, 2)


def test_one_turn_of_one_move() -> None:
    text = policy(0.8, 1, 1)
    assert "You have one turn. In each turn you make one move." in text
    assert "You choose all moves" not in text
    assert "You choose all moves" in policy(0.8, 1, 2)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_examples_of_how_to_write_read_as_they_say(limit: int) -> None:
    text = system(0.8, 5, limit)
    assert text.startswith(policy(0.8, 5, limit))
    lines = text.splitlines()
    line, calls = read(lines[-3], limit), read(lines[-1], limit)
    assert line == calls
    assert len(line.moves) == min(limit, 2)
    assert (line.status, line.reason) == ("calls", "")
