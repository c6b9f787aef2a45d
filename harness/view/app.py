"""What the screen shows and what keys do, without a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.text import Text

from agentenvs.errors import AgentEnvsError
from agentenvs.harness.plain_text import printable
from agentenvs.harness.view.editor import Editor
from agentenvs.harness.view.entries import Entry, Run
from agentenvs.harness.view.grid import cut, one_line
from agentenvs.harness.view.lists import Lines, Pairs, Rollouts, Tasks, View
from agentenvs.harness.view.pages import wrapped
from agentenvs.harness.view.reading import Reading
from agentenvs.harness.view.tables import summary
from agentenvs.harness.view.wanted import SORTS, Wanted, choose, parse_wanted

__all__ = ["App"]

_HELP = """\
Everywhere
  j k, arrows, PgUp PgDn, g G   move            enter   open
  esc   back                                    q       quit
  i     counts: outcomes, reasons, repairs      tab     the other run of two
  r     read the run again                      ?       this page

Lists
  f     filter by any of task=PATTERN rollout=NUMBER outcome=KIND
        reason=PATTERN repair=NAME text=WORDS rescued malformed
  /     show the rollouts in which a text occurs
  s S   sort by the next column, turn the order around
  t     tasks with c of n, or rollouts

An episode
  n p   next and previous step, as right and left
  space scroll, then the next step
  m     next reply that was mended or malformed
  [ ]   previous and next rollout of the list
  /     find a text from here on; an empty line finds the next one
  v     show long texts whole

