"""What a run puts to a model: which environment, which prompt, which reading of the reply."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

import gymnasium
from gymnasium.envs.registration import load_env_creator

from agentenvs import registry
from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.harness.prompts import Light, Prompt, prompt

__all__ = ["HARNESSES", "PARSERS", "Arm", "arm"]

#: harness -> (prompt, parser) that it stands for
HARNESSES: Mapping[str, tuple[str, str]] = {
    "light": ("light", "relaxed"),
    "none": ("none", "official"),
}
#: parser -> what reads the model's text
PARSERS: Mapping[str, str] = {
    "official": "the benchmark's own decoding, its quirks included",
    "native": "the environment's strict grammar",
    "strict": "canonical JSON or one Python-style list, with nothing around it",
    "relaxed": "whatever common formats models write, mended where the meaning is clear",
}


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of putting one benchmark's tasks to a model; see `arm`.

    Attributes:
        env_id: the environment's full id.
        tasks: the tasks' set by name, or "" for a list.
        task_ids: the tasks in order.
        data: hash of the tasks' data, or None where the environment does not say.
        harness: "light" or "none": where prompt and parser come from by default.
        prompt: what the model is shown.
        parser: one of `PARSERS`.
        env_kwargs: arguments of the environment.
        task_options: those of them that decide which tasks there are.
    """

    env_id: str
    tasks: str
    task_ids: tuple[str, ...]
    data: str | None
    harness: str
    prompt: Prompt
    parser: str
    env_kwargs: Mapping[str, Any]
    task_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def concurrency(self) -> int:
        """How many of its episodes are under way at a time by default."""
        world = registry.WORLDS.get(self.env_id)
        return 64 if world is None else world.concurrency

    def gold(self, env_id: str, task: str) -> list[str]:
        """Return action texts that solve a task of this arm."""
        return registry.gold_actions(env_id, task, **self.task_options)

    def make_env(self, **more: Any) -> gymnasium.Env[Any, Any]:
        """Return a fresh environment with the parser around it.

        Args:
            more: arguments that go before those of the arm.
        """
        env: gymnasium.Env[Any, Any] = gymnasium.make(
            self.env_id, disable_env_checker=True, **{**self.env_kwargs, **more}
        )
        if self.parser in ("relaxed", "strict"):
            wrappers = importlib.import_module("agentenvs.wrappers")
            env = wrappers.RelaxedToolCalls(env, mode=self.parser)
        return env

    def describe(self) -> dict[str, Any]:
        """Return the settings that a run records."""
        names = "\0".join(self.task_ids).encode()
        world = registry.WORLDS.get(self.env_id)
        # The task list is recorded by itself; what shows an episode changes nothing in it.
        apart = ("tasks", "task", "render_mode", *(world.task_options if world else ()))
        kwargs = {
            key: value
            for key, value in {**_defaults(self.env_id), **self.env_kwargs}.items()
            if key not in apart
        }
        return {
            "env_id": self.env_id,
            "env_kwargs": kwargs,
            "tasks": self.tasks or None,
            "task_hash": hashlib.sha256(names).hexdigest()[:12],
            "task_ids": list(self.task_ids),
            "data": self.data,
            "task_options": {key: str(value) for key, value in self.task_options.items()},
            "harness": self.harness,
            "prompt": self.prompt.describe(),
            "parser": self.parser,
        }


