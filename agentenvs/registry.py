"""Environment ids, named task sets, and vector environments with a task each."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Literal

import gymnasium
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from agentenvs.core import Rules, check_rules
from agentenvs.errors import BadArgument, UnknownName, did_you_mean

__all__ = [
    "WORLDS",
    "World",
    "clusters",
    "data_version",
    "gold_actions",
    "make_vec",
    "register",
    "task_sets",
    "tasks",
    "unsolvable",
    "world",
]


@dataclass(frozen=True, slots=True)
class World:
    """One registered benchmark.

    Attributes:
        id: the Gymnasium id.
        entry_point: `module:class` of the environment.
        module: the package that answers `task_sets()`, `task_ids(name)`,
            `gold_actions(task_id)` and `data_version(name)`; and, where its tasks hang together
            or some cannot be solved, `clusters(task_ids)` and `unsolvable(rules)`.
        summary: one line for listings.
        default_tasks: the task set of a bare `gymnasium.make`.
        task_options: arguments of the environment that decide which tasks there are; the
            package's functions take them too, and with one of them `task_ids(None)` stands for
            the set that the environment then uses.
        concurrency: how many of its episodes a runner has under way at a time by default.
    """

    id: str
    entry_point: str
    module: str
    summary: str
    default_tasks: str
    task_options: tuple[str, ...] = ()
    concurrency: int = 64

    def default(self, options: Mapping[str, Any]) -> str | None:
        """Return the task set of an environment that is made with `options`."""
        return (
            None
            if any(options.get(key) is not None for key in self.task_options)
            else (self.default_tasks)
        )

    def load(self) -> ModuleType:
        """Import and return the world's package."""
        return importlib.import_module(self.module)


WORLDS: Mapping[str, World] = {
    world.id: world
    for world in (
        World(
            "agentenvs/BFCLv4-v0",
            "agentenvs.bfcl.env:BFCLEnv",
            "agentenvs.bfcl",
            "BFCL v4 multi-turn: stateful tool use over 1 to 8 user turns",
            "base",
        ),
        World(
            "agentenvs/WebShop-v0",
            "agentenvs.webshop.env:WebShopEnv",
            "agentenvs.webshop",
            "WebShop: find and buy a product that fits an instruction",
            "mini",
            ("catalog",),
        ),
        World(
            "agentenvs/WebShopBrowser-v0",
            "agentenvs.webshop.browser:WebShopBrowserEnv",
            "agentenvs.webshop",
            "WebShop in a headless Chromium: the same tasks, actions and rewards",
            "mini",
            ("catalog",),
            concurrency=2,
        ),
        World(
            "agentenvs/ACEBench-v0",
            "agentenvs.acebench.env:ACEBenchEnv",
            "agentenvs.acebench",
            "ACEBench: calls judged by reference, agents by the world they leave; en and zh",
            "agent",
        ),
        World(
            "agentenvs/ToolLab-v0",
            "agentenvs.toollab.env:ToolLabEnv",
            "agentenvs.toollab",
            "ToolLab: errands by convention and exception; demonstrations are fully known",
            "train",
            ("world",),
        ),
        World(
            "agentenvs/FrozenLakeText-v0",
            "agentenvs.frozenlake.env:FrozenLakeTextEnv",
            "agentenvs.frozenlake",
            "FrozenLakeText: cross Gymnasium's slippery lake, the map and the moves in words",
            "train",
        ),
    )
}


def register() -> None:
    """Register every id with Gymnasium; harmless when repeated."""
    for item in WORLDS.values():
        if item.id not in gymnasium.registry:
            gymnasium.register(id=item.id, entry_point=item.entry_point)


def world(env_id: str) -> World:
    """Return the world behind an id; the `agentenvs/` prefix and `-v0` may be left out.

    Raises:
        UnknownName: there is none, with the closest known id.
    """
    name = env_id.removeprefix("agentenvs:")
    for item in WORLDS.values():
        short = item.id.removeprefix("agentenvs/")
        if name in (item.id, short, short.rsplit("-v", 1)[0]):
            return item
    known = list(WORLDS)
    if "/" not in name:
        # Beside a short name the long ones all look alike.
        known = [id.removeprefix("agentenvs/").rsplit("-v", 1)[0] for id in known]
    raise UnknownName(f"There is no environment {env_id!r}.{did_you_mean(name, known)}")


