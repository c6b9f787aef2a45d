"""A prompt's token ids that know the temperature of their row.

A trainer passes prompts on, adds to them, picks some of them, and generates. What is bound to the
ids themselves cannot be mixed up on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agentenvs.errors import BadArgument

__all__ = ["FIELD", "Row", "temperatures_of", "with_temperatures"]

FIELD = "ptgs_temperature"
"""Under which a batch holds its rows' temperatures, (B,)."""


class Row(list[int]):
    """Token ids with the temperature at which the row is sampled; `row + ids` keeps it.

    >>> (Row([5, 6], 0.5) + [7]).temperature
    0.5
    """

    def __init__(self, ids: Iterable[int], temperature: float) -> None:
        super().__init__(ids)
        self.temperature = temperature

    def __add__(self, more: Any) -> Any:
        return Row(super().__add__(more), self.temperature)

    def __reduce__(self) -> tuple[Any, ...]:
        return Row, (list(self), self.temperature)


def with_temperatures(
    prompt_ids: Sequence[Sequence[int]], temperatures: Iterable[float]
) -> list[Row]:
    """Return each prompt with its temperature.

    Raises:
        BadArgument: not one temperature for each prompt.
    """
    given = [float(t) for t in temperatures]
    if len(given) != len(prompt_ids):
        raise BadArgument(
            f"Expected a temperature for each of {len(prompt_ids)} prompts, got {len(given)}."
        )
    return [Row(ids, t) for ids, t in zip(prompt_ids, given, strict=True)]


def temperatures_of(prompt_ids: Sequence[Any]) -> list[float]:
    """Return the temperatures that came with prompts.

    Raises:
        BadArgument: one came without.
    """
    for at, ids in enumerate(prompt_ids):
        if not isinstance(ids, Row):
            raise BadArgument(
                f"Expected every prompt with its row's temperature, got none with prompt {at}: "
                "generate from `with_temperatures(prompt_ids, t)` of agentenvs.harness.ptgs.trl; "
                "`trainer.row_temperatures` has those of the batch."
            )
    return [ids.temperature for ids in prompt_ids]
