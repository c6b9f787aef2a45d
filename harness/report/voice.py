"""What the page calls the two arms, which are not always a model before and after training."""

from __future__ import annotations

from typing import NamedTuple

from agentenvs.harness.report.gather import Findings

__all__ = ["Voice", "long_names", "names", "trained", "upper", "voice"]


class Voice(NamedTuple):
    """How the two arms are called.

    Attributes:
        opening: begins a sentence about the second arm.
        then: what "than" and "as many as" are followed by, of the first.
        instead: ends "x instead of y" where that does not say enough.
        first, second: the arms as subjects.
        columns: heads of columns.
        titles: names that stand alone.
    """

    opening: str
    then: str
    instead: str
    first: str
    second: str
    columns: tuple[str, str]
    titles: tuple[str, str]


_TRAINING = Voice(
    opening="After training",
    then="before",
    instead="",
    first="the model before training",
    second="the trained model",
    columns=("before", "after"),
    titles=("the model before training", "the trained model"),
)
_RUNS = Voice(
    opening="In the second run",
    then="in the first run",
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
        return Voice(f"With {two}", f"with {one}", f" with {one}", one, two, (one, two), (one, two))
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


def upper(words: str) -> str:
    """Return words with a capital at their beginning, unless they are a name."""
    return f"T{words[1:]}" if words.startswith("the ") else words
