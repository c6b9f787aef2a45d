"""Calls as elements: Qwen3-Coder, GLM, MiniMax, Anthropic, DeepSeek V3.2, BFCL's two."""

# ruff: noqa: RUF001 - models write full-width marks
from __future__ import annotations

import html
import re
from typing import Any

from agentenvs.core import ToolCall
from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.shapes import arguments_of
from agentenvs.wrappers.toolset import Toolset, kind_of
from agentenvs.wrappers.trouble import Unreadable
from agentenvs.wrappers.typed import by_kinds, wire_json

__all__ = ["ELEMENT", "GLM_KEY", "read_element", "read_glm"]

_NS = r"(?:[｜|]DSML[｜|]|antml:|minimax:|steptml:|seed:)?"
#: an element that is one call; what follows `=` or stands in `name="..."` is its name
ELEMENT = re.compile(
    rf"<(?P<ns>{_NS})(?:"
    r"(?P<eq>function|tool)\s?=\s?[\"']?(?P<eqname>[\w.\-:/]{1,256})[\"']?\s?>"
    r"|(?P<tag>invoke|function|tool|tool_call|call)\s+name\s?=\s?[\"'](?P<name>[^\"'<>]{1,256})[\"']"
    r"(?P<rest>[^<>]{0,256}?)(?P<void>/)?>"
    r"|(?P<child>invoke|tool_use|use_mcp_tool|tool_call|function)>\s{0,64}"
    r"<(?P<label>tool_name|name)>(?P<childname>[^<>]{1,256})</(?P=label)>)"
)
_PARAMETER = re.compile(
    rf"\s*<{_NS}(?P<tag>parameter|param|argument|arg)"
    r"(?:\s?=\s?[\"']?(?P<eq>[\w.\-:]{1,256})[\"']?\s?"
    r"|\s+name\s?=\s?(?:\"(?P<double>[^\"<>]{1,256})\"|'(?P<single>[^'<>]{1,256})')"
    r"(?P<rest>[^<>]{0,4096}?)(?P<void>/)?)>"
)
_WRAP = re.compile(r"\s*</?(?:params|parameters|arguments|args|input)>")
_CLOSE = re.compile(rf"\s*</{_NS}(?:function|tool|invoke|tool_call|call|tool_use|use_mcp_tool)>")
_AFTER_VALUE = re.compile(
    rf"\s*(?:\Z|<{_NS}(?:parameter|param|argument|arg)\b"
    rf"|</{_NS}(?:function|tool|invoke|tool_call|call|params|parameters|tool_use)>)"
)
_NEXT_PARAMETER = re.compile(rf"\s<{_NS}param(?:eter)?\s?=\s?([\w.\-]{{1,256}})>")
_VALUE_END = re.compile(rf"</{_NS}(?:parameter|param|argument|arg)>")
_CALL_END = re.compile(rf"</{_NS}(?:function|invoke)>")
_ATTRIBUTE = re.compile(r"\b(type|string|value)\s?=\s?(?:\"([^\"]*)\"|'([^']*)')")
_CHILD = re.compile(r"\s*<([A-Za-z_][\w.\-]{0,255})>")
GLM_KEY = re.compile(r"\s*<arg_key>")
_GLM_VALUE = re.compile(r"\s*<arg_value>")
_GLM_AFTER = re.compile(r"\s*(?:\Z|<arg_key>|</tool_call>)")
_GLM_END = "</arg_value>"


def read_element(scan: Scanner, tools: Toolset, match: re.Match[str]) -> tuple[ToolCall, int]:
    """Read the call whose opening tag `match` of `ELEMENT` found.

    Returns:
        The call and the position behind its closing tag.

    Raises:
        Unreadable: it was cut, or a parameter is given twice.
    """
    raw = match["eqname"] or match["name"] or match["childname"]
    name = tools.resolve(raw.strip())
    at = match.end()
    scan.charge(at - match.start())
    if match["void"]:
        return ToolCall(name, {}), at
    wrap = _WRAP.match(scan.text, at)
    inside = wrap.end() if wrap else at
    start = scan.skip(inside)
    if start < scan.size and scan.text[start] == "{":
        value, end = scan.json_value(start)
        if not isinstance(value, dict) or scan.open:
            raise Unreadable("cut", "the text ends inside the arguments")
        return ToolCall(name, arguments_of(scan, tools, name, value)), _close(scan, end)
    if match["child"] and not _PARAMETER.match(scan.text, inside):
        return _children(scan, tools, name, inside)
    arguments: dict[str, Any] = {}
    wraps = match["eq"] is None
    while True:
        wrap = _WRAP.match(scan.text, at) if wraps else None
        if wrap is not None:
            at = wrap.end()
        found = _PARAMETER.match(scan.text, at)
        if found is None:
            break
        scan.charge(found.end() - at)
        key = found["eq"] or found["double"] or found["single"]
        if key in arguments:
            raise Unreadable("ambiguous", f"{key[:40]!r} is given twice")
        arguments[key], at = _value(scan, tools, name, key, found)
    if not arguments and scan.text.find(">", at, at + 1_024) < 0:
        raise Unreadable("cut", "the text ends inside a call")
    return ToolCall(name, arguments), _close(scan, at)


