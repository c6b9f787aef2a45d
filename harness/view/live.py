"""The terminal under the application: drawn on, listened to, and left as it was."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console
from rich.text import Text

from agentenvs.harness import terminal
from agentenvs.harness.view.app import App
from agentenvs.harness.view.keys import Keys

__all__ = ["can_show", "show"]

# The alternate screen, no cursor, no wrapping: a character that is wider than it is thought to
# be must not shift the lines below.
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l"
# How long the rest of an escape sequence may take.
_REST = 0.05


def can_show() -> bool:
    """Return whether there is a terminal that can be drawn on and listened to."""
    try:
        import termios  # noqa: F401
    except ImportError:
        return False
    both = sys.stdin.isatty() and sys.stdout.isatty()
    return both and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")


def show(app: App) -> None:
    """Show the application until the reader leaves, then leave the terminal as it was.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    screen = _Screen()
    with screen.taken():
        app.busy = screen.note
        screen.draw(app)
        while not app.done:
            for key in screen.pressed():
                if key == "ctrl-l":
                    screen.clear()
                elif not app.done:
                    app.press(key)
            if not app.done:
                screen.draw(app)


class _Screen:
    def __init__(self) -> None:
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._console: Console = terminal.console()
        self._keys = Keys()
        self._shown: list[str] = []
        self._wake, self._bell = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._bell, False)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take the terminal, and give it back whatever happens."""
        import termios

        sys.stdout.flush()
        before = termios.tcgetattr(self._in)
        handlers: dict[int, Any] = {}
        try:
            for kind, handler in (
                (signal.SIGWINCH, _resized),
                (signal.SIGTERM, _ended),
                (signal.SIGHUP, _ended),
                (signal.SIGTSTP, self._stopped),
            ):
                handlers[kind] = signal.signal(kind, handler)
            woken = signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)
            try:
                self._enter()
                yield
            finally:
                signal.set_wakeup_fd(woken)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            self._leave(before)
            os.close(self._wake)
            os.close(self._bell)

    def _enter(self) -> None:
        import termios
        import tty

        # Keys that were pressed before are not thrown away.
        tty.setcbreak(self._in, termios.TCSADRAIN)
        self._write(_ENTER)
        self._shown = []

    def _leave(self, before: list[Any]) -> None:
        import termios

        # A terminal that has gone away cannot be mended.
        try:
            self._write(_LEAVE)
            termios.tcsetattr(self._in, termios.TCSADRAIN, before)
        except (OSError, termios.error):
            pass

    def _stopped(self, number: int, frame: FrameType | None) -> None:
        """Give the terminal back while the process is stopped (Ctrl-Z)."""
        import termios

        taken = termios.tcgetattr(self._in)
        cooked = list(taken)
        cooked[3] |= termios.ECHO | termios.ICANON
        self._write(_LEAVE)
        termios.tcsetattr(self._in, termios.TCSADRAIN, cooked)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._enter()

    def clear(self) -> None:
        """Draw everything anew."""
        self._write("\x1b[2J")
        self._shown = []

    def pressed(self) -> list[str]:
        """Return the next keys; none where only the size has changed."""
        wait = _REST if self._keys.waiting else None
        ready, _, _ = select.select([self._in, self._wake], [], [], wait)
        if self._wake in ready:
            os.read(self._wake, 4096)
            self.clear()
        if self._in in ready:
            data = os.read(self._in, 4096)
            if not data:
                return ["q"]
            return self._keys.feed(data)
        return [] if ready else self._keys.flush()

    def draw(self, app: App) -> None:
        """Draw what has changed."""
        width, height = self._size()
        self._console.width = width
        self._put([self._drawn(line) for line in app.frame(width, height)])

    def note(self, what: str) -> None:
        """Show at once what is being waited for."""
        width, height = self._size()
        self._write(f"\x1b[{height};1H\x1b[0m{what[:width]}\x1b[K")
        if len(self._shown) == height:
            self._shown[-1] = ""

    def _size(self) -> tuple[int, int]:
        columns, rows = os.get_terminal_size(self._out)
        return max(columns, 20), max(rows, 5)

    def _drawn(self, line: Text) -> str:
        with self._console.capture() as caught:
            self._console.print(line, end="", no_wrap=True, crop=True, markup=False)
        return caught.get().replace("\n", "")

    def _put(self, lines: list[str]) -> None:
        old = self._shown if len(self._shown) == len(lines) else [None] * len(lines)
        pieces = [
            f"\x1b[{row};1H\x1b[0m{new}\x1b[0m\x1b[K"
            for row, (new, shown) in enumerate(zip(lines, old, strict=True), 1)
            if new != shown
        ]
        self._shown = lines
        self._write("".join(pieces))

    def _write(self, text: str) -> None:
        data = text.encode(sys.stdout.encoding or "utf-8", "backslashreplace")
        while data:
            data = data[os.write(self._out, data) :]


def _resized(number: int, frame: FrameType | None) -> None:
    """Only wakes the loop up."""


def _ended(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
