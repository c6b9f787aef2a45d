"""An episode in pages: how it began, then a page for each decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from agentenvs.harness.plain_text import printable
from agentenvs.harness.view.entries import Entry, Run
from agentenvs.harness.view.grid import one_line

__all__ = ["LONGEST", "Block", "Page", "facts", "lines_of", "pages_of", "repairs_of", "wrapped"]

#: how many characters of one text are shown before somebody asks for the whole
LONGEST = 4000
_ROLES = {"user": "cyan", "assistant": "green", "tool": "yellow", "system": "magenta"}


class Block(NamedTuple):
    """A text with who said it.

    Attributes:
        who: the role, or what else it is.
        text: what was said, as it was said.
        style: the style of the heading.
    """

    who: str
    text: str
    style: str = ""


class Page(NamedTuple):
    """What is shown at once.

    Attributes:
        title: which page it is.
        notes: lines on how it went, each with a style.
        blocks: the texts.
    """

    title: str
    notes: tuple[tuple[str, str], ...]
    blocks: tuple[Block, ...]


def facts(run: Run, entry: Entry) -> str:
    """Return a rollout's verdict and measures in a line."""
    parts = [entry.kind if entry.kind != "void" else "void: no verdict"]
    if entry.reason and entry.kind not in ("void", entry.reason):
        parts[0] += f": {entry.reason}"
    if entry.score is not None:
        parts.append(f"score {entry.score:g}")
    if entry.steps is not None:
        parts.append(f"{entry.steps} steps" if entry.steps != 1 else "1 step")
    if entry.tokens is not None:
        parts.append(f"{entry.tokens} tokens")
    if entry.seconds is not None:
        parts.append(f"{entry.seconds:.1f} s")
    if entry.kind != "void" and (tries := len(run.voids.get(entry.key, ()))):
        parts.append(f"{tries} void {'try' if tries == 1 else 'tries'} before")
    return one_line(", ".join(parts))


def pages_of(run: Run, entry: Entry, row: Mapping[str, Any] | None) -> list[Page]:
    """Return the pages of a rollout, at least one.

    Args:
        run: the run.
        entry: the rollout.
        row: its transcript, None where there is none.
    """
    voids = [_void(number, tried) for number, tried in enumerate(run.voids.get(entry.key, ()))]
    if row is None:
        why = "the run kept no transcripts" if not run.transcripts else "no transcript of it"
        if entry.kind == "void":
            why = "nothing was kept of tries that came to no verdict"
        return [Page("no transcript", ((why, "dim"),), tuple(voids))]
    opening = Page(
        f"opening, before {_decisions(len(row['steps']))}",
        (),
        (*voids, *map(_block, row["opening"])),
    )
    steps = row["steps"]
    return [opening, *(_step(number, len(steps), step) for number, step in enumerate(steps, 1))]


def _decisions(count: int) -> str:
    return "1 decision" if count == 1 else f"{count} decisions"


def _void(number: int, row: Mapping[str, Any]) -> Block:
    attempt = row.get("attempt", number)
    return Block(
        f"void try {attempt}: {row.get('reason', '')}", str(row.get("error", "")), "magenta"
    )


def _block(message: Mapping[str, Any]) -> Block:
    return Block(message["role"], message["content"], _ROLES.get(message["role"], ""))


def _step(number: int, count: int, step: Mapping[str, Any]) -> Page:
    return Page(
        f"step {number} of {count}",
        tuple(_notes(step)),
        (Block("wrote", step["text"], "bold green"), *map(_block, step["news"])),
    )


def repairs_of(step: Mapping[str, Any]) -> list[str]:
    """Return the names of the repairs that a step's reply needed."""
    found = (step["parse"] or {}).get("repairs")
    return [str(name) for name in found] if isinstance(found, list) else []


def _notes(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    parse = step["parse"] or {}
    status, reason = str(parse.get("status", "")), str(parse.get("reason", ""))
    told = [f"read as {status}" if status else "nothing says how it was read"]
    form, calls = str(parse.get("format", status)), parse.get("calls")
    if status == "calls" and type(calls) is int:
        told[0] = f"read as {calls} call{'' if calls == 1 else 's'}"
    if form not in (status, ""):
        told.append(f"format {form}")
    mended = repairs_of(step)
    if mended:
        told.append("mended: " + ", ".join(mended))
    if status == "calls" and parse.get("strict") is False:
        told.append("rescued (strict reads it otherwise)")
    told.append(f"finish {step['finish_reason']}")
    reward = step["reward"]
    told.append(f"reward {reward:g}" if isinstance(reward, int | float) else f"reward {reward}")
    yield one_line("; ".join(told)), "yellow" if status == "malformed" or mended else "dim"
    if reason:
        yield one_line(reason), "yellow"


def lines_of(
    page: Page,
    width: int | None = None,
    *,
    whole: bool = True,
    found: str | None = None,
) -> list[Text]:
    """Return a page's texts as lines.

    Args:
        page: the page.
        width: characters to a line; None leaves lines as they are.
        whole: show long texts to their end.
        found: a text that was looked for and is marked.
    """
    lines: list[Text] = []
    for block in page.blocks:
        lines.append(Text(f"[{one_line(block.who)}]", block.style or "bold"))
        text = block.text
        rest = 0 if whole else max(0, len(text) - LONGEST)
        body = Text(printable(text[:LONGEST] if rest else text).rstrip("\n"))
        if not text.strip():
            body = Text("(nothing)" if not text else "(blanks alone)", "dim")
        if found:
            body.highlight_words([printable(found)], "reverse", case_sensitive=False)
        lines.extend(wrapped(body, width))
        if rest:
            lines.append(Text(f"... {rest} more characters, v shows them", "bold yellow"))
        lines.append(Text())
    return lines[:-1]


def wrapped(body: Text, width: int | None) -> Sequence[Text]:
    """Return a text in lines of at most so many characters; None leaves lines as they are."""
    if width is None:
        return list(body.split("\n", allow_blank=True))
    console = Console(width=width, color_system=None)
    return list(body.wrap(console, max(width, 1), overflow="fold", tab_size=4))
