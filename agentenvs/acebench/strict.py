"""The mended checker of the normal categories: every leaf, each call once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
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
    functions = _functions(task)
    first: Verdict | None = None
    for answer in answers:
        verdict = _check_answer(functions, calls, answer)
        if verdict.valid:
            return verdict
        first = first or verdict
    return first or _VALID


@lru_cache(4096)
def _functions(task: Task) -> Mapping[str, Any]:
    return {function["name"]: function for function in task.functions}


def _check_answer(
    functions: Mapping[str, Any], calls: Sequence[Call], answer: Mapping[str, Any]
) -> Verdict:
    if len(calls) != len(answer):
        detail = f"expected {len(answer)} calls, got {len(calls)}"
        return Verdict(False, "wrong functions number", detail=detail)
    wanted: dict[str, list[Mapping[str, Any]]] = {}
    for key, arguments in answer.items():
        wanted.setdefault(_name(key, functions), []).append(arguments)
    given: dict[str, list[Call]] = {}
    for call in calls:
        given.setdefault(call.name, []).append(call)
    for name, references in wanted.items():
        if len(given.get(name, ())) != len(references):
            detail = f"expected {len(references)} calls of {name}, got {len(given.get(name, ()))}"
            return Verdict(False, "function_mismatch", detail=detail)
    for name, references in wanted.items():
        verdict = _check_group(functions.get(name, {}), given[name], references)
        if not verdict.valid:
            return verdict
    return _VALID


def _check_group(
    function: Mapping[str, Any], calls: Sequence[Call], references: Sequence[Mapping[str, Any]]
) -> Verdict:
    """Judge the calls of one function, each against a reference of its own."""
    pairs = zip(calls, references, strict=True)
    in_order = [_check_call(function, call, one) for call, one in pairs]
    if len(calls) == 1 or all(verdict.valid for verdict in in_order):
        return in_order[0]
    verdicts = [[_check_call(function, call, one) for call in calls] for one in references]
    unmatched = _unmatched([[verdict.valid for verdict in row] for row in verdicts])
    if unmatched is None:
        return _VALID
    refused = [verdict for verdict in verdicts[unmatched] if not verdict.valid]
    return refused[min(unmatched, len(refused) - 1)]


def _name(key: str, functions: Mapping[str, Any]) -> str:
    """Return which function a key of the reference means; repeated ones are numbered."""
    return key if key in functions else _SUFFIX.sub("", key)


def _unmatched(fits: Sequence[Sequence[bool]]) -> int | None:
    """Return a row for which no column is left over, or None where each can have its own."""
    for row, line in enumerate(fits):
        if not any(line):
            return row
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
            return row
    return None


def _check_call(function: Mapping[str, Any], call: Call, wanted: Mapping[str, Any]) -> Verdict:
    schemas: Mapping[str, Any] = (function.get("parameters") or {}).get("properties", {})
    for key, value in wanted.items():
        if key not in call.arguments:
            if _is_default(schemas, key, value):
                continue
            return Verdict(False, "lack_args", detail=f"{call.name}.{key}: missing")
        problem = difference(call.arguments[key], value, key)
        if problem:
            return Verdict(False, "value_error", detail=f"{call.name}.{problem}")
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
