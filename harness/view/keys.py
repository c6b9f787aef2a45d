"""Bytes of a terminal to names of keys."""

from __future__ import annotations

import codecs
import re

__all__ = ["Keys"]

_CONTROL = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x0c": "ctrl-l",
    "\x15": "ctrl-u",
    "\x17": "ctrl-w",
    "\x02": "pgup",
    "\x06": "pgdn",
}
_SEQUENCES = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "H": "home",
    "F": "end",
    "1~": "home",
    "7~": "home",
    "4~": "end",
    "8~": "end",
    "3~": "delete",
    "5~": "pgup",
    "6~": "pgdn",
    "Z": "back-tab",
}
# A control sequence: parameters, then one letter or sign that ends it.
_CSI = re.compile(r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|O([A-Za-z]))")
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?")


class Keys:
    """Turn what a terminal sends into names of keys, whatever pieces it comes in."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._held = ""

    @property
    def waiting(self) -> bool:
        """Whether an escape came of which nobody knows yet if it begins a sequence."""
        return bool(self._held)

    def feed(self, data: bytes) -> list[str]:
        """Return the keys that are complete: characters, or names such as "up" and "enter"."""
        text = self._held + self._decode(data)
        self._held = ""
        keys: list[str] = []
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                keys.append(_CONTROL.get(text[at], text[at]))
                at += 1
            elif found := _CSI.match(text, at):
                name = found[3] or (found[2] if found[2] != "~" else f"{found[1]}~")
                if name in _SEQUENCES:
                    keys.append(_SEQUENCES[name])
                at = found.end()
            elif _BEGUN.fullmatch(text, at):
                self._held = text[at:]
                break
            else:
                keys.append("esc")
                at += 1
        return keys

    def flush(self) -> list[str]:
        """Return what was held back: nothing came behind the escape, so it was the key."""
        held, self._held = self._held, ""
        return ["esc"] if held == "\x1b" else []
