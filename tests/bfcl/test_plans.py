from __future__ import annotations

import pytest

from agentenvs.bfcl import gold, gold_actions
from agentenvs.bfcl.decoding import decode
from agentenvs.bfcl.plans import END_OF_TURN
from agentenvs.bfcl.prompts import tools
from agentenvs.bfcl.tasks import task, task_ids
from agentenvs.errors import UnknownName


def test_unknown_tasks_are_named() -> None:
    with pytest.raises(UnknownName):
        gold("mini_home_x")
    with pytest.raises(UnknownName):
        gold_actions("mini_home_x")


def test_gold_is_a_fresh_copy() -> None:
    plan = gold("mini_home_0")
    plan[0].clear()
    assert gold("mini_home_0")[0]


@pytest.mark.parametrize("tasks", ["mini", "base", "miss_func", "miss_param", "long_context"])
def test_actions_read_alike_under_both_decodings(
    request: pytest.FixtureRequest, tasks: str
) -> None:
    if tasks != "mini":
        request.getfixturevalue("official_bfcl")
    for name in task_ids(tasks):
        actions = gold_actions(name)
        assert actions.count(END_OF_TURN) == task(name).turns
        offer = tools(task(name), "official")
        for action in actions:
            native, official = (decode(action, d, offer) for d in ("native", "official"))
            assert native.status == official.status
            assert len(native.calls) == len(official.calls)
