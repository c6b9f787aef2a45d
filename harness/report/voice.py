"""What the page calls the two arms, which are not always a model before and after training."""

from __future__ import annotations

from typing import NamedTuple

from agentenvs.harness.report.gather import Findings

__all__ = ["Voice", "long_names", "names", "trained", "voice"]


class Voice(NamedTuple):
    """How the two arms are called.

    Attributes:
        opening: begins a sentence about the second arm.
        then: what "than" and "as many as" are followed by, of the first.
        now: the same of the second.
        instead: ends "x instead of y" where that does not say enough.
        first, second: the arms as subjects.
        columns: heads of columns.
        titles: names that stand alone.
    """

    opening: str
    then: str
    now: str
    instead: str
    first: str
    second: str
    columns: tuple[str, str]
    titles: tuple[str, str]


_TRAINING = Voice(
    opening="After training",
    then="before",
    now="after",
    instead="",
    first="the model before training",
    second="the trained model",
    columns=("before", "after"),
    titles=("the model before training", "the trained model"),
)
_RUNS = Voice(
    opening="In the second run",
    then="in the first run",
    now="in the second run",
    instead=" in the first run",
    first="the first run",
    second="the second run",
    columns=("first run", "second run"),
    titles=("the first run", "the second run"),
)


def voice(found: Findings) -> Voice:
    """Return the names: of a model before and after training, of two runs, or of policies."""
    if found.comparison.scripted:
        one, two = found.labels
        return Voice(
            opening=f"With {two}",
            then=f"with {one}",
            now=f"with {two}",
            instead=f" with {one}",
            first=one,
            second=two,
            columns=(one, two),
            titles=(one, two),
        )
    return _RUNS if found.one_model else _TRAINING


def trained(found: Findings) -> bool:
    """Return whether training may lie between the arms."""
    return not (found.comparison.scripted or found.one_model)


def names(found: Findings) -> tuple[str, str]:
    """Return what the two arms are called in tables."""
    return voice(found).columns


def long_names(found: Findings) -> tuple[str, str]:
    """Return what the two arms are called where they stand alone."""
    return voice(found).titles
