"""Findings as few lines: alike ones together, and rollouts counted rather than findings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from agentenvs.harness.replay.findings import BOTH, TRANSCRIPTS, Finding

__all__ = ["counts", "grouped"]

# So many alike are still named one by one.
_FEW = 3


def counts(findings: Iterable[Finding]) -> list[str]:
    """Return what each kind of finding concerns: `edited: 376 rollouts, 1 in run.json`.

    Args:
        findings: what a replay found.
    """
    rollouts: dict[str, set[tuple[str, int | None]]] = {}
    others: dict[str, dict[str, int]] = {}
    for finding in findings:
        mine = rollouts.setdefault(finding.kind, set())
        elsewhere = others.setdefault(finding.kind, {})
        if finding.task is not None:
            mine.add((finding.task, finding.rollout))
        else:
            file = _file(finding)
            elsewhere[file] = elsewhere.get(file, 0) + 1
    lines = []
    for kind, mine in sorted(rollouts.items()):
        parts = [_many(len(mine), "rollout")] if mine else []
        parts += [f"{count} in {file}" for file, count in others[kind].items()]
        lines.append(f"{kind}: {', '.join(parts)}")
    return lines


def grouped(findings: Sequence[Finding], most: int) -> list[str]:
    """Return findings as lines, those of more than a few rollouts that say the same as one.

    Args:
        findings: what a replay found, in the order in which they are to be told.
        most: where more lines than this are left, findings about one field that differ in
            their values are told as one as well.
    """
    lines = _lines(findings, lambda f: (f.kind, _file(f), f.field, f.what(), _values(f)))
    if len(lines) > most:
        lines = _lines(findings, lambda f: (f.kind, _file(f), f.field, "" if f.told else "->"))
    return lines


def _lines(findings: Sequence[Finding], key: Callable[[Finding], tuple[str, ...]]) -> list[str]:
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for at, finding in enumerate(findings):
        # What is not about a rollout stands for itself.
        own = key(finding) if finding.task is not None else (str(at),)
        alike.setdefault(own, []).append(finding)
    # Where the first of a group stood; groups of a few stay apart.
    told: list[tuple[int, str]] = []
    place = {id(finding): at for at, finding in enumerate(findings)}
    for group in alike.values():
        if len(group) > _FEW:
            told.append((place[id(group[0])], _line(group)))
        else:
            told.extend((place[id(finding)], finding.line()) for finding in group)
    return [line for _, line in sorted(told)]


def _line(group: Sequence[Finding]) -> str:
    first = group[0]
    rollouts = dict.fromkeys((finding.task, finding.rollout) for finding in group)
    whose = f"{_many(len(rollouts), 'rollout')}, from {first.task} #{first.rollout} on"
    what = first.what()
    if any(finding.what() != what for finding in group):
        what += " and others"
    return f"{first.kind}  {whose}  {_file(first)}  {first.field}: {what}"


def _values(finding: Finding) -> str:
    return json.dumps([finding.recorded, finding.replayed], default=repr)


def _file(finding: Finding) -> str:
    """Return the file without the number of a line or a segment."""
    if finding.file == BOTH:
        return BOTH
    name = finding.file.partition(":")[0]
    return TRANSCRIPTS if name.startswith(TRANSCRIPTS) else name


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
