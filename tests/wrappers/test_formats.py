"""One line of `formats.jsonl` is one reply and the calls that have to be read from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LINES = Path(__file__).with_name("formats.jsonl").read_text(encoding="utf-8").splitlines()
CASES = [json.loads(line) for line in LINES]


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{case['family']}-{place}" for place, case in enumerate(CASES, 1)]
)
def test_reply_gives_these_calls_and_no_others(
    pairs: Callable[[str], Any], case: dict[str, Any]
) -> None:
    assert [list(pair) for pair in pairs(case["text"])] == case["calls"]
