"""The mended checker of the normal categories: every leaf, each call once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.acebench.answers import read_calls
from agentenvs.acebench.compare import difference
from agentenvs.acebench.literal import Call
from agentenvs.acebench.outcome import Verdict
from agentenvs.acebench.records import Task
from agentenvs.syntax import UnreadableCall

__all__ = ["check", "check_calls"]

_SUFFIX = re.compile(r"_\d+$")
_VALID = Verdict(True)


def check(task: Task, text: str, answers: Sequence[Mapping[str, Any]]) -> Verdict:
    """Judge an answer to a normal task by the mended rules.

    Every leaf of the reference must be there and equal (see `compare.difference`) and nothing
    beside it, save arguments whose value the description gives as default; each call stands
    for one call of the reference, in any order.

    Args:
        task: a task of a normal category.
        text: the whole output of the model.
        answers: the alternatives of the reference, corrected.
    """
    try:
        calls = read_calls(text, task.functions)
    except UnreadableCall as problem:
        return Verdict(False, "wrong_output_format", detail=str(problem))
    return check_calls(task, calls, answers)


def check_calls(task: Task, calls: Sequence[Call], answers: Sequence[Mapping[str, Any]]) -> Verdict:
    """Judge calls by the mended rules: any one of the alternatives will do."""
    functions = {function["name"]: function for function in task.functions}
    first: Verdict | None = None
    for answer in answers:
        verdict = _check_answer(functions, calls, answer)
        if verdict.valid:
            return verdict
        first = first or verdict
    return first or _VALID


def _check_answer(
    functions: Mapping[str, Any], calls: Sequence[Call], answer: Mapping[str, Any]
) -> Verdict:
    wanted = [(_name(key, functions), parameters) for key, parameters in answer.items()]
    if len(calls) != len(wanted):
        detail = f"expected {len(wanted)} calls, got {len(calls)}"
        return Verdict(False, "wrong functions number", detail=detail)
    names = sorted(name for name, _ in wanted)
    given = sorted(call.name for call in calls)
    if given != names:
        detail = f"expected calls of {names}, got {given}"
        return Verdict(False, "function_mismatch", detail=detail)
    verdicts = [
        [
            _check_call(functions.get(name, {}), call, parameters) if call.name == name else None
            for call in calls
        ]
        for name, parameters in wanted
    ]
    fits = [[bool(one and one.valid) for one in row] for row in verdicts]
    unmatched = _unmatched(fits)
    if unmatched is None:
        return _VALID
    return next(one for one in verdicts[unmatched] if one is not None and not one.valid)


def _name(key: str, functions: Mapping[str, Any]) -> str:
    """Return which function a key of the reference means; repeated ones are numbered."""
    return key if key in functions else _SUFFIX.sub("", key)


def _unmatched(fits: Sequence[Sequence[bool]]) -> int | None:
    """Return a row that no one-to-one assignment of columns can serve, or None."""
    holder: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, fit in enumerate(fits[row]):
            if fit and column not in seen:
                seen.add(column)
                if column not in holder or place(holder[column], seen):
                    holder[column] = row
                    return True
        return False

    for row in range(len(fits)):
        if not place(row, set()):
            return row if not any(fits[row]) else _refused(fits, row)
    return None


def _refused(fits: Sequence[Sequence[bool]], row: int) -> int:
    """Return a row that nothing fits, or `row` where each has something."""
    return next((other for other, line in enumerate(fits) if not any(line)), row)


def _check_call(function: Mapping[str, Any], call: Call, wanted: Mapping[str, Any]) -> Verdict:
    schemas = (function.get("parameters") or {}).get("properties", {})
    for key, value in wanted.items():
        if key not in call.arguments:
            if _is_default(schemas, key, value):
                continue
            return Verdict(False, "lack_args", detail=f"{call.name}.{key}: missing")
        problem = difference(call.arguments[key], value, f"{call.name}.{key}")
        if problem:
            return Verdict(False, "value_error", detail=problem)
    for extra, value in call.arguments.items():
        if extra not in wanted and not _is_default(schemas, extra, value):
            detail = f"{call.name}.{extra}: not in the reference"
            return Verdict(False, "addition_args", detail=detail)
    return _VALID


def _is_default(schemas: Mapping[str, Any], key: str | None, value: Any) -> bool:
    schema = schemas.get(key) if key is not None else None
    if not isinstance(schema, Mapping) or "default" not in schema:
        return False
    return not difference(value, schema["default"])
