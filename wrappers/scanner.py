"""One hand-written reader of literals: Python's, JSON's, and what models make of both.

Values are read, never evaluated. Every read moves forward and is charged to a budget that
grows with the length of the text, so that no text can cost more than linear time; values,
calls and quotes are counted beside it, so that no text is made of too many of them.
"""

# ruff: noqa: RUF001 - models write full-width marks
from __future__ import annotations

import re
from typing import Any

from agentenvs.wrappers.decoder import MAX_NESTING, decode_json, nests_deeper
from agentenvs.wrappers.numerals import read_number
from agentenvs.wrappers.quoted import QUOTES, decode_escapes, find_close
from agentenvs.wrappers.trouble import Unreadable

__all__ = ["MAX_ITEMS", "Scanner"]

_BLANK = re.compile(r"[\s\u200b\ufeff]*(#|//)?")
_WORD = re.compile(r"[^\W\d]\w*")
_KEY = re.compile(r"[^\W\d][\w-]*(?=\s*[:=：])")
_LITERALS = {
    "True": True,
    "true": True,
    "False": False,
    "false": False,
    "None": None,
    "null": None,
}
_FOREIGN_LITERALS = frozenset({"true", "false", "null"})
#: a mark where a closing bracket belongs shows that the model had ended the value
_TURN_MARKS = ("</", "<|", "<｜")
#: values, calls and quotes of one text, at up to 4 microseconds each
MAX_ITEMS = 10_000
#: string delimiters of FunctionGemma and Gemma 4, which have no escapes
_DELIMITERS = ("<escape>", '<|"|>')


