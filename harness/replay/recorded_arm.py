"""The arm of a run that is over, built again from what `run.json` says of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import load_env_creator

from agentenvs import registry
from agentenvs.errors import BadArgument, RunDamaged, RunError, UnknownName, did_you_mean
from agentenvs.harness.arms import HARNESSES, PARSERS, Arm, arm
from agentenvs.harness.prompts import EXAMPLES, Light, Plain, Prompt
from agentenvs.harness.store.folder import differences

__all__ = ["RecordedArm", "recorded_arm"]

#: an environment that needs a program beside it -> one that shows and judges the same without,
#: and the arguments that only the first takes
_PLAIN_TWINS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "agentenvs/WebShopBrowser-v0": ("agentenvs/WebShop-v0", ("browser", "window")),
}


class RecordedArm(NamedTuple):
    """The arm of a run as this version of the package builds it.

    Attributes:
        arm: what the run put to its policy.
        user: whether a policy played the user; `arm.make_env` then wants a `user`.
        shown: whether the prompt is the run's own, so that what was shown can be compared.
        changed: a line `setting: then -> now` for each recorded setting that comes out
            otherwise now: data, wording of the prompt, arguments of the environment.
        unknown: tasks of the run that there are no more; `arm` lacks them.
    """

    arm: Arm
    user: bool
    shown: bool
    changed: tuple[str, ...]
    unknown: tuple[str, ...] = ()


def recorded_arm(
    settings: Mapping[str, Any],
    *,
    env_id: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    prompt: Prompt | None = None,
    plain: bool = False,
) -> RecordedArm:
    """Return the arm of a run again.

        >>> recorded = recorded_arm(Outcomes.load("runs/wide").settings)
        >>> env = recorded.arm.make_env()

    Args:
        settings: what `run.json` holds.
        env_id: instead of the recorded id, one that says which module registers it
            (`my_package:Mine-v0`).
        env_kwargs: arguments of the environment that say where things lie, and may differ from
            one machine to another: `catalog` of WebShop. Of an environment that is not of this
            package, any.
        prompt: the prompt, where the run had one of its own.
        plain: whether an environment in a browser gives way to the one that shows the same text.

    Raises:
        RunDamaged: the settings are no run's.
        RunError: what the run was made with is not to be had here.
        BadArgument: arguments that would make another run of it.
        SourceError: official data cannot be had.
    """
    full_id = _id_of(settings, env_id)
    changes = dict(env_kwargs or {})
    kwargs = {**_mapping(settings, "env_kwargs"), **_options(settings, full_id)}
    _check_changes(full_id, changes)
    kwargs.update(changes)
    user = settings.get("user") is not None
    if user:
        kwargs.pop("user", None)
    if plain and full_id in _PLAIN_TWINS:
        full_id, more = _PLAIN_TWINS[full_id]
        kwargs = {key: value for key, value in kwargs.items() if key not in more}
    shown, known = _prompt(settings, prompt)
    parser = _one_of(settings, "parser", PARSERS)
    harness = _one_of(settings, "harness", HARNESSES)
    task_ids = _task_ids(settings)

    def build(ids: Sequence[str]) -> Arm:
        return arm(
            env_id if env_id and ":" in env_id else full_id,
            tasks=list(ids),
            harness=harness,
            prompt=shown,
            parser=parser,
            env_kwargs=kwargs,
        )

    unknown: tuple[str, ...] = ()
    try:
        try:
            made = build(task_ids)
        except UnknownName:
            unknown = _vanished(full_id, task_ids, kwargs)
            if not unknown or len(unknown) == len(task_ids):
                raise
            made = build([task for task in task_ids if task not in unknown])
    except (BadArgument, UnknownName) as error:
        raise RunError(f"The run's arm cannot be built again: {error}{_hint(error)}") from None
    return RecordedArm(made, user, known, tuple(_changed(settings, made, known)), unknown)


def _id_of(settings: Mapping[str, Any], given: str | None) -> str:
    recorded = settings.get("env_id")
    # A colon would have a module imported; that is for the caller to ask for.
    if not isinstance(recorded, str) or not recorded or ":" in recorded:
        raise RunDamaged(f"Expected `env_id` in run.json to be an id, got {recorded!r:.60}.")
    if given is None:
        if recorded not in gymnasium.registry and recorded not in registry.WORLDS:
            known = [name for name in gymnasium.registry if name.startswith("agentenvs/")]
            raise RunError(
                f"The run was made with {recorded!r}, which is not registered here."
                f"{did_you_mean(recorded, known)} Import the module that registers it, or name "
                f"it: `env_id='MODULE:{recorded}'`, on the command line `--id MODULE:{recorded}`."
            )
        return recorded
    name = given.rpartition(":")[2]
    if name != recorded:
        raise BadArgument(f"The run was made with {recorded!r}, got {given!r} as its id.")
    return recorded


def _mapping(settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = settings.get(key, {})
    if not isinstance(found, dict):
        raise RunDamaged(f"Expected `{key}` in run.json to be an object, got {found!r:.60}.")
    return found


def _one_of(settings: Mapping[str, Any], key: str, known: Mapping[str, Any]) -> str:
    found = settings.get(key)
    if not isinstance(found, str) or found not in known:
        expected = ", ".join(map(repr, known))
        raise RunDamaged(f"Expected `{key}` in run.json to be one of {expected}, got {found!r:.60}")
    return found


def _task_ids(settings: Mapping[str, Any]) -> list[str]:
    found = settings.get("task_ids")
    if (
        not isinstance(found, list)
        or not found
        or not all(isinstance(name, str) for name in found)
        or len(set(found)) < len(found)
    ):
        raise RunDamaged(
            f"Expected `task_ids` in run.json to list different tasks, got {found!r:.60}."
        )
    return found


def _options(settings: Mapping[str, Any], env_id: str) -> dict[str, Any]:
    """Return the arguments that decide which tasks there are, in the types that they had."""
    told = _mapping(settings, "task_options")
    world = registry.WORLDS.get(env_id)
    if world is None or not told:
        return dict(told)
    creator = load_env_creator(world.entry_point)
    parameters = inspect.signature(creator).parameters
    options: dict[str, Any] = {}
    for key, text in told.items():
        number = key in parameters and type(parameters[key].default) is int
        try:
            options[key] = int(text) if number else text
        except (TypeError, ValueError):
            raise RunDamaged(
                f"Expected `task_options.{key}` in run.json to be a number, got {text!r:.60}."
            ) from None
    return options


def _check_changes(env_id: str, changes: Mapping[str, Any]) -> None:
    world = registry.WORLDS.get(env_id)
    if world is None:
        return
    for key in changes:
        if key not in world.task_options:
            free = ", ".join(map(repr, world.task_options)) or "none"
            raise BadArgument(
                f"Expected only arguments that say where the tasks of {env_id} lie ({free}), got "
                f"{key!r}; all others are the run's own."
            )


def _prompt(settings: Mapping[str, Any], given: Prompt | None) -> tuple[Prompt, bool]:
    """Return the run's prompt, and whether it is the run's own and no stand-in."""
    told = _mapping(settings, "prompt")
    name = told.get("name")
    if given is not None:
        if given.name != name:
            raise BadArgument(f"The run had the prompt {name!r}, got one called {given.name!r}.")
        return given, True
    if name == Plain.name:
        return Plain(), True
    if name == Light.name:
        examples = told.get("examples", 0)
        if type(examples) is not int or not 0 <= examples <= len(EXAMPLES):
            raise RunDamaged(
                "Expected `prompt.examples` in run.json to be a number from 0 to "
                f"{len(EXAMPLES)}, got {examples!r:.60}."
            )
        return Light(examples), True
    # Whatever was shown, the environment was given the same actions.
    return Plain(), False


def _vanished(env_id: str, task_ids: Sequence[str], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    world = registry.WORLDS.get(env_id)
    if world is None:
        return ()
    options = {key: kwargs[key] for key in world.task_options if key in kwargs}
    gone = []
    for task in task_ids:
        try:
            registry.tasks(env_id, [task], **options)
        except (BadArgument, UnknownName):
            gone.append(task)
    return tuple(gone)


def _hint(error: Exception) -> str:
    text = str(error)
    return " (say where it lies now: `--env catalog=PATH`)" if "catalog" in text else ""


def _changed(settings: Mapping[str, Any], made: Arm, known: bool) -> list[str]:
    """Return what comes out otherwise now, but for what may lie elsewhere."""
    now = made.describe()
    own = _mapping(settings, "env_kwargs")
    made_with = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in now["env_kwargs"].items()
        # An argument that there was not yet has its default.
        if key in own and (key != "user" or settings.get("user") is None)
    }
    then = {"data": settings.get("data"), "env_kwargs": {key: own[key] for key in made_with}}
    after = {"data": now["data"], "env_kwargs": made_with}
    if known:
        then["prompt"], after["prompt"] = settings.get("prompt"), now["prompt"]
    return differences(then, after)
