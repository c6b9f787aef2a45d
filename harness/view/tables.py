"""What the lists show: rollouts, tasks, tasks of two runs, and what they add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from agentenvs.harness.view.entries import KINDS, READINGS, Entry, Run, Tally, tallies
from agentenvs.harness.view.grid import Column, Grid, one_line

__all__ = ["STYLES", "pair_grid", "pair_rows", "rollout_grid", "summary", "task_grid"]

STYLES = {
    "success": "green",
    "failure": "red",
    "context_overflow": "yellow",
    "void": "magenta",
}
_SCRIPTED = "scripted policy: these numbers describe the script, not a model"
_SHORT = {"context_overflow": "overflow"}
_LONG = {short: kind for kind, short in _SHORT.items()}


def _alarming(cell: str) -> str:
    return "" if cell in ("0", "") else "yellow"


def rollout_grid(entries: Sequence[Entry], short: bool = False) -> Grid:
    """Return rollouts as rows.

    Args:
        entries: the rollouts.
        short: shorten what is long, and leave out scores that tell nothing beyond the outcome.
    """
    binary = short and all(entry.score in (None, 0.0, 1.0) for entry in entries)
    columns: tuple[Column, ...] = (
        Column("task", least=16),
        Column("#", right=True),
        Column("outcome", style=lambda cell: STYLES.get(_LONG.get(cell, cell), "")),
        Column("score", right=True, drop=5 if not binary else 9),
        Column("steps" if not short else "step", right=True),
        Column("calls" if not short else "call", right=True, drop=3),
        Column("words" if not short else "word", right=True, drop=4),
        Column("malformed" if not short else "bad", right=True, style=_alarming),
        Column("repaired" if not short else "fix", right=True, drop=2, style=_alarming),
        Column("rescued" if not short else "resc", right=True, style=_alarming),
        Column("tokens", right=True, drop=6),
        Column("seconds" if not short else "sec", right=True, drop=8),
        Column("reason", least=26),
    )
    rows = [
        (
            one_line(entry.task),
            str(entry.rollout),
            _SHORT.get(entry.kind, entry.kind) if short else entry.kind,
            "" if entry.score is None else f"{entry.score:.2f}",
            *map(
                _number, (entry.steps, *(getattr(entry, name) for name in READINGS), entry.tokens)
            ),
            "" if entry.seconds is None else f"{entry.seconds:.1f}",
            one_line(entry.reason),
        )
        for entry in entries
    ]
    if binary:
        columns = tuple(column for column in columns if column.heading != "score")
        rows = [(*row[:3], *row[4:]) for row in rows]
    return Grid(columns, rows)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def task_grid(found: Sequence[Tally]) -> Grid:
    """Return tasks as rows, with c of n."""
    columns = (
        Column("task", least=16),
        Column("c", right=True),
        Column("n", right=True),
        Column("share", right=True),
        Column("void", right=True, drop=2, style=_alarming),
        Column("", drop=3, style=lambda bar: "green"),
    )
    rows = [
        (one_line(t.task), str(t.c), str(t.n), _share(t.share), str(t.void), _bar(t.share))
        for t in found
    ]
    return Grid(columns, rows)


def pair_rows(
    base: Iterable[Entry], post: Iterable[Entry]
) -> list[tuple[Tally | None, Tally | None]]:
    """Return the numbers of each task in two runs, the greatest loss first."""
    one = {tally.task: tally for tally in tallies(base)}
    two = {tally.task: tally for tally in tallies(post)}
    pairs = [(one.get(task), two.get(task)) for task in {**one, **two}]
    pairs.sort(key=lambda pair: (_gain(*pair) is None, _gain(*pair) or 0.0))
    return pairs


def pair_grid(pairs: Sequence[tuple[Tally | None, Tally | None]]) -> Grid:
    """Return tasks of two runs as rows: c/n of both, the two shares and the difference."""
    columns = (
        Column("task", least=16),
        Column("base", right=True),
        Column("post", right=True),
        Column("base share", right=True, drop=3),
        Column("post share", right=True, drop=3),
        Column("post - base", right=True, style=_signed),
    )
    rows = [
        (
            one_line((base or post or _NONE).task),
            "" if base is None else f"{base.c}/{base.n}",
            "" if post is None else f"{post.c}/{post.n}",
            "" if base is None else _share(base.share),
            "" if post is None else _share(post.share),
            "" if (gain := _gain(base, post)) is None else f"{gain:+.3f}",
        )
        for base, post in pairs
    ]
    return Grid(columns, rows)


_NONE = Tally("", 0, 0)


def _gain(base: Tally | None, post: Tally | None) -> float | None:
    if base is None or post is None or base.share is None or post.share is None:
        return None
    return post.share - base.share


def _signed(cell: str) -> str:
    return "" if cell in ("", "+0.000") else "green" if cell.startswith("+") else "red"


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.3f}"


def _bar(share: float | None) -> str:
    return "" if share is None else "\u2588" * round(share * 20)


def summary(run: Run, entries: Sequence[Entry], repairs: bool = True) -> Iterator[str]:
    """Yield lines on what some of a run's rollouts add up to.

    Args:
        run: the run.
        entries: those of its rollouts.
        repairs: count repairs, which looks through every transcript.
    """
    if not run.entries:
        yield _begun(run)
        if run.outcomes.scripted:
            yield _SCRIPTED
        return
    kinds = Counter(entry.kind for entry in entries)
    told = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind])
    tasks = len({entry.task for entry in entries})
    line = f"{_many(len(entries), 'rollout')} of {_many(tasks, 'task')}"
    if len(entries) < len(run.entries):
        line += f", out of {len(run.entries)}"
    yield line + (f": {told}" if told else "")
    reasons = Counter(e.reason for e in entries if e.reason and e.kind != "void")
    if reasons:
        yield f"reasons: {_most(reasons)}"
    sums = {name: sum(getattr(entry, name) or 0 for entry in entries) for name in READINGS}
    if any(sums.values()):
        yield "replies: " + ", ".join(f"{count} {name}" for name, count in sums.items())
    if repairs and run.transcripts and (counted := run.repairs(entries)):
        yield f"repairs: {_most(counted)}"
    tries = Counter(
        str(row.get("reason", "")) for entry in entries for row in run.voids.get(entry.key, ())
    )
    if tries:
        yield f"void tries: {_most(tries)}"
    if run.open:
        yield f"{_many(run.open, 'rollout')} still to be played"
    if run.outcomes.scripted:
        yield _SCRIPTED


def _begun(run: Run) -> str:
    """Return what there is to tell of a run in which nothing has ended."""
    ids = run.outcomes.settings.get("task_ids")
    planned = f"{run.open} planned, {_many(len(ids), 'task')}" if isinstance(ids, list) else ""
    return "no rollout has ended yet" + (f" ({planned})" if planned else "")


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _most(counted: Counter[str], most: int = 12) -> str:
    parts = [f"{count} {one_line(name)}" for name, count in counted.most_common(most)]
    if len(counted) > most:
        parts.append(f"{len(counted) - most} further kinds")
    return ", ".join(parts)