class Scanner:
    """Reads literals out of one text.

    Args:
        text: the whole text.
        room: work to allow beyond what the length of the text allows.

    Attributes:
        text: the whole text.
        size: its length.
        repairs: what had to be mended, in order, as keys.
        open: containers that the end of the text left open, innermost first; they are kept
            so that a caller can tell a forgotten bracket from a value that was cut.
        spent: characters read so far, failed attempts included.
        items: values, calls and quotes met so far, failed attempts included.
        json: whether JSON's rules hold, for escapes say, instead of Python's.
        last: the last character that is no blank.
    """

    __slots__ = ("_budget", "items", "json", "last", "open", "repairs", "size", "spent", "text")

    def __init__(self, text: str, room: int = 0) -> None:
        self.text = text
        self.size = len(text)
        self.repairs: dict[str, None] = {}
        self.open: list[Any] = []
        self.spent = 0
        self.items = 0
        self.json = False
        stripped = text.rstrip()
        self.last = stripped[-1:]
        self._budget = 12 * self.size + 8192 + room

    def mend(self, repair: str) -> None:
        """Record a repair."""
        self.repairs[repair] = None

    @property
    def exhausted(self) -> bool:
        """Whether all work that a text is allowed is done."""
        return self.spent > self._budget or self.items > MAX_ITEMS

    def charge(self, characters: int) -> None:
        """Add an item of so many characters to the work done.

        Raises:
            Unreadable: more than the length of the text allows, or too many items.
        """
        self.spent += characters
        self.items += 1
        if self.spent > self._budget:
            raise Unreadable("too_large", "more work than the length of the text allows")
        if self.items > MAX_ITEMS:
            raise Unreadable("too_large", f"more than {MAX_ITEMS} values, calls and quotes")

    def skip(self, at: int) -> int:
        """Return the first position from `at` on that is neither blank nor in a comment."""
        if at < self.size and self.text[at] > "#" and self.text[at] not in "/\u200b\ufeff\u3000":
            return at
        start = at
        while (match := _BLANK.match(self.text, at)) is not None and match[1]:
            line = self.text.find("\n", match.end())
            at = line if line >= 0 else self.size
        end = match.end() if match else at
        self.spent += end - start
        return end

    def json_value(self, at: int) -> tuple[Any, int]:
        """Read the JSON value that starts at `at`: strictly if possible, else mended.

        Returns:
            The value and the position behind it.

        Raises:
            Unreadable: it does not read either way.
        """
        self.open = []
        if self.text.startswith("{{", at) and self.text[at + 2 : at + 3] != "{":
            value, end = self.json_value(at + 1)
            self.mend("brackets")
            after = self.skip(end)
            return value, after + 1 if self.text.startswith("}", after) else end
        read, cost = decode_json(self.text, at)
        self.charge(cost)
        if read is not None:
            if nests_deeper(read[0], self.text, at, read[1]):
                raise Unreadable("too_deep", f"nested deeper than {MAX_NESTING}")
            return read
        self.json = True
        try:
            return self.value(at, 0)
        finally:
            self.json = False

    def value(self, at: int, depth: int, *, key: bool = False) -> tuple[Any, int]:
        """Read one literal.

        Args:
            at: where it starts; blanks are skipped.
            depth: how many containers are open around it.
            key: it may be the key of a dict.

        Returns:
            The value and the position behind it.

        Raises:
            Unreadable: there is none, or it was cut.
        """
        at = self.skip(at)
        if at >= self.size:
            raise Unreadable("cut", "the text ends where a value belongs")
        char = self.text[at]
        if char in QUOTES:
            return self.string(at, key=key)
        if char in "[{(（":
            if depth >= MAX_NESTING:
                raise Unreadable("too_deep", f"nested deeper than {MAX_NESTING}")
            if char == "{":
                return self._dict(at, depth + 1)
            return self._list(at, depth + 1)
        if char.isdigit() or char in "+-.":
            return self._number(at)
        return self._word(at)

    def string(self, at: int, *, key: bool = False) -> tuple[str, int]:
        """Read the string literal at `at`, with those that follow it directly in Python."""
        parts = []
        while True:
            part, at = self._one_string(at, key=key, raw=False)
            parts.append(part)
            if self.json:
                break
            after = self.skip(at)
            if after >= self.size or self.text[after] not in QUOTES:
                break
            if self.text[after] not in "'\"":
                break
            at = after
        return "".join(parts), at

    def _one_string(self, at: int, *, key: bool, raw: bool) -> tuple[str, int]:
        text = self.text
        quote = text[at]
        if text.startswith(quote * 3, at) and quote in "'\"":
            return self._triple(at, quote * 3, raw=raw)
        if quote == "`":
            raise self._refusal(at)
        end, escapes, mended = self._find_close(at, key=key)
        body = text[at + 1 : end]
        if not body and end + 1 >= self.size and not self.json:
            raise Unreadable("cut", "two quotes at the very end, which may open a long string")
        if quote not in "'\"":
            self.mend("smart_quotes")
        if mended:
            self.mend("quotes")
        if "\n" in body and (not escapes or "\n" in body.replace("\\\n", "")):
            self.mend("newline")
        if escapes and not raw:
            body, wrong = decode_escapes(body, json=self.json)
            if wrong:
                self.mend("escapes")
        return body, end + 1

    def _find_close(self, at: int, *, key: bool) -> tuple[int, bool, bool]:
        end = self.text.find(self.text[at], at + 1)
        if end > 0 and self.text[at] in "'\"":
            following = self.text[end + 1 : end + 2]
            if following in ",)]}" and following and "\\" not in self.text[at:end]:
                self.charge(end - at)
                return end, False, False
        try:
            found = find_close(self.text, at, key=key, json=self.json, charge=self.charge)
        except Unreadable:
            self.charge(self.size - at)
            raise
        self.charge(2 * (found[0] - at))
        return found

    def _triple(self, at: int, mark: str, *, raw: bool) -> tuple[str, int]:
        start = end = at + 3
        while True:
            end = self.text.find(mark, end)
            if end < 0:
                self.charge(self.size - at)
                raise Unreadable("cut", "a string that never closes")
            slashes = end
            while slashes > start and self.text[slashes - 1] == "\\":
                slashes -= 1
            if (end - slashes) % 2 == 0:
                break
            end += 1
        self.charge(2 * (end - at))
        body = self.text[start:end]
        if "\\" in body and not raw:
            body, wrong = decode_escapes(body, json=False)
            if wrong:
                self.mend("escapes")
        return body, end + 3

    def _list(self, at: int, depth: int) -> tuple[Any, int]:
        bracket = self.text[at]
        closer = "]" if bracket == "[" else ")）"
        items: list[Any] = []
        commas = 0
        at = self.skip(at + 1)
        while True:
            self.charge(1)
            if at >= self.size:
                raise Unreadable("cut", "the text ends inside a list")
            if self.text[at] in closer:
                at += 1
                break
            value, at = self.value(at, depth)
            items.append(value)
            at, more, closed = self._next(at, closer, items)
            commas += more
            if not more:
                at += closed
                break
            if at < self.size and self.text[at] in closer and self.json:
                self.mend("json5")
        if bracket != "[" and not commas and len(items) == 1:
            return items[0], at
        if bracket != "[" and self.json:
            raise self._refusal(at - 1)
        return items, at

    def _dict(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        items: dict[str, Any] = {}
        at = self.skip(at + 1)
        while True:
            self.charge(1)
            if at >= self.size:
                raise Unreadable("cut", "the text ends inside an object")
            if self.text[at] == "}":
                return items, at + 1
            name, at = self._dict_key(at, depth)
            at = self.skip(at)
            if at >= self.size:
                raise Unreadable("cut", "the text ends after a key")
            if self.text[at] not in ":：=" or (self.text[at] == "=" and not self.json):
                raise Unreadable("syntax", f"{self.text[at]!r} after a key")
            value, at = self.value(at + 1, depth)
            items[name] = value
            at, more, closed = self._next(at, "}", items)
            if not more:
                return items, at + closed
            if at < self.size and self.text[at] == "}" and self.json:
                self.mend("json5")

    def _dict_key(self, at: int, depth: int) -> tuple[str, int]:
        match = _KEY.match(self.text, at)
        if match and match.group() not in _LITERALS:
            self.mend("json5")
            return match.group(), match.end()
        if self.json and self.text[at] == "'":
            self.mend("json5")
        value, at = self.value(at, depth, key=True)
        if isinstance(value, str):
            return value, at
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value), at
        raise Unreadable("syntax", "a key that is not text")

    def _next(self, at: int, closer: str, container: Any) -> tuple[int, bool, bool]:
        """Step over a comma or say how the container ends: (position, more, closer here)."""
        at = self.skip(at)
        if at >= self.size:
            self.open.append(container)
            self.mend("brackets")
            return at, False, False
        char = self.text[at]
        if char in ",，":
            at = self.skip(at + 1)
            if at >= self.size:
                raise Unreadable("cut", "the text ends after a comma")
            return at, True, False
        if char in closer:
            return at, False, True
        if char in ")]}" or (char == "<" and self.text.startswith(_TURN_MARKS, at)):
            self.mend("brackets")
            return at, False, False
        raise self._refusal(at)

    def _number(self, at: int) -> tuple[int | float, int]:
        number, end = read_number(self.text, at)
        self.charge(end - at)
        return number, end

    def _word(self, at: int) -> tuple[Any, int]:
        text = self.text
        match = _WORD.match(text, at)
        if match is None:
            for mark in _DELIMITERS:
                if text.startswith(mark, at):
                    return self._delimited(at, mark)
            raise self._refusal(at)
        word, end = match.group(), match.end()
        if word in _LITERALS:
            if end < self.size and text[end] in "(.[":
                raise self._refusal(at)
            if word in _FOREIGN_LITERALS:
                if not self.json:
                    self.mend("literals")
            elif self.json:
                self.mend("json5")
            return _LITERALS[word], end
        if end < self.size and text[end] in "'\"" and word in ("r", "R", "u", "U"):
            return self._one_string(end, key=False, raw=word in "rR")
        if end >= self.size:
            raise Unreadable("cut", "the text ends inside a word")
        raise self._refusal(at)

    def _delimited(self, at: int, mark: str) -> tuple[str, int]:
        start = at + len(mark)
        end = self.text.find(mark, start)
        if end < 0:
            self.charge(self.size - at)
            raise Unreadable("cut", "a string that never closes")
        self.charge(end - at)
        return self.text[start:end], end + len(mark)

    def _refusal(self, at: int) -> Unreadable:
        return Unreadable("not_literal", f"{self.text[at : at + 24]!r} is no literal")
