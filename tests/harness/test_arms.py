from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs import registry, tasks
from agentenvs.bfcl import BFCLEnv
from agentenvs.errors import BadArgument, UnknownName
from agentenvs.harness import Light, run
from agentenvs.harness.arms import PARSERS, arm
from agentenvs.wrappers import RelaxedToolCalls


def test_light_reads_relaxed() -> None:
    chosen = arm("BFCLv4", tasks="mini")
    assert (chosen.prompt.name, chosen.parser) == ("light", "relaxed")
    env = chosen.make_env()
    assert isinstance(env, RelaxedToolCalls)
    assert env.mode == "relaxed"


def test_none_is_the_benchmarks_own_decoding() -> None:
    chosen = arm("BFCLv4", tasks="mini", harness="none")
    assert (chosen.prompt.name, chosen.parser) == ("none", "official")
    env = chosen.make_env()
    assert not isinstance(env, RelaxedToolCalls)
    assert isinstance(env.unwrapped, BFCLEnv)
    assert env.unwrapped.decoding == "official"


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("prompt", ["none", "light"])
def test_prompt_and_parser_cross(prompt: str, parser: str) -> None:
    chosen = arm("BFCLv4", tasks="mini", prompt=prompt, parser=parser)
    env = chosen.make_env()
    assert chosen.prompt.name == prompt
    assert isinstance(env, RelaxedToolCalls) == (parser in ("relaxed", "strict"))
    assert isinstance(env.unwrapped, BFCLEnv)
    assert env.unwrapped.decoding == ("official" if parser == "official" else "native")


def test_the_settings_name_the_arm_and_its_tasks() -> None:
    settings = arm("BFCLv4", tasks="mini", env_kwargs={"docs": "compact"}).describe()
    assert settings["env_id"] == "agentenvs/BFCLv4-v0"
    defaults = {"rules": "official", "reward": "success", "decoding": "native"}
    limits = {"max_steps_per_turn": 20, "exclude": ()}
    assert settings["env_kwargs"] == {**defaults, **limits, "docs": "compact"}
    assert settings["task_ids"] == tasks("BFCLv4", "mini")
    assert settings["data"]


def test_the_settings_tell_lists_of_tasks_apart() -> None:
    names = tasks("BFCLv4", "mini")
    one = arm("BFCLv4", tasks=names[:3]).describe()
    two = arm("BFCLv4", tasks=names[1:4]).describe()
    assert one["task_ids"] == names[:3]
    assert one["task_hash"] != two["task_hash"]


@pytest.mark.parametrize(
    ("kwargs", "error", "told"),
    [
        ({"harness": "lite"}, UnknownName, "Did you mean 'light'"),
        ({"prompt": "lite"}, UnknownName, "Did you mean 'light'"),
        ({"parser": "relax"}, UnknownName, "Did you mean 'relaxed'"),
        ({"tasks": "minis"}, UnknownName, "mini"),
        ({"tasks": []}, BadArgument, "at least one task"),
        ({"harness": "none", "examples": 1}, BadArgument, "examples"),
        ({"prompt": Light(), "examples": 1}, BadArgument, "examples"),
        ({"env_kwargs": {"dox": 1}}, BadArgument, "takes no argument 'dox'"),
        ({"env_kwargs": {"rules": "x"}}, BadArgument, "`rules`"),
        ({"env_kwargs": {"task": "x"}}, BadArgument, "`tasks`"),
        ({"harness": "none", "env_kwargs": {"decoding": "native"}}, BadArgument, "'native'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    kwargs: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        arm("BFCLv4", **{"tasks": "mini", **kwargs})


def test_an_unknown_environment_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="BFCLv4"):
        arm("BFCLv5")


def test_a_task_that_is_given_twice_is_refused() -> None:
    name = tasks("BFCLv4", "mini")[0]
    with pytest.raises(BadArgument, match="twice"):
        arm("BFCLv4", tasks=[name, name])


def test_an_environment_of_another_package_lists_its_own_tasks(ledger: ModuleType) -> None:
    chosen = arm(ledger.ID, harness="none")
    assert chosen.task_ids == ledger.TASKS
    assert chosen.env_kwargs == {"decoding": "official"}
    assert arm(ledger.ID, tasks=["ledger_3"]).task_ids == ("ledger_3",)


def test_another_packages_environment_has_no_named_sets(ledger: ModuleType) -> None:
    with pytest.raises(BadArgument, match="list of task ids"):
        arm(ledger.ID, tasks="mini")


def test_episodes_with_a_browser_are_few_at_a_time() -> None:
    assert arm("BFCLv4", tasks="mini").concurrency == 64
    assert registry.world("WebShopBrowser").concurrency == 2


def test_catalog_decides_the_tasks_and_is_no_setting_that_must_agree(tmp_path: Path) -> None:
    made = arm("WebShop", env_kwargs={"catalog": "mini"})
    assert made.tasks == ""
    assert made.task_ids[0] == "mini/synthetic/0"
    settings = made.describe()
    assert settings["task_options"] == {"catalog": "mini"}
    assert "catalog" not in settings["env_kwargs"]
    assert made.gold(made.env_id, "mini/synthetic/0")
    run("WebShop", "scripted:wide", tasks=["mini/human/0"], out=tmp_path)
    again = {"catalog": "mini"}
    out = run("WebShop", "scripted:wide", tasks=["mini/human/0"], out=tmp_path, env_kwargs=again)
    assert len(out) == 1
