from __future__ import annotations

from agentenvs.harness.report.parsing import reading
from agentenvs.harness.report.settings import side_by_side


def _kinds(base: dict[str, object], post: dict[str, object]) -> dict[str, str]:
    return {one.name: one.kind for one in side_by_side(base, post)}


def test_differences_that_matter_are_told_from_those_by_design() -> None:
    base = {"harness": "light", "seed": 0, "policy": {"name": "a", "top_k": 1}}
    post = {"harness": "none", "seed": 1, "policy": {"name": "b", "top_k": 2}}
    assert _kinds(base, post) == {
        "harness": "differs",
        "seed": "expected",
        "policy.name": "expected",
        "policy.top_k": "differs",
    }


def test_nested_settings_are_dotted_and_lists_of_tasks_left_out() -> None:
    settings = {"sampling": {"temperature": 1.0}, "task_ids": ["a"], "env_kwargs": {}, "n": None}
    found = side_by_side(settings, settings)
    assert [(one.name, one.base) for one in found] == [
        ("sampling.temperature", "1.0"),
        ("env_kwargs", "{}"),
        ("n", "null"),
    ]
    assert {one.kind for one in found} == {"same"}


def test_a_setting_that_one_arm_lacks_is_a_difference() -> None:
    (one,) = side_by_side({"parser": "relaxed"}, {})
    assert (one.base, one.post, one.kind) == ('"relaxed"', None, "differs")


def test_readings_count_replies() -> None:
    totals = {"calls": 3, "words": 2, "malformed": 1, "rescued": 2, "steps": 9}
    found = reading(totals)
    assert found is not None
    assert (found.replies, found.rescued, found.strict) == (6, 2, 0)
    assert found.cut is None
    told = reading({**totals, "cut": 4})
    assert told is not None
    assert told.cut == 4
    assert reading({}) is None
    assert reading({"calls": 0, "words": 0}) is None
