"""Model text as calls, the way the original reads it; nothing in it is ever run."""

from __future__ import annotations

import ast
import re
from typing import Any

from agentenvs.acebench.arithmetic import compute
from agentenvs.acebench.quick import Call, quick_calls
from agentenvs.syntax import MAX_BITS, UnreadableCall, parse_expression

__all__ = ["MAX_BRACKETS", "MAX_CALLS", "Call", "cut", "decode", "decode_by_tree", "squeeze"]

MAX_CALLS = 1_000
MAX_BRACKETS = 6_000
_BRACKET = re.compile(r"[\[\]]")
_NO_TEXT = "compile() arg 1 must be a string, bytes or AST object"


def cut(text: str) -> str | None:
    """Return the first bracketed list in the text, or None; quotes do not count as such.

    A "]" before it leaves the count of open brackets wrong for the rest of the text.
    """
    if text[:1] == "[" and text.find("[", 1) < 0:
        end = text.find("]")
        return text[: end + 1] if end > 0 else None
    depth = 0
    start: int | None = None
    for bracket in _BRACKET.finditer(text):
        if bracket[0] == "[":
            if depth == 0:
                start = bracket.start()
            depth += 1
        else:
            depth -= 1
            if depth == 0 and start is not None:
                return text[start : bracket.end()]
    return None


def squeeze(text: str) -> str:
    """Return the text without any of its white space, that in strings included."""
    return "".join(text.split())


def decode(text: str | None) -> list[Call]:
    """Read a list or tuple of calls with arguments by name.

    Values: constants stand for themselves; lists, tuples and dicts are read item by item; a
    bare or dotted name is its own text; any sign before a constant, even `+`, `not` and `~`,
    negates it; a subscript is its own text; a call is `{name: {argument: value}}`. Arguments
    by position are left out. Operators between literals are worked out; where the original
    runs them whatever they hold, a name or a call among them is an error here, and so are
    numbers of over 4,000 digits, results of over 1,000 characters or items, and texts
    with over 6,000 opening brackets.

    Args:
        text: at most 100,000 characters, nested at most 64 deep; None where no list was found.

    Raises:
        UnreadableCall: anything else.
    """
    if text is None:
        raise UnreadableCall("no list of calls", _NO_TEXT)
    calls = quick_calls(text)
    return decode_by_tree(text) if calls is None else calls


def decode_by_tree(text: str, *, lone: bool = False) -> list[Call]:
    """Return what `decode` does, always by way of a syntax tree.

    Args:
        text: as there.
        lone: take a call without a list around it as well.
    """
    if sum(map(text.count, "[({")) > MAX_BRACKETS:
        raise UnreadableCall(f"more than {MAX_BRACKETS} opening brackets")
    body = parse_expression(text)
    if lone and isinstance(body, ast.Call):
        return [_call(body)]
    if not isinstance(body, ast.List | ast.Tuple):
        raise UnreadableCall(f"a {type(body).__name__} where a list of calls was expected")
    if len(body.elts) > MAX_CALLS:
        raise UnreadableCall(f"more than {MAX_CALLS} calls")
    return [_call(item) for item in body.elts]


def _call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call):
        raise UnreadableCall(f"a {type(node).__name__} where a call was expected")
    arguments = {keyword.arg: _value(keyword.value) for keyword in node.keywords}
    return Call(_name(node.func), arguments)


def _name(node: ast.expr) -> str:
    """Return a dotted name; what is no name at its root counts for nothing."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            if type(value) is int and value.bit_length() > MAX_BITS:
                raise UnreadableCall("an integer of more than 4,000 digits")
            return "..." if value is ... else value
        case ast.List(elts=elts):
            return [_value(item) for item in elts]
        case ast.Dict(keys=keys, values=values):
            return _dict(keys, values)
        case ast.Name(id=name):
            return name
        case ast.Tuple(elts=elts):
            return tuple([_value(item) for item in elts])
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() | complex() as value)):
            return -value
        case ast.BinOp():
            return compute(node)
        case ast.Call():
            name, arguments = _call(node)
            return {name: arguments}
        case ast.Attribute() if _is_dotted(node):
            return _name(node)
        case ast.Subscript(value=inner, slice=key):
            return f"{ast.unparse(inner)}[{ast.unparse(key)}]"
    raise UnreadableCall(f"a {type(node).__name__} where a value was expected")


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _dict(keys: list[ast.expr | None], values: list[ast.expr]) -> dict[Any, Any]:
    result = {}
    for key, value in zip(keys, values, strict=True):
        if key is None:
            raise UnreadableCall("a double-starred entry in a dict")
        name = _value(key)
        try:
            result[name] = _value(value)
        except TypeError as problem:
            raise UnreadableCall(str(problem), str(problem)) from None
    return result
