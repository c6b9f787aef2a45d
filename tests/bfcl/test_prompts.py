from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest

from agentenvs.bfcl.prompts import handed_over, handover_sentence, system_prompt, tools
from agentenvs.bfcl.tasks import SPLITS, open_official, task, task_ids


def test_official_prompts_have_the_measured_sizes(official_bfcl: None) -> None:
    sizes = [
        len(system_prompt(task(name), "official")) for split in SPLITS for name in task_ids(split)
    ]
    assert (round(sum(sizes) / len(sizes)), min(sizes), max(sizes)) == (36_614, 19_705, 50_759)


def test_official_prompts_are_pinned(official_bfcl: None) -> None:
    whole = hashlib.sha256()
    for split in SPLITS:
        for name in task_ids(split):
            whole.update(system_prompt(task(name), "official").encode())
    assert whole.hexdigest() == "e32dff3509ea848d5e607458a174b64a63ecb544362d59d99dfb28daf06a1cfd"


def test_official_prompts_are_those_of_the_original(official: Any, official_bfcl: None) -> None:
    source = open_official().read("bfcl_eval/utils.py").decode()
    (hint,) = re.findall(r'return "([^"]*Python[^"]*)"', source)
    names = task_ids("base")[::20] + task_ids("miss_func")[::20]
    jobs: list[dict[str, Any]] = []
    for name in names:
        docs = [dict(task(name).docs[function]) for function in task(name).first]
        for doc in docs:
            doc["description"] += hint
        jobs.append({"kind": "prompt", "docs": docs})
    assert official(jobs) == [system_prompt(task(name), "official") for name in names]


def test_compact_prompts_are_short(official_bfcl: None) -> None:
    sizes = [len(system_prompt(task(name), "compact")) for name in task_ids("base")]
    assert sum(sizes) / len(sizes) < 6_000
    text = system_prompt(task("multi_turn_base_0"), "compact")
    assert "\nmv(source: str, destination: str): Move a file" in text
    assert "Python 3 syntax" not in text


@pytest.mark.parametrize("docs", ["official", "compact"])
def test_schemas_are_json_schema(official_bfcl: None, docs: Any) -> None:
    kinds = {"object", "number", "string", "integer", "array", "boolean"}

    def check(schema: dict[str, Any]) -> None:
        assert schema.get("type", "string") in kinds
        for part in schema.get("properties", {}).values():
            check(part)
        if "items" in schema:
            check(schema["items"])

    for name in [*task_ids("base")[::20], *task_ids("mini")]:
        for tool in tools(task(name), docs).values():
            parameters = tool.schema()["parameters"]
            assert parameters["type"] == "object"
            assert set(parameters.get("required", ())) <= set(parameters["properties"])
            check(parameters)
            json.dumps(tool.schema())


def test_defaults_of_none_are_null(official_bfcl: None) -> None:
    name = next(n for n in task_ids("base") if "GorillaFileSystem" in task(n).classes)
    properties = tools(task(name), "official")["echo"].parameters["properties"]
    assert properties["file_name"]["default"] is None


def test_the_hint_stands_where_the_official_pipeline_puts_it(official_bfcl: None) -> None:
    item = task("multi_turn_miss_func_0")
    ((turn, late),) = item.withheld.items()
    for name, tool in tools(item, "official").items():
        assert tool.description.endswith("Python 3 syntax.") == (name not in late)
    shown = handed_over(item, turn, "official")
    assert shown == str([item.docs[name] for name in late])
    assert shown.startswith("[{'name': '" + late[0])
    assert handover_sentence(item).endswith("What about now?")
    assert handed_over(item, turn, "compact").startswith(f"{late[0]}(")


def test_mini_has_words_of_its_own() -> None:
    item = task("mini_home_0")
    text = system_prompt(item, "official")
    assert "{functions}" not in text
    assert json.dumps(item.docs["turn_on"], indent=4).splitlines()[1] in text
    assert "turn_on(device: str)" in system_prompt(item, "compact")
    assert handover_sentence(item)
