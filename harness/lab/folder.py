"""The folder of a study: its settings, one folder for each trained model, one writer at a time."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from agentenvs.errors import BadArgument, RunDamaged, RunError, SettingsDiffer
from agentenvs.harness.lab.config import LabConfig, from_dict
from agentenvs.harness.plain_data import finite
from agentenvs.harness.store.durable import write_whole
from agentenvs.harness.store.folder import differences, versions

__all__ = ["JOB", "StudyFolder", "job_folder", "lab_versions", "read_json", "write_json"]

_FORMAT = 1
_STUDY = "study.json"
#: what a finished job tells of itself, in its folder
JOB = "job.json"
_LOCK = ".lock"


def job_folder(study: Path, arm: str, seed: int) -> Path:
    """Return where the model of one arm and seed lies, with all that belongs to it."""
    return study / f"seed-{seed}" / arm


def lab_versions() -> dict[str, str]:
    """Return the versions of what a result may depend on."""
    found = versions()
    for name in ("torch", "transformers"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


class StudyFolder:
    """A study's folder.

    A job's folder is there whole or not at all: it is written under another name and renamed.

    Args:
        path: the folder.
        config: the settings; None to read a study that is there.

    Attributes:
        config: the settings in force.
        history: for each call that wrote here, when, which arms and seeds, and the versions.

    Raises:
        SettingsDiffer: the folder holds a study with other settings; the message shows them.
        RunDamaged: `study.json` cannot be read, or is missing where it must be there.
        BadArgument: `path` is a file, or a folder with other things in it.
    """

    def __init__(self, path: str | os.PathLike[str], config: LabConfig | None = None) -> None:
        self.path = Path(path)
        self._fd = -1
        if self.path.exists() and not self.path.is_dir():
            raise BadArgument(f"Expected a folder for the study, got the file {self.path}.")
        found = read_json(self.path / _STUDY) if (self.path / _STUDY).exists() else None
        if found is None and config is None:
            raise RunDamaged(f"{self.path}: expected a study with {_STUDY}, found none.")
        self.history: list[dict[str, Any]] = []
        if found is None:
            assert config is not None  # noqa: S101
            self.config = config
            if self.path.exists() and any(one.name != _LOCK for one in self.path.iterdir()):
                raise BadArgument(f"{self.path} holds other things; give a folder of its own.")
            return
        try:
            if found["format"] != _FORMAT:
                raise BadArgument(f"expected format {_FORMAT}, got {found['format']!r:.40}.")
            self.history = _history(found["history"])
            self.config = from_dict(found["config"])
        except KeyError as error:
            raise RunDamaged(f"{self.path / _STUDY}: expected {error}, found none.") from None
        except (TypeError, BadArgument) as error:
            raise RunDamaged(f"{self.path / _STUDY}: {error}") from None
        if config is not None and config.to_dict() != self.config.to_dict():
            told = {"config": found["config"]}, {"config": config.to_dict()}
            lines = differences(*told)
            more = f"\n  ... and {len(lines) - 8} more" if len(lines) > 8 else ""
            raise SettingsDiffer(
                f"{self.path} holds a study with other settings:\n  "
                + "\n  ".join(lines[:8])
                + f"{more}\nGive the same settings to go on with it, or another folder."
            )

    def __enter__(self) -> Self:
        """Take the folder for writing, and clear away what was begun and not finished.

        Raises:
            RunError: another process writes there.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            import fcntl

            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except BlockingIOError:
            os.close(self._fd)
            raise RunError(f"{self.path}: another study is writing to this folder.") from None
        for left in self.path.glob("seed-*/.*.part"):
            # Gone at once for a worker that outlived its study and may be writing there.
            with contextlib.suppress(OSError):
                left = left.rename(left.with_name(f"{left.name}.{os.getpid()}.part"))
            shutil.rmtree(left, ignore_errors=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Give the folder back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def begin(self, arms: Sequence[str], seeds: Sequence[int]) -> None:
        """Write down what is about to be run."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {"time": now, "arms": list(arms), "seeds": list(seeds), "versions": lab_versions()}
        self.history.append(entry)
        told = {
            "format": _FORMAT,
            "digest": self.config.digest,
            "config": self.config.to_dict(),
            "history": self.history,
        }
        write_json(self.path / _STUDY, told)

    def job(self, arm: str, seed: int) -> Path:
        """Return the folder of one arm and seed."""
        return job_folder(self.path, arm, seed)

    def done(self, arm: str, seed: int) -> bool:
        """Tell whether it is finished."""
        return (self.job(arm, seed) / JOB).is_file()

    def finished(self) -> list[tuple[str, int]]:
        """Return all (arm, seed) that are finished, in the order of the arms, then seeds."""
        seeds = sorted(
            int(found.name[5:])
            for found in self.path.glob("seed-*")
            if found.name[5:].isdecimal() and found.is_dir()
        )
        names = [arm.name for arm in self.config.arms]
        return [(name, seed) for name in names for seed in seeds if self.done(name, seed)]

    def asked(self) -> tuple[set[str], set[int]]:
        """Return the arms and seeds that any call has asked for."""
        arms: set[str] = set()
        seeds: set[int] = set()
        for entry in self.history:
            arms.update(entry["arms"])
            seeds.update(entry["seeds"])
        return arms, seeds


def _history(told: Any) -> list[dict[str, Any]]:
    """Return the calls that a study tells of.

    Raises:
        BadArgument: they are none.
    """
    kinds = {"arms": str, "seeds": int}
    for entry in told if isinstance(told, list) else [told]:
        for key, kind in kinds.items():
            named = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(named, list) or not all(type(one) is kind for one in named):
                raise BadArgument(f"expected a history of calls with {key}, got {entry!r:.60}.")
    return list(told)


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises:
        RunDamaged: there is none.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunDamaged(f"{path}: expected a JSON object: {error}.") from None
    if not isinstance(found, dict):
        raise RunDamaged(f"{path}: expected a JSON object, got {found!r:.40}.")
    return found


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all; NaN, which is none, becomes null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, [json.dumps(finite(value), indent=1, allow_nan=False).encode(), b"\n"])
