"""How the replies of each arm were read: calls, words, and what the relaxed parser rescued."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Reading", "reading"]


class Reading(NamedTuple):
    """Counts of replies.

    Attributes:
        replies: all of them.
        calls: read as tool calls.
        words: read as words to the user.
        malformed: meant as calls, it seems, and not readable as such.
        repaired: calls that had to be mended.
        strict: calls that a strict parser reads alike.
        rescued: calls that a strict parser would have refused or read otherwise.
        cut: replies that ended because their tokens ran out; None where that was not recorded.
    """

    replies: int
    calls: int
    words: int
    malformed: int
    repaired: int
    strict: int
    rescued: int
    cut: int | None = None


def reading(totals: Mapping[str, int]) -> Reading | None:
    """Return the counts of `Outcomes.parse_totals`; None where nothing was recorded."""
    calls, words, malformed = (totals.get(key, 0) for key in ("calls", "words", "malformed"))
    replies = calls + words + malformed
    if not replies:
        return None
    repaired, strict, rescued = (totals.get(key, 0) for key in ("repaired", "strict", "rescued"))
    cut = totals.get("cut")
    return Reading(replies, calls, words, malformed, repaired, strict, rescued, cut)
