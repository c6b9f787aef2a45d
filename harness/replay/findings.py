"""What a replay found: rows of a run that do not hold, each with the field that says so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

__all__ = ["BOTH", "OUTCOMES", "RUN", "TRANSCRIPTS", "Finding", "Kind", "Verification", "excerpts"]

Kind = Literal["edited", "stale", "missing", "unsteady", "uncertified"]
#: where a finding lies
RUN, OUTCOMES, TRANSCRIPTS = "run.json", "outcomes.jsonl", "transcripts"
BOTH = f"{OUTCOMES} and {TRANSCRIPTS}"
_SHOWN = 60
_KEPT = 2_000


class Finding(NamedTuple):
    """One thing that does not hold.

    Attributes:
        kind: "edited": the record contradicts itself, or the replay although environment, data
            and wording are those of the run; "stale": it contradicts a replay in which they are
            others, which proves nothing; "missing": there is no record to compare;
            "unsteady": two replays contradict one another, so that the environment is at fault;
            "uncertified": rollouts that came after the certificate, when nothing was played.
        task: whose rollout it is, None where it is about the whole run.
        rollout: its number among the task's, or None.
        file: where it stands: "run.json", "outcomes.jsonl", "transcripts", or a file and line.
        field: which field: "success", "score", "steps[3].news", ...
        recorded: what the record says.
        replayed: what it should say; None where `told` says what is wrong.
        told: what is wrong, in words, where no two values are held against one another.
    """

    kind: Kind
    task: str | None
    rollout: int | None
    file: str
    field: str
    recorded: Any
    replayed: Any
    told: str = ""

    def line(self) -> str:
        """Return the finding as one line of text."""
        whose = "the run" if self.task is None else f"{self.task} #{self.rollout}"
        return f"{self.kind}  {whose}  {self.file}  {self.field}: {self.what()}"

    def what(self) -> str:
        """Return what does not hold of the field."""
        if not self.told:
            return f"{_short(self.recorded)} -> {_short(self.replayed)}"
        value = "" if self.recorded is None else f" (it says {_short(self.recorded)})"
        return self.told + value

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data; long texts are cut."""
        return {
            **self._asdict(),
            "recorded": _cut(self.recorded),
            "replayed": _cut(self.replayed),
        }


def _short(value: Any) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _cut(value: Any) -> Any:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, str):
        return value[:_KEPT]
    text = json.dumps(value, default=repr)
    return json.loads(text) if len(text) <= _KEPT else text[:_KEPT]


def excerpts(one: Any, two: Any) -> tuple[Any, Any]:
    """Return two values, of long ones the part in which they begin to differ."""
    texts = [
        value if isinstance(value, str) else json.dumps(value, default=repr) for value in (one, two)
    ]
    if max(map(len, texts)) <= _SHOWN - 2:
        return one, two
    pairs = zip(*texts, strict=False)
    at = next((at for at, (a, b) in enumerate(pairs) if a != b), min(map(len, texts)))
    start = max(0, at - 15)
    first, second = (f"{'...' if start else ''}{text[start : start + _KEPT]}" for text in texts)
    return first, second


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of a replay of a whole run.

    Attributes:
        run: the run folder.
        rows: rollouts with an outcome.
        verified: how many of them hold in every field; with `quick`, are as they were certified.
        findings: everything that does not, those about the whole run first.
        stale: why a difference may prove nothing: `setting: then -> now`.
        notes: what is worth knowing and no finding.
        open: rollouts of the plan without an outcome.
        uncertified: rollouts that came after the certificate; counted with `quick` alone.
        voids: the void tries that the run recorded; there is nothing in them to verify.
        played: the environment that was played.
        facts: sums, versions and hashes: what a certificate says.
        seconds: how long it took.
        quick: whether sums alone were compared, and nothing was played.
    """

    run: Path
    rows: int
    verified: int
    findings: tuple[Finding, ...] = ()
    stale: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    open: int = 0
    uncertified: int = 0
    voids: Sequence[Mapping[str, Any]] = ()
    played: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    quick: bool = False

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return not self.findings

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "run": str(self.run),
            "ok": self.ok,
            "quick": self.quick,
            "rows": self.rows,
            "verified": self.verified,
            "open": self.open,
            "uncertified": self.uncertified,
            "voids": [dict(void) for void in self.voids],
            "findings": [finding.as_dict() for finding in self.findings],
            "stale": list(self.stale),
            "notes": list(self.notes),
            "played": self.played,
            "facts": dict(self.facts),
            "seconds": round(self.seconds, 3),
        }
