# ruff: noqa: RUF001 - Chinese punctuation is meant
from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any

import pytest

from agentenvs.acebench import mini, tasks
from agentenvs.acebench.conversation import END
from agentenvs.acebench.prompts import Prompts, added, said, schemas, tools
from agentenvs.acebench.records import CATEGORIES, LANGS, Records, Task
from agentenvs.acebench.special import BEYOND, MISSING, WRONG_VALUE
from agentenvs.errors import BadArgument
from agentenvs.harness.stubs import stubs
from agentenvs.tools import Tool

KINDS = {"object", "string", "number", "integer", "boolean", "array", "null"}


def one(category: str, lang: str = "en") -> Task:
    return next(
        task for task in mini.tasks().values() if (task.category, task.lang) == (category, lang)
    )


def with_functions(*functions: dict[str, Any]) -> Task:
    return replace(one("normal_atom_bool"), functions=functions)


@pytest.mark.parametrize("task", mini.tasks().values(), ids=lambda task: task.name)
def test_every_task_is_shown_whole(task: Task) -> None:
    shown = Prompts().show(task)
    assert shown.system.count(str(list(task.functions))) == 1
    assert shown.policy in shown.system
    assert task.time in shown.policy
    assert task.profile in shown.policy
    assert task.question.rstrip("\n") in shown.user
    assert not re.search(r"\{(functions|history|policy|profile|time|domain)\}", "".join(shown))
    assert "\n\n\n" not in shown.policy
    has_chinese = re.search("[\u4e00-\u9fff]", shown.policy + shown.system.partition("[")[0])
    assert (has_chinese is not None) == (task.lang == "zh")


@pytest.mark.parametrize("lang", LANGS)
def test_the_wording_tells_what_the_verdict_goes_by(lang: str) -> None:
    special = Prompts().show(one("special_incomplete", lang)).policy
    assert all(phrase in special for phrase in (MISSING, WRONG_VALUE, BEYOND))
    for category in ("agent_multi_step", "agent_multi_turn"):
        assert END in Prompts().show(one(category, lang)).policy


@pytest.mark.parametrize("lang", LANGS)
def test_rules_of_the_services_go_with_the_services(lang: str) -> None:
    alone = one("agent_multi_step", lang)
    phone = replace(one("agent_multi_turn", lang), involved_classes=("BaseApi", "MessageApi"))
    airline = replace(phone, involved_classes=("Travel",))
    policies = [Prompts().show(task).policy for task in (alone, phone, airline)]
    assert ["2024-06-11" in policy for policy in policies] == [False, True, False]
    assert ["2024-07-15" in policy for policy in policies] == [False, False, True]


def test_own_templates_take_the_place_of_ours() -> None:
    prompts = Prompts(
        {
            "normal_atom_bool": "T{time} F{functions} {'a': [1]} {0} {policy}",
            "zh/normal_atom_bool": {"system": "S", "user": "{functions}|{history}"},
            "agent_multi_step": {"user": "do {history}"},
        }
    )
    english, chinese = one("normal_atom_bool"), one("normal_atom_bool", "zh")
    english = replace(english, time="now {functions}")
    shown = prompts.show(english)
    assert shown.system.startswith(f"Tnow {{functions}} F{list(english.functions)} {{'a': [1]}}")
    assert shown.user == Prompts().show(english).user
    shown = prompts.show(chinese)
    assert shown.system == "S"
    assert shown.user == f"{list(chinese.functions)}|{chinese.question.rstrip()}"
    step = one("agent_multi_step")
    assert prompts.show(step).user == f"do {step.question}"
    assert prompts.show(step).system == Prompts().show(step).system


