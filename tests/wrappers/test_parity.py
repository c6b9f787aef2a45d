from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from agentenvs.wrappers import PARSE_REASONS, Toolset, parse_tool_calls


@pytest.fixture(scope="module")
def cases(parity: Path) -> list[dict[str, object]]:
    with gzip.open(parity / "parser_cases.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_every_recorded_case_agrees(parity: Path, cases: list[dict[str, object]]) -> None:
    tools = json.loads((parity / "parser_tools.json").read_text(encoding="utf-8"))
    wrong = []
    for case in cases:
        parse = parse_tool_calls(str(case["raw"]), tools)
        calls = [call.as_dict() for call in parse.calls]
        wanted = case["calls"] or []
        status = parse.status == "calls" if wanted else parse.status != "calls"
        if calls != wanted or not status:
            wrong.append((case["id"], calls, parse.status, parse.reason))
    assert cases
    assert wrong == []


def test_every_refusal_has_a_kind(parity: Path, cases: list[dict[str, object]]) -> None:
    tools = Toolset(json.loads((parity / "parser_tools.json").read_text(encoding="utf-8")))
    for case in cases:
        parse = parse_tool_calls(str(case["raw"]), tools)
        assert (parse.status == "malformed") <= bool(parse.reason)
        if parse.reason:
            assert parse.reason.partition(":")[0] in PARSE_REASONS
