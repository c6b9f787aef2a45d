"""Python-style call texts as a bounded syntax tree: read, never evaluated."""

from __future__ import annotations

import ast
import math
import re
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentenvs.actions import MAX_CALLS, MAX_DEPTH, Action, depth_of
from agentenvs.core import Tool, ToolCall

__all__ = [
    "CallNode",
    "IndexNode",
    "NameNode",
    "StrNode",
    "UnreadableCall",
    "bind",
    "call_text",
    "parse_call",
    "parse_call_list",
    "parse_expression",
    "read_call_list",
]

MAX_TEXT = 100_000
MAX_TOKENS = 6_000
MAX_BITS = 13_000
MAX_LEVELS = 200
_SHORT = 2_000
#: the filters of warnings belong to all threads
_FILTERS = threading.Lock()
_TOKEN = re.compile(
    r"""(?s)(?P<prefix>\w*+)(?:'(?:[^'\\]|\\.|\\\Z)*+'?|"(?:[^"\\]|\\.|\\\Z)*+"?)"""
    r"""|\w+|[^\w\s]"""
)


class UnreadableCall(Exception):
    """Raised inside the package when a text is not a list of calls; its text says why.

    Attributes:
        python: what Python itself says of the text where it is no Python, else "".
    """

    def __init__(self, reason: str, python: str = "") -> None:
        super().__init__(reason)
        self.python = python


