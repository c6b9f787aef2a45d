"""What a job leaves behind of rollouts: run folders, counts, and the groups of a training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import RunDamaged
from agentenvs.harness.lab.folder import lab_versions
from agentenvs.harness.outcomes import Outcomes, write_settings
from agentenvs.harness.ptgs.protocol import Ids, Sampler
from agentenvs.harness.store.durable import write_whole
from agentenvs.harness.store.outcomes_file import dump
from agentenvs.harness.store.outcomes_rows import decode

__all__ = ["Recorder", "run_folder", "training_outcomes", "write_counts", "write_run"]

ENV_ID = "agentenvs/ToolLab-v0"


def run_folder(job: Path, tasks: str, temperature: float) -> Path:
    """Return the run folder of a model's rollouts on a set of tasks at a temperature."""
    return job / "runs" / f"{tasks}-T{temperature:g}"


def write_run(
    folder: Path,
    task_ids: Sequence[str],
    successes: NDArray[np.bool_],
    settings: Mapping[str, Any],
) -> None:
    """Write rollouts as a run folder: `run.json`, and a row `{task_id, pass_flags}` for each task.

    Args:
        folder: where; made.
        task_ids: T names.
        successes: (T, n), a task's rollouts in a row.
        settings: how they were made; who acted stands under `policy`, since the rest should be
            alike in two arms that are compared.
    """
    rows = zip(task_ids, successes.tolist(), strict=True)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    n = successes.shape[1]
    told = {
        "format": 1,
        "env_id": ENV_ID,
        **settings,
        "task_ids": list(task_ids),
        "n": n,
        "history": [{"time": now, "n": n, "versions": lab_versions()}],
    }
    write_settings(folder, told)
    write_whole(folder / "outcomes.jsonl", (dump({"task_id": t, "pass_flags": f}) for t, f in rows))


def write_counts(path: Path, task_ids: Sequence[str], successes: ArrayLike, n: int) -> None:
    """Write rows `{task_id, c, n}`, which `Outcomes.load` and `agentenvs tax` read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = zip(task_ids, np.asarray(successes).tolist(), strict=True)
    write_whole(path, (dump({"task_id": task, "c": c, "n": n}) for task, c in rows))


class Recorder:
    """Stands between a training and its sampler, and keeps each group.

    Args:
        inner: the sampler that decides.

    Attributes:
        groups: for each group in the order of play its task, the temperatures and the outcomes
            of its rollouts, and at which call of `record` it came.
    """

    def __init__(self, inner: Sampler) -> None:
        self.inner = inner
        self.groups: list[tuple[int, NDArray[np.float64], NDArray[np.bool_], int]] = []
        self._calls = 0

    def rollout_temperatures(self, ids: Ids, n: int) -> NDArray[np.float64]:
        """Return the temperature of each rollout, (m, n), as the sampler gives it."""
        return self.inner.rollout_temperatures(ids, n)

    def record(self, ids: Ids, outcomes: ArrayLike) -> None:
        """Keep the groups, then let the sampler learn from them."""
        flags = np.asarray(outcomes, dtype=np.bool_)
        heat = self.inner.rollout_temperatures(ids, flags.shape[1])
        self._calls += 1
        for task, temperatures, success in zip(np.asarray(ids).tolist(), heat, flags, strict=True):
            self.groups.append((int(task), temperatures.copy(), success.copy(), self._calls))
        self.inner.record(ids, outcomes)

    @property
    def rollouts(self) -> int:
        """How many rollouts were recorded."""
        return sum(len(success) for _, _, success, _ in self.groups)

    def write(self, path: Path, names: Sequence[str]) -> None:
        """Write a row for each group, in the order of play.

        `round` is the call in which it came (a step, but for refilled ones), `visit` how often
        the task was there before; a group at one temperature has a number, others a list.

        Args:
            path: the file.
            names: task ids by index.
        """
        write_whole(path, (dump(row) for row in self._rows(names)))

    def _rows(self, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        visits: dict[int, int] = {}
        for task, temperatures, success, call in self.groups:
            visit = visits.get(task, 0)
            visits[task] = visit + 1
            told = temperatures.tolist()
            yield {
                "task_id": names[task],
                "round": call,
                "visit": visit,
                "temperature": told[0] if len(set(told)) == 1 else told,
                "pass_flags": success.tolist(),
            }


def training_outcomes(path: Path) -> Outcomes:
    """Return the rollouts of a training, a row each, those of later visits numbered on.

    Raises:
        RunDamaged: no such file, or a row that is no group.
    """
    rows: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    number = 0
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            number += 1
            group = decode(line)
            name, flags, heat = group["task_id"], group["pass_flags"], group["temperature"]
            first = counts.get(name, 0)
            counts[name] = first + len(flags)
            each = heat if isinstance(heat, list) else [heat] * len(flags)
            rows += [
                {
                    "task_id": name,
                    "rollout": first + at,
                    "success": flag,
                    "temperature": temperature,
                    "round": group["round"],
                }
                for at, (flag, temperature) in enumerate(zip(flags, each, strict=True))
            ]
    except OSError as error:
        raise RunDamaged(f"{path}: {error.strerror or error}.") from None
    except (KeyError, TypeError, ValueError) as error:
        raise RunDamaged(f"{path}:{number}: expected a group of rollouts: {error}.") from None
    return Outcomes(rows)
