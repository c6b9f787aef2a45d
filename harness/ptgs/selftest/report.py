"""What the self-test found, as a table with words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agentenvs.errors import UnknownName, did_you_mean

__all__ = ["FAILED", "LEFT_OUT", "NOT_RUN", "PASSED", "Check", "Report"]

PASSED, FAILED, NOT_RUN, LEFT_OUT = "passed", "failed", "not run", "left out"
_WIDTH = 100
# A step shows what it drew, not by which code; `samples` asks `sample` alone.
_UNSEEN = "Not seen: whether `step` draws by the code of `sample`."


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: of the check.
        status: passed, failed, not run (nothing was seen that could decide), or left out (the
            caller asked for that).
        words: what was seen.
        numbers: what was measured.
        error: what the trainer raised, where that is why.
    """

    name: str
    status: str
    words: str
    numbers: dict[str, float] = field(default_factory=dict)
    error: Exception | None = None


@dataclass(frozen=True)
class Report:
    """All checks of a trainer, in the order in which they were made."""

    checks: tuple[Check, ...]
    seed: int = 0

    @property
    def passed(self) -> bool:
        """Whether every check passed that was not left out; one that was not run did not."""
        return any(check.status == PASSED for check in self.checks) and all(
            check.status in (PASSED, LEFT_OUT) for check in self.checks
        )

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the checks that failed."""
        return tuple(check.name for check in self.checks if check.status == FAILED)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __getitem__(self, name: str) -> Check:
        """Return a check by its name.

        Raises:
            UnknownName: there is none.
        """
        for check in self.checks:
            if check.name == name:
                return check
        names = [check.name for check in self.checks]
        raise UnknownName(f"No check {name!r}.{did_you_mean(name, names)}")

    def as_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "passed": self.passed,
            "seed": self.seed,
            "checks": [
                {
                    "name": check.name,
                    "status": check.status,
                    "words": check.words,
                    "numbers": {
                        # JSON has no infinity and no NaN.
                        name: value if abs(value) < float("inf") else None
                        for name, value in check.numbers.items()
                    },
                }
                for check in self.checks
            ],
        }

    def __str__(self) -> str:
        """Return the table, the verdict, and, where nothing failed, what no check sees."""
        if not self.checks:
            return "no checks"
        first = max(len(check.name) for check in self.checks) + 2
        second = max(len(check.status) for check in self.checks) + 2
        indent = " " * (first + second)
        rows = [
            textwrap.fill(
                check.words,
                width=_WIDTH,
                initial_indent=f"{check.name:<{first}}{check.status:<{second}}",
                subsequent_indent=indent,
                break_on_hyphens=False,
            )
            for check in self.checks
        ]
        return "\n".join([*rows, self._verdict(), *([] if self.failed else [_UNSEEN])])

    def _verdict(self) -> str:
        counts = {
            status: sum(check.status == status for check in self.checks)
            for status in (PASSED, FAILED, NOT_RUN, LEFT_OUT)
        }
        told = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
        undecided = counts[NOT_RUN] and not counts[FAILED]
        verdict = "PASSED" if self.passed else "UNDECIDED" if undecided else "NOT PASSED"
        return f"{verdict}: {told}"
