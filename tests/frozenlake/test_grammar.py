from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core import ToolCall
from agentenvs.frozenlake.grammar import TOOLS, Reading, read, schemas, write
from agentenvs.frozenlake.lakes import MOVES


def as_json(*calls: tuple[str, dict[str, Any]], content: str | None = None) -> str:
    items = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return json.dumps({"content": content, "tool_calls": items})


def way(direction: Any) -> tuple[str, dict[str, Any]]:
    return ("move", {"direction": direction})


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("left", (0,)),
        ("down right", (1, 2)),
        ("down, right", (1, 2)),
        ("down,right", (1, 2)),
        (" up\n\tup\u3000", (3, 3)),
        ("right,\nleft,", (2, 0)),
        (as_json(way("left")), (0,)),
        (as_json(way("down"), way("right"), content="There I go."), (1, 2)),
        ('[{"name": "move", "arguments": {"direction": "up"}}]', (3,)),
    ],
)
def test_moves(text: str, moves: tuple[int, ...]) -> None:
    assert read(text, 2) == Reading("calls", moves)
    assert read(text, 2).parse == {"status": "calls", "reason": ""}


def test_further_moves_are_left_out_and_reported() -> None:
    for text in ("down right down", as_json(way("down"), way("right"), way("north"))):
        assert read(text, 2) == Reading("calls", (1, 2), "only 2 of 3 are carried out")
    assert read("left left", 1) == Reading("calls", (0,), "only 1 of 2 are carried out")
    assert read("left left left", 3).reason == ""
    assert len(read("up " * 30_000, 2).moves) == 2


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", ",", "Left", "left.", "down then right", "left;right", "leftright", "l"),
        *("[left]", '["left"]', '{"direction": "left"}', '"left"', "move left", "left\x00"),
        *("[]", '{"tool_calls": []}', '{"tool_calls": null}', as_json(content="left")),
    ],
)
def test_anything_else_is_words(text: str) -> None:
    assert read(text, 2) == Reading("words")


def test_calls_that_do_not_read() -> None:
    assert read('{"tool_calls": "left"}', 2) == Reading(
        "malformed", reason="tool_calls is not a list"
    )
    assert read("[{}]", 2).status == "malformed"


@pytest.mark.parametrize(
    "call",
    [
        *map(way, ("north", "Left", "left right", "", 1, None, ["left"], {"left": 1})),
        ("move", {}),
        ("move", {"direction": "left", "steps": 2}),
        ("move", {"way": "left"}),
        ("go", {"direction": "left"}),
    ],
)
def test_a_wrong_call_is_reported_and_moves_nothing(call: tuple[str, dict[str, Any]]) -> None:
    assert read(as_json(call), 2) == Reading("calls", (), "call 1 is no move")
    assert read(as_json(way("up"), call), 2) == Reading("calls", (3,), "call 2 is no move")
    both = read(as_json(call, way("up"), way("up")), 2)
    assert both == Reading("calls", (3,), "call 1 is no move; only 2 of 3 are carried out")


def test_a_line_of_moves_is_written_where_it_says_the_same() -> None:
    moves = [ToolCall(*way("down")), ToolCall(*way("left"))]
    assert write(moves, "so") == "down left"
    assert json.loads(write([*moves, ToolCall("go", {})], "so"))["content"] == "so"
    assert read(write([], "left"), 2) == Reading("words")


@given(
    st.lists(
        st.builds(
            ToolCall,
            st.sampled_from(["move", "go"]),
            st.dictionaries(
                st.sampled_from(["direction", "way"]),
                st.sampled_from([*MOVES, "north", "", "left up", 3, None]),
            ),
        ),
        max_size=4,
    ),
    st.integers(1, 4),
)
def test_what_is_written_reads_as_the_calls(calls: list[ToolCall], limit: int) -> None:
    canonical = as_json(*((call.name, call.arguments) for call in calls))
    assert read(write(calls), limit) == read(canonical, limit)


@given(st.text() | st.text("leftdownrighup ,\n"), st.integers(1, 9))
def test_any_text_reads(text: str, limit: int) -> None:
    reading = read(text, limit)
    assert len(reading.moves) <= limit
    assert not reading.moves or reading.status == "calls"


@given(
    st.lists(st.sampled_from(MOVES), min_size=1, max_size=6),
    st.lists(st.sampled_from([" ", ",", ", ", "\n", " ,\t"]), min_size=6, max_size=6),
    st.integers(1, 6),
)
def test_lines_of_moves_with_any_separators(words: list[str], gaps: list[str], limit: int) -> None:
    text = "".join(word + gap for word, gap in zip(words, gaps, strict=False))
    assert re.split(r"[\s,]+", text.strip(" ,\n\t")) == words
    assert [MOVES[move] for move in read(text, limit).moves] == words[:limit]
    assert bool(read(text, limit).reason) is (len(words) > limit)


def test_the_tool() -> None:
    assert [tool.name for tool in TOOLS] == ["move"]
    assert TOOLS[0].parameters["properties"]["direction"]["enum"] == list(MOVES)


def test_schemas_are_those_of_the_tools_and_fresh() -> None:
    assert schemas() == [tool.schema() for tool in TOOLS]
    schemas()[0]["parameters"]["required"].clear()
    assert schemas() == [tool.schema() for tool in TOOLS]
