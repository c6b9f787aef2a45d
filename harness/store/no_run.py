"""What is said where a folder is no run's."""

from __future__ import annotations

import os
from pathlib import Path

from agentenvs.errors import RunDamaged

__all__ = ["no_run"]

_MOST = 8


def no_run(folder: str | os.PathLike[str]) -> RunDamaged:
    """Return the error for a folder without `run.json`; it names the runs in there, if any.

    Args:
        folder: the folder.
    """
    where = Path(folder)
    told = f"{where}: expected a run folder with run.json, found none."
    try:
        runs = sorted(path.parent for path in where.glob("*/run.json"))
    except OSError:
        runs = []
    if runs:
        names = ", ".join(str(run) for run in runs[:_MOST])
        more = f" and {len(runs) - _MOST} more" if len(runs) > _MOST else ""
        told += f" It holds {len(runs)} run{'s' if len(runs) > 1 else ''}: {names}{more}."
    return RunDamaged(told)
