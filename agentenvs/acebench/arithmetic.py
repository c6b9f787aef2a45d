"""Operators in an argument: worked out within bounds where the original runs the text."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from agentenvs.syntax import MAX_BITS, UnreadableCall

__all__ = ["MAX_SIZE", "compute"]

#: characters, or items at all levels, of what an operator may make
MAX_SIZE = 1_000
#: the most that a text filled in could come to, as far as that is known before
_MAX_FILLED = 100_000
_SPECIFIERS = re.compile(r"%[^a-zA-Z%]*[a-zA-Z%]")
_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.BitAnd: operator.and_,
        ast.BitOr: operator.or_,
        ast.BitXor: operator.xor,
        ast.RShift: operator.rshift,
    }
)
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = MappingProxyType(
    {
        ast.UAdd: operator.pos,
        ast.USub: operator.neg,
        ast.Not: operator.not_,
        ast.Invert: operator.invert,
    }
)


def compute(node: ast.expr) -> Any:
    """Return the value of operators over literals.

    Args:
        node: an expression of at most 200 levels.

    Returns:
        What Python gives for it: numbers, texts, lists, tuples, dicts.

    Raises:
        UnreadableCall: a name, a call or anything else that is no literal; a result of more
            than 4,000 digits or 1,000 characters or items; what Python itself refuses.
    """
    try:
        return _value(node)
    except (ArithmeticError, TypeError, ValueError) as problem:
        raise UnreadableCall(str(problem)[:200], str(problem)[:200]) from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            if isinstance(value, int) and value.bit_length() > MAX_BITS:
                raise UnreadableCall("an integer of more than 4,000 digits")
            return value
        case ast.UnaryOp(op=sign, operand=operand):
            return _UNARY[type(sign)](_value(operand))
        case ast.BinOp(left=left, op=sign, right=right):
            return _bounded(_binary(sign, _value(left), _value(right)))
        case ast.List(elts=elts):
            return [_value(item) for item in elts]
        case ast.Tuple(elts=elts):
            return tuple(_value(item) for item in elts)
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_value(k): _value(v) for k, v in zip(keys, values, strict=True) if k}
    kind = f"name {node.id!r}" if isinstance(node, ast.Name) else f"a {type(node).__name__}"
    raise UnreadableCall(f"{kind} under an operator")


def _binary(sign: ast.operator, left: Any, right: Any) -> Any:
    match sign:
        case ast.Mult():
            return _times(left, right)
        case ast.Pow():
            return _power(left, right)
        case ast.LShift():
            if isinstance(left, int) and isinstance(right, int):
                _check_bits(left.bit_length() + right)
            return operator.lshift(left, right)
        case ast.Mod():
            return _modulo(left, right)
    if type(sign) not in _BINARY:
        raise UnreadableCall(f"the operator {type(sign).__name__}")
    return _BINARY[type(sign)](left, right)


def _times(left: Any, right: Any) -> Any:
    for items, count in ((left, right), (right, left)):
        if isinstance(items, str | bytes | list | tuple) and isinstance(count, int):
            _check_size(len(items) * max(count, 0))
    return operator.mul(left, right)


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        _check_bits(base.bit_length() * abs(exponent))
    return operator.pow(base, exponent)


def _modulo(left: Any, right: Any) -> Any:
    """Return the remainder, or a text filled in; widths could ask for any size."""
    if isinstance(left, str | bytes):
        text = left if isinstance(left, str) else left.decode("latin-1")
        if any(set(found) & set("0123456789*(") for found in _SPECIFIERS.findall(text)):
            raise UnreadableCall("a width in a format")
        filled = sum(map(_length, right)) if isinstance(right, tuple) else _length(right)
        _check_size(len(left) + filled * max(text.count("%"), 1), _MAX_FILLED)
    return operator.mod(left, right)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | tuple | dict) else 400


def _check_bits(bits: int) -> None:
    if bits > MAX_BITS:
        raise UnreadableCall("a result of more than 4,000 digits")


def _check_size(size: int, limit: int = MAX_SIZE) -> None:
    if size > limit:
        raise UnreadableCall(f"a result of more than {limit} items")


def _bounded(value: Any) -> Any:
    if isinstance(value, int):
        _check_bits(value.bit_length())
    _check_size(_weight(value, MAX_SIZE))
    return value


def _weight(value: Any, limit: int) -> int:
    """Return how many characters and items a value has at all levels, or more than the limit.

    A list repeated in a list is few objects, and yet many when it is written out.
    """
    if isinstance(value, str | bytes):
        return len(value)
    if not isinstance(value, list | tuple | dict):
        return 1
    total = 0
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    for part in parts:
        total += 1 + _weight(part, limit - total)
        if total > limit:
            break
    return total
