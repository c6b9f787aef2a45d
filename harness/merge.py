"""Run folders that hold parts of one run, or separate runs of the same tasks, made into one."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agentenvs.errors import BadArgument, RunDamaged, RunError, SettingsDiffer
from agentenvs.harness.durable import LineWriter, at_rest, bounded, open_plain
from agentenvs.harness.folder import FREE, differences
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.outcomes_file import OUTCOMES, dump, read_settings, write_settings
from agentenvs.harness.outcomes_rows import decode
from agentenvs.harness.row_sums import sum_holds, text_key, with_sum
from agentenvs.harness.transcripts import Line, TranscriptWriter, transcript_lines
from agentenvs.harness.voids import VOIDS

__all__ = ["merge_runs"]

# Which tasks a run plays is what shards differ in.
_TASKS = ("tasks", "task_hash", "task_ids")
_SEPARATE = "\nSeparate runs with seeds of their own are merged with `renumber`."
_BLOCK = 2**20
_MOST_KNOWN = 1000

Key = tuple[str, int]


class _Part(NamedTuple):
    """One of the run folders.

    Attributes:
        path: the folder.
        settings: what its `run.json` holds.
        outcomes: what came out.
        start: what is added to its rollouts' numbers.
    """

    path: Path
    settings: dict[str, Any]
    outcomes: Outcomes
    start: int

    @property
    def n(self) -> int:
        n: int = self.settings["n"]
        return n

    @property
    def origins(self) -> list[dict[str, Any]]:
        """Where its rollouts come from: runs, with the number that their rollout 0 has now."""
        known = self.settings.get("merged_from")
        if known is None:
            seed, rollouts = self.settings.get("seed"), len(self.outcomes)
            known = [
                {"run": self.path.resolve().name, "seed": seed, "n": self.n, "first": 0}
                | {"tasks": len(self.settings["task_ids"]), "rollouts": rollouts}
            ]
        return [{**one, "first": one["first"] + self.start} for one in known]


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
        BadArgument: there is something at `out` already, or a run is given twice.
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
        _clear(half)
        half.mkdir(parents=True)
        try:
            _write(half, parts, settings)
            half.rename(target)
        except BaseException as error:
            shutil.rmtree(half, ignore_errors=True)
            cause = error if isinstance(error, OSError) else error.__cause__
            if isinstance(cause, OSError):
                raise RunError(
                    f"{target} was not made: {cause.strerror or cause}. The runs are as they "
                    "were, and the same command makes it once that is mended."
                ) from error
            raise
    return Outcomes.load(target)


def _check_paths(target: Path, paths: Sequence[Path]) -> None:
    if not paths:
        raise BadArgument("Expected at least one run to merge, got none.")
    where = [path.resolve() for path in paths]
    for at, one in enumerate(where):
        if one in where[:at]:
            raise BadArgument(f"Expected each run once, got {paths[at]} twice.")
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise BadArgument(f"Expected a new folder, but there is a file {target}.")
    if target.is_dir() and any(target.iterdir()):
        raise BadArgument(f"Expected a new folder, but there is something in {target}.")


def _read(paths: Sequence[Path], renumber: bool) -> list[_Part]:
    parts: list[_Part] = []
    start = 0
    for path in paths:
        settings = read_settings(path) if path.is_dir() else None
        if settings is None:
            raise RunDamaged(f"{path}: expected a run folder with run.json, found none.")
        _check_settings(path, settings)
        part = _Part(path, settings, Outcomes.load(path), start)
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


def _settings(parts: Sequence[_Part], renumber: bool) -> dict[str, Any]:
    """Return the settings of the whole.

    Raises:
        SettingsDiffer: the parts were made with different ones.
        RunError: parts to be renumbered have a seed in common.
    """
    apart = {*FREE, *_TASKS, "merged_from", *(["seed"] if renumber else [])}
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
    settings = {**first, "task_ids": ids}
    if ids != first["task_ids"]:
        # As for a run that is given them as a list.
        names = hashlib.sha256("\0".join(ids).encode()).hexdigest()[:12]
        settings |= {"tasks": None, "task_hash": names}
    if renumber:
        seeds = [one.get("seed") for one in origins]
        if len(set(map(repr, seeds))) < len(seeds) or None in seeds:
            raise RunError(
                "Expected runs with seeds of their own, since equal seeds give equal rollouts; "
                f"got the seeds {', '.join(map(str, seeds))}."
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


def _write(half: Path, parts: Sequence[_Part], settings: Mapping[str, Any]) -> None:
    with contextlib.closing(LineWriter(half / OUTCOMES, lock=True, fresh=True)) as rows:
        _append(rows, _outcome_lines(parts))
        if any((part.path / VOIDS).exists() for part in parts):
            with contextlib.closing(LineWriter(half / VOIDS, fresh=True)) as voids:
                _append(voids, dict.fromkeys(_void_lines(parts)))
        _write_transcripts(half, parts)
        write_settings(half, settings)


def _append(writer: LineWriter, lines: Iterable[bytes]) -> None:
    """Write many lines at a time, since what is half done is thrown away."""
    block = bytearray()
    for line in lines:
        block += line
        if len(block) >= _BLOCK:
            writer.write(bytes(block))
            block.clear()
    writer.write(bytes(block))


def _outcome_lines(parts: Sequence[_Part]) -> Iterator[bytes]:
    """Yield the rows of all, as they stand there but for their numbers, each rollout once."""
    seen: set[Key] = set()
    for part in parts:
        for line, row in _rows(part.path / OUTCOMES):
            if "rollout" not in row:
                raise RunDamaged(f"{part.path}: expected a row for each rollout, got one a task.")
            key = (str(row["task_id"]), row["rollout"] + part.start)
            if key not in seen:
                seen.add(key)
                yield dump({**row, "rollout": key[1]}) if part.start else line + b"\n"


def _rows(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield the lines of outcomes that were read before, a last one that broke off excepted."""
    with contextlib.suppress(FileNotFoundError), open_plain(path) as file:
        for line in bounded(file):
            bare = line.strip(b"\r\n\0 \t").removeprefix(codecs.BOM_UTF8)
            with contextlib.suppress(ValueError, RecursionError):
                yield bare, decode(bare.decode())


