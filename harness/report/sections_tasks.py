"""The sections about single tasks and single replies."""

from __future__ import annotations

from collections.abc import Sequence

from agentenvs.harness.report.changes import SHOWN, Change
from agentenvs.harness.report.formats import count, number, percent, signed
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.markup import (
    Cell,
    breakable,
    cut,
    folded,
    paragraph,
    plain,
    section,
    shortened,
    table,
    text,
)
from agentenvs.harness.report.parsing import Reading
from agentenvs.harness.report.talks import Talk, show_talk
from agentenvs.harness.report.voice import names, voice

__all__ = ["parse_section", "tasks_section"]

_LISTED = 400
_LONGEST_ID = 80
_BEYOND = "beyond chance"


def tasks_section(found: Findings, room: int) -> str:
    """Return the tasks gained and lost, with transcripts of those that changed most.

    Args:
        found: what was found.
        room: bytes for one transcript.
    """
    changes, say = found.changes, voice(found)
    lost, gained = changes.shown(SHOWN)
    tasks = len(changes.tasks)
    moved = [one for one in changes.tasks if one.change]
    alone = [
        count(many, "task") if many else "none" for many in (changes.vanished, changes.appeared)
    ]
    words = [
        f"Solved at least once by {say.first} and never by {say.second}: {alone[0]}. "
        f"The other way round: {alone[1]}.",
        f"Beyond chance, {count(changes.lost, 'task')} got worse and {changes.gained:,} better, "
        f"out of {tasks:,} (marked \u25cf). The mark allows for the number of tasks: about "
        f"{percent(changes.rate)} of the marked ones, at most, are expected to be there by chance."
        if changes.lost + changes.gained
        else f"No single task changed by more than chance could explain, out of {tasks:,}.",
    ]
    body = [*(paragraph(line) for line in words)]
    if not moved:
        body.append(paragraph("No task was solved more often by one model than by the other."))
        return section("Tasks gained and lost", body, "tasks")
    top = [*lost, *gained]
    caption = _caption(len(top), len(moved))
    if any(_said(found, one) for one in top):
        body.append(
            paragraph(
                "Open a task to read what was said: one rollout that succeeded, from the model "
                "that solves it more often, and one that failed, from the other, for the reason "
                "that is most frequent there. All of it was written by models and environments.",
                "talks",
            )
        )
        body.append(_listed(found, top, caption, room))
    else:
        body.append(_changed(found, top, caption))
        body.append(paragraph("The runs keep no transcripts of these tasks.", "note"))
    if len(moved) > len(top):
        shown = (
            [*moved[: _LISTED // 2], *moved[-(_LISTED // 2) :]] if len(moved) > _LISTED else moved
        )
        left = len(moved) - len(shown)
        note = f" ({left:,} small ones left out)" if left else ""
        body.append(
            folded(
                f"All {count(len(moved), 'task')} that changed{note}", _changed(found, shown, "")
            )
        )
    return section("Tasks gained and lost", body, "tasks")


def _caption(shown: int, moved: int) -> str:
    if shown < moved:
        return f"The {shown} largest changes of {moved:,}, losses first"
    return f"All {count(shown, 'task')} that changed, losses first" if shown > 1 else ""


def _changed(found: Findings, rows: Sequence[Change], caption: str) -> str:
    return table(_heads(found), [_line(one) for one in rows], caption)


def _heads(found: Findings) -> list[str]:
    first, second = names(found)
    return ["task", f"solved, {first}", f"solved, {second}", "change", "p by chance", _BEYOND]


def _line(one: Change) -> list[Cell]:
    return [
        Cell(shortened(one.task_id, _LONGEST_ID), "", "id"),
        Cell(f"{one.c_base}/{one.n_base}"),
        Cell(f"{one.c_post}/{one.n_post}"),
        Cell(f"{signed(100 * one.change, 0)}\u00a0points", "", "strong"),
        Cell(_chance(one.p_value)),
        Cell("\u25cf" if one.beyond_chance else ""),
    ]


def _chance(p_value: float) -> str:
    if p_value < 0.0001:
        return "under 0.0001"
    return number(p_value, 4 if p_value < 0.01 else 3)


def _listed(found: Findings, rows: Sequence[Change], caption: str, room: int) -> str:
    """Return the tasks one below the other, each with what was said in it folded away."""
    heads = "".join(f"<span>{text(name)}</span>" for name in _heads(found))
    told = f"<p class='note'>{text(caption)}</p>" if caption else ""
    tasks = "".join(_task(found, one, room) for one in rows)
    return f"{told}<div class='tasks'><p class='line head'>{heads}</p>{tasks}</div>"


def _task(found: Findings, one: Change, room: int) -> str:
    name, *cells = _line(one)
    heads, kinds = (*names(found), "", "", ""), ("from", "to", "strong", "more", "mark")
    spans = "".join(
        f"<span class='{kind}'>{f'<i>{text(head)} </i>' if head else ''}{text(cell.text)}</span>"
        for head, cell, kind in zip(heads, cells, kinds, strict=True)
        if cell.text
    )
    line = f"<span class='id'>{breakable(name.text)}</span>{spans}"
    talks = "".join(_talk(names(found)[arm], talk, room) for arm, talk in _said(found, one))
    if not talks:
        return f"<p class='line'>{line}</p>"
    return (
        f"<details class='task'><summary class='line'>{line}</summary>"
        f"<div class='pair'>{talks}</div></details>"
    )


def _said(found: Findings, one: Change) -> list[tuple[int, Talk]]:
    """Return the arm and the rollout of a success and of a failure at a task, if there are."""
    better, worse = (1, 0) if one.change > 0 else (0, 1)
    talks = (
        (arm, found.talks[arm].get((one.task_id, success)))
        for arm, success in ((better, True), (worse, False))
    )
    return [(arm, talk) for arm, talk in talks if talk is not None]


def _talk(label: str, talk: Talk, room: int) -> str:
    how = "solved" if talk.success else "not solved"
    reason = cut(plain(talk.reason), 300)
    why = f": {reason.head}{chr(0x2026) if reason.left_out else ''}" if talk.reason else ""
    return (
        f"<div><h3>{text(label)}, rollout {talk.rollout}: {how}{text(why)}</h3>"
        f"{show_talk(talk, room)}</div>"
    )


def parse_section(found: Findings) -> str:
    """Return how the replies of both arms were read."""
    if not any(found.readings):
        return ""
    kinds: tuple[tuple[str, str], ...] = (
        ("read as calls of tools", "calls"),
        ("plain text, no call", "words"),
        ("malformed: calls that could not be read", "malformed"),
        ("calls that had to be mended", "repaired"),
        ("calls that a strict parser reads alike", "strict"),
        ("calls that the relaxed parser rescued", "rescued"),
    )
    if any(one is not None and one.cut is not None for one in found.readings):
        kinds += (("cut: replies whose tokens ran out", "cut"),)
    rows: list[list[str | Cell]] = [
        ["replies", *(f"{one.replies:,}" if one else "not recorded" for one in found.readings)]
    ]
    for title, key in kinds:
        rows.append([title, *(_rate(one, key) for one in found.readings)])
    body = [
        paragraph(
            "A model acts by text, and a parser reads calls of tools from it. A model whose calls "
            "are misread seems less able than it is. Rescued calls are those that a strict parser "
            "would not have read: without the relaxed one they would have counted as plain text or "
            "errors."
        ),
        table(["per reply", *names(found)], rows),
    ]
    return section("How replies were read", body, "parse")


def _rate(one: Reading | None, key: str) -> str | Cell:
    if one is None:
        return Cell("not recorded", "", "quiet")
    if key in ("strict", "rescued") and not one.strict + one.rescued:
        return Cell("not asked" if one.calls else "\u2013", "", "quiet")
    many: int | None = getattr(one, key)
    if many is None:
        return Cell("not recorded", "", "quiet")
    return Cell(percent(many / one.replies, 1), f"{many:,}")
