"""Why a text was refused: the fixed kinds of reasons, and the exception that carries one."""

from __future__ import annotations

from typing import Literal

__all__ = ["PARSE_REASONS", "ParseReason", "Unreadable"]

ParseReason = Literal[
    "cut",
    "ambiguous",
    "not_literal",
    "not_called",
    "arguments",
    "no_call",
    "no_answer",
    "too_deep",
    "too_large",
    "syntax",
]

#: What each kind means; `Parse.reason` of a refused text is "<kind>: <detail>".
PARSE_REASONS: dict[ParseReason, str] = {
    "cut": "the text ends inside a value or a list, which is never completed",
    "ambiguous": "two readings: a quote that never closes, an argument given twice",
    "not_literal": "an expression, a variable or a nested call where a literal belongs",
    "not_called": "a function named but not called",
    "arguments": "values that do not fit the function's parameters",
    "no_call": "the marks of a call around something that is none",
    "no_answer": "only thoughts, or only an invented continuation",
    "too_deep": "brackets nested deeper than the limit",
    "too_large": "a text, a number or the work on a text over the limit",
    "syntax": "anything else that does not read",
}


class Unreadable(Exception):
    """Raised and caught inside the parser where an attempt at calls does not read."""

    def __init__(self, kind: ParseReason, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: ParseReason = kind
