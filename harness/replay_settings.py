"""What `run.json` says of itself, of the tasks and of the versions, held against what is now."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from agentenvs import registry
from agentenvs.errors import AgentEnvsError, RunDamaged
from agentenvs.harness.code_sum import code_sum
from agentenvs.harness.folder import FREE, versions
from agentenvs.harness.recorded_arm import RecordedArm
from agentenvs.harness.replay_findings import RUN, Finding
from agentenvs.harness.row_sums import setting_sums

__all__ = ["against_now", "check_settings", "other_versions", "within"]


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise where the settings are of a kind that no replay can go by.

    Raises:
        RunDamaged: says which.
    """
    kinds: Mapping[str, tuple[tuple[type, ...], str]] = {
        "seed": ((int,), "a number"),
        "n": ((int,), "a number"),
        "max_requests": ((int, type(None)), "a number or null"),
        "sampling": ((dict,), "an object"),
        "task_ids": ((list,), "a list"),
        "policy": ((dict,), "an object"),
    }
    for key, (types, told) in kinds.items():
        if type(settings.get(key)) not in types:
            raise RunDamaged(
                f"Expected `{key}` in run.json to be {told}, got {settings.get(key)!r:.60}."
            )
    if settings["n"] < 1:
        raise RunDamaged(f"Expected `n` in run.json to be at least 1, got {settings['n']}.")
    if not all(isinstance(task, str) for task in settings["task_ids"]):
        raise RunDamaged("Expected `task_ids` in run.json to list texts.")


def within(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield where the settings contradict themselves."""
    history = settings.get("history")
    last = history[-1] if isinstance(history, list) and history else {}
    if not isinstance(last, Mapping):
        last = {}
    then = last.get("settings")
    if isinstance(then, Mapping):
        now = setting_sums(settings, FREE)
        for key in then:
            if then[key] != now.get(key):
                value = settings.get(key)
                yield Finding("edited", None, None, RUN, key, value, "not what the run began with")
    if last.get("n", settings["n"]) != settings["n"]:
        yield Finding("edited", None, None, RUN, "n", settings["n"], last.get("n"))
    names = "\0".join(settings["task_ids"]).encode("utf-8", "surrogatepass")
    found = hashlib.sha256(names).hexdigest()[:12]
    told = settings.get("task_hash")
    if told != found:
        yield Finding("edited", None, None, RUN, "task_ids", f"hash {told}", f"hash {found}")


def against_now(settings: Mapping[str, Any], recorded: RecordedArm) -> Iterator[Finding]:
    """Yield where tasks, data, wording or arguments are others than those of the run."""
    for line in recorded.changed:
        key, _, values = line.partition(": ")
        then, _, now = values.partition(" -> ")
        yield Finding("stale", None, None, RUN, key, then.strip('"'), now.strip('"'))
    if not recorded.shown:
        name = settings["prompt"].get("name")
        told = "not to be had here, so that what was shown is not compared"
        yield Finding("stale", None, None, RUN, "prompt", name, told)
    for task in recorded.unknown:
        yield Finding("stale", None, None, RUN, "task_ids", task, "no such task now")
    name = settings.get("tasks")
    if isinstance(name, str) and recorded.arm.env_id in registry.WORLDS:
        try:
            ids = registry.tasks(recorded.arm.env_id, name, **recorded.arm.task_options)
        except AgentEnvsError:
            ids = []
        if ids != settings["task_ids"]:
            told = f"the set {name!r} has {len(ids)} tasks now, and not the same ones"
            recorded_as = f"{len(settings['task_ids'])} tasks"
            yield Finding("stale", None, None, RUN, "tasks", recorded_as, told)


def other_versions(settings: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Return the versions that the run began with, and lines `NAME: then -> now`."""
    history = settings.get("history")
    starts = [one for one in history if isinstance(one, Mapping)] if history else []
    now = versions()
    code = code_sum(str(settings.get("env_id")))
    first: dict[str, str] = {}
    lines: dict[str, None] = {}
    for start in starts:
        told = start.get("versions")
        then = {k: str(v) for k, v in told.items()} if isinstance(told, Mapping) else {}
        first = first or then
        if start.get("code", code) != code:
            lines[f"code: {start['code']} -> {code}"] = None
        for key, version in then.items():
            # What no environment reads changes no episode.
            if key != "mpmath" and now.get(key, version) != version:
                lines[f"version of {key}: {version} -> {now[key]}"] = None
    return first, list(lines)
