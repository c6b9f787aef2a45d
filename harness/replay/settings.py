"""What `run.json` says of itself, of the tasks and of the versions, held against what is now."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentenvs import registry
from agentenvs.errors import AgentEnvsError, RunDamaged, SettingsDiffer
from agentenvs.harness.groups import Sampler, unchanged_by_failure
from agentenvs.harness.replay.findings import OUTCOMES, RUN, Finding
from agentenvs.harness.replay.recorded_arm import RecordedArm
from agentenvs.harness.replay.recorded_sampler import recorded_sampler
from agentenvs.harness.sampler_replay import replay_sampler
from agentenvs.harness.store.code_sum import code_sum
from agentenvs.harness.store.folder import FREE, versions
from agentenvs.harness.store.row_sums import setting_sums

__all__ = ["against_now", "against_sampler", "check_settings", "other_versions", "within"]

_CHANGED = "changed since the run began"


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise where the settings are of a kind that no replay can go by.

    Raises:
        RunDamaged: says which.
    """
    merged = settings.get("merged_from")
    kinds: Mapping[str, tuple[tuple[type, ...], str]] = {
        "seed": ((int,) if merged is None else (int, type(None)), "a number"),
        "n": ((int,), "a number"),
        "max_requests": ((int, type(None)), "a number or null"),
        "sampling": ((dict,), "an object"),
        "task_ids": ((list,), "a list"),
        "history": ((list, type(None)), "a list"),
        "policy": ((dict,), "an object"),
        "prompt": ((dict,), "an object"),
        "sampler": ((dict, type(None)), "an object or null"),
    }
    for key, (types, told) in kinds.items():
        if type(settings.get(key)) not in types:
            raise RunDamaged(
                f"Expected `{key}` in run.json to be {told}, got {settings.get(key)!r:.60}."
            )
    if merged is not None and not (
        isinstance(merged, list) and merged and all(map(_is_origin, merged))
    ):
        raise RunDamaged("Expected `merged_from` in run.json as a merge writes it.")
    if settings["n"] < 1:
        raise RunDamaged(f"Expected `n` in run.json to be at least 1, got {settings['n']}.")
    if not all(isinstance(task, str) for task in settings["task_ids"]):
        raise RunDamaged("Expected `task_ids` in run.json to list texts.")


def _is_origin(found: object) -> bool:
    return isinstance(found, Mapping) and all(
        type(found.get(key)) is int for key in ("first", "n", "seed")
    )


def within(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield where the settings contradict themselves."""
    history = settings.get("history") or []
    starts = [one for one in history if isinstance(one, Mapping)]
    merged = settings.get("merged_from")
    then = starts[-1].get("settings") if starts else None
    if isinstance(then, Mapping):
        now = setting_sums(settings, FREE)
        # The runs that were merged had tasks, and may have had seeds, of their own.
        apart = () if merged is None else ("tasks", "task_hash", "task_ids", "seed")
        for key in then:
            if then[key] != now.get(key) and key not in apart:
                value = settings.get(key)
                yield Finding("edited", None, None, RUN, key, value, None, _CHANGED)
    planned = [start["n"] for start in starts[-1:] if "n" in start]
    if merged is not None:
        planned += [max(one["first"] + one["n"] for one in merged)]
    if planned and settings["n"] not in planned:
        yield Finding("edited", None, None, RUN, "n", settings["n"], planned[-1])
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
        yield Finding("stale", None, None, RUN, "prompt", name, None, told)
    for task in recorded.unknown:
        yield Finding("stale", None, None, RUN, "task_ids", task, None, "no such task now")
    name = settings.get("tasks")
    if isinstance(name, str) and recorded.arm.env_id in registry.WORLDS:
        try:
            ids = registry.tasks(recorded.arm.env_id, name, **recorded.arm.task_options)
        except AgentEnvsError:
            ids = []
        if ids != settings["task_ids"]:
            had = len(settings["task_ids"])
            told = f"the set {name!r} has {len(ids)} tasks now, and not the {had} of the run"
            yield Finding("stale", None, None, RUN, "tasks", None, None, told)


def against_sampler(
    folder: Path, settings: Mapping[str, Any], sampler: Sampler | None, notes: list[str]
) -> Iterator[Finding]:
    """Yield where temperatures are not those that the run's sampler gives.

    Args:
        folder: the run folder; everything else in it holds.
        settings: what its `run.json` holds.
        sampler: one in the state in which the run began; None builds it from the settings.
        notes: gets a line where there is no such sampler to be built.
    """
    told: Mapping[str, Any] = settings["sampler"]
    made = recorded_sampler(told) if sampler is None else sampler
    if made is None or settings.get("merged_from") is not None:
        notes.append(
            f"Temperatures are those of the transcripts; what the sampler {told.get('name')!r} "
            "would have given was not asked."
        )
        return
    try:
        with unchanged_by_failure(made):
            replay_sampler(folder, made)
    except SettingsDiffer as differs:
        why = f"not what the sampler gives, unless it had learned before the run began: {differs}"
        yield Finding("edited", None, None, OUTCOMES, "temperature", None, None, why)


def other_versions(settings: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Return the versions that the run began with, and lines `NAME: then -> now`."""
    history = settings.get("history") or []
    starts = [one for one in history if isinstance(one, Mapping)]
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
