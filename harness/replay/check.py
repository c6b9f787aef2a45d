"""One recorded rollout held against its replay, its outcome and the settings of its run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from agentenvs.core import Message
from agentenvs.harness.episode import Step
from agentenvs.harness.exchange import FinishReason
from agentenvs.harness.records import parse_counts
from agentenvs.harness.replay.findings import BOTH, OUTCOMES, Finding, Kind, excerpts
from agentenvs.harness.replay.play import End, Player, Said, Setup
from agentenvs.harness.replay.rows import Record
from agentenvs.harness.seeds import derive
from agentenvs.harness.store.row_sums import TextNames, sum_holds

__all__ = ["Checked", "Checker"]

_STEP = Step._fields
_KEYS = {"task_id", "rollout", *Said._fields}
_FINISHES = get_args(FinishReason)
_CHANGED = "its text was changed after it was written"
_plain = json.JSONEncoder(default=repr).encode
_sorted = json.JSONEncoder(sort_keys=True).encode


class Checked(NamedTuple):
    """What came of one rollout.

    Attributes:
        success: the verdict of the replay.
        steps: how many actions were played.
        findings: what does not hold.
    """

    success: bool
    steps: int
    findings: list[Finding]


class Checker:
    """Plays recorded rollouts again, one after another, and compares each with its record.

    Args:
        setup: what the rollouts were made with.
    """

    def __init__(self, setup: Setup) -> None:
        recorded, settings = setup.arm(), setup.settings
        self._player = Player(recorded, settings.get("max_requests"))
        self._shown = recorded.shown
        self._kind: Kind = "stale" if setup.stale else "edited"
        self._tasks = frozenset(recorded.arm.task_ids)
        self._gone = frozenset(recorded.unknown)
        starts = settings.get("history") or []
        # Versions that keep sums of the settings close each transcript with one of itself.
        self._summed = all(isinstance(one, Mapping) and "settings" in one for one in starts)
        self._summed = self._summed and bool(starts)
        self._seed = settings.get("seed")
        self._origins: list[Mapping[str, Any]] = settings.get("merged_from") or []
        self._expected: dict[str, Any] = {"scripted": None, "policy": None}
        if settings["policy"].get("scripted") is True:
            self._expected = {"scripted": True, "policy": settings["policy"].get("name")}
        if not settings.get("sampler"):
            self._expected["temperature"] = settings["sampling"].get("temperature")
        self._names = TextNames()

    def close(self) -> None:
        """Close the environment."""
        self._player.close()

    def check(self, record: Record) -> Checked:
        """Play a rollout again and return what does not hold.

        Raises:
            InfrastructureFault: what surrounds the environment failed.
            SourceError: official data cannot be had.
        """
        findings = list(self._against_settings(record))
        said = _read(record, findings)
        if said is not None:
            findings.extend(_against_outcome(record, said, self._summed))
        if record.task in self._gone:
            gone = _found("stale", record, OUTCOMES, "task_id", told="no such task now")
            findings.append(gone)
        if said is None or record.task not in self._tasks:
            return Checked(False, 0, findings)
        seed = said.seed
        if type(seed) is not int or seed != record.outcome.get("seed"):
            seed = self._seeds(record)[0]
        end = self._player.play(record.task, record.rollout, seed, said)
        differences = list(self._against_replay(record, said, end))
        if differences and self._kind == "edited":
            self._player.close()
            again = self._player.play(record.task, record.rollout, seed, said)
            if _plain(again) != _plain(end):
                differences = [finding._replace(kind="unsteady") for finding in differences]
        return Checked(end.success, len(end.steps), findings + differences)

    def _seeds(self, record: Record) -> list[int]:
        """Return the seeds that a rollout may have; one, but in a folder of several runs."""
        if self._seed is not None:
            return [derive(self._seed, record.task, record.rollout)]
        numbers = [(one, record.rollout - one["first"]) for one in self._origins]
        return [
            derive(one["seed"], record.task, number)
            for one, number in numbers
            if 0 <= number < one["n"]
        ] or [0]

    def _against_settings(self, record: Record) -> Iterator[Finding]:
        row = record.outcome
        seeds = self._seeds(record)
        if row.get("seed") not in seeds:
            yield _found("edited", record, OUTCOMES, "seed", row.get("seed"), seeds[0])
        for key, value in self._expected.items():
            if row.get(key) != value:
                yield _found("edited", record, OUTCOMES, key, row.get(key), value)

    def _against_replay(self, record: Record, said: Said, end: End) -> Iterator[Finding]:
        kind, where = self._kind, record.segment
        if end.raised:
            yield _found(kind, record, where, f"steps[{len(end.steps)}]", told=end.raised)
            return
        if self._shown and not self._same_opening(said.opening, end.opening):
            opening = [self._named(message) for message in end.opening]
            yield _found(kind, record, where, "opening", *excerpts(said.opening, opening))
        yield from self._against_steps(record, said, end)
        replies = f"over after {len(said.steps)} replies"
        if not end.over:
            yield _found(kind, record, where, "end", replies, "goes on")
            return
        if len(end.steps) < len(said.steps):
            yield _found(kind, record, where, "end", replies, f"over after {len(end.steps)}")
        yield from self._against_verdict(record, said, end)

    def _against_verdict(self, record: Record, said: Said, end: End) -> Iterator[Finding]:
        kind, row = self._kind, record.outcome
        for key in ("success", "reason"):
            own, other, now = row.get(key), getattr(said, key), getattr(end, key)
            if own == other != now:
                yield _found(kind, record, BOTH, key, own, now)
            elif own != other:
                # Where the two files disagree, one is wrong whatever a replay comes to.
                if own != now:
                    yield _found("edited", record, OUTCOMES, key, own, now)
                if other != now:
                    yield _found("edited", record, record.segment, key, other, now)
        parse, own = parse_counts(end.steps), row.get("parse")
        if isinstance(own, Mapping) and "cut" not in own:
            # As versions wrote it that did not count these yet.
            del parse["cut"]
        counts = {"score": end.score, "steps": len(end.steps), "parse": parse}
        for key, value in counts.items():
            own = row.get(key)
            # True equals 1, and counts for nothing.
            if own != value or (own and key == "parse" and _sorted(own) != _sorted(value)):
                yield _found(kind, record, OUTCOMES, key, own, value)

    def _against_steps(self, record: Record, said: Said, end: End) -> Iterator[Finding]:
        """Yield how the first step differs that does; what follows from it goes without saying."""
        for number, (then, now) in enumerate(zip(said.steps, end.steps, strict=False)):
            last = end.over and number == len(end.steps) - 1
            # What a prompt that is not known made of the news cannot be compared.
            compared = self._shown or (last and end.reason != "max_requests")
            differs = [
                (key, *pair)
                for key, *pair in zip(_STEP, then, now, strict=True)
                if (key != "news" or compared) and not _equal(*pair)
            ]
            for key, *pair in differs:
                field = f"steps[{number}].{key}"
                yield _found(self._kind, record, record.segment, field, *excerpts(*pair))
            if differs:
                return

    def _same_opening(self, then: Sequence[Mapping[str, Any]], now: Sequence[Message]) -> bool:
        return len(then) == len(now) and all(
            one == (self._named(two) if "text" in one else two)
            for one, two in zip(then, now, strict=True)
        )

    def _named(self, message: Message) -> Mapping[str, Any]:
        """Return a system message as transcripts have it, with the name of its text."""
        if message["role"] != "system":
            return message
        return {"role": "system", "text": self._names.of(message["content"])}


def _against_outcome(record: Record, said: Said, summed: bool) -> Iterator[Finding]:
    """Compare a transcript with its own sum, which it may have to have, and with its outcome."""
    holds = sum_holds(record.transcript)
    if holds is False or (holds is None and summed):
        told = "no check sum, though runs of this version write one" if holds is None else _CHANGED
        yield _found("edited", record, record.segment, "sum", told=told)
    for key in ("seed", "temperature"):
        own, other = getattr(said, key), record.outcome.get(key)
        if own != other:
            yield _found("edited", record, record.segment, key, own, other)


def _read(record: Record, findings: list[Finding]) -> Said | None:
    """Return the transcript, or None where it is none, which is then a finding."""
    try:
        row = json.loads(record.transcript)
        said = Said(*(row[key] for key in Said._fields))
        # Readers go by what is said last, and take a line that has `text` for a shared one.
        if row.keys() - {"sum"} != _KEYS or (row["task_id"], row["rollout"]) != record[:2]:
            raise KeyError("fields other than a transcript's, or another rollout's")
        fits = type(said.success) is bool and _are_messages(said.opening)
        fits = fits and isinstance(said.steps, list) and all(map(_is_step, said.steps))
        why = "a verdict, an opening and steps"
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        fits, why = False, f"a transcript ({type(error).__name__}: {error})"
    if not fits:
        shown = record.transcript[:200].decode("ascii", "replace")
        told = f"not {why}"
        findings.append(_found("edited", record, record.segment, "row", shown, told=told))
        return None
    return said


def _is_step(step: Any) -> bool:
    return (
        isinstance(step, list)
        and len(step) == len(_STEP)
        and isinstance(step[0], str)
        and _are_messages(step[1])
        and step[3] in _FINISHES
    )


def _are_messages(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(one, dict) for one in found)


def _equal(then: Any, now: Any) -> bool:
    if isinstance(now, tuple):
        now = list(now)
    if then == now:
        return True
    # The record went through JSON.
    return not isinstance(now, str | int | float) and bool(then == json.loads(_plain(now)))


def _found(
    kind: Kind,
    record: Record,
    file: str,
    field: str,
    recorded: Any = None,
    replayed: Any = None,
    told: str = "",
) -> Finding:
    return Finding(kind, record.task, record.rollout, file, field, recorded, replayed, told)
