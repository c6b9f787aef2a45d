from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.errors import BadArgument, RunDamaged, RunError
from agentenvs.harness import Light, Outcomes, run
from agentenvs.harness.arms import arm
from agentenvs.harness.replay.recorded_arm import recorded_arm


def settings_of(tmp_path: Path, env_id: str, **kwargs: Any) -> dict[str, Any]:
    run(env_id, lambda prompt: "No.", n=1, max_requests=1, out=tmp_path, **kwargs)
    return Outcomes.load(tmp_path).settings


@pytest.mark.parametrize(
    ("env_id", "how"),
    [
        ("BFCLv4", {"tasks": "mini", "harness": "none"}),
        ("BFCLv4", {"tasks": "mini", "examples": 2, "env_kwargs": {"docs": "compact"}}),
        ("WebShop", {"tasks": ["mini/human/1"], "env_kwargs": {"prices": {"B01": 3.5}}}),
        ("ACEBench", {"tasks": "mini", "harness": "none", "parser": "native"}),
        ("ToolLab", {"env_kwargs": {"world": 3}, "tasks": "mini", "harness": "none"}),
    ],
)
def test_an_arm_comes_back_as_it_was(env_id: str, how: dict[str, Any], tmp_path: Path) -> None:
    made = recorded_arm(settings_of(tmp_path, env_id, **how))
    # As `run.json` has it: with lists for tuples.
    before, after = (
        json.loads(json.dumps(one.describe())) for one in (arm(env_id, **how), made.arm)
    )
    # A list of tasks has no name.
    assert {**after, "tasks": before["tasks"]} == before
    assert made.changed == made.unknown == ()
    assert (made.user, made.shown) == (False, True)


def test_a_policy_as_the_user_is_left_to_the_caller(tmp_path: Path) -> None:
    how: dict[str, Any] = {"tasks": ["mini/agent_multi_turn_0"], "user": lambda messages: "Hm."}
    made = recorded_arm(settings_of(tmp_path, "ACEBench", **how))
    assert made.user
    assert made.changed == ()
    env = made.arm.make_env(user=lambda messages: "Again.")
    assert env.reset(options={"task": "mini/agent_multi_turn_0"})[0] == "Again."


def test_what_comes_out_otherwise_is_told(tmp_path: Path) -> None:
    found = settings_of(tmp_path, "ToolLab", tasks="mini")
    found = {**found, "data": "0123456789ab", "prompt": {**found["prompt"], "wording": "x"}}
    assert recorded_arm(found).changed == (
        'data: "0123456789ab" -> "e317280d8710"',
        f'prompt.wording: "x" -> "{Light().describe()["wording"]}"',
    )


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"env_id": 5}, RunDamaged, "env_id"),
        ({"env_id": "os:agentenvs/ToolLab-v0"}, RunDamaged, "env_id"),
        ({"env_id": "agentenvs/ToolLab-v7"}, RunError, "agentenvs/ToolLab-v0"),
        ({"env_kwargs": []}, RunDamaged, "env_kwargs"),
        ({"env_kwargs": {"colour": "red"}}, RunError, "colour"),
        ({"env_kwargs": {"max_steps": "many"}}, RunError, "max_steps"),
        ({"parser": "loose"}, RunDamaged, "parser"),
        ({"harness": None}, RunDamaged, "harness"),
        ({"prompt": "light"}, RunDamaged, "prompt"),
        ({"prompt": {"name": "light", "examples": 9}}, RunDamaged, "examples"),
        ({"task_ids": []}, RunDamaged, "task_ids"),
        ({"task_ids": ["a", "a"]}, RunDamaged, "task_ids"),
        ({"task_ids": ["nowhere"]}, RunError, "nowhere"),
        ({"task_options": {"world": "four"}}, RunDamaged, "world"),
    ],
)
def test_settings_that_no_arm_can_be_built_from(
    change: dict[str, Any], error: type[Exception], told: str, tmp_path: Path
) -> None:
    found = settings_of(tmp_path, "ToolLab", tasks="mini")
    with pytest.raises(error, match=told):
        recorded_arm({**found, **change})


def test_another_id_is_refused(tmp_path: Path) -> None:
    found = settings_of(tmp_path, "ToolLab", tasks="mini")
    assert recorded_arm(found, env_id="agentenvs:agentenvs/ToolLab-v0").arm.env_id
    with pytest.raises(BadArgument, match="BFCLv4-v0"):
        recorded_arm(found, env_id="agentenvs/BFCLv4-v0")


def test_a_foreign_environment_takes_any_argument_anew(ledger: ModuleType, tmp_path: Path) -> None:
    found = settings_of(tmp_path, ledger.ID, env_kwargs={"max_steps": 9})
    assert recorded_arm(found).arm.env_kwargs["max_steps"] == 9
    made = recorded_arm(found, env_kwargs={"max_steps": 7})
    assert made.arm.env_kwargs["max_steps"] == 7
    assert made.changed == ("env_kwargs.max_steps: 9 -> 7",)
