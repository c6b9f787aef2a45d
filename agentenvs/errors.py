"""Every exception that agentenvs raises on purpose.

AgentEnvsError
├── UnknownName (also KeyError)      an id, task, task set, tool world or source that does not exist
├── BadArgument (also ValueError)    an argument of the wrong type or out of range
├── BadAction (also TypeError)       an action that is not text
├── SourceError                      official data
│   ├── SourceMissing                needed, not in the cache, and not to be had now
│   └── SourceMismatch               present, but not the pinned content
├── RunError                         rollouts
│   ├── SettingsDiffer               the run folder was made with other settings
│   └── RunDamaged                   a run folder that cannot be read
├── PolicyError                      a policy that cannot be built or gave no completion
└── InfrastructureFault              what surrounds a rollout failed: there is no verdict
    └── BrowserError                 a browser that is missing, or does not show what it should
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "AgentEnvsError",
    "BadAction",
    "BadArgument",
    "BrowserError",
    "InfrastructureFault",
    "PolicyError",
    "RunDamaged",
    "RunError",
    "SettingsDiffer",
    "SourceError",
    "SourceMismatch",
    "SourceMissing",
    "UnknownName",
    "did_you_mean",
]


class AgentEnvsError(Exception):
    """Base of every error of this package."""


class UnknownName(AgentEnvsError, KeyError):
    """Raised when an id, a task, a task set, a tool world or a source does not exist."""

    def __str__(self) -> str:
        """Return the message without the quotes that KeyError adds."""
        return str(self.args[0]) if self.args else ""


class BadArgument(AgentEnvsError, ValueError):
    """Raised when an argument has the wrong type or lies out of range."""


class BadAction(AgentEnvsError, TypeError):
    """Raised when an environment is given an action that is not a string."""


class SourceError(AgentEnvsError):
    """Base of the errors about official data."""


class SourceMissing(SourceError, FileNotFoundError):
    """Raised when official data is needed, not cached, and cannot be fetched."""


class SourceMismatch(SourceError):
    """Raised when official data does not have the pinned content."""


class RunError(AgentEnvsError):
    """Base of the errors about rollouts and run folders."""


class SettingsDiffer(RunError):
    """Raised when a run folder was made with other settings than the ones asked for."""


class RunDamaged(RunError):
    """Raised when a run folder cannot be read."""


class PolicyError(AgentEnvsError):
    """Raised when a policy cannot be built or gives no completion."""


class InfrastructureFault(AgentEnvsError):
    """Raised when what surrounds a rollout failed, so that there is no verdict.

    An endpoint, a connection, a browser. The runner plays such a rollout again, and never counts
    the try as a failure.

    Attributes:
        reason: what failed, in a short word: timeout, connection, http_503, cut_reply, browser.
    """

    def __init__(self, message: str, reason: str = "fault") -> None:
        super().__init__(message)
        self.reason = reason


class BrowserError(InfrastructureFault):
    """Raised when a browser is missing, fails, or does not show the page that it should."""

    def __init__(self, message: str, reason: str = "browser") -> None:
        super().__init__(message, reason)


def did_you_mean(
    name: object, known: Iterable[str], limit: int = 8, total: int | None = None
) -> str:
    """Return a hint for an unknown name: the closest known one, or the known ones.

    Case does not count, and of names equally close the first is meant.

    Args:
        name: what was asked for.
        known: the names that exist.
        limit: how many names to list where none is close.
        total: how many there are, where `known` has the first ones alone.

    Returns:
        A sentence that starts with a space, or "" where nothing is known.
    """
    names = list(known)
    wanted = str(name).casefold()
    folded: dict[str, str] = {}
    for one in names[:5000]:
        folded.setdefault(one.casefold(), one)
    close = set(difflib.get_close_matches(wanted, folded, n=3, cutoff=0.6))
    if close:
        nearest = max(
            filter(close.__contains__, folded),
            key=lambda one: difflib.SequenceMatcher(None, one, wanted).ratio(),
        )
        return f" Did you mean {folded[nearest]!r}?"
    if not names:
        return ""
    count = len(names) if total is None else total
    more = f", ... ({count} in all)" if count > limit else ""
    return f" Known: {', '.join(repr(n) for n in names[:limit])}{more}."
