"""Values of formats that send text only: the schema, or an attribute, gives the type."""

from __future__ import annotations

import json
from typing import Any

from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.trouble import Unreadable

__all__ = ["NOT_THERE", "as_literal", "by_kinds", "wire_json"]

NOT_THERE = object()


def as_literal(scan: Scanner, text: str) -> Any:
    """Return the one literal that `text` holds, or `NOT_THERE`."""
    stripped = text.strip()
    if not stripped:
        return NOT_THERE
    scan.charge(len(stripped))
    inner = Scanner(stripped + "\n")
    try:
        value, end = inner.json_value(0)
    except Unreadable:
        return NOT_THERE
    if inner.skip(end) < inner.size or inner.open or "brackets" in inner.repairs:
        return NOT_THERE
    return value


def by_kinds(scan: Scanner, text: str, kinds: frozenset[str]) -> Any:
    """Return `text` as the first of the JSON types that it reads as, else as it stands.

    Args:
        scan: is charged for the work.
        text: the value as sent.
        kinds: the admitted types; a text stays text where "string" is among them or none is
            known.
    """
    bare = text.strip()
    if "null" in kinds and bare.lower() in ("null", "none"):
        return None
    if not kinds or "string" in kinds:
        return text
    if "boolean" in kinds and bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    value = as_literal(scan, text)
    if value is NOT_THERE:
        return text
    wanted: tuple[type, ...] = ()
    if kinds & {"integer", "number"}:
        wanted += (int, float)
    if "array" in kinds:
        wanted += (list,)
    if "object" in kinds:
        wanted += (dict,)
    if kinds.isdisjoint({"integer", "number", "array", "object", "boolean", "null"}):
        return value
    if isinstance(value, bool) or not isinstance(value, wanted):
        return text
    return value


def wire_json(text: str) -> Any:
    """Return a value that the format itself marks as JSON.

    Raises:
        Unreadable: it is none.
    """
    value = as_literal(Scanner(text), text)
    if value is NOT_THERE:
        raise Unreadable("syntax", f"{json.dumps(text[:40])} is no JSON value")
    return value
