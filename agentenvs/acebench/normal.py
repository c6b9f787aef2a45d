"""The official checker of the normal categories, with all that it lets pass."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from agentenvs.acebench.literal import Call, cut, decode, squeeze
from agentenvs.acebench.outcome import Verdict
from agentenvs.acebench.records import DIALOGUES, Task
from agentenvs.syntax import UnreadableCall

__all__ = ["check", "check_calls", "read"]

_TYPES: Mapping[str, type] = MappingProxyType(
    {
        "string": str,
        "integer": int,
        "number": int,
        "float": float,
        "boolean": bool,
        "array": list,
        "list": list,
        "tuple": tuple,
        "dict": dict,
        "object": dict,
        "any": str,
    }
)
_SUFFIX = re.compile(r"_\d+$")
_DROPPED = str.maketrans({**dict.fromkeys(" ,./-_*^", ""), "'": '"'})
_OBJECTS: Mapping[str, Any] = MappingProxyType({"type": "object"})
_VALID = Verdict(True)


def read(task: Task, text: str) -> list[Call]:
    """Return the calls of an answer as the category's evaluation reads them.

    Single-turn categories take the first list in the text; the dialogues take the whole text,
    all white space removed, that in strings included.

    Raises:
        UnreadableCall: there are none.
    """
    return decode(squeeze(text) if task.category in DIALOGUES else cut(text))


def check(task: Task, text: str) -> Verdict:
    """Judge an answer to a normal task by the official rules.

    Top-level numbers and booleans are not compared; a text passes where the reference is
    contained in it; optional arguments may be missing; one call may stand for two.

    Args:
        task: a task of a normal category.
        text: the whole output of the model.
    """
    try:
        calls = read(task, text)
    except UnreadableCall as problem:
        told = problem.python.replace("<string>", "<unknown>")
        detail = f"Invalid syntax. Failed to decode AST. {told}"
        return Verdict(False, "wrong_output_format", detail=detail)
    return check_calls(task, calls)


def check_calls(task: Task, calls: Sequence[Call]) -> Verdict:
    """Judge calls by the official rules: each alternative of the reference in turn."""
    verdict = _VALID
    answers = task.answer if isinstance(task.answer, list) else [task.answer]
    for answer in answers:
        verdict = _check_answer(task, calls, answer)
        if verdict.valid:
            break
    return verdict


def _check_answer(task: Task, calls: Sequence[Call], answer: Mapping[str, Any]) -> Verdict:
    if len(calls) != len(answer):
        return _fail("wrong functions number", "The number of functions does not match the answer.")
    wanted = [_plain(name) for name in answer]
    missing = _missing([call.name for call in calls], wanted)
    if missing is not None:
        detail = f"extra function detected: {missing} is not in the ground truth"
        return _fail("function_mismatch", detail)
    several = len(answer) > 1
    for (name, parameters), plain in zip(answer.items(), wanted, strict=True):
        verdict = _fail("simple_function_checker:unclear")
        schema = _schema(task, name)
        for call in calls:
            if call.name != plain:
                verdict = _fail("simple_function_checker:unclear")
                continue
            verdict = _check_call(schema, call, name, parameters)
            if verdict.valid:
                break
        if not verdict.valid:
            if several:
                pairs = [{_plain(name): parameters} for name, parameters in answer.items()]
                real = [{call.name: call.arguments} for call in calls]
                detail = f"Parallel function call failed; excepted {pairs}, real: {real}"
                return verdict._replace(detail=detail)
            return verdict
    return _VALID


def _missing(names: list[str], wanted: list[str]) -> str | None:
    for name in names:
        if name not in wanted:
            return name
    left = list(names)
    for name in wanted:
        if name not in left:
            return name
        left.remove(name)
    return None


@lru_cache(4096)
def _plain(name: str) -> str:
    return _SUFFIX.sub("", name)


def _schema(task: Task, name: str) -> Mapping[str, Any]:
    return next((item for item in task.functions if item["name"] in name), {})


def _check_call(
    function: Mapping[str, Any], call: Call, name: str, wanted: Mapping[str, Any]
) -> Verdict:
    known = function.get("name", name)
    if known != call.name:
        detail = str({"wrong_function": {"expected": known, "real": call.name}})
        return _fail("wrong_function_name", detail)
    parameters = function.get("parameters", {})
    arguments = call.arguments
    if not arguments and not parameters:
        return _VALID
    if not arguments or not parameters:
        return _fail("wrong_param")
    schemas = parameters.get("properties", {})
    for required in parameters.get("required", ()):
        if required not in arguments:
            return _fail("lack_args", f"lack required_params: {required}")
    for key, value in arguments.items():
        if key is None or key not in schemas or key not in wanted:
            return _fail("addition_args", f"addition params: {key}")
        verdict = _check_value(known, key, schemas[key], value, wanted[key])
        if not verdict.valid:
            return verdict
    return _VALID


def _check_value(api: str, key: str, schema: Mapping[str, Any], value: Any, wanted: Any) -> Verdict:
    kind = schema.get("type", "")
    expected: Any = _TYPES.get(kind, str)
    if kind == "float" and type(value) is int:
        value = float(value)
    if value == "true" or value == "false":
        value = value == "true"
    if type(value) is not expected and type(value) is not type(wanted) and value != wanted:
        return _wrong_type(api, key, expected, value)
    if type(wanted) is not expected:
        return _VALID
    if expected is str:
        if _norm(wanted) in _norm(value):
            return _VALID
        return _wrong_value("value_error:string", api, key, value, wanted)
    if expected is dict or expected is list:
        if not wanted:
            return _wrong_type(api, key, expected, value)
        if expected is dict:
            return _check_object(api, key, value, wanted)
        if schema.get("items", _OBJECTS).get("type") in ("object", "dict"):
            return _check_objects(api, key, value, wanted)
        return _check_list(api, key, value, wanted)
    return _VALID


def _check_object(api: str, key: str, value: Any, wanted: Mapping[str, Any]) -> Verdict:
    """Compare key by key; what is no object is compared as text, the reference within."""
    if type(value) is not dict or type(wanted) is not dict:
        detail = f"wrong type for parameter ({key}) of api ({api}): "
        return _fail("value_error", f"{detail}[excepted: {wanted}, real: [{value}]]")
    if value.keys() != wanted.keys():
        return _wrong_value("value_error", api, key, value, wanted)
    for name, part in wanted.items():
        if type(part) is dict:
            verdict = _check_object(api, key, value[name], part)
            if not verdict.valid:
                return verdict
        elif _text(part) not in _text(value[name]):
            return _wrong_value("value_error", api, key, value, wanted)
    return _VALID


def _check_objects(api: str, key: str, value: Sequence[Any], wanted: Sequence[Any]) -> Verdict:
    if len(value) != len(wanted):
        return _wrong_value("value_error:list_dict_count", api, key, value, wanted)
    for one, part in zip(value, wanted, strict=True):
        verdict = _check_object(api, key, one, part)
        if not verdict.valid:
            return verdict
    return _VALID


def _check_list(api: str, key: str, value: Sequence[Any], wanted: Sequence[Any]) -> Verdict:
    if [_item(item) for item in value] == [_item(item) for item in wanted]:
        return _VALID
    detail = (
        f"wrong value for parameter ({key!r}) of api ({api}): [expected {wanted}, real: [{value}]]"
    )
    return _fail("value_error:list/tuple", detail)


def _item(value: Any) -> Any:
    return _norm(value) if isinstance(value, str) else value


def _text(value: Any) -> str:
    return _norm(value) if isinstance(value, str) else str(value)


def _norm(text: str) -> str:
    return text.translate(_DROPPED).lower()


def _fail(error_type: str, detail: str = "") -> Verdict:
    return Verdict(False, error_type, detail=detail)


def _wrong_type(api: str, key: str, expected: type, value: Any) -> Verdict:
    detail = (
        f"wrong type for parameter ({key}) of api ({api}):"
        f"[excepted: {expected}, real: {type(value)}]"
    )
    return _fail("type_error", detail)


def _wrong_value(error_type: str, api: str, key: str, value: Any, wanted: Any) -> Verdict:
    detail = f"wrong value for parameter ({key}) of api ({api}): "
    return _fail(error_type, f"{detail}[excepted: {wanted}, real: [{value}]]")
