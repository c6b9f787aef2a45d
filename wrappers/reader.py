"""The relaxed reader: one pass over a reply, from mark to mark."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentenvs.core import ToolCall
from agentenvs.wrappers.body import read_body, starts_json
from agentenvs.wrappers.elements import ELEMENT, read_element
from agentenvs.wrappers.fences import HOPELESS, INVENTED_FENCE, past_brackets, read_fence
from agentenvs.wrappers.harmony import read_channel
from agentenvs.wrappers.marks import CALL_OPENERS, THOUGHTS
from agentenvs.wrappers.plain import read_line
from agentenvs.wrappers.pycalls import NAME, read_call_list
from agentenvs.wrappers.react import read_action
from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.shapes import Said, calls_in
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.triggers import (
    ACTION_LABEL,
    CALL_JSON,
    INLINE,
    LINE_END,
    MARK_KINDS,
    OWN_TURN,
    THOUGHT_CLOSERS,
    next_trigger,
)
from agentenvs.wrappers.trouble import Unreadable

__all__ = ["Reader"]


_SPOKEN = re.compile(r"[^\W_]")


@dataclass(slots=True)
class _Found:
    calls: list[ToolCall]
    form: str
    marked: bool


class Reader:
    """Reads one reply; `run` once, then look at the attributes.

    Attributes:
        calls: the calls that count.
        content: the words outside calls and thoughts.
        trouble: why an attempt at calls was refused, if one was.
        form: the format of the first calls, "words" where there are none.
        nothing: an empty list of calls was given on purpose.
        silent: nothing but thoughts or an invented continuation.
        alone: the calls are one list or one JSON value with nothing around it.
    """

    def __init__(self, text: str, tools: Toolset) -> None:
        self.scan = Scanner(text)
        self.text = text
        self.tools = tools
        self.calls: list[ToolCall] = []
        self.content: str | None = None
        self.trouble: Unreadable | None = None
        self.form = "words"
        self.nothing = False
        self.silent = False
        self.alone = False
        self._found: list[_Found] = []
        self._words: list[str] = []
        self._done = False
        self._dropped = False
        self._no_action_ahead = False
        self._span = (0, 0)
        self._beside: str | None = None
        self._mused = False
        self._line_start = 0

    def run(self) -> None:
        """Read the whole text."""
        at = 0
        size = len(self.text)
        while not self._done and at < size:
            match = next_trigger(self.text, at, begins=at == self._line_start)
            if match is None:
                self._say(at, size)
                break
            start = match.start()
            self.scan.spent += start - at + 1
            self._say(at, start)
            group = match.lastgroup or ""
            try:
                at = self._handle(group, match)
            except Said as said:
                self._words = [str(said)]
                self._done = True
            except Unreadable as trouble:
                at = self._fail(trouble, max(start + 1, start))
        self._finish()

    def _handle(self, group: str, match: re.Match[str]) -> int:
        self.scan.charge(1)
        if group == "mark":
            return self._mark(match)
        if group == "line":
            return self._line(match)
        if group == "list":
            return self._list(match.start())
        if group == "json":
            return self._json(match.start())
        if group == "element":
            return self._element(match)
        if group == "fence":
            return self._fence(match.start())
        if group == "result":
            return self._end(match.start())
        if group == "channel":
            return self._channel(match)
        if group == "role":
            return self._role(match)
        if group == "qwen":
            return self._action(match.end(), "react")
        return self._label(match)

    def _say(self, start: int, end: int) -> None:
        if end > start:
            self._words.append(self.text[start:end])

    def _spoken(self) -> bool:
        return any(not piece.isspace() for piece in self._words)

    def _begun(self) -> bool:
        return bool(self._found) or self._spoken()

    def _add(self, calls: list[ToolCall], form: str, *, marked: bool) -> None:
        if calls:
            self._found.append(_Found(calls, form, marked))
        else:
            self.nothing = True

    def _forget(self) -> None:
        self._found.clear()
        self._words.clear()
        self.scan.repairs.clear()
        self.trouble = None
        self.nothing = False

    def _fail(self, trouble: Unreadable, at: int) -> int:
        """Stop at a failed attempt, unless all so far turns out to have been thoughts."""
        self.trouble = trouble
        self._done = True
        if self.scan.exhausted:
            return at
        for closer, opener in THOUGHT_CLOSERS.items():
            end = self.text.find(closer, at)
            self.scan.spent += (end if end >= 0 else len(self.text)) - at
            if end >= 0 and self.text.find(opener, at, end) < 0:
                self._forget()
                self._done = False
                return end + len(closer)
        return at

    def _end(self, at: int) -> int:
        self._done = True
        if self.text[at:].strip():
            self._dropped = True
        return at

    def _mark(self, match: re.Match[str]) -> int:
        mark = match["mark"]
        kind = MARK_KINDS[mark]
        if kind == "opener":
            return self._opener(mark, match.end())
        if kind == "end":
            own = None if self._begun() else OWN_TURN.match(self.text, match.start())
            if own is not None:
                self._line_start = own.end()
                return own.end()
            if mark == "<|end|>" and self.text.startswith("<|start|>assistant", match.end()):
                return match.end()
            self._done = True
            self._dropped = self._dropped or bool(self.text[match.end() :].strip())
            return match.end()
        if kind == "thought":
            self._mused = True
            end = self.text.find(THOUGHTS[mark], match.end())
            if end < 0:
                self._done = True
                self.silent = True
                return match.end()
            self._line_start = end + len(THOUGHTS[mark])
            return self._line_start
        if kind == "unthought":
            self._mused = True
            self._forget()
        if not self._begun():
            self._line_start = match.end()
        return match.end()

    def _opener(self, mark: str, at: int) -> int:
        calls, read, end = read_body(self.scan, self.tools, at)
        if not read:
            following = INLINE.match(self.text, end)
            if following is None or following.lastgroup not in ("mark", "element", "channel"):
                raise Unreadable("no_call", f"nothing that reads behind {mark}")
            return end
        self._add(calls, CALL_OPENERS[mark], marked=True)
        return end

    def _element(self, match: re.Match[str]) -> int:
        element = ELEMENT.match(self.text, match.start())
        if element is None:
            self._say(match.start(), match.end())
            return match.end()
        call, end = read_element(self.scan, self.tools, element)
        self._add([call], "xml", marked=True)
        return end

    def _channel(self, match: re.Match[str]) -> int:
        channel = read_channel(self.scan, self.tools, match.start(), match.end())
        if channel.forget:
            self._words.clear()
        if channel.calls is not None:
            self._add(channel.calls, "harmony", marked=True)
        if channel.over and not channel.silent:
            return self._end(channel.end)
        self._done = self.silent = channel.silent
        return channel.end

    def _role(self, match: re.Match[str]) -> int:
        """A role alone on its line is what is left of a chat template without its marks."""
        if self._found:
            return self._end(match.start())
        if match["role"] not in ("assistant", "model") or self._begun():
            self._say(match.start(), match.end())
        return match.end()

    def _label(self, match: re.Match[str]) -> int:
        if match["stop"] or (match["later"] and self._found):
            return self._end(match.start())
        if match["act"]:
            return self._action(match.end(), "react")
        if match["final"]:
            self._words.clear()
            return match.end()
        if match["muse"] and not self._found:
            return self._muse(match)
        if match["self"] and not self._begun():
            self._line_start = match.end()
            return match.end()
        self._say(match.start(), match.end())
        return match.end()

    def _muse(self, match: re.Match[str]) -> int:
        ahead = None if self._no_action_ahead else ACTION_LABEL.search(self.text, match.end())
        if ahead is not None:
            return ahead.start() + 1
        self._no_action_ahead = True
        self._say(match.start(), match.end())
        line = LINE_END.search(self.text, match.end())
        end = line.start() if line else match.end()
        self._say(match.end(), end)
        return end

    def _action(self, at: int, form: str) -> int:
        calls, end = read_action(self.scan, self.tools, at)
        if calls is None:
            self._say(at, end)
        else:
            self._add(calls, form, marked=True)
        return end

    def _line(self, match: re.Match[str]) -> int:
        start = match.start("line")
        before = dict(self.scan.repairs)
        try:
            found = read_line(self.scan, self.tools, start)
        except Unreadable as trouble:
            if trouble.kind == "cut" or trouble.kind in HOPELESS or self._is_attempt(start):
                raise
            found = None
        if found is None:
            self.scan.repairs = before
            self._say(start, start + 1)
            return start + 1
        calls, form, end = found
        if form == "pylist":
            self.scan.mend("lines" if self._found else "brackets")
        self._add(calls, form, marked=False)
        return end

    def _is_attempt(self, start: int) -> bool:
        line = LINE_END.search(self.text, start)
        end = line.start() if line else len(self.text)
        return self.text[start:end].rstrip().endswith((")", "]", ";", "`"))

    def _list(self, at: int) -> int:
        if starts_json(self.text, at):
            return self._json(at)
        name = NAME.match(self.text, past_brackets(self.scan, at))
        known = name is not None and self.tools.resolve(name.group()) in self.tools
        before = dict(self.scan.repairs)
        try:
            calls, end = read_call_list(self.scan, self.tools, at)
        except Unreadable as trouble:
            whole = not self._begun() and (trouble.kind == "cut" or self.scan.last in ("]", ")"))
            called = trouble.kind != "not_called" and known
            if whole or called or trouble.kind in HOPELESS:
                raise
            self.scan.repairs = before
            self._say(at, at + 1)
            return at + 1
        self._add(calls, "pylist", marked=False)
        self._span = (at, end)
        return end

    def _json(self, at: int) -> int:
        named = self._named_before(at)
        if named is not None:
            return named
        before = dict(self.scan.repairs)
        likely = CALL_JSON.match(self.text, at) is not None
        try:
            value, end = self.scan.json_value(at)
            found = calls_in(self.scan, self.tools, value, explicit=False)
        except Unreadable as trouble:
            begins = not self._begun() and self.scan.last in ("}", "]")
            if likely or begins or trouble.kind in HOPELESS:
                raise
            self.scan.repairs = before
            self._say(at, at + 1)
            return at + 1
        if found is None:
            self.scan.repairs = before
            if self.scan.open and likely:
                raise Unreadable("cut", "the text ends inside an object")
            self._say(at, end)
            return end
        self._beside = found[1] or self._beside
        self._add(found[0], "json", marked=found[1] is not None)
        self._span = (at, end)
        return end

    def _named_before(self, at: int) -> int | None:
        """Read an object behind the bare name of a tool: GLM-4, or Mistral without marks."""
        if len(self._words) > 2 or self._found:
            return None
        name = self.tools.resolve("".join(self._words).strip().removeprefix(">>>"))
        if name not in self.tools:
            return None
        value, end = self.scan.json_value(at)
        if not isinstance(value, dict) or (self.scan.open and self.scan.open[0] is not value):
            raise Unreadable("cut", "the text ends inside a value")
        self._words.clear()
        self._add([ToolCall(name, value)], "named", marked=True)
        return end

    def _fence(self, at: int) -> int:
        if self._found and INVENTED_FENCE.match(self.text, at):
            return self._end(at)
        fence = read_fence(self.scan, self.tools, at)
        if fence.calls is None:
            self._say(fence.said, fence.end)
        else:
            self._add(fence.calls, fence.form, marked=fence.own)
        return fence.end

    def _finish(self) -> None:
        words = "".join(self._words).strip()
        marked = any(found.marked for found in self._found)
        prose = _SPOKEN.search(words) is not None
        kept = []
        for found in self._found:
            known = any(call.name in self.tools for call in found.calls)
            if found.marked or (not marked and (known or not prose)):
                kept.append(found)
        for found in kept:
            self.calls.extend(found.calls)
        if kept:
            self.form = kept[0].form
            start, end = self._span
            outside = self.text[:start] + self.text[end:]
            self.alone = len(self._found) == 1 and (not outside or outside.isspace())
            if prose:
                self.scan.mend("prose")
            if len(kept) > 1 and not marked:
                self.scan.mend("lines")
        if self._found and not kept and not self.trouble:
            words = self.text.strip()
            self.scan.repairs.clear()
        if self._dropped or (kept and self.trouble is not None):
            self.scan.mend("truncated")
        if kept:
            self.content = words if prose else self._beside
        else:
            self.content = words or self._beside or ""
            mute = not words and not self.nothing and (self._dropped or self._mused)
            self.silent = self.silent or mute