@pytest.mark.parametrize(
    ("templates", "said"),
    [
        ([], "to be a dict of templates"),
        ({"normal_atom_bol": "{functions}"}, "Did you mean 'normal_atom_bool'"),
        ({"normal_atom_bool": "no place"}, r"Expected \{functions\} in the prompt"),
        ({"normal_atom_bool": "{functions} {tools}"}, r"only the placeholders .*, got \{tools\}"),
        ({"normal_atom_bool": {"user": "{functions}"}}, r"Expected \{history\} in the user's"),
        ({"normal_atom_bool": {"sytem": "{functions}"}}, "a dict with 'system' and 'user'"),
        ({"normal_atom_bool": {}}, "a dict with 'system' and 'user'"),
        ({"normal_atom_bool": 3}, "a dict with 'system' and 'user'"),
        ({"normal_atom_bool": {"system": 3}}, "to be text of at most"),
        ({"normal_atom_bool": "{functions}" + "x" * 100_000}, "to be text of at most"),
    ],
)
def test_templates_are_checked(templates: Any, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        Prompts(templates)


def test_a_template_is_text_and_nothing_more() -> None:
    prompts = Prompts({"normal_atom_bool": "{functions} {functions.__class__} {time!r} {0[1]}"})
    assert prompts.show(one("normal_atom_bool")).system.endswith(
        "{functions.__class__} {time!r} {0[1]}"
    )


def test_a_transcript_is_split_by_role() -> None:
    text = (
        "user: 你好：hi\nsystem: which?\nuser: that\nuser: one\nsystem: [f(a='b')]\nsystem: done:\n"
        "- user: x\nuser : y\nuser:go"
    )
    assert [(one["role"], one["content"]) for one in said(text)] == [
        ("user", "你好：hi"),
        ("assistant", "which?"),
        ("user", "that"),
        ("user", "one"),
        ("assistant", "[f(a='b')]"),
        ("tool", "done:\n- user: x\nuser : y"),
        ("user", "go"),
    ]
    assert said("") == []
    assert said("no roles") == [{"role": "user", "content": "no roles"}]


def test_what_a_turn_adds_lacks_the_official_calls() -> None:
    before, after = tasks.turns_of("mini/normal_multi_turn_user_switch_0")
    assert added(before, after).startswith("system: ")
    assert "[" not in added(before, after)
    with pytest.raises(BadArgument, match="to go on from"):
        added(after, before)


def walk(schema: Any) -> None:
    assert isinstance(schema, dict)
    assert schema.get("type", "object") in KINDS
    for key, value in schema.items():
        if key in ("properties", "patternProperties"):
            for part in value.values():
                walk(part)
        elif key == "items" or (key == "additionalProperties" and not isinstance(value, bool)):
            walk(value)
        elif key == "required":
            assert len(set(value)) == len(value)
            assert all(isinstance(name, str) for name in value)
        elif key == "enum":
            assert isinstance(value, list)
            assert value
        elif key in ("minimum", "maximum", "exclusiveMinimum"):
            assert isinstance(value, int | float)
            assert not isinstance(value, bool)


def leaves(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {leaf for key, part in value.items() for leaf in leaves(part) | {str(key)}}
    if isinstance(value, list | tuple):
        return {leaf for part in value for leaf in leaves(part)}
    return {str(value)}


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("category", CATEGORIES)
def test_all_official_functions_make_schemas_without_loss(
    records: Records, lang: Any, category: str
) -> None:
    renamed = {"dict", "float", "list", "bool", "parameters", "arguments", "_arguments"}
    for task in records.category(lang, category).values():
        before = copy.deepcopy(task.functions)
        made = schemas(task)
        assert stubs(made)
        assert [tool["name"] for tool in made] == [one["name"] for one in task.functions]
        for schema, function in zip(made, task.functions, strict=True):
            assert schema["parameters"]["type"] == "object"
            walk(schema["parameters"])
            kept = leaves(schema)
            missing = leaves(function) - kept - renamed
            told = schema["description"].replace("\\", "")
            words = {"True": "true", "False": "false", "None": "null"}
            texts = {words.get(leaf, leaf).replace("\n", "n").replace("\\", "") for leaf in missing}
            assert all(text in told for text in texts)
        assert task.functions == before


def test_odd_descriptions_make_tools() -> None:
    task = with_functions(
        {
            "name": "图书-查询",
            "description": "查",
            "parameters": {"type": "dict", "properties": {}},
        },
        {"name": "3d", "arguments": {"properties": {"a": {"type": "float"}}}, "tags": ["x"]},
        {"name": "bare"},
        {
            "name": "deep",
            "description": None,
            "parameters": {
                "type": "list",
                "properties": {"type": {"type": "any", "items": {"type": "list", "items": {}}}},
                "required": ["type"],
            },
        },
    )
    made = {tool.name: tool for tool in tools(task)}
    assert made["图书-查询"].parameters == {"type": "object", "properties": {}}
    assert made["3d"].parameters["properties"] == {"a": {"type": "number"}}
    assert made["3d"].description == 'tags: ["x"]'
    assert made["bare"].parameters == {"type": "object", "properties": {}}
    assert made["deep"].parameters["properties"] == {
        "type": {"items": {"type": "array", "items": {}}}
    }
    assert all(isinstance(tool, Tool) for tool in made.values())
    assert tools(task) is tools(task)
    assert stubs(schemas(task))
