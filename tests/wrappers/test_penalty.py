from __future__ import annotations

from typing import Any

import pytest

from agentenvs.core import TextEnv
from agentenvs.errors import BadArgument
from agentenvs.wrappers import FormatPenalty, RelaxedToolCalls


@pytest.mark.parametrize(
    ("text", "price"), [("[ls()]", 0.0), ("ls()", 0.5), ("All done.", 0.0), ("[ls", 2.0)]
)
def test_each_kind_of_repair_and_a_refusal_have_a_price(
    echo: type[TextEnv], text: str, price: float
) -> None:
    env = FormatPenalty(RelaxedToolCalls(echo()), per_repair=0.5, malformed=2.0)
    env.reset(seed=0)
    _, reward, *_, info = env.step(text)
    assert (reward, info["format_penalty"]) == (-price, price)


def test_the_outcome_still_counts(echo: type[TextEnv]) -> None:
    env = FormatPenalty(RelaxedToolCalls(echo(steps=1)), per_repair=0.25)
    env.reset(seed=0)
    assert env.step("ls()")[1:3] == (0.75, True)


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf"), "1", True])
def test_a_bad_price_is_an_error(echo: type[TextEnv], price: Any) -> None:
    with pytest.raises(BadArgument, match="Expected `per_repair`"):
        FormatPenalty(echo(), per_repair=price)