def task_sets(env_id: str) -> dict[str, str]:
    """Return the named task sets of an environment, each with a one-line description."""
    return dict(world(env_id).load().task_sets())


def tasks(env_id: str, tasks: str | Sequence[str] | None = None, **options: Any) -> list[str]:
    """Return the task ids of a named set, in order.

    Args:
        env_id: a registered id.
        tasks: a name from `task_sets(env_id)`, or a list of task ids, which is checked
            against the official ones; default the set that `gymnasium.make` uses.
        options: arguments of the environment that decide which tasks there are, `catalog` of
            WebShop say.

    Raises:
        UnknownName: there is no such set or task.
        BadArgument: an option of another kind.
    """
    item = world(env_id)
    return list(item.load().task_ids(_named(item, tasks, options), **options))


def gold_actions(env_id: str, task: str, **options: Any) -> list[str]:
    """Return action texts that solve a task, one a step, for tests and scripted policies."""
    item = world(env_id)
    _named(item, None, options)
    return list(item.load().gold_actions(task, **options))


def data_version(env_id: str, tasks: str | Sequence[str] | None = None, **options: Any) -> str:
    """Return a short hash of the data that the tasks of a set come from."""
    item = world(env_id)
    return str(item.load().data_version(_named(item, tasks, options), **options))


def clusters(env_id: str, tasks: Sequence[str], **options: Any) -> list[str]:
    """Return a label for each task: tasks of one label are no independent draws.

    ACEBench repeats instructions, WebShop makes several goals of a product, BFCL varies its base
    tasks, and ToolLab asks for each errand and item with several counts.

    Args:
        env_id: a registered id.
        tasks: T task ids.
        options: arguments of the environment that decide which tasks there are.

    Returns:
        T labels; a task's own id where it shares nothing.

    Raises:
        UnknownName: there is no such environment or task.
        SourceError: official data that tells is not to be had.
    """
    item = world(env_id)
    _named(item, None, options)
    find = getattr(item.load(), "clusters", None)
    return list(tasks) if find is None else list(find(tasks, **options))


def unsolvable(env_id: str, rules: Rules = "official") -> dict[str, str]:
    """Return the tasks of an environment that are known to be out of reach, each with the reason.

    Args:
        env_id: a registered id.
        rules: those that verdicts are judged by.

    Raises:
        UnknownName: there is no such environment.
        BadArgument: unknown rules.
    """
    check_rules(rules)
    find = getattr(world(env_id).load(), "unsolvable", None)
    return {} if find is None else dict(find(rules))


def _named(
    item: World, tasks: str | Sequence[str] | None, options: Mapping[str, Any]
) -> str | Sequence[str] | None:
    for key in options:
        if key not in item.task_options:
            known = ", ".join(map(repr, item.task_options)) or "none"
            raise BadArgument(
                f"Expected only options that decide the tasks of {item.id} ({known}), got {key!r}."
            )
    return item.default(options) if tasks is None else tasks


def make_vec(
    env_id: str,
    task_ids: Sequence[str],
    *,
    mode: Literal["sync", "async"] = "sync",
    vector_kwargs: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> VectorEnv[Any, Any, Any]:
    """Return a vector environment whose sub-environments play one given task each.

    Args:
        env_id: a registered id.
        task_ids: one task for each sub-environment; repeats are allowed.
        mode: "sync" (right for these environments, whose steps take microseconds) or "async".
        vector_kwargs: further arguments of Gymnasium's vector class, `autoreset_mode` say.
        kwargs: arguments of the environment.

    Raises:
        BadArgument: no task, or an unknown mode.
    """
    if not task_ids:
        raise BadArgument("Expected `task_ids` to name at least one task, got none.")
    item = world(env_id)
    makers: list[Callable[[], gymnasium.Env[Any, Any]]] = [
        partial(gymnasium.make, f"agentenvs:{item.id}", task=task, **kwargs) for task in task_ids
    ]
    options = dict(vector_kwargs or {})
    if mode == "sync":
        return SyncVectorEnv(makers, **options)
    if mode == "async":
        return AsyncVectorEnv(makers, **{"shared_memory": False, **options})
    raise BadArgument(f"Expected `mode` to be 'sync' or 'async', got {mode!r}.")
