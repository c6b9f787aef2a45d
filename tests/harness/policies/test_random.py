from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from agentenvs import registry
from agentenvs.core import Tool
from agentenvs.errors import BadArgument, PolicyError
from agentenvs.harness import Completion, Request, make_policy, run
from agentenvs.harness.policies import RandomPolicy

TOOL: Mapping[str, Any] = Tool(
    "mix",
    "",
    {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["red", "blue"]},
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "on": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}},
            "box": {"type": "dict", "properties": {"width": {"type": "float"}}},
            "note": {"type": ["null", "string"]},
        },
        "required": ["kind", "count", "share", "on", "names", "box", "note"],
    },
).schema()


def ask(seed: int, **settings: Any) -> Completion:
    return asyncio.run(RandomPolicy(**settings).generate(Request(tools=(TOOL,), seed=seed)))


def test_arguments_have_the_types_that_the_tool_asks_for() -> None:
    for seed in range(50):
        calls = ask(seed, words=0.0).tool_calls
        assert calls
        for call in calls:
            values = call.arguments
            assert list(values) == list(TOOL["parameters"]["properties"])
            assert values["kind"] in ("red", "blue")
            assert type(values["count"]) is int
            assert type(values["share"]) is float
            assert type(values["on"]) is bool
            assert all(isinstance(name, str) for name in values["names"])
            assert type(values["box"]["width"]) is float
            assert values["note"] is None or isinstance(values["note"], str)


def test_the_requests_seed_decides() -> None:
    assert ask(1) == ask(1)
    assert len({str(ask(seed).tool_calls) for seed in range(20)}) > 10


def test_words_are_as_frequent_as_asked_for() -> None:
    assert {ask(seed, words=1.0).text for seed in range(5)} == {"Done."}
    said = sum(ask(seed, words=0.5).text == "Done." for seed in range(400))
    assert 150 < said < 250


def test_without_tools_there_are_words() -> None:
    assert asyncio.run(RandomPolicy(words=0.0).generate(Request(seed=1))).text == "Done."


@pytest.mark.parametrize("parser", ["official", "native", "strict", "relaxed"])
def test_every_parser_reads_its_calls(parser: str) -> None:
    outcomes = run("BFCLv4", "random", tasks="mini", parser=parser, max_requests=5)
    counts = [row["parse"] for row in outcomes]
    assert sum(count["calls"] for count in counts) > len(registry.tasks("BFCLv4", "mini"))
    # The official decoder refuses an empty dictionary.
    assert parser == "official" or sum(count["malformed"] for count in counts) == 0


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(BadArgument, match="words"):
        RandomPolicy(words=2.0)
    with pytest.raises(BadArgument, match="most_calls"):
        RandomPolicy(most_calls=0)
    with pytest.raises(PolicyError, match="nothing after"):
        make_policy("random:3")


@pytest.mark.parametrize("env_id", ["BFCLv4", "WebShop"])
def test_calls_are_read_under_every_harness(env_id: str) -> None:
    tasks = registry.tasks(env_id, "mini")[:4]
    for harness in ("none", "light"):
        policy = RandomPolicy(words=0.0)
        outcomes = run(env_id, policy, tasks=tasks, harness=harness, max_requests=4)
        assert outcomes.parse_totals()["calls"] > 0
        assert outcomes.parse_totals()["malformed"] == 0
