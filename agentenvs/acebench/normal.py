"""The official checker of the normal categories, with all that it lets pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.acebench.expected import Expected, Parameter, expected, norm
from agentenvs.acebench.literal import Call, cut, decode, squeeze
from agentenvs.acebench.outcome import Verdict
from agentenvs.acebench.records import DIALOGUES, Task
from agentenvs.syntax import UnreadableCall

__all__ = ["check", "check_calls", "read"]

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
    for answer in expected(task):
        verdict = _check_answer(calls, answer)
        if verdict.valid:
            break
    return verdict


def _check_answer(calls: Sequence[Call], answer: Sequence[Expected]) -> Verdict:
    if len(calls) != len(answer):
        return _fail("wrong functions number", "The number of functions does not match the answer.")
    missing = _missing([call.name for call in calls], [one.name for one in answer])
    if missing is not None:
        detail = f"extra function detected: {missing} is not in the ground truth"
        return _fail("function_mismatch", detail)
    for call, one in zip(calls, answer, strict=True):
        # Which call is tried first does not matter where one fits, and mostly it is this one.
        if call.name == one.name and _check_call(call, one).valid:
            continue
        verdict = _check_any(calls, one)
        if not verdict.valid:
            return verdict._replace(detail=_of_several(calls, answer, verdict.detail))
    return _VALID


def _check_any(calls: Sequence[Call], wanted: Expected) -> Verdict:
    """Look for a call that fits; where none does, the failure is that of the last call."""
    verdict = _VALID
    for call in calls:
        if call.name != wanted.name:
            verdict = _fail("simple_function_checker:unclear")
            continue
        verdict = _check_call(call, wanted)
        if verdict.valid:
            break
    return verdict


def _of_several(calls: Sequence[Call], answer: Sequence[Expected], detail: str) -> str:
    if len(answer) == 1:
        return detail
    pairs = [{one.name: one.arguments} for one in answer]
    real = [{call.name: call.arguments} for call in calls]
    return f"Parallel function call failed; excepted {pairs}, real: {real}"


def _missing(names: list[str], wanted: list[str]) -> str | None:
    if names == wanted:
        return None
    for name in names:
        if name not in wanted:
            return name
    left = list(names)
    for name in wanted:
        if name not in left:
            return name
        left.remove(name)
    return None


def _check_call(call: Call, wanted: Expected) -> Verdict:
    api, arguments = wanted.function, call.arguments
    if api != call.name:
        detail = str({"wrong_function": {"expected": api, "real": call.name}})
        return _fail("wrong_function_name", detail)
    if not arguments and wanted.is_empty:
        return _VALID
    if not arguments or wanted.is_empty:
        return _fail("wrong_param")
    for required in wanted.required:
        if required not in arguments:
            return _fail("lack_args", f"lack required_params: {required}")
    parameters = wanted.parameters
    for key, value in arguments.items():
        parameter = parameters.get(key)
        if parameter is None:
            return _fail("addition_args", f"addition params: {key}")
        if parameter.is_text and value == parameter.wanted:
            continue
        verdict = _check_value(api, key, parameter, value)
        if not verdict.valid:
            return verdict
    return _VALID


def _check_value(api: str, key: str, parameter: Parameter, value: Any) -> Verdict:
    right, wanted = parameter.type, parameter.wanted
    if parameter.kind == "float" and type(value) is int:
        value = float(value)
    if value == "true" or value == "false":
        value = value == "true"
    given = type(value)
    if given is not right and given is not type(wanted) and value != wanted:
        return _wrong_type(api, key, right, value)
    if type(wanted) is not right:
        return _VALID
    if right is str:
        if parameter.text in norm(value):
            return _VALID
        return _wrong_value("value_error:string", api, key, value, wanted)
    if right is dict or right is list:
        if not wanted:
            return _wrong_type(api, key, right, value)
        if str(value) == parameter.text:
            return _VALID
        if right is dict:
            return _check_object(api, key, value, wanted)
        if parameter.is_objects:
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
    detail = f"wrong value for parameter ({key!r}) of api ({api}): "
    return _fail("value_error:list/tuple", f"{detail}[expected {wanted}, real: [{value}]]")


def _item(value: Any) -> Any:
    return norm(value) if isinstance(value, str) else value


def _text(value: Any) -> str:
    return norm(value) if isinstance(value, str) else str(value)


def _fail(error_type: str, detail: str = "") -> Verdict:
    return Verdict(False, error_type, detail=detail)


def _wrong_type(api: str, key: str, right: type, value: Any) -> Verdict:
    detail = f"wrong type for parameter ({key}) of api ({api}):"
    return _fail("type_error", f"{detail}[excepted: {right}, real: {type(value)}]")


def _wrong_value(error_type: str, api: str, key: str, value: Any, wanted: Any) -> Verdict:
    detail = f"wrong value for parameter ({key}) of api ({api}): "
    return _fail(error_type, f"{detail}[excepted: {wanted}, real: [{value}]]")