def arm(
    env_id: str,
    *,
    tasks: str | Sequence[str] | None = None,
    harness: str = "light",
    prompt: str | Prompt | None = None,
    parser: str | None = None,
    examples: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Arm:
    """Return how a run puts an environment's tasks to a model.

    Args:
        env_id: one of `agentenvs list` (prefix and version may be left out), or any id that is
            registered with Gymnasium and keeps the contract of `agentenvs.TextEnv`.
        tasks: a named task set or a list of task ids; default the environment's own set.
        harness: "light" is the light prompt with the relaxed parser; "none" is the benchmark's
            own prompt with its own decoding.
        prompt: "none", "light" or a `Prompt`, instead of the one that `harness` stands for.
        parser: one of `PARSERS`, instead of the one that `harness` stands for.
        examples: how many worked examples the light prompt shows.
        env_kwargs: further arguments of the environment.

    Raises:
        UnknownName: there is no such environment, task set, task, prompt or parser.
        BadArgument: arguments that contradict each other or that the environment does not
            take, or no task.
    """
    if not isinstance(tasks, str | Sequence | NoneType):
        raise BadArgument(f"Expected `tasks` to be a name or a list of ids, got {type(tasks)}.")
    if harness not in HARNESSES:
        raise UnknownName(f"There is no harness {harness!r}.{did_you_mean(harness, HARNESSES)}")
    default_prompt, default_parser = HARNESSES[harness]
    reading = default_parser if parser is None else parser
    if reading not in PARSERS:
        raise UnknownName(f"There is no parser {reading!r}.{did_you_mean(reading, PARSERS)}")
    shown = _prompt(default_prompt if prompt is None else prompt, examples)
    full_id, creator = _find(env_id)
    kwargs = dict(env_kwargs or {})
    if "task" in kwargs or "tasks" in kwargs:
        raise BadArgument("Give the tasks as `tasks`, not within `env_kwargs`.")
    for key in getattr(creator, "own_prompt", ()):
        if kwargs.get(key) and isinstance(shown, Light):
            raise BadArgument(
                f"`{key}` words the benchmark's own prompt, which the prompt 'light' does not "
                "show; use prompt='none' with it, as harness='none' does."
            )
    own = getattr(creator, "own_decoding", {})
    if reading in ("relaxed", "strict"):
        for key, value in own.items():
            if kwargs.get(key) == value:
                raise BadArgument(
                    f"The parser {reading!r} hands on canonical calls, which {key}={value!r} does "
                    "not read; use parser='official' with it, as harness='none' does."
                )
    if reading == "official":
        for key, value in own.items():
            if kwargs.setdefault(key, value) != value:
                raise BadArgument(
                    f"The parser 'official' sets `{key}` to {value!r}, `env_kwargs` to "
                    f"{kwargs[key]!r}; choose another parser with it, 'native' say."
                )
    name = tasks if isinstance(tasks, str) else ""
    data: str | None = None
    deciding: dict[str, Any] = {}
    if full_id in registry.WORLDS:
        item = registry.world(full_id)
        deciding = {key: kwargs[key] for key in item.task_options if key in kwargs}
        chosen = tasks if tasks is not None else item.default(deciding)
        name = chosen if isinstance(chosen, str) else ""
        ids = registry.tasks(full_id, chosen, **deciding)
        data = registry.data_version(full_id, chosen, **deciding)
        kwargs["tasks"] = ids if isinstance(chosen, list | tuple) else chosen
    else:
        ids = _foreign_tasks(full_id, tasks, kwargs)
    if not ids:
        raise BadArgument("Expected at least one task, got none.")
    if len(set(ids)) != len(ids):
        twice = next(task for at, task in enumerate(ids) if task in ids[:at])
        raise BadArgument(f"Expected each task once, got {twice!r} twice; use `n` for rollouts.")
    _check_arguments(full_id, creator, kwargs)
    made = Arm(full_id, name, tuple(ids), data, harness, shown, reading, kwargs, deciding)
    try:
        # Wrong arguments show here, before a run has written anything.
        made.make_env().close()
    except TypeError as error:
        raise BadArgument(f"{full_id} cannot be made: {error}.") from None
    return made


def _prompt(spec: str | Prompt, examples: int) -> Prompt:
    if isinstance(spec, Prompt) and examples:
        raise BadArgument("Give `examples` to the prompt itself, got both a prompt and a number.")
    return prompt(spec, examples)


def _find(env_id: str) -> tuple[str, Any]:
    """Return the full id and what creates the environment."""
    if not isinstance(env_id, str):
        raise BadArgument(f"Expected `env_id` to be a str, got {type(env_id)}.")
    module, _, name = env_id.rpartition(":")
    if module and module != "agentenvs":
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise UnknownName(f"There is no environment {env_id!r}: {error}.") from None
    if name in gymnasium.registry and name not in registry.WORLDS:
        creator: Any = gymnasium.registry[name].entry_point
        full_id = name
    else:
        item = registry.world(name)
        full_id, creator = item.id, item.entry_point
    return full_id, load_env_creator(creator) if isinstance(creator, str) else creator


def _check_arguments(env_id: str, creator: Any, kwargs: Mapping[str, Any]) -> None:
    """Raise for an argument that the environment does not take, with those that it does."""
    parameters = inspect.signature(creator).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return
    for key in kwargs:
        if key not in parameters:
            known = [name for name in parameters if name not in ("self", "tasks", "task")]
            hint = did_you_mean(key, known, limit=16)
            raise BadArgument(f"{env_id} takes no argument {key!r}.{hint}")


def _defaults(env_id: str) -> dict[str, Any]:
    """Return the arguments of an environment with their defaults, as far as they are data."""
    creator: Any = gymnasium.registry[env_id].entry_point
    function = load_env_creator(creator) if isinstance(creator, str) else creator
    registered = gymnasium.registry[env_id].kwargs
    found = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if isinstance(parameter.default, str | int | float | tuple | list | NoneType)
    }
    return {**found, **registered}


def _foreign_tasks(
    env_id: str, tasks: str | Sequence[str] | None, kwargs: Mapping[str, Any]
) -> list[str]:
    if isinstance(tasks, str):
        raise BadArgument(f"{env_id} has no named task sets; give `tasks` as a list of task ids.")
    if tasks is not None:
        return [str(task) for task in tasks]
    env = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    known = getattr(env.unwrapped, "task_ids", None)
    env.close()
    if known is None:
        raise BadArgument(f"{env_id} does not list its tasks; give `tasks` as a list of task ids.")
    return [str(task) for task in known]