def _close(scan: Scanner, at: int) -> int:
    close = _CLOSE.match(scan.text, at)
    if close is not None:
        return close.end()
    wrap = _WRAP.match(scan.text, at)
    at = wrap.end() if wrap else at
    close = _CLOSE.match(scan.text, at)
    if close is not None:
        return close.end()
    blank = scan.skip(at)
    if blank < scan.size and scan.text[blank] != "<":
        raise Unreadable("syntax", f"{scan.text[blank : blank + 24]!r} between parameters")
    scan.mend("tags")
    return at


def _value(
    scan: Scanner, tools: Toolset, name: str, key: str, found: re.Match[str]
) -> tuple[Any, int]:
    rest = found["rest"]
    attributes = {k: d or s for k, d, s in _ATTRIBUTE.findall(rest)} if rest else {}
    if found["void"]:
        text, end = attributes.get("value", ""), found.end()
    else:
        text, end = _text_until_close(scan, tools, name, key, found.end())
    if found["tag"] in ("param", "arg"):
        text = html.unescape(text.strip()) if "type" in attributes else text.strip()
    if "string" in attributes:
        return (wire_json(text) if attributes["string"].lower() == "false" else text), end
    if "type" in attributes:
        return by_kinds(scan, text, frozenset({kind_of(attributes["type"])})), end
    return by_kinds(scan, text, tools.kinds(name, key)), end


def _text_until_close(
    scan: Scanner, tools: Toolset, name: str, key: str, start: int
) -> tuple[str, int]:
    """Return the value from `start` on: up to the closing tag behind which the call goes on."""
    text = scan.text
    first: re.Match[str] | None = None
    at = start
    while True:
        close = _VALUE_END.search(text, at)
        if close is None:
            break
        first = first or close
        at = close.end()
        if _AFTER_VALUE.match(text, at):
            first = close
            break
    scan.charge((at if first else scan.size) - start)
    limit = first.start() if first else scan.size
    end, after = limit, first.end() if first else -1
    nested = text.find("<", start, limit) >= 0
    for forgotten in _NEXT_PARAMETER.finditer(text, start, limit) if nested else ():
        other = forgotten[1]
        if other != key and other in tools.parameters(name):
            end = after = forgotten.start()
            scan.mend("tags")
            break
    if after < 0:
        close = _CALL_END.search(text, start)
        if close is None:
            raise Unreadable("cut", "the text ends inside a value")
        scan.mend("tags")
        end = after = close.start()
    body = text[start:end]
    scan.charge(len(body))
    return body.removeprefix("\n").removesuffix("\n"), after


def _children(scan: Scanner, tools: Toolset, name: str, at: int) -> tuple[ToolCall, int]:
    """Read `<folder>a</folder>` and the like: each tag is the name of a parameter."""
    arguments: dict[str, Any] = {}
    while True:
        found = _CHILD.match(scan.text, at)
        if found is None:
            break
        key = found[1]
        end = scan.text.find(f"</{key}>", found.end())
        if end < 0:
            scan.charge(scan.size - at)
            raise Unreadable("cut", "the text ends inside a value")
        if key in arguments:
            raise Unreadable("ambiguous", f"{key[:40]!r} is given twice")
        scan.charge(end - at)
        text = scan.text[found.end() : end].removeprefix("\n").removesuffix("\n")
        arguments[key] = by_kinds(scan, text, tools.kinds(name, key))
        at = end + len(key) + 3
    if scan.skip(at) >= scan.size:
        raise Unreadable("cut", "the text ends inside a call")
    return ToolCall(name, arguments), _close(scan, at)


def read_glm(scan: Scanner, tools: Toolset, name: str, at: int) -> tuple[ToolCall, int]:
    """Read GLM's `<arg_key>`/`<arg_value>` pairs of the call of `name` from `at` on.

    Raises:
        Unreadable: it was cut, or a key is given twice.
    """
    text = scan.text
    name = tools.resolve(name)
    arguments: dict[str, Any] = {}
    while True:
        opened = GLM_KEY.match(text, at)
        if opened is None:
            return ToolCall(name, arguments), at
        end = text.find("</arg_key>", opened.end())
        value = _GLM_VALUE.match(text, end + 10) if end >= 0 else None
        if value is None:
            scan.charge(scan.size - at)
            raise Unreadable("cut", "the text ends between a key and its value")
        key = text[opened.end() : end].strip()
        if key in arguments:
            raise Unreadable("ambiguous", f"{key[:40]!r} is given twice")
        close = _glm_close(scan, value.end())
        body = text[value.end() : close]
        kinds = tools.kinds(name, key)
        if name in tools and key in tools.parameters(name) and not kinds:
            kinds = frozenset({"any"})
        arguments[key] = by_kinds(scan, body, kinds)
        at = close + len(_GLM_END)


def _glm_close(scan: Scanner, start: int) -> int:
    end = scan.text.find(_GLM_END, start)
    first = end
    while end >= 0 and not _GLM_AFTER.match(scan.text, end + len(_GLM_END)):
        end = scan.text.find(_GLM_END, end + 1)
    close = end if end >= 0 else first
    scan.charge((close if close >= 0 else scan.size) - start)
    if close < 0:
        raise Unreadable("cut", "the text ends inside a value")
    return close
