"""Lists on which one moves: rollouts, tasks, tasks of two runs, and plain lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from agentenvs.harness.view.entries import Entry, Run, Tally, tallies
from agentenvs.harness.view.grid import Grid, cut, one_line
from agentenvs.harness.view.pages import wrapped
from agentenvs.harness.view.tables import pair_grid, pair_rows, rollout_grid, summary, task_grid

if TYPE_CHECKING:
    from agentenvs.harness.view.app import App

__all__ = ["Lines", "Pairs", "Rollouts", "Tasks", "View", "scrolled"]

_MARK = "\u25b6"


def scrolled(key: str, at: int, last: int, page: int) -> int | None:
    """Return where a key leads from a line to another, None where it does not move."""
    steps = {"j": 1, "down": 1, "k": -1, "up": -1, "pgdn": page, "pgup": -page}
    if key in ("g", "home"):
        return 0
    if key in ("G", "end"):
        return max(last, 0)
    if key in steps:
        return max(0, min(at + steps[key], last))
    return None


class View(ABC):
    """One of the things that fill the screen.

    Attributes:
        hints: the keys that matter here.
        height: lines that the body had when it was last drawn.
    """

    hints = ""
    height = 20

    @abstractmethod
    def title(self, app: App) -> str:
        """Return what stands on top."""

    def title_in(self, app: App, room: int) -> str:
        """Return the title in at most so many characters."""
        return cut(one_line(self.title(app)), room)

    @abstractmethod
    def place(self, app: App) -> str:
        """Return where in it the reader is."""

    @abstractmethod
    def head(self, app: App, width: int) -> list[Text]:
        """Return the lines above the body."""

    @abstractmethod
    def body(self, app: App, width: int) -> list[Text]:
        """Return at most `self.height` lines."""

    @abstractmethod
    def press(self, app: App, key: str) -> None:
        """Take a key."""

    def switched(self, app: App) -> None:  # noqa: B027
        """Follow when the other run was chosen."""


class _List(View):
    """Rows with one that is picked."""

    def __init__(self) -> None:
        self.at = 0
        self._top = 0
        self._made: tuple[object, Grid] | None = None

    @abstractmethod
    def source(self, app: App) -> object:
        """Return what the rows are made from; other rows come from another object."""

    @abstractmethod
    def make(self, app: App) -> Grid:
        """Return the rows."""

    def open(self, app: App) -> None:
        """Open the row that is picked."""

    def spell(self, app: App) -> str:
        """Return in full what the row that is picked may show cut."""
        grid = self.grid(app)
        cells = zip(grid.columns, grid.rows[self.at], strict=True)
        return "  ".join(cell for column, cell in cells if column.least and cell)

    def shown(self, app: App) -> list[tuple[Run, Sequence[Entry]]]:
        """Return the rollouts that the rows tell of, with their runs."""
        return [(app.run, app.entries())]

    def grid(self, app: App) -> Grid:
        """Return the rows, made anew only where they changed."""
        source = self.source(app)
        if self._made is None or self._made[0] is not source:
            self._made = (source, self.make(app))
            self.at = max(0, min(self.at, len(self._made[1].rows) - 1))
        return self._made[1]

    def place(self, app: App) -> str:
        """Return how far down one is."""
        count = len(self.grid(app).rows)
        return f"{self.at + 1}/{count}" if count else "none"

    def head(self, app: App, width: int) -> list[Text]:
        """Return the headings."""
        grid = self.grid(app)
        heading = Text("  ", "bold", no_wrap=True).append_text(grid.heading(grid.layout(width - 2)))
        return [*app.status(width, *self.shown(app)), heading]

    def body(self, app: App, width: int) -> list[Text]:
        """Return the lines in view."""
        grid = self.grid(app)
        if not grid.rows:
            why = "nothing is like that; f changes what is shown"
            if not app.run.entries:
                why = "nothing has ended yet; r reads the run again"
            return [Text(f"  {why}", "dim")]
        layout = grid.layout(width - 2)
        # Ids that differ in the middle alone look the same where they are cut.
        spelled = self.height > 3 and grid.cuts(layout)
        height = self.height - spelled
        self._top = max(0, min(self._top, self.at, len(grid.rows) - height))
        self._top = max(self._top, self.at - height + 1)
        lines = []
        for number in range(self._top, min(self._top + height, len(grid.rows))):
            picked = number == self.at
            line = Text("  ", no_wrap=True).append_text(grid.line(number, layout))
            if picked:
                line = Text(f"{_MARK}{line.plain[1:]}", "reverse", no_wrap=True)
                line.pad_right(max(0, width - line.cell_len))
            lines.append(line)
        if spelled:
            lines += [Text()] * (height - len(lines))
            lines.append(Text(f"  {self.spell(app)}", "cyan", no_wrap=True))
        return lines

    def press(self, app: App, key: str) -> None:
        """Move, or open what is picked."""
        count = len(self.grid(app).rows)
        key = "pgdn" if key == " " else key
        moved = scrolled(key, self.at, count - 1, max(1, self.height - 2))
        if moved is not None:
            self.at = moved
        elif key in ("enter", "l", "right") and count:
            self.open(app)


class Rollouts(_List):
    """The rollouts that are wanted.

    Args:
        task: those of one task alone, where it is given.
    """

    hints = "enter open  / text  f filter  s sort  t tasks  i counts  ? keys  q quit"

    def __init__(self, task: str | None = None) -> None:
        super().__init__()
        self.task = task
        self._shown: tuple[object, list[Entry]] | None = None

    def title(self, app: App) -> str:
        """Return what the list shows."""
        return f"{app.which}{app.run.name}: rollouts" + (f" of {self.task}" if self.task else "")

    def shown(self, app: App) -> list[tuple[Run, Sequence[Entry]]]:
        """Return the rollouts of the list."""
        return [(app.run, self.source(app))]

    def source(self, app: App) -> list[Entry]:
        """Return the rollouts that the rows are made from."""
        entries = app.entries()
        if self._shown is None or self._shown[0] is not entries:
            only = self.task
            picked = self._shown[1][self.at].key if self._shown and self._shown[1] else None
            shown = entries if only is None else [e for e in entries if e.task == only]
            places = (at for at, entry in enumerate(shown) if entry.key == picked)
            self.at = next(places, 0)
            self._shown = (entries, shown)
        return self._shown[1]

    def make(self, app: App) -> Grid:
        """Return the rows."""
        return rollout_grid(self.source(app), short=True)

    def open(self, app: App) -> None:
        """Open the row that is picked."""
        app.open_rollout(self.source(app), self.at)


class Tasks(_List):
    """The tasks that have rollouts that are wanted, with c of n."""

    hints = "enter rollouts  / text  f filter  t rollouts  i counts  ? keys  q quit"

    def __init__(self) -> None:
        super().__init__()
        self._tallies: list[Tally] = []

    def title(self, app: App) -> str:
        """Return what the list shows."""
        return f"{app.run.name}: tasks"

    def source(self, app: App) -> object:
        """Return the rollouts that the rows are made from."""
        return app.entries()

    def make(self, app: App) -> Grid:
        """Return the rows."""
        wanted = {entry.task for entry in app.entries()}
        self._tallies = tallies(entry for entry in app.run.entries if entry.task in wanted)
        return task_grid(self._tallies)

    def open(self, app: App) -> None:
        """Open the row that is picked."""
        app.push(Rollouts(self._tallies[self.at].task))


class Pairs(_List):
    """The tasks of two runs side by side."""

    hints = "enter rollouts  tab other run  f filter  i counts  ? keys  q quit"

    def __init__(self) -> None:
        super().__init__()
        self._pairs: list[tuple[Tally | None, Tally | None]] = []

    def title(self, app: App) -> str:
        """Return what the list shows."""
        base, post = app.runs
        return f"base {base.name}, post {post.name}"

    def title_in(self, app: App, room: int) -> str:
        """Return the title; where it is too long, without policies, then each name cut by itself.

        Names of runs often begin and end alike: cut as one, neither could be told.
        """
        full = one_line(self.title(app))
        if cell_len(full) <= room:
            return full
        base, post = (one_line(run.path.resolve().name) for run in app.runs)
        spare = room - cell_len("base , post ")
        # What one of them does not need is the other's.
        own = min(cell_len(base), max(spare // 2, spare - cell_len(post)))
        return f"base {cut(base, own)}, post {cut(post, max(0, spare - own))}"

    def place(self, app: App) -> str:
        """Return which run opens, and how far down one is."""
        return f"opens {app.which} {super().place(app)}"

    def shown(self, app: App) -> list[tuple[Run, Sequence[Entry]]]:
        """Return the rollouts of both runs."""
        return [(run, app.entries(at)) for at, run in enumerate(app.runs)]

    def source(self, app: App) -> object:
        """Return the rollouts that the rows are made from."""
        return app.entries(0)

    def make(self, app: App) -> Grid:
        """Return the rows."""
        chosen = (app.entries(0), app.entries(1))
        wanted = {entry.task for entries in chosen for entry in entries}
        base, post = ((e for e in run.entries if e.task in wanted) for run in app.runs)
        self._pairs = pair_rows(base, post)
        return pair_grid(self._pairs)

    def open(self, app: App) -> None:
        """Open the row that is picked."""
        pair = self._pairs[self.at]
        if pair[app.at] is None:
            app.at = 1 - app.at
        tally = pair[app.at]
        if tally is not None:
            app.push(Rollouts(tally.task))


class Lines(View):
    """Lines to be read."""

    hints = "j/k scroll  esc back  q quit"

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        self._title = title
        self._lines = lines
        self._top = 0
        self._count = 0

    @classmethod
    def counts(cls, app: App) -> Lines:
        """Return what the rollouts that are wanted add up to."""
        lines = list(summary(app.run, app.entries()))
        lines += [f"cannot be read: {problem}" for problem in app.run.transcripts.problems]
        return cls(f"{app.run.name}: counts", [part for line in lines for part in (line, "")])

    def title(self, app: App) -> str:
        """Return what the lines are about."""
        return self._title

    def place(self, app: App) -> str:
        """Return nothing: the lines show it."""
        return ""

    def head(self, app: App, width: int) -> list[Text]:
        """Return nothing."""
        return []

    def body(self, app: App, width: int) -> list[Text]:
        """Return the lines in view."""
        lines = [line for text in self._lines for line in wrapped(Text(text), width - 1)]
        self._count = len(lines)
        self._top = max(0, min(self._top, self._count - self.height))
        return lines[self._top : self._top + self.height]

    def press(self, app: App, key: str) -> None:
        """Scroll."""
        key = "pgdn" if key == " " else key
        moved = scrolled(key, self._top, self._count - self.height, self.height - 1)
        if moved is not None:
            self._top = moved
