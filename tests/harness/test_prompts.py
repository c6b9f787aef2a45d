from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core import Message, Tool
from agentenvs.errors import BadArgument, UnknownName
from agentenvs.harness import Light, Plain
from agentenvs.harness.prompts import EXAMPLES, as_chat, prompt
from agentenvs.harness.stubs import StubCache, stub, stubs

ADD = {
    "name": "add",
    "description": "Add two numbers.",
    "parameters": {
        "type": "object",
        "properties": {
            "b": {"type": "integer", "default": 1},
            "a": {"type": "integer", "description": "the first\n one"},
        },
        "required": ["a"],
    },
}
INFO: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Add 2 and 3."}],
    "tools": [ADD],
    "system": "Official words.",
    "policy": "Be kind.",
}


def test_a_stub_puts_required_parameters_first() -> None:
    assert stub(ADD).splitlines()[0] == "def add(a: int, b: int = 1):"


def test_a_stub_reads_as_python() -> None:
    compile(stub(ADD), "stub", "exec")
    compile(stub({"name": "bare", "parameters": {"type": "object"}}), "stub", "exec")


def test_a_stub_joins_descriptions_into_one_line() -> None:
    assert "    a: the first one" in stub(ADD)


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string", "enum": ["x", "y"]}, "Literal['x', 'y']"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"type": "array", "items": {"type": "number"}}, "list[float]"),
        ({"type": "array"}, "list"),
        ({}, "Any"),
    ],
)
def test_types_are_shown(schema: dict[str, Any], shown: str) -> None:
    tool = Tool("f", "", {"type": "object", "properties": {"x": schema}, "required": ["x"]})
    assert f"(x: {shown})" in stub(tool)


def test_a_docstring_cannot_be_closed_from_within() -> None:
    assert stub({"name": "f", "description": 'a """ b'}).count('"""') == 2


def test_the_cache_tells_changed_tools_from_known_ones() -> None:
    cache = StubCache()
    changed = {**ADD, "description": "Add."}
    assert cache([ADD]) == stubs([ADD])
    assert cache([changed]) == stubs([changed])
    assert cache([ADD, changed]) == stubs([ADD, changed])


def test_the_cache_keeps_no_reference_to_a_callers_schema() -> None:
    cache = StubCache()
    own = {**ADD, "parameters": {"type": "object", "properties": {}}}
    cache([own])
    own["parameters"]["properties"]["late"] = {"type": "string"}  # type: ignore[index]
    assert "late: str" in cache([own])


def test_light_shows_tools_policy_and_contract_but_not_the_official_words() -> None:
    system, user = Light().opening("Add 2 and 3.", INFO)
    assert "def add(a: int" in system["content"]
    assert "Be kind." in system["content"]
    assert "one list of calls" in system["content"]
    assert "Official words." not in system["content"]
    assert user == {"role": "user", "content": "Add 2 and 3."}


def test_plain_shows_the_official_words_alone() -> None:
    assert Plain().opening("Add 2 and 3.", INFO) == [
        {"role": "system", "content": "Official words."},
        {"role": "user", "content": "Add 2 and 3."},
    ]


def test_plain_keeps_roles_where_the_benchmark_says_so() -> None:
    messages: list[Message] = [{"role": "tool", "content": "k3"}]
    news = Plain().news("k3", {"messages": messages, "own_roles": True})
    assert news == messages
    assert news[0] is not messages[0]
    assert as_chat(news, tool_role=Plain.tool_role) == messages
    assert Plain().news("k3", {"messages": messages}) == [{"role": "user", "content": "k3"}]


def test_examples_go_before_the_conversation() -> None:
    messages = Light(2).opening("Add 2 and 3.", INFO)
    assert [m["role"] for m in messages[1:9]] == ["user", "assistant", "tool", "assistant"] * 2
    assert messages[-1]["content"] == "Add 2 and 3."


@pytest.mark.parametrize("examples", [-1, len(EXAMPLES) + 1, "two", 1.0])
def test_a_number_of_examples_out_of_range_is_refused(examples: Any) -> None:
    with pytest.raises(BadArgument, match="examples"):
        Light(examples)


def test_the_benchmarks_own_prompt_takes_no_examples() -> None:
    with pytest.raises(BadArgument, match="examples"):
        prompt("none", 1)


def test_an_unknown_prompt_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'light'"):
        prompt("lite")


def test_settings_change_with_the_wording() -> None:
    class Other(Light):
        headings: ClassVar[Mapping[str, str]] = {**Light.headings, "user": "You:"}

    assert Light().describe() == {"name": "light", "wording": Light().describe()["wording"]} | {
        "examples": 0
    }
    assert Other().describe()["wording"] != Light().describe()["wording"]
    assert Light(1).describe() != Light().describe()


def test_settings_change_with_the_layout() -> None:
    class Wider(Light):
        def block(self, message: Message) -> str:
            return super().block(message) + "\n"

    assert Wider().describe()["wording"] != Light().describe()["wording"]


def test_several_results_become_one_message() -> None:
    results: list[Message] = [{"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}]
    assert Light().news("", {"messages": results}) == [{"role": "tool", "content": "1\n2"}]


def test_text_is_the_messages_one_after_another() -> None:
    light = Light()
    messages = light.opening("Add 2 and 3.", INFO)
    text = light.text(messages)
    assert text == "".join(map(light.block, messages)) + light.cue
    assert text.endswith("\n\nUser:\nAdd 2 and 3.\nAssistant:\n")


roles = st.sampled_from(["user", "assistant", "tool"])


@given(st.lists(st.tuples(roles, st.text(max_size=5)), max_size=12))
def test_chat_messages_alternate_and_lose_nothing(turns: list[tuple[Any, str]]) -> None:
    messages: list[Message] = [{"role": "system", "content": "s"}]
    messages += [{"role": role, "content": content} for role, content in turns]
    chat = as_chat(messages)
    said = [message["role"] for message in chat]
    assert said[0] == "system"
    assert set(said[1:]) <= {"user", "assistant"}
    assert all(one != two for one, two in itertools.pairwise(said))
    for message in messages:
        assert any(message["content"] in shown["content"] for shown in chat)


def test_both_prompts_work_on_a_benchmark() -> None:
    env = gymnasium.make("agentenvs:agentenvs/BFCLv4-v0", tasks="mini")
    observation, info = env.reset(seed=0)
    for shown in (Light(), Plain()):
        roles = [message["role"] for message in shown.opening(observation, info)]
        assert roles == ["system", "user"]
