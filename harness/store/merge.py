"""Run folders that hold parts of one run, or separate runs of the same tasks, made into one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument, RunDamaged, RunError, SettingsDiffer
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.store.durable import OUTCOMES, LineWriter, at_rest
from agentenvs.harness.store.folder import FREE, differences
from agentenvs.harness.store.merge_rows import Part, write_parts
from agentenvs.harness.store.no_run import no_run
from agentenvs.harness.store.outcomes_file import read_settings
from agentenvs.harness.store.voids import VOIDS

__all__ = ["merge_runs"]

# Which tasks a run plays is what shards differ in.
_TASKS = ("tasks", "task_hash", "task_ids")
_SEPARATE = "\nSeparate runs with seeds of their own are merged with `renumber`."


def merge_runs(
    out: str | os.PathLike[str],
    runs: Sequence[str | os.PathLike[str]],
    *,
    renumber: bool = False,
) -> Outcomes:
    """Make one new run folder of several, with outcomes, void tries and transcripts.

    The runs have the same settings and hold different rollouts: other tasks, or other numbers of
    the same tasks. A rollout that two of them have must have come out alike, and counts once.
    The new folder has the tasks of all, in the order of the runs, and the largest `n`; a run with
    these settings goes on in it. Where the runs name the set of tasks differently, that is one
    with these `task_ids` as a list.

        >>> merge_runs("runs/all", ["runs/shard0", "runs/shard1"])

    Args:
        out: the folder to be made; it appears whole or not at all.
        runs: the run folders; they stay as they are, and nobody may be writing to them.
        renumber: the runs are separate ones, with seeds of their own, of the same tasks. Each
            gets rollout numbers of its own, from where those of the run before it end. No run
            can go on in such a folder, since it has no one seed (`seed` is null); `merged_from`
            in its `run.json` says which rollouts have which.

    Raises:
        SettingsDiffer: they were made with different settings; shows old -> new.
        RunError: two of them disagree about a rollout or, with `renumber`, have the same seed;
            one is being written to; or the disk has no room.
        RunDamaged: one of them cannot be read or is no run folder, or a transcript is not the
            one that was written.
        BadArgument: there is something at `out` already, it lies within a run, or a run is given
            twice.
    """
    target, paths = Path(out), [Path(run) for run in runs]
    _check_paths(target, paths)
    with contextlib.ExitStack() as reading:
        for path in paths:
            reading.enter_context(at_rest(path))
        parts = _read(paths, renumber)
        settings = _settings(parts, renumber)
        if not renumber:
            # Tells where two of them disagree.
            parts[0].outcomes.merge(*(part.outcomes for part in parts[1:]))
        half = target.with_name(f"{target.name}.part")
        try:
            _clear(half)
            half.mkdir(parents=True)
        except OSError as error:
            raise _not_made(target, error) from error
        try:
            write_parts(half, parts, settings)
            half.rename(target)
        except BaseException as error:
            shutil.rmtree(half, ignore_errors=True)
            cause = error if isinstance(error, OSError) else error.__cause__
            if isinstance(cause, OSError):
                raise _not_made(target, cause) from error
            raise
    return Outcomes.load(target)


def _not_made(target: Path, why: OSError) -> RunError:
    return RunError(
        f"{target} was not made: {why.strerror or why}. The runs are as they were, and the same "
        "command makes it once that is mended."
    )


def _check_paths(target: Path, paths: Sequence[Path]) -> None:
    if not paths:
        raise BadArgument("Expected at least one run to merge, got none.")
    where = [path.resolve() for path in paths]
    for at, one in enumerate(where):
        if one in where[:at]:
            raise BadArgument(f"Expected each run once, got {paths[at]} twice.")
    for one, path in zip(where, paths, strict=True):
        if one in target.resolve().parents:
            raise BadArgument(f"Expected a new folder outside the runs, got {target} in {path}.")
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise BadArgument(f"Expected a new folder, but there is a file {target}.")
    if target.is_dir() and any(target.iterdir()):
        raise BadArgument(f"Expected a new folder, but there is something in {target}.")


def _read(paths: Sequence[Path], renumber: bool) -> list[Part]:
    parts: list[Part] = []
    start = 0
    for path in paths:
        settings = read_settings(path) if path.is_dir() else None
        if settings is None:
            raise no_run(path)
        _check_settings(path, settings)
        part = Part(path, settings, Outcomes.load(path), start)
        planned = set(settings["task_ids"])
        there = part.outcomes.keys()
        for task, rollout in there:
            if task not in planned or rollout >= part.n:
                raise RunDamaged(
                    f"{path}: task {task!r}, rollout {rollout} is there but no part of the run."
                )
        parts.append(part)
        start += part.n if renumber else 0
    return parts


def _check_settings(path: Path, settings: Mapping[str, Any]) -> None:
    ids, n, history = (settings.get(key) for key in ("task_ids", "n", "history"))
    made = settings.get("merged_from", [])
    for holds, told in (
        (isinstance(ids, list) and all(isinstance(task, str) for task in ids), "`task_ids`"),
        (type(n) is int and n > 0, "`n`"),
        (isinstance(history, list) and all(isinstance(one, dict) for one in history), "`history`"),
        (
            isinstance(made, list)
            and all(isinstance(one, dict) and type(one.get("first")) is int for one in made),
            "`merged_from`",
        ),
    ):
        if not holds:
            raise RunDamaged(f"{path}: expected {told} in run.json as runs write it.")


def _settings(parts: Sequence[Part], renumber: bool) -> dict[str, Any]:
    """Return the settings of the whole.

    Raises:
        SettingsDiffer: the parts were made with different ones.
        RunError: parts to be renumbered have a seed in common.
    """
    apart = {*FREE, *_TASKS, *(["seed"] if renumber else [])}
    kept = [
        {key: value for key, value in part.settings.items() if key not in apart} for part in parts
    ]
    for part, found in zip(parts[1:], kept[1:], strict=True):
        if lines := differences(kept[0], found):
            raise SettingsDiffer(
                f"{part.path} was made with other settings than {parts[0].path}:\n  "
                + "\n  ".join(lines)
                + (_SEPARATE if all(line.startswith("seed: ") for line in lines) else "")
            )
    origins = [one for part in parts for one in part.origins]
    first = parts[0].settings
    ids = list(dict.fromkeys(task for part in parts for task in part.settings["task_ids"]))
    settings = {**first, "task_ids": ids, "rollouts": None}
    if ids != first["task_ids"]:
        # As for a run that is given them as a list.
        names = hashlib.sha256("\0".join(ids).encode()).hexdigest()[:12]
        settings |= {"tasks": None, "task_hash": names}
    if renumber:
        # Shards of one run that were merged before have one seed and different rollouts.
        own = ({repr(one.get("seed")): one.get("seed") for one in part.origins} for part in parts)
        seeds = [seed for found in own for seed in found.values()]
        if len(set(map(repr, seeds))) < len(seeds) or None in seeds:
            raise RunError(
                "Expected runs with seeds of their own, since equal seeds give equal rollouts; "
                f"got the seeds {', '.join(map(str, seeds))}. Shards of one run are merged first, "
                "without new numbers."
            )
        settings |= {"seed": None, "n": sum(part.n for part in parts)}
    else:
        settings["n"] = max(part.n for part in parts)
    history = [call for part in parts for call in part.settings["history"]]
    settings["history"] = sorted(history, key=lambda call: str(call.get("time", "")))
    settings["merged_from"] = origins
    settings["transcripts"] = all(part.settings.get("transcripts", True) for part in parts)
    _warn_of_versions(history)
    return settings


def _warn_of_versions(history: Sequence[Mapping[str, Any]]) -> None:
    seen: dict[str, dict[str, None]] = {}
    for call in history:
        versions = call.get("versions")
        for name, version in versions.items() if isinstance(versions, Mapping) else ():
            seen.setdefault(str(name), {})[str(version)] = None
    mixed = [f"{name} {', '.join(found)}" for name, found in seen.items() if len(found) > 1]
    if mixed:
        warnings.warn(
            f"The runs were made with different versions: {'; '.join(mixed)}.", stacklevel=4
        )


def _clear(half: Path) -> None:
    """Take away what a merge that was killed left behind.

    Raises:
        RunError: a merge is writing there, or it is something else.
    """
    if half.is_symlink() or (half.exists() and not half.is_dir()):
        raise RunError(f"{half} is in the way.")
    if half.is_dir():
        kinds = ("transcripts-", "run.json", OUTCOMES, VOIDS)
        if other := [path.name for path in half.iterdir() if not path.name.startswith(kinds)]:
            raise RunError(f"{half} is in the way: it holds {other[0]!r}, which no merge makes.")
        if (half / OUTCOMES).exists():
            LineWriter(half / OUTCOMES, lock=True).close()
        shutil.rmtree(half)
