"""The run folder: settings, outcomes and transcripts, safe against a kill at any moment."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import warnings
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import agentenvs
from agentenvs.errors import BadArgument, RunDamaged, RunError, SettingsDiffer
from agentenvs.harness.outcomes import Outcomes, OutcomeWriter, read_settings, write_settings
from agentenvs.harness.records import Played, Void
from agentenvs.harness.store.code_sum import code_sum
from agentenvs.harness.store.row_sums import setting_sums
from agentenvs.harness.store.software import used_versions
from agentenvs.harness.store.transcripts import TranscriptWriter
from agentenvs.harness.store.voids import VoidWriter, void_row

__all__ = ["Memory", "RunFolder", "differences", "versions"]

FORMAT = 1
#: recorded, but free to differ when a run is taken up again; a hash of the data stands beside
#: the options that say where the tasks lie
FREE = frozenset(
    {
        "n",
        "history",
        "concurrency",
        "engine",
        "merged_from",
        "retries",
        "rollouts",
        "task_options",
        "transcripts",
        "transport",
    }
)
#: the sum of a function's source -> how the function was named
_NAMED = {"policy.source": ("policy.name",), "user.source": ("user.name", "env_kwargs.user")}


def versions() -> dict[str, str]:
    """Return the versions of what a result may depend on."""
    return {
        "agentenvs": agentenvs.__version__,
        "gymnasium": importlib.metadata.version("gymnasium"),
        "mpmath": importlib.metadata.version("mpmath"),
        "numpy": importlib.metadata.version("numpy"),
        "python": platform.python_version(),
    }


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return a line `setting: old -> new` for each setting that differs.

    How a function was named, by which path say, is none where it is the same function.
    """
    before, after = dict(_flat(old)), dict(_flat(new))
    keys = dict.fromkeys((*before, *after))
    same = {
        name
        for source, names in _NAMED.items()
        if before.get(source) is not None and before[source] == after.get(source)
        for name in names
    }
    lines = []
    for key in keys:
        free = key in same or key.split(".", 1)[0] in FREE
        if not free and before.get(key) != after.get(key):
            lines.append(f"{key}: {_show(before.get(key))} -> {_show(after.get(key))}")
    return lines


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _show(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class RunFolder:
    """A run folder that is being written; one process at a time.

    Opening it for the first time writes `run.json`. Opening it again checks that the settings
    are the same; `n` may have grown, since nothing that a rollout does depends on it.

    Args:
        path: the folder; made where it is missing.
        settings: every setting of the run, plain data.
        transcripts: whether transcripts are kept.

    Attributes:
        done: the outcomes that are there already.
        settings: what `run.json` holds.

    Raises:
        SettingsDiffer: it holds a run with other settings; the message shows old -> new.
        RunError: another process is writing to it, or it holds outcomes without settings.
        RunDamaged: it cannot be read.
        BadArgument: settings that are no JSON.
    """

    def __init__(
        self, path: str | os.PathLike[str], settings: Mapping[str, Any], transcripts: bool = True
    ) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise BadArgument(f"Expected `out` to be a folder, got the file {self.path}.")
        try:
            plain: dict[str, Any] = json.loads(json.dumps(dict(settings), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise BadArgument(f"Expected settings that JSON can hold: {error}.") from None
        self._transcripts: TranscriptWriter | None = None
        self._outcomes = OutcomeWriter(self.path)
        try:
            self.settings = self._agree(plain)
            self.done = Outcomes.load(self.path)
            if transcripts:
                self._transcripts = TranscriptWriter(self.path, self.done.keys())
            self._voids = VoidWriter(self.path)
        except BaseException:
            self._outcomes.close()
            raise

    def _agree(self, new: dict[str, Any]) -> dict[str, Any]:
        now = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "n": new["n"],
            "versions": {**versions(), **used_versions(new)},
            "code": code_sum(str(new.get("env_id"))),
        }
        old = read_settings(self.path)
        if old is None:
            if self._outcomes.path.stat().st_size:
                raise RunError(f"{self.path} holds outcomes but no run.json to go with them.")
            settings = {"format": FORMAT, **new, "history": []}
        else:
            self._compare(old, {"format": FORMAT, **new}, now["versions"])
            history = list(old.get("history", ()))
            settings = {**old, **{key: new[key] for key in FREE & new.keys()}, "history": history}
        # Of what is written: a function's name stays that which the run began with.
        now["settings"] = setting_sums(settings, FREE)
        settings["history"].append(now)
        write_settings(self.path, settings)
        return settings

    def _compare(
        self, old: Mapping[str, Any], new: Mapping[str, Any], current: Mapping[str, str]
    ) -> None:
        lines = differences(old, new)
        n, history = old.get("n", 0), old.get("history", [])
        if not isinstance(n, int):
            raise RunDamaged(
                f"{self.path}: expected `n` in run.json to be an integer, got {n!r:.40}."
            )
        if new["n"] < n:
            lines.append(f"n: {n} -> {new['n']} (it may only grow)")
        if lines:
            raise SettingsDiffer(
                f"{self.path} holds a run with other settings:\n  "
                + "\n  ".join(lines)
                + "\nGive the same settings to go on with it, or another folder."
            )
        try:
            first = dict(history[0]["versions"]) if history else {}
        except (KeyError, TypeError, ValueError):
            raise RunDamaged(f"{self.path}: `history` in run.json has no versions.") from None
        changed = [
            f"{name} {first[name]} -> {version}"
            for name, version in current.items()
            if first.get(name, version) != version
        ]
        if changed:
            warnings.warn(
                f"{self.path} was begun with other versions: {', '.join(changed)}.", stacklevel=2
            )

    def write(self, played: Played) -> None:
        """Keep a finished rollout: its transcript first, so that every outcome has one.

        Raises:
            RunError: the disk did not take it, now or before; says how much is kept.
        """
        try:
            if self._transcripts is not None:
                self._transcripts.write(played, played.fields["temperature"])
            self._outcomes.write(played.task, played.rollout, played.success, **played.fields)
        except BaseException as error:
            if self._transcripts is not None:
                self._transcripts.leave(error)
            raise

    def void(self, void: Void) -> None:
        """Keep a try that came to no verdict."""
        self._voids.write(void)

    def close(self) -> None:
        """Compress the transcripts and give the folder back; harmless when repeated."""
        try:
            if self._transcripts is not None:
                self._transcripts.close()
        finally:
            try:
                self._voids.close()
            finally:
                self._outcomes.close()

    def outcomes(self) -> Outcomes:
        """Return every outcome in the folder."""
        return Outcomes.load(self.path)


class Memory:
    """Keeps outcomes in memory; stands in for a folder where none is given.

    Args:
        settings: every setting of the run.

    Attributes:
        done: no outcomes, since none are there already.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.done = Outcomes()
        self._settings = settings
        self._rows: list[dict[str, Any]] = []
        self._voids: list[dict[str, Any]] = []

    def write(self, played: Played) -> None:
        """Keep a finished rollout."""
        row = {"task_id": played.task, "rollout": played.rollout, "success": played.success}
        self._rows.append({**row, **played.fields})

    def void(self, void: Void) -> None:
        """Keep a try that came to no verdict."""
        self._voids.append(void_row(void))

    def close(self) -> None:
        """Nothing to close."""

    def outcomes(self) -> Outcomes:
        """Return every outcome."""
        return Outcomes(self._rows, self._settings, self._voids)
