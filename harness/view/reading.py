"""An episode on the screen: one page at a time, the opening and then each decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from agentenvs.errors import RunDamaged
from agentenvs.harness.view.entries import Entry
from agentenvs.harness.view.lists import View, scrolled
from agentenvs.harness.view.pages import Page, facts, lines_of, pages_of, repairs_of, wrapped
from agentenvs.harness.view.tables import STYLES

if TYPE_CHECKING:
    from agentenvs.harness.view.app import App

__all__ = ["Reading"]


class Reading(View):
    """One rollout among those of a list.

    Args:
        app: the application.
        entries: the list.
        at: which of them.
    """

    hints = "n/p step  space on  m mended  [ ] rollout  / find  v whole  esc back  q quit"

    def __init__(self, app: App, entries: Sequence[Entry], at: int) -> None:
        self._entries = entries
        self._at = at
        self._found: str | None = None
        self._width = 80
        self._load(app)
        self._page = self._first(app)

    @property
    def entry(self) -> Entry:
        """The rollout."""
        return self._entries[self._at]

    def _load(self, app: App) -> None:
        self._row: Mapping[str, Any] | None = None
        problem = ""
        try:
            self._row = app.run.transcripts.read(self.entry.key)
        except RunDamaged as error:
            problem = str(error)
        self._pages = pages_of(app.run, self.entry, self._row)
        if problem:
            self._pages = [Page("no transcript", ((problem, "yellow"),), self._pages[0].blocks)]
        self._page = 0
        self._turn(0)

    def _first(self, app: App) -> int:
        """Return the page for whose sake the rollout was wanted."""
        wanted = app.wanted
        for number, page in enumerate(self._pages):
            step = self._row["steps"][number - 1] if self._row and number else None
            parse = (step["parse"] if step else None) or {}
            if wanted.text is not None:
                if number and _says(page, wanted.text):
                    return number
            elif wanted.repair is not None:
                if step and wanted.repair in repairs_of(step):
                    return number
            elif wanted.rescued:
                if parse.get("status") == "calls" and parse.get("strict") is False:
                    return number
            elif wanted.malformed and parse.get("status") == "malformed":
                return number
        return min(1, len(self._pages) - 1)

    def _turn(self, page: int) -> None:
        self._page = max(0, min(page, len(self._pages) - 1))
        self._top = 0
        self._whole = False
        self._made: tuple[object, list[Text]] | None = None

    def title(self, app: App) -> str:
        """Return which rollout it is."""
        return f"{app.which}{self.entry.task} #{self.entry.rollout}"

    def place(self, app: App) -> str:
        """Return which page it is, and which rollout of how many."""
        return f"{self._pages[self._page].title}  ({self._at + 1}/{len(self._entries)})"

    def head(self, app: App, width: int) -> list[Text]:
        """Return the verdict, and how the reply was read."""
        page = self._pages[self._page]
        verdict = (facts(app.run, self.entry), STYLES.get(self.entry.kind, ""))
        lines: list[Text] = []
        for note, style in (verdict, *page.notes):
            lines.extend(wrapped(Text(note, style), width)[:3])
        return [*lines, Text()]

    def _lines(self, app: App, width: int) -> list[Text]:
        found = self._found or app.wanted.text
        wish = (self._page, width, self._whole, found)
        if self._made is None or self._made[0] != wish:
            page = self._pages[self._page]
            self._made = (wish, lines_of(page, width, whole=self._whole, found=found))
        return self._made[1]

    def body(self, app: App, width: int) -> list[Text]:
        """Return the lines in view."""
        lines = self._lines(app, width)
        self._width = width
        self._top = max(0, min(self._top, len(lines) - self.height))
        shown = lines[self._top : self._top + self.height]
        below = len(lines) - self._top - self.height
        if below > 0:
            more = f"... {below + 1} more lines, space goes on"
            shown = [*shown[:-1], Text(more, "bold dim", no_wrap=True)]
        return shown

    def press(self, app: App, key: str) -> None:
        """Turn pages, scroll, go to other rollouts."""
        count = len(self._made[1]) if self._made else 0
        last = max(0, count - self.height)
        if key in ("n", "right", "l") or (key == " " and self._top >= last):
            self._go(app, 1)
        elif key in ("p", "left", "h"):
            self._go(app, -1)
        elif key in ("[", "]"):
            self._other(app, 1 if key == "]" else -1)
        elif key == "m":
            self._to_mended(app)
        elif key == "v":
            self._whole = not self._whole
        elif key == "/":
            app.ask("find: ", "", self._find)
        else:
            key = "pgdn" if key == " " else key
            moved = scrolled(key, self._top, last, max(1, self.height - 2))
            if moved is not None:
                self._top = moved

    def _go(self, app: App, step: int) -> None:
        if 0 <= self._page + step < len(self._pages):
            self._turn(self._page + step)
        else:
            way = "last" if step > 0 else "first"
            app.say(f"this is the {way} page; [ and ] lead to other rollouts")

    def _other(self, app: App, step: int) -> None:
        if not 0 <= self._at + step < len(self._entries):
            app.say("no further rollout in this list")
            return
        self._at += step
        self._load(app)
        self._turn(self._first(app))

    def _to_mended(self, app: App) -> None:
        for number in range(self._page + 1, len(self._pages)):
            step = self._row["steps"][number - 1] if self._row else {"parse": None}
            if repairs_of(step) or (step["parse"] or {}).get("status") == "malformed":
                self._turn(number)
                return
        app.say("no later reply was mended or malformed")

    def _find(self, app: App, text: str) -> None:
        """Go to the next line that holds a text; none looks for the last one again."""
        text = text or self._found or app.wanted.text or ""
        if not text:
            return
        self._found = text
        for number in range(self._page, len(self._pages)):
            page = self._pages[number]
            if not _says(page, text):
                continue
            lines = lines_of(page, self._width, found=text)
            start = self._top + 1 if number == self._page else 0
            hit = next(
                (at for at in range(start, len(lines)) if _marked(lines[at])),
                None,
            )
            if hit is not None:
                self._turn(number)
                self._whole, self._top = True, hit
                return
        app.say(f"no {text!r} from here on")

    def switched(self, app: App) -> None:
        """Show the same rollout of the other run, or another one of the same task."""
        other = app.run.by_key.get(self.entry.key)
        same_task = [e for e in app.run.entries if e.task == self.entry.task]
        if other is None and not same_task:
            app.say("the other run has no rollout of this task")
            app.at = 1 - app.at
            return
        page = self._page
        self._entries = same_task
        self._at = same_task.index(other) if other in same_task else 0
        self._load(app)
        self._turn(page)


def _says(page: Page, text: str) -> bool:
    return any(text.lower() in block.text.lower() for block in page.blocks)


def _marked(line: Text) -> bool:
    return any(span.style == "reverse" for span in line.spans)
