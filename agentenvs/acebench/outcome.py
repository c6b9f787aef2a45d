"""What a checker says."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Verdict"]


class Verdict(NamedTuple):
    """What a checker says of an answer or of an episode.

    Attributes:
        valid: it passes.
        error_type: the official name of the failure, "" when valid. Where the official checker
            has no such failure, a name of ours that begins with "fixed:".
        process_accuracy: share of the milestones met, in agent tasks; 1.0 when valid.
        final_state: what the episode left behind, in agent tasks: `{class: {attribute: value}}`
            one a class involved.
        detail: what differs, for people; the official text where that is known.
    """

    valid: bool
    error_type: str = ""
    process_accuracy: float | None = None
    final_state: list[dict[str, Any]] | None = None
    detail: str = ""
