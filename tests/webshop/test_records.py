from __future__ import annotations

from typing import Any

import pytest

from agentenvs.errors import BadArgument
from agentenvs.webshop.records import Goal

RECORD: dict[str, Any] = {
    "asin": "M000000001",
    "category": "garden",
    "query": "blankets",
    "name": "Wool Blanket",
    "product_category": "Home",
    "instruction_text": "find me a blanket",
    "attributes": ["machine wash"],
    "price_upper": 40,
    "goal_options": {"color": "blue"},
    "weight": 1,
}


@pytest.mark.parametrize("options", [{"color": "blue"}, ["blue", "large"], {}, []])
def test_a_goal_is_what_its_record_says(options: Any) -> None:
    record = {**RECORD, "goal_options": options}
    assert Goal.of(record).as_record() == record


def test_weight_may_be_left_out_and_other_keys_are_ignored() -> None:
    record = {key: value for key, value in RECORD.items() if key != "weight"}
    assert Goal.of({**record, "uuid": 3}).weight == 1.0


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("asin", None, r"goal\['asin'\] to be a str, got None"),
        ("attributes", "machine wash", "to be a list"),
        ("attributes", [3], "to be str, got 3"),
        ("goal_options", "blue", "to be a dict or a list"),
        ("goal_options", [["color", "blue"]], "to be str, got"),
        ("goal_options", {"color": ["blue"]}, "to be str, got"),
        ("goal_options", {3: "blue"}, "to be str, got 3"),
        ("price_upper", "40", "to be a number"),
        ("price_upper", True, "to be a number"),
        ("price_upper", float("nan"), "to be a number"),
        ("weight", None, "to be a number"),
    ],
)
def test_what_is_wrong_is_named(key: str, value: Any, told: str) -> None:
    with pytest.raises(BadArgument, match=told):
        Goal.of({**RECORD, key: value})


def test_a_goal_that_is_no_dict() -> None:
    with pytest.raises(BadArgument, match="to be a dict, got <class 'list'>"):
        Goal.of([])  # type: ignore[arg-type]
