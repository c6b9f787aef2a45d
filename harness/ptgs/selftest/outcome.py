"""How a check ends, and from what the trainer did to a line of the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from agentenvs.harness.ptgs.selftest.report import FAILED, NOT_RUN, PASSED, Check

__all__ = ["Seen", "TrainerRaised", "Undecided", "Wrong", "carry_out"]


class Seen(NamedTuple):
    """A check passed: what was seen, and what was measured."""

    words: str
    numbers: dict[str, float]


class Wrong(Exception):
    """Raised when the trainer does something else than it should."""

    def __init__(self, words: str, numbers: dict[str, float] | None = None) -> None:
        super().__init__(words)
        self.numbers = numbers or {}


class Undecided(Exception):
    """Raised when nothing was seen that could tell a right trainer from a wrong one."""

    def __init__(self, words: str, numbers: dict[str, float] | None = None) -> None:
        super().__init__(words)
        self.numbers = numbers or {}


class TrainerRaised(Exception):
    """Raised when one of the trainer's methods does, `error` by `method`."""

    def __init__(self, method: str, error: Exception) -> None:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        super().__init__(f"the trainer's `{method}` raised {told[:400]}")
        self.error = error


def carry_out(name: str, check: Callable[[], Seen]) -> Check:
    """Return how a check ended. What the self-test itself does amiss is raised."""
    try:
        found = check()
    except Wrong as wrong:
        return Check(name, FAILED, str(wrong), wrong.numbers)
    except Undecided as undecided:
        return Check(name, NOT_RUN, str(undecided), undecided.numbers)
    except NotImplementedError as error:
        return Check(name, NOT_RUN, f"the trainer cannot do this: {error or 'no word why'}")
    except TrainerRaised as raised:
        return Check(name, FAILED, str(raised), error=raised.error)
    return Check(name, PASSED, found.words, found.numbers)
