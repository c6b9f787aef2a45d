"""Which rollouts are looked at, and in which order."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.harness.view.entries import KINDS, Entry, Run

__all__ = ["SORTS", "Wanted", "choose", "parse_wanted"]

_TEXTS: dict[str, Callable[[Entry], str]] = {
    "outcome": lambda e: e.kind,
    "reason": lambda e: e.reason,
}
_NUMBERS: dict[str, Callable[[Entry], float | None]] = {
    "score": lambda e: e.score,
    "steps": lambda e: e.steps,
    "calls": lambda e: e.calls,
    "words": lambda e: e.words,
    "malformed": lambda e: e.malformed,
    "repaired": lambda e: e.repaired,
    "rescued": lambda e: e.rescued,
    "tokens": lambda e: e.tokens,
    "seconds": lambda e: e.seconds,
}
#: what rollouts can be sorted by: numbers from the largest, all else upwards
SORTS = ("task", "rollout", *_TEXTS, *_NUMBERS)


@dataclass(frozen=True)
class Wanted:
    """What a rollout has to be like; None and False ask for nothing.

    Attributes:
        task: a pattern of task ids, `mini_*` say.
        rollout: a rollout's number.
        outcome: one of `KINDS`.
        reason: a pattern of reasons.
        repair: a repair that a reply needed, "fence" say.
        text: occurs in what was said, in whatever case.
        rescued: some reply was read by the relaxed parser alone.
        malformed: some reply did not read.
    """

    task: str | None = None
    rollout: int | None = None
    outcome: str | None = None
    reason: str | None = None
    repair: str | None = None
    text: str | None = None
    rescued: bool = False
    malformed: bool = False

    def __str__(self) -> str:
        """Return what `parse_wanted` reads."""
        parts = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value is True:
                parts.append(field.name)
            elif value is not None and value is not False:
                parts.append(f"{field.name}={shlex.quote(str(value))}")
        return " ".join(parts)

    def __bool__(self) -> bool:
        """Return whether anything is asked for."""
        return self != Wanted()

    @property
    def needs_transcripts(self) -> bool:
        """Whether outcomes alone do not tell."""
        return self.repair is not None or self.text is not None


def parse_wanted(line: str) -> Wanted:
    """Read words such as `outcome=failure reason=*state* rescued`; "" asks for nothing.

    Raises:
        UnknownName: a word that says nothing of rollouts, or no such outcome.
        BadArgument: quotes that do not close, or a rollout that is no number.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise BadArgument(f"Expected words such as outcome=failure: {error}.") from None
    known = {field.name: field.type for field in fields(Wanted)}
    found = Wanted()
    for word in words:
        name, equals, value = word.partition("=")
        if name not in known:
            raise UnknownName(f"No filter {name!r}.{did_you_mean(name, known)}")
        given: Any = value
        if known[name] == "bool":
            if equals:
                raise BadArgument(f"Expected {name} without a value.")
            given = True
        elif not value:
            raise BadArgument(f"Expected {name}=VALUE.")
        elif name == "rollout":
            if not value.isdecimal():
                raise BadArgument(f"Expected rollout=NUMBER, got {value!r}.")
            given = int(value)
        elif name == "outcome" and value not in KINDS:
            raise UnknownName(f"No outcome {value!r}.{did_you_mean(value, KINDS)}")
        found = replace(found, **{name: given})
    return found


def choose(
    run: Run,
    wanted: Wanted,
    sort: str | None = None,
    reverse: bool = False,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Entry]:
    """Return the rollouts of a run that are wanted.

    Args:
        run: the run.
        wanted: what they have to be like.
        sort: one of `SORTS`; None leaves them task by task.
        reverse: turn the order around.
        progress: told the share of the transcripts that was looked through.
    """
    found = [entry for entry in run.entries if _fits(entry, wanted)]
    if wanted.repair is not None:
        run.transcripts.complete(progress)
        found = [e for e in found if wanted.repair in run.transcripts.repairs(e.key)]
    if wanted.text is not None:
        keys = {entry.key for entry in found}
        hits = set(run.transcripts.search(wanted.text, keys, progress))
        found = [entry for entry in found if entry.key in hits or _tells(run, entry, wanted.text)]
    return _sorted(found, sort, reverse)


def _fits(entry: Entry, wanted: Wanted) -> bool:
    return (
        _like(entry.task, wanted.task)
        and (wanted.rollout is None or entry.rollout == wanted.rollout)
        and (wanted.outcome is None or entry.kind == wanted.outcome)
        and _like(entry.reason, wanted.reason)
        and not (wanted.rescued and not entry.rescued)
        and not (wanted.malformed and not entry.malformed)
    )


def _like(value: str, pattern: str | None) -> bool:
    return pattern is None or value == pattern or fnmatchcase(value, pattern)


def _tells(run: Run, entry: Entry, text: str) -> bool:
    """Return whether a text occurs in the errors of a void rollout."""
    if entry.kind != "void":
        return False
    return any(text.lower() in str(row.get("error", "")).lower() for row in run.voids[entry.key])


def _sorted(entries: Iterable[Entry], sort: str | None, reverse: bool) -> list[Entry]:
    found = list(entries)
    if sort in _NUMBERS:
        number = _NUMBERS[sort]
        known = [(value, e) for e in found if (value := number(e)) is not None]
        unknown = [e for e in found if number(e) is None]
        known.sort(key=lambda pair: pair[0], reverse=not reverse)
        return [*(entry for _, entry in known), *unknown]
    if sort in _TEXTS:
        found.sort(key=_TEXTS[sort])
    elif sort == "rollout":
        found.sort(key=lambda e: e.rollout)
    elif sort == "task":
        found.sort(key=lambda e: e.task)
    elif sort is not None:
        raise UnknownName(f"No order {sort!r}.{did_you_mean(sort, SORTS)}")
    if reverse:
        found.reverse()
    return found
