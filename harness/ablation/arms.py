"""One arm of an ablation: how its replies were read, and why its rollouts failed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.harness.outcomes import Outcomes

__all__ = ["APART", "ArmReport", "arm_report"]

#: reasons that say how a rollout was cut short and nothing of what the model did wrong
APART = {
    "context_overflow": "the conversation outgrew the model",
    "max_requests": "the run allowed no more replies",
}
_UNSAID = "(no reason given)"


@dataclass(frozen=True, slots=True)
class ArmReport:
    """What came of one arm, besides its measures; made by `arm_report`.

    Attributes:
        name: "base-none", "base-light", "post-none" or "post-light".
        policy: the policy's name, None where unknown.
        scripted: whether it is scripted, so that no model acted.
        rollouts: how many have an outcome.
        n: smallest and largest number of them a task.
        solved: how many succeeded.
        replies: how many replies were read.
        calls, words, malformed: what they were read as.
        rescued: of the replies with calls, those that the strict parser would not have read.
        truncated: of all replies, those that ended because their tokens ran out; None where no
            outcome says so.
        failures: reason -> failed rollouts, the most frequent first, without those of `cut`.
        cut: rollouts that count as failures because they were cut short: "context_overflow"
            where the conversation outgrew the model, "max_requests" where the run allowed no
            more replies.
        void: rollouts without an outcome since a fault of the infrastructure ended every try.
        open: rollouts that were planned and have no outcome, void ones among them.
    """

    name: str
    policy: str | None
    scripted: bool
    rollouts: int
    n: tuple[int, int]
    solved: int
    replies: int
    calls: int
    words: int
    malformed: int
    rescued: int
    truncated: int | None
    failures: dict[str, int]
    cut: dict[str, int]
    void: int
    open: int

    @property
    def failed(self) -> int:
        """How many rollouts failed, those that were cut short among them."""
        return self.rollouts - self.solved

    @property
    def rescue_rate(self) -> float:
        """The share of replies with calls that were rescued; NaN without calls."""
        return self.rescued / self.calls if self.calls else math.nan

    def share(self, count: int) -> float:
        """Return a number of replies as a share of all; NaN without replies."""
        return count / self.replies if self.replies else math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, shares with it."""
        return {
            "policy": self.policy,
            "scripted": self.scripted,
            "rollouts": self.rollouts,
            "n": list(self.n),
            "solved": self.solved,
            "replies": {
                "all": self.replies,
                "calls": self.calls,
                "words": self.words,
                "malformed": self.malformed,
                "rescued": self.rescued,
                "cut": self.truncated,
            },
            "rescue_rate": self.rescue_rate,
            "share_words": self.share(self.words),
            "share_malformed": self.share(self.malformed),
            "failed": self.failed,
            "failures": dict(self.failures),
            **self.cut,
            "void": self.void,
            "open": self.open,
        }


def arm_report(name: str, outcomes: Outcomes) -> ArmReport:
    """Return what came of one arm.

    Args:
        name: of the arm.
        outcomes: its rollouts; at least one.
    """
    counts = outcomes.counts()
    parse = outcomes.parse_totals()
    calls, words, malformed = (parse.get(key, 0) for key in ("calls", "words", "malformed"))
    reasons = Counter(str(row.get("reason") or _UNSAID) for row in outcomes if not row["success"])
    cut = {reason: reasons.pop(reason, 0) for reason in APART}
    return ArmReport(
        name=name,
        policy=outcomes.policy,
        scripted=outcomes.scripted,
        rollouts=len(outcomes),
        n=(int(counts.n.min()), int(counts.n.max())),
        solved=int(counts.c.sum()),
        replies=calls + words + malformed,
        calls=calls,
        words=words,
        malformed=malformed,
        rescued=parse.get("rescued", 0),
        truncated=parse.get("cut"),
        failures=dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        cut=cut,
        void=outcomes.kinds()["void"],
        open=len(outcomes.open),
    )
