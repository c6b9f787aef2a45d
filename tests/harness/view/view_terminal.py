"""A terminal that is strict about what it is sent."""

from __future__ import annotations

import codecs
import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence

from rich.cells import cell_len

# What a program may send, and nothing else.
_KNOWN = re.compile(
    r"\x1b\[(?:(?P<row>\d+);1H|(?P<style>[\d;]*)m|(?P<rest>K)|(?P<all>2J)|\?(?P<mode>1049|25|7)(?P<on>[hl]))"
)


class Terminal:
    """The command in a pseudo-terminal, and what it shows.

    Every sequence that is no part of the drawing, and every other control character, is an
    error: none may get through from a model.
    """

    def __init__(self, args: Sequence[str], columns: int, rows: int, **env: str) -> None:
        self.columns, self.rows = columns, rows
        self.master, self.slave = os.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.modes = {"1049": False, "25": True, "7": True}
        self._screen = [""] * rows
        self._row = 0
        self._rest = self.raw = ""
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self.running = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
                "from agentenvs.harness.cli import main; sys.exit(main(sys.argv[1:]))",
                *args,
            ],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **env},
        )

    def resize(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._screen = [""] * rows
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    @property
    def text(self) -> str:
        return "\n".join(self._screen)

    def shows(self, *texts: str, without: str | None = None) -> str:
        """Wait until all texts are on the screen, and return it."""
        return self._wait(
            lambda: all(text in self.text for text in texts) and (without or "\0") not in self.text
        )

    def _wait(self, holds: Callable[[], bool]) -> str:
        end = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < end, self.text
            if select.select([self.master], [], [], 0.1)[0]:
                self._take(os.read(self.master, 65536))
            else:
                assert self.running.poll() is None or holds(), self.text + self.raw[-2000:]
        return self.text

    def drawn_again(self) -> str:
        """Wait until the screen was taken a second time."""
        return self._wait(lambda: self.raw.count("\x1b[?1049h") == 2 and "q quit" in self.text)

    def left(self) -> int:
        """Wait for the end of the command; check that the terminal is as it was."""
        code = self.running.wait(60)
        while select.select([self.master], [], [], 0)[0]:
            self._take(os.read(self.master, 65536))
        assert self.modes == {"1049": False, "25": True, "7": True}
        assert termios.tcgetattr(self.slave) == self.before
        return code

    def _take(self, data: bytes) -> None:
        text = self._rest + self._decode(data)
        self.raw += text
        cut = text.rfind("\x1b", -12)
        whole = cut < 0 or _KNOWN.match(text, cut)
        self._rest = "" if whole else text[cut:]
        text = text if whole else text[:cut]
        at = 0
        while at < len(text):
            if found := _KNOWN.match(text, at):
                self._obey(found)
                at = found.end()
                continue
            assert text[at].isprintable() or not self.modes["1049"], text[at : at + 40]
            end = text.find("\x1b", at)
            end = len(text) if end < 0 else end
            if self.modes["1049"]:
                self._screen[self._row] += text[at:end]
                assert cell_len(self._screen[self._row]) <= self.columns
            at = end

    def _obey(self, found: re.Match[str]) -> None:
        if found["row"]:
            self._row = int(found["row"]) - 1
            self._screen[self._row] = ""
        elif found["all"]:
            self._screen = [""] * self.rows
        elif found["mode"]:
            self.modes[found["mode"]] = found["on"] == "h"

    def close(self) -> None:
        self.running.kill()
        self.running.wait()
        os.close(self.master)
        os.close(self.slave)
