from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from agentenvs.acebench.overlay import KINDS, edited, overlay
from agentenvs.acebench.records import LANGS, Records, Task
from agentenvs.acebench.tasks import unsolvable
from agentenvs.errors import BadArgument, SourceMismatch


def under(value: Any, key: str) -> Iterator[Any]:
    """Yield every leaf below an entry of this name."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part) if name == key else under(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from under(part, key)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield value


def said(task: Task) -> str:
    """Return what the task tells a model, but for the names of the roles."""
    text = f"{task.question} {task.profile} {task.time}"
    return text.replace("user:", "").replace("system:", "").casefold()


def test_how_many_tags_there_are() -> None:
    kinds = Counter((name[:2], tag.kind) for name, tag in overlay().unsolvable.items())
    assert kinds == {
        ("en", "unstated"): 7,
        ("en", "wording"): 2,
        ("en", "schema"): 6,
        ("en", "contradiction"): 1,
        ("en", "optional"): 13,
        ("zh", "unstated"): 7,
        ("zh", "wording"): 7,
        ("zh", "schema"): 4,
        ("zh", "contradiction"): 2,
        ("zh", "optional"): 26,
    }
    assert len(overlay().corrected) == 18
    assert len(overlay().unreachable) == 37
    assert len(unsolvable("fixed")) == 75
    assert len(unsolvable("official")) == 108


def test_every_entry_has_a_reason_and_a_task(records: Records) -> None:
    found = overlay()
    assert not found.unsolvable.keys() & found.corrected.keys()
    reasons = {name: tag.reason for name, tag in found.unsolvable.items()}
    reasons |= {name: correction.reason for name, correction in found.corrected.items()}
    for name, reason in reasons.items():
        assert name in records
        assert len(reason) > 30
        assert reason.endswith(".")
    assert {tag.kind for tag in found.unsolvable.values()} == set(KINDS)
    assert all(name in records for name in found.unreachable)


def test_what_is_called_unstated_is_not_in_the_task(records: Records) -> None:
    """Shown without any checker: the reference demands texts that the task does not hold."""
    for name, tag in overlay().unsolvable.items():
        if tag.kind in ("unstated", "wording"):
            task = records[name]
            assert tag.at
            for key in tag.at:
                wanted = list(under(task.answer, key))
                assert any(str(leaf).casefold() not in said(task) for leaf in wanted), (name, key)


def test_what_is_called_optional_is_not_required(records: Records) -> None:
    for name, tag in overlay().unsolvable.items():
        if tag.kind == "optional":
            [(api, words)] = records[name].answer.items()
            required = [
                key
                for function in records[name].functions
                if function["name"] == api
                for key in function["parameters"].get("required", ())
            ]
            assert tag.at
            assert set(tag.at) <= set(words) - set(required)


def test_nothing_else_of_that_kind_is_left_out(records: Records) -> None:
    for lang in LANGS:
        for task in records.category(lang, "special_incomplete").values():
            [(api, words)] = task.answer.items()
            required = next(
                function["parameters"].get("required", ())
                for function in task.functions
                if function["name"] == api
            )
            tag = overlay().unsolvable.get(task.name)
            assert (tag is not None) == (not set(words) <= set(required))


def violations(value: Any, schema: Any, path: str = "") -> Iterator[str]:
    """Yield where a value breaks its description, told by a reader of schemas of our own."""
    kinds = {"string": str, "object": dict, "array": list, "boolean": bool}
    kind = kinds.get(schema.get("type"))
    if kind is not None and not isinstance(value, kind):
        yield f"{path}: type"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: enum"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{path}: pattern"
    if isinstance(value, dict) and "properties" in schema:
        for key in schema.get("required", ()):
            if key not in value:
                yield f"{path}: requires {key}"
        for key, part in value.items():
            if key not in schema["properties"]:
                yield f"{path}: knows no {key}"
            else:
                yield from violations(part, schema["properties"][key], f"{path}.{key}")
    if isinstance(value, list) and "items" in schema:
        for part in value:
            yield from violations(part, schema["items"], path)


def test_what_is_said_to_break_its_description_does(records: Records) -> None:
    for name, tag in overlay().unsolvable.items():
        if tag.kind == "schema":
            task = records[name]
            broken = [
                problem
                for key, arguments in task.answer.items()
                for function in task.functions
                if function["name"] in key
                for problem in violations(arguments, function["parameters"])
            ]
            assert broken, name


def test_corrections_apply_and_change_something(records: Records) -> None:
    for name, correction in overlay().corrected.items():
        task = records[name]
        references = overlay().references(task, partial(records.world, task.lang))
        assert references[0] != task.answer
        assert (task.answer in references) == correction.keep
        assert len(references) == 1 + correction.keep


def test_other_references_are_left_alone(records: Records) -> None:
    for task in records.values():
        if task.name not in overlay().corrected and not isinstance(task.answer, list):
            assert overlay().references(task, dict) == [task.answer]


STATES: list[dict[str, Any]] = [{"A": {"x": {"1": {"n": 1}}}}, {"B": {"y": [{"n": 2}]}}]


@pytest.mark.parametrize(
    ("edit", "result"),
    [
        ({"op": "drop", "at": ["A", "x", "1"]}, [{"A": {"x": {}}}, STATES[1]]),
        ({"op": "rename", "at": ["B"], "to": "C"}, [STATES[0], {"C": STATES[1]["B"]}]),
        ({"op": "add", "at": ["B", "y", 0, "n"], "by": -3}, [STATES[0], {"B": {"y": [{"n": -1}]}}]),
        ({"op": "set", "at": ["B", "y"], "value": 7}, [STATES[0], {"B": {"y": 7}}]),
        ({"op": "wrap", "at": ["A", "x"]}, [{"A": {"x": [{"1": {"n": 1}}]}}, STATES[1]]),
        ({"op": "initial", "at": ["A", "x"]}, [{"A": {"x": "first"}}, STATES[1]]),
    ],
)
def test_edits_of_states(edit: dict[str, Any], result: Any) -> None:
    assert edited(STATES, [edit], lambda: {"A": {"state": {"x": "first"}}}) == result
    assert STATES[0] == {"A": {"x": {"1": {"n": 1}}}}


def test_edits_of_calls_reach_every_call_that_has_the_key() -> None:
    calls = {"f_1": {"a": 1, "b": 2}, "f_2": {"a": 3}, "g": {"c": 4}}
    done = edited(calls, [{"op": "drop", "at": ["a"]}])
    assert done == {"f_1": {"b": 2}, "f_2": {}, "g": {"c": 4}}


def test_edits_that_do_not_fit() -> None:
    with pytest.raises(SourceMismatch, match="an entry at"):
        edited({"f": {"a": 1}}, [{"op": "drop", "at": ["b"]}])
    with pytest.raises(SourceMismatch, match="an entry at"):
        edited([{"A": {}}], [{"op": "add", "at": ["A", "n"], "by": 1}])
    with pytest.raises(BadArgument, match="kind of edit"):
        edited({"f": {"a": 1}}, [{"op": "swap", "at": ["a"]}])