@dataclass(frozen=True, slots=True)
class CallNode:
    """A call: dotted name, positional and keyword values (literals or nodes)."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class IndexNode:
    """`call[key]` with a constant key."""

    call: CallNode | IndexNode
    key: Any


@dataclass(frozen=True, slots=True)
class NameNode:
    """A bare name in the place of a value."""

    name: str


@dataclass(frozen=True, slots=True)
class StrNode:
    """`str(call)`."""

    value: CallNode | IndexNode


def parse_call_list(text: str, *, nested: bool = False) -> tuple[CallNode, ...]:
    """Read one Python-style call, or a list or tuple of calls.

    Args:
        text: at most 100,000 code points, nesting at most 64 deep.
        nested: also read, as a value, a call, a constant index on one, `str()` of one, a
            bare name, and a number so large that its float is infinite.

    Returns:
        The calls in order; empty for `[]`.

    Raises:
        UnreadableCall: anything else, with the reason. Nothing is ever evaluated; the only
            operators read are the signs of numbers.
    """
    body = parse_expression(text)
    items = body.elts if isinstance(body, ast.List | ast.Tuple) else [body]
    if len(items) > MAX_CALLS:
        raise UnreadableCall(f"more than {MAX_CALLS} calls")
    return tuple(_call(item, nested) for item in items)


def parse_call(text: str, *, nested: bool = False) -> CallNode:
    """Read one Python-style call; the rest is as for `parse_call_list`."""
    return _call(parse_expression(text), nested)


def parse_expression(text: str) -> ast.expr:
    """Return the syntax tree of a Python expression, within the bounds of `parse_call_list`.

    Raises:
        UnreadableCall: it is none, or too long, too deep or too costly to parse.
    """
    if len(text) > MAX_TEXT:
        raise UnreadableCall(f"longer than {MAX_TEXT} characters")
    if "\0" in text:
        raise UnreadableCall("a null character")
    if depth_of(text) > MAX_DEPTH or _has_long_run(text):
        raise UnreadableCall(f"nested deeper than {MAX_DEPTH}")
    if len(text) > _SHORT:
        _refuse_costly(text)
    try:
        with _FILTERS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(text.strip(), mode="eval").body
    except (MemoryError, RecursionError):
        raise UnreadableCall("nested too deeply") from None
    except (SyntaxError, ValueError) as error:
        if isinstance(error, SyntaxError):
            python = f"{error.msg} (<string>, line {error.lineno})"
            raise UnreadableCall(f"not Python syntax: {error.msg}"[:200], python) from None
        raise UnreadableCall(f"not Python syntax: {error}"[:200], str(error)) from None
    if len(text) > 2 * MAX_LEVELS and _is_deep(body):
        raise UnreadableCall("nested too deeply")
    return body


def _is_deep(node: ast.AST) -> bool:
    """Whether the tree has more levels than code that recurses over it may meet."""
    level = [node]
    for _ in range(MAX_LEVELS):
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
        if not level:
            return False
    return True


def _refuse_costly(text: str) -> None:
    """Raise where parsing would take long: the parser needs a microsecond and more a token."""
    for tokens, token in enumerate(_TOKEN.finditer(text), 1):
        if tokens > MAX_TOKENS:
            raise UnreadableCall(f"more than {MAX_TOKENS} tokens")
        if (token["prefix"] or "").lower() in ("f", "fr", "rf"):
            raise UnreadableCall("a formatted string where a literal was expected")


def _has_long_run(text: str) -> bool:
    """Whether operators are chained deeply: the parser recurses on those without brackets."""
    run = 0
    for char in text:
        if char in "-+~*":
            run += 1
            if run > MAX_DEPTH:
                return True
        elif not char.isspace():
            run = 0
    return False


def _call(node: ast.expr, nested: bool) -> CallNode:
    if not isinstance(node, ast.Call):
        raise UnreadableCall(f"a {type(node).__name__} where a call was expected")
    args = []
    for value in node.args:
        if isinstance(value, ast.Starred):
            raise UnreadableCall("a starred argument")
        args.append(_value(value, nested))
    kwargs = []
    seen: set[str] = set()
    for keyword in node.keywords:
        if keyword.arg is None:
            raise UnreadableCall("a double-starred argument")
        if keyword.arg in seen:
            reason = f"keyword argument repeated: {keyword.arg}"
            raise UnreadableCall(reason, f"{reason} (<string>, line {keyword.lineno})")
        seen.add(keyword.arg)
        kwargs.append((keyword.arg, _value(keyword.value, nested)))
    return CallNode(_name(node.func), tuple(args), tuple(kwargs))


def _name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise UnreadableCall("a called expression that is not a name")
    parts.append(node.id)
    return ".".join(reversed(parts))


def _value(node: ast.expr, nested: bool) -> Any:
    match node:
        case ast.Constant(value=int() as value) if value.bit_length() > MAX_BITS:
            raise UnreadableCall("an integer of more than 4,000 digits")
        case ast.Constant(value=float() as value) if math.isinf(value) and not nested:
            raise UnreadableCall("a number too large for a float")
        case ast.Constant(value=str() | int() | float() | bool() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=ast.Constant(value=v)) if (
            isinstance(v, float) and (nested or not math.isinf(v))
        ) or (type(v) is int and v.bit_length() <= MAX_BITS):
            return -v if isinstance(op, ast.USub) else v
        case ast.List(elts=elts):
            return [_value(e, nested) for e in elts]
        case ast.Tuple(elts=elts):
            return tuple(_value(e, nested) for e in elts)
        case ast.Dict(keys=keys, values=values):
            return _dict(keys, values, nested)
    if nested:
        return NameNode(node.id) if isinstance(node, ast.Name) else _node(node)
    if isinstance(node, ast.Name):
        raise UnreadableCall(f"name {node.id!r} is not defined")
    raise UnreadableCall(f"a {type(node).__name__} where a literal was expected")


def _dict(keys: Sequence[ast.expr | None], values: Sequence[ast.expr], nested: bool) -> Any:
    result = {}
    for key, value in zip(keys, values, strict=True):
        if key is None:
            raise UnreadableCall("a double-starred entry in a dict")
        name = _value(key, False)
        if isinstance(name, list | dict | tuple):
            raise UnreadableCall("a dict key that is not a plain value")
        result[name] = _value(value, nested)
    return result


def _node(node: ast.expr) -> CallNode | IndexNode | StrNode:
    match node:
        case ast.Call(func=ast.Name(id="str"), args=[inner], keywords=[]):
            value = _node(inner)
            if isinstance(value, StrNode):
                raise UnreadableCall("str() of str()")
            return StrNode(value)
        case ast.Call():
            return _call(node, True)
        case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as key)):
            value = _node(inner)
            if isinstance(value, StrNode):
                raise UnreadableCall("an index on str()")
            return IndexNode(value, key)
        case ast.Name(id=name):
            raise UnreadableCall(f"name {name!r} is not defined")
    raise UnreadableCall(f"a {type(node).__name__} where a literal was expected")


def bind(node: CallNode, tools: Mapping[str, Tool]) -> ToolCall:
    """Return the call with positional values bound by the order of the tool's parameters.

    Raises:
        UnreadableCall: more positional values than parameters, one given twice, or positional
            values for a name that no tool has.
    """
    arguments: dict[str, Any] = {}
    if node.args:
        tool = tools.get(node.name)
        if tool is None:
            raise UnreadableCall(f"positional arguments for the unknown function {node.name}")
        names = list(tool.parameters.get("properties", {}))
        if len(node.args) > len(names):
            raise UnreadableCall(f"{node.name} takes at most {len(names)} arguments")
        arguments.update(zip(names, node.args, strict=False))
    for key, value in node.kwargs:
        if key in arguments:
            raise UnreadableCall(f"{node.name} got {key} twice")
        arguments[key] = value
    return ToolCall(node.name, arguments)


def call_text(name: str, arguments: Mapping[str, Any], args: Sequence[Any] = ()) -> str:
    """Return a call as Python writes it: positional values, then those by name."""
    parts = [repr(value) for value in args]
    parts += [f"{key}={value!r}" for key, value in arguments.items()]
    return f"{name}({', '.join(parts)})"


def read_call_list(text: str, tools: Mapping[str, Tool]) -> Action | None:
    """Read one bracketed Python-style list of calls with nothing around it.

    Args:
        text: for example `[cd(folder='a'), ls()]`.
        tools: the tools on offer by name, for binding positional arguments.

    Returns:
        None where `text` does not begin like a list of calls (words, then).
    """
    stripped = text.strip()
    if not stripped.startswith("["):
        return None
    rest = stripped[1:].lstrip()
    if not (rest.startswith("]") or rest[:1].isidentifier()):
        return None
    if "(" not in rest and not rest.startswith("]"):
        return None
    try:
        nodes = parse_call_list(stripped)
        calls = tuple(bind(node, tools) for node in nodes)
    except UnreadableCall as problem:
        return Action("malformed", reason=str(problem))
    if not calls:
        return Action("words")
    return Action("calls", calls)
