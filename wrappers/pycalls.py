"""Calls in Python's syntax: one call, a bracketed list of them, arguments bound by name."""

# ruff: noqa: RUF001 - models write full-width marks
from __future__ import annotations

import keyword
import re
from typing import Any

from agentenvs.core import ToolCall
from agentenvs.wrappers.decoder import MAX_NESTING
from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.trouble import Unreadable

__all__ = ["NAME", "bind", "quoted_calls", "read_call", "read_call_list"]

NAME = re.compile(r"[^\W\d]\w*+(?:[.\-](?=[^\W\d])|\w)*+")
#: what ends a model's turn may stand where closing brackets were forgotten
END = re.compile(r"<\|im_end\|>|</s>|<\|e(?:ot|om)_id\|>|<\|endoftext\|>|<end_of_turn>|<｜end▁of▁")
_CALLED = re.compile(r"[ \t]*[(（]")
_QUICK = re.compile(
    r"\s*([A-Za-z_]\w*)\s*=\s*"
    r"(?:'([^'\\\n]*)'|\"([^\"\\\n]*)\"|(-?\d{1,15}(?:\.\d{1,15})?)|(True|False|None))\s*([,)])"
)
_KEYWORD = re.compile(r"\s*([^\W\d]\w*)\s*(=(?!=)|:|＝|：)")
_QUOTED_KEYWORD = re.compile(r"\s*(['\"])([^\W\d]\w*)\1\s*([=:])")
_PLAIN = {"True": True, "False": False, "None": None}
_CLOSERS = {"[": "]", "(": ")"}


def read_call(scan: Scanner, tools: Toolset, at: int) -> tuple[ToolCall, int]:
    """Read the call at `at`, `cd(folder='a')` say, and bind its arguments.

    Returns:
        The call and the position behind it.

    Raises:
        Unreadable: it is none, or is no call with literal arguments.
    """
    match = NAME.match(scan.text, at)
    if match is None:
        raise Unreadable("syntax", f"{scan.text[at : at + 24]!r} where a call belongs")
    called = _CALLED.match(scan.text, match.end())
    if called is None:
        kind = match.group()
        if match.end() >= scan.size:
            raise Unreadable("cut", f"the text ends behind {kind[:40]!r}")
        raise Unreadable("not_called", f"{kind[:40]!r} is not called")
    name = match.group()
    if keyword.iskeyword(name):
        raise Unreadable("syntax", f"{name!r} is no function")
    scan.charge(called.end() - at)
    values, named, end = _arguments(scan, called.end())
    resolved = tools.resolve(name)
    if resolved != name:
        scan.mend("namespace")
    return bind(scan, tools, resolved, values, named), end


def _arguments(scan: Scanner, at: int) -> tuple[list[Any], dict[str, Any], int]:
    text, size = scan.text, scan.size
    values: list[Any] = []
    named: dict[str, Any] = {}
    while True:
        quick = _QUICK.match(text, at)
        if quick is not None:
            key, single, double, number, word, after = quick.groups()
            scan.charge(quick.end() - at)
            at = quick.end()
            value: Any
            if single is not None:
                value = single
            elif double is not None:
                value = double
            elif word is not None:
                value = _PLAIN[word]
            else:
                value = _number(number)
            _give(named, key, value)
            if after == ")":
                return values, named, at
            continue
        at = scan.skip(at)
        scan.charge(1)
        if at >= size:
            raise Unreadable("cut", "the text ends inside a call")
        if text[at] in ")）":
            return values, named, at + 1
        at = _one_argument(scan, at, values, named)
        if scan.open:
            raise Unreadable("cut", "the text ends inside a value")
        at = scan.skip(at)
        if at >= size or (text[at] == "<" and END.match(text, at)):
            scan.mend("brackets")
            return values, named, at
        if text[at] in ",，;":
            at += 1
            continue
        if text[at] in ")）":
            return values, named, at + 1
        if text[at] in "]}":
            scan.mend("brackets")
            return values, named, at
        raise Unreadable("not_literal", f"{text[at : at + 24]!r} behind a value")


def _number(digits: str) -> int | float:
    if "." in digits:
        return float(digits)
    bare = digits.lstrip("-")
    if len(bare) > 1 and bare[0] == "0" and bare.strip("0"):
        raise Unreadable("syntax", f"{digits!r} is no number")
    return int(digits)


def _give(named: dict[str, Any], key: str, value: Any) -> None:
    if key in named:
        raise Unreadable("ambiguous", f"{key[:40]!r} is given twice")
    named[key] = value


