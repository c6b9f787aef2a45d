from __future__ import annotations

from typing import Any

import pytest

from agentenvs.harness import Outcomes
from agentenvs.harness.report.gather import Findings, find
from agentenvs.harness.report.played import called, played, title_of

pytestmark = pytest.mark.usefixtures("few_pilots")


def _run(hits: int, **settings: Any) -> Outcomes:
    rows = [{"task_id": "a", "rollout": at, "success": at < hits} for at in range(4)]
    return Outcomes(rows, settings)


def _found(one: dict[str, Any], two: dict[str, Any], **more: Any) -> Findings:
    return find(_run(1, **one), _run(3, **two), **more)


def _policy(name: str, **more: Any) -> dict[str, Any]:
    return {"env_id": "agentenvs/BFCLv4-v0", "tasks": "mini", "policy": {"name": name, **more}}


def test_titles_name_the_benchmark_and_both_models() -> None:
    assert title_of(_found(_policy("a"), _policy("b"))) == "BFCLv4 mini: a \u2192 b"
    scripted = _found(_policy("a", scripted=True), _policy("b", scripted=True))
    assert title_of(scripted) == "BFCLv4 mini: a and b"
    assert title_of(_found({"env_id": "own/Env"}, {"env_id": "own/Env"})) == (
        "Env: what post-training cost"
    )


def test_files_tell_arms_apart_that_have_one_policy_or_none() -> None:
    names = ("x/base.jsonl", "x/post.jsonl")
    assert called(_found({}, {}, names=names)) == names
    assert called(_found({}, {})) == ("unnamed", "unnamed")
    assert called(_found(_policy("a"), _policy("a"), names=names)) == (
        "a, x/base.jsonl",
        "a, x/post.jsonl",
    )
    assert called(_found(_policy("a"), _policy("b"), names=names)) == ("a", "b")


def test_what_differs_is_not_said_to_be_played() -> None:
    told = played(_found({"sampling": {"temperature": 1}}, {"sampling": {"temperature": 0.5}}))
    assert told == ""
    one = {"env_id": "agentenvs/ToolLab-v0", "tasks": "mini"}
    assert played(_found(one, {**one, "tasks": "train"})) == "Played: ToolLab."


@pytest.mark.parametrize("odd", [10**400, float("inf"), float("nan"), True, "hot", None, [1], -1])
def test_odd_settings_are_left_out(odd: Any) -> None:
    settings = {"sampling": {"temperature": odd, "max_tokens": odd}, "env_id": odd, "tasks": odd}
    told = played(_found(settings, settings))
    assert told == ("Played: hot hot." if odd == "hot" else "")