def _void_lines(parts: Sequence[_Part]) -> Iterator[bytes]:
    for part in parts:
        for row in part.outcomes.voids:
            yield dump({**row, "rollout": row["rollout"] + part.start})


def _write_transcripts(half: Path, parts: Sequence[_Part]) -> None:
    seen: set[Key] = set()
    known: dict[str, str] = {}
    with contextlib.closing(TranscriptWriter(half)) as transcripts:
        for part in parts:
            for line in transcript_lines(part.path, part.outcomes.keys()):
                key = (line.row["task_id"], line.row["rollout"] + part.start)
                if key not in seen:
                    seen.add(key)
                    transcripts.append(_moved(line, part.start), _texts(line, known))


def _moved(line: Line, start: int) -> str:
    """Return a transcript's line with its rollout's number in the whole.

    Raises:
        RunDamaged: it is not the line that was written.
    """
    task, rollout = line.row["task_id"], line.row["rollout"]
    if not (sum_holds(line.text) or "sum" not in line.row):
        raise RunDamaged(
            f"{line.segment}: the transcript of task {task!r}, rollout {rollout} is not the one "
            "that was written; its check sum is another."
        )
    if not start and line.text.isascii():
        return line.text.decode("ascii")
    row = {**line.row, "rollout": rollout + start}
    vouched = row.pop("sum", None) is not None
    text = json.dumps(row, separators=(",", ":"))
    return with_sum(text) if vouched else text


def _texts(line: Line, known: dict[str, str]) -> dict[str, str]:
    """Return the texts that a transcript shares with others.

    Args:
        line: the transcript.
        known: texts that are the ones that were written; gets more of them.

    Raises:
        RunDamaged: one of them is missing, or is not the one that was written.
    """
    try:
        keys = [message["text"] for message in line.row["opening"] if "text" in message]
        texts = {str(key): line.shared[key] for key in keys}
    except (KeyError, TypeError):
        raise RunDamaged(
            f"{line.segment}: the transcript of task {line.row['task_id']!r}, rollout "
            f"{line.row['rollout']} misses a text, or is none."
        ) from None
    for key, content in texts.items():
        if known.get(key) != content:
            if text_key(content) != key:
                raise RunDamaged(f"{line.segment}: the text {key} is not the one that was written.")
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[key] = content
    return texts