A reply is rescued where the relaxed parser reads calls that the strict one
does not. A filter shows all again when its line is empty."""


class App:
    """The state of the screen: press keys, draw frames.

    Args:
        runs: one run, or two to compare.
        wanted: which rollouts are shown at first.
        sort: one of `SORTS`, or None.
        reverse: turn the order around.

    Attributes:
        runs: the runs.
        at: which of them is looked at.
        wanted: which rollouts are shown.
        done: whether the reader has left.
        busy: told what takes a moment, so that it can be shown.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        wanted: Wanted | None = None,
        sort: str | None = None,
        reverse: bool = False,
    ) -> None:
        self.runs = list(runs)
        self.at = 0
        self.wanted = wanted or Wanted()
        self.done = False
        self.busy: Callable[[str], None] = lambda what: None
        self._sort, self._reverse = sort, reverse
        self._chosen: dict[tuple[int, Wanted, str | None, bool], list[Entry]] = {}
        self._message = ""
        self._editor: Editor | None = None
        self._answer: Callable[[App, str], None] = _nothing
        self._views: list[View] = [Pairs() if len(self.runs) == 2 else Rollouts()]
        one = self.wanted.task is not None and self.wanted.rollout is not None
        if one and len(entries := self.entries()) == 1:
            self.open_rollout(entries, 0)

    @property
    def run(self) -> Run:
        """The run that is looked at."""
        return self.runs[self.at]

    @property
    def which(self) -> str:
        """Which of two runs that is, with a blank behind; "" where there is one."""
        return f"{('base', 'post')[self.at]} " if len(self.runs) == 2 else ""

    def entries(self, which: int | None = None) -> list[Entry]:
        """Return the rollouts of a run that are wanted; the same list until that changes."""
        at = self.at if which is None else which
        key = (at, self.wanted, self._sort, self._reverse)
        if key not in self._chosen:
            if self.wanted.needs_transcripts:
                self._tell(0.0)
            chosen = choose(self.runs[at], self.wanted, self._sort, self._reverse, self._tell)
            self._chosen = {k: v for k, v in self._chosen.items() if k[1:] == key[1:]}
            self._chosen[key] = chosen
        return self._chosen[key]

    def _tell(self, share: float) -> None:
        self.busy(f"looking through transcripts: {share:.0%}")

    def push(self, view: View) -> None:
        """Show something on top of what is shown."""
        self._views.append(view)

    def open_rollout(self, entries: Sequence[Entry], at: int) -> None:
        """Show a rollout, one among those of a list."""
        self.busy("reading")
        self.push(Reading(self, entries, at))

    def say(self, message: str) -> None:
        """Show a message until the next key."""
        self._message = message

    def ask(self, question: str, text: str, answer: Callable[[App, str], None]) -> None:
        """Let the reader type a line, and hand it on."""
        self._editor, self._answer = Editor(question, text), answer

    def status(self, width: int, *shown: tuple[Run, Sequence[Entry]]) -> list[Text]:
        """Return lines on what is shown.

        Args:
            width: characters to a line.
            shown: rollouts, each time with their run.
        """
        lines: list[Text] = []
        for run, entries in shown:
            what = next(summary(run, entries, repairs=False))
            if run.open and run.entries:
                what += f"; {run.open} still to be played"
            lines.extend(wrapped(Text(what, "dim"), width))
        order = f"by {self._sort}" if self._sort else ""
        order += " from the other end" if self._reverse else ""
        asked = ", ".join(part for part in (str(self.wanted), order.strip()) if part)
        if asked:
            lines.extend(wrapped(Text(f"shown: {printable(asked)}", "yellow"), width)[:3])
        return lines

    def press(self, key: str) -> None:
        """Take a key."""
        self._message = ""
        if self._editor is not None:
            self._type(self._editor, key)
            return
        view = self._views[-1]
        if key == "q":
            self.done = True
        elif key in ("esc", "backspace") or (key == "h" and not isinstance(view, Reading)):
            self._back()
        elif key == "?":
            self.push(Lines("keys", _HELP.split("\n")))
        elif key == "i":
            self._tell(0.0)
            self.push(Lines.counts(self))
        elif key == "r":
            self._again()
        elif key == "tab":
            self._other()
        elif isinstance(view, Reading | Lines) or not self._arrange(key):
            view.press(self, key)

    def _type(self, editor: Editor, key: str) -> None:
        if key == "enter":
            self._editor = None
            self._answer(self, editor.text)
        elif key == "esc":
            self._editor = None
        else:
            editor.press(key)

    def _back(self) -> None:
        if len(self._views) > 1:
            self._views.pop()
        else:
            self.say("q quits")

    def _arrange(self, key: str) -> bool:
        """Take a key that changes what a list shows; return whether it was one."""
        if key == "f":
            self.ask("filter: ", str(self.wanted), App._filter)
        elif key == "/":
            self.ask("text: ", self.wanted.text or "", App._search)
        elif key in ("s", "S") and not isinstance(self._views[-1], Rollouts):
            self.say("only rollouts are sorted; enter shows those of a task")
        elif key == "s":
            orders = (None, *SORTS)
            self._sort = orders[(orders.index(self._sort) + 1) % len(orders)]
        elif key == "S":
            self._reverse = not self._reverse
        elif key == "t" and len(self._views) == 1 and len(self.runs) == 1:
            self._views = [Rollouts() if isinstance(self._views[0], Tasks) else Tasks()]
        else:
            return False
        return True

    def _filter(self, line: str) -> None:
        try:
            self.wanted = parse_wanted(line)
        except AgentEnvsError as error:
            self.say(str(error))
            self.ask("filter: ", line, App._filter)

    def _search(self, text: str) -> None:
        self.wanted = replace(self.wanted, text=text or None)

    def _again(self) -> None:
        self.busy("reading")
        try:
            self.runs = [Run(run.path) for run in self.runs]
        except AgentEnvsError as error:
            self.say(str(error))
            return
        self._chosen = {}
        while isinstance(self._views[-1], Reading | Lines) and len(self._views) > 1:
            self._views.pop()
        self.say(f"read again: {len(self.run.entries)} rollouts")

    def _other(self) -> None:
        if len(self.runs) < 2:
            self.say("one run is open; agentenvs view BASE POST compares two")
            return
        self.at = 1 - self.at
        self._views[-1].switched(self)
        if isinstance(self._views[-1], Pairs):
            self.say(f"enter opens rollouts of {self.which}")

    def frame(self, width: int, height: int) -> list[Text]:
        """Return what the screen shows: lines from its top, at most `height`."""
        view = self._views[-1]
        head = view.head(self, width)[: max(0, height - 3)]
        view.height = max(1, height - 2 - len(head))
        body = view.body(self, width)
        lines = [self._title(view, width), *head, *body]
        lines = lines[: height - 1]
        lines += [Text()] * (height - 1 - len(lines))
        lines.append(self._foot(view, width))
        for line in lines:
            line.truncate(width)
        return lines

    def _title(self, view: View, width: int) -> Text:
        place = view.place(self)
        room = max(1, width - len(place) - 3)
        title = view.title_in(self, room)
        line = Text(f" {title}", "bold reverse", no_wrap=True)
        line.pad_right(max(0, width - line.cell_len - len(place) - 1))
        line.append(f"{place} ")
        return line

    def _foot(self, view: View, width: int) -> Text:
        if self._editor is not None and not self._message:
            return self._editor.line(width)
        if self._message:
            told = cut(one_line(self._message), width, both=False)
            return Text(told, "bold yellow", no_wrap=True)
        return Text(cut(view.hints, width, both=False), "dim", no_wrap=True)


def _nothing(app: App, text: str) -> None:
    pass