def _one_argument(scan: Scanner, at: int, values: list[Any], named: dict[str, Any]) -> int:
    text = scan.text
    scan.open = []
    if text[at] == "*":
        stars = 2 if text.startswith("**", at) else 1
        value, end = scan.value(at + stars, 0)
        if stars == 2 and isinstance(value, dict):
            for key, item in value.items():
                _give(named, key, item)
        elif stars == 1 and isinstance(value, list):
            values.extend(value)
        else:
            raise Unreadable("arguments", "a starred value of the wrong kind")
        scan.mend("kwargs")
        return end
    match = _KEYWORD.match(text, at)
    if match is None and text[at] in "'\"":
        match = _QUOTED_KEYWORD.match(text, at)
    if match is not None:
        key, sign = match.groups()[-2:]
        if sign != "=" or match.re is _QUOTED_KEYWORD:
            scan.mend("colon_args")
        value, end = scan.value(match.end(), 0)
        _give(named, key, value)
        return end
    if named:
        raise Unreadable("ambiguous", "a value without a name behind one with a name")
    value, end = scan.value(at, 0)
    values.append(value)
    return end


def bind(
    scan: Scanner, tools: Toolset, name: str, values: list[Any], named: dict[str, Any]
) -> ToolCall:
    """Return the call with positional values bound in the order of the parameters.

    Raises:
        Unreadable: there are more values than parameters, one is given twice, or no such
            tool says what the values mean.
    """
    if not values:
        return ToolCall(name, named)
    order = list(tools.parameters(name))
    if len(values) == 1 and isinstance(values[0], dict) and not named:
        whole = values[0]
        if (whole and all(key in order for key in whole)) or (not order and name not in tools):
            scan.mend("kwargs")
            return ToolCall(name, dict(whole))
    if name not in tools:
        raise Unreadable("arguments", f"values without names for the unknown {name[:40]!r}")
    if len(values) > len(order):
        raise Unreadable("arguments", f"{name} takes at most {len(order)} arguments")
    bound: dict[str, Any] = dict(zip(order, values, strict=False))
    for key, value in named.items():
        if key in bound:
            raise Unreadable("ambiguous", f"{key[:40]!r} is given twice")
        bound[key] = value
    scan.mend("positional")
    return ToolCall(name, bound)


def read_call_list(scan: Scanner, tools: Toolset, at: int) -> tuple[list[ToolCall], int]:
    """Read the bracketed calls at `at`: `[cd(folder='a'), ls()]`, also nested, also `(...)`.

    Returns:
        The calls, none for `[]`, and the position behind the list.

    Raises:
        Unreadable: it is no list of calls, or was cut.
    """
    text, size = scan.text, scan.size
    calls: list[ToolCall] = []
    stack: list[str] = []
    expect_item = True
    while True:
        if at < size and text[at] > ")" and not text[at].isspace():
            scan.spent += 1
        else:
            at = scan.skip(at)
        scan.charge(1)
        char = text[at] if at < size else ""
        if not char or (char == "<" and END.match(text, at)):
            if expect_item or not calls:
                raise Unreadable("cut", "the text ends inside a list of calls")
            scan.mend("brackets")
            return calls, at
        if char in "[(" and expect_item:
            stack.append(_CLOSERS[char])
            if len(stack) > MAX_NESTING:
                raise Unreadable("too_deep", f"nested deeper than {MAX_NESTING}")
            if len(stack) > 1 or char == "(":
                scan.mend("brackets")
            at += 1
        elif char in "])":
            at += 1
            expect_item = False
            if char == stack[-1]:
                stack.pop()
            else:
                scan.mend("brackets")
                if char == "]":
                    stack.pop()
            if not stack:
                return calls, at
        elif char in ",;，":
            if char != ",":
                scan.mend("separators")
            elif expect_item:
                raise Unreadable("syntax", "a comma without a call before it")
            at += 1
            expect_item = True
        else:
            if not expect_item:
                scan.mend("separators")
            if text.startswith("await ", at):
                scan.mend("assignment")
                at = scan.skip(at + 6)
            call, at = read_call(scan, tools, at)
            calls.append(call)
            expect_item = False


def quoted_calls(scan: Scanner, tools: Toolset, items: list[Any]) -> list[ToolCall] | None:
    """Read a list of strings each of which is one call on offer; None where it is none."""
    calls = []
    for item in items:
        if not isinstance(item, str) or not item.endswith(")"):
            return None
        inner = Scanner(item)
        scan.charge(len(item))
        try:
            call, end = read_call(inner, tools, inner.skip(0))
        except Unreadable:
            return None
        if end != len(item) or call.name not in tools:
            return None
        calls.append(call)
    scan.mend("quotes")
    return calls
