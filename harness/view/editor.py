"""A line that is being typed."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from agentenvs.harness.view.grid import one_line

__all__ = ["Editor"]

_MOST = 500


class Editor:
    """A line of text under a cursor.

    Args:
        ask: what stands before it.
        text: what it holds at first.
    """

    def __init__(self, ask: str, text: str = "") -> None:
        self.ask = ask
        self.text = text
        self._at = len(text)

    def press(self, key: str) -> None:
        """Take a key; one that means nothing here is ignored."""
        text, at = self.text, self._at
        if len(key) == 1 and key.isprintable() and len(text) < _MOST:
            self.text, self._at = text[:at] + key + text[at:], at + 1
        elif key == "backspace" and at:
            self.text, self._at = text[: at - 1] + text[at:], at - 1
        elif key == "delete":
            self.text = text[:at] + text[at + 1 :]
        elif key == "ctrl-u":
            self.text, self._at = text[at:], 0
        elif key == "ctrl-w":
            kept = text[:at].rstrip().rpartition(" ")
            front = kept[0] + kept[1]
            self.text, self._at = front + text[at:], len(front)
        elif key in ("left", "right"):
            self._at = min(max(at + (1 if key == "right" else -1), 0), len(text))
        elif key in ("home", "end"):
            self._at = 0 if key == "home" else len(text)

    def line(self, width: int) -> Text:
        """Return it as a line that shows the cursor, its end where it is too long."""
        before, under, behind = self.text[: self._at], self.text[self._at :][:1], ""
        behind = self.text[self._at + 1 :]
        front = one_line(self.ask + before)
        while cell_len(front) > max(width - 2, 1):
            front = front[1:]
        line = Text(front, no_wrap=True, end="")
        line.append(one_line(under) or " ", "reverse")
        line.append(set_cell_size(one_line(behind), max(0, width - line.cell_len)).rstrip())
        return line
