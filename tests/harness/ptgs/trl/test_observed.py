from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentenvs.errors import AgentEnvsError

pytest.importorskip("torch", reason="needs the extra `hf`")

from agentenvs.harness.ptgs.trl.observed import Observer

SAME, OTHER = (1, 2, 9), (1, 3, 9)


def heat(ids: list[tuple[int, ...]], *turns: tuple[list[tuple[int, ...]], list[float]]) -> Any:
    observer = Observer(SimpleNamespace(temperature=1.0), 0)
    observer._drawn.extend(turns)
    return observer._heat(ids)


FIRST = ([(1,)] * 3, [0.5, 2.0, 1.0])
IDS = [SAME, SAME, OTHER]


def test_rows_keep_the_temperature_of_their_first_turn() -> None:
    later = ([(1, 2), (1, 2), (1, 3)], [0.5, 2.0, 1.0])
    assert heat(IDS, FIRST, later) == [0.5, 2.0, 1.0]


@pytest.mark.parametrize("at", [0, 1])
def test_some_rows_end_earlier(at: int) -> None:
    assert heat(IDS, FIRST, ([(1, 2), (1, 3)], [FIRST[1][at], 1.0])) == [0.5, 2.0, 1.0]


def test_words_that_did_not_reach_the_loss_belong_to_no_row() -> None:
    assert heat(IDS, FIRST, ([(1, 7)], [3.0])) == [0.5, 2.0, 1.0]


@pytest.mark.parametrize("later", [[2.0, 0.5], [0.5, 0.5], [0.5, 1.0]])
def test_rows_with_the_same_words_are_told_apart_by_their_order(later: list[float]) -> None:
    with pytest.raises(AgentEnvsError, match="A later turn was drawn at T"):
        heat(IDS, FIRST, ([(1, 2), (1, 2)], later))
