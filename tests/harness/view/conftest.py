"""Runs made by hand, and the command in a terminal."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="session")
def runs() -> Iterator[ModuleType]:
    """Give the module that makes runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield importlib.import_module("view_runs")


@pytest.fixture
def run(runs: ModuleType, tmp_path: Path) -> Path:
    """Return a run with each kind of rollout."""
    return runs.write_run(
        tmp_path / "post",
        runs.some_rollouts(),
        voids=[
            {**runs.TIMEOUT, "attempt": at, "error": f"no answer\x1b[2J, {at}"} for at in (0, 1)
        ],
        task_ids=["mini_0", "mini_1", "desk_7", "desk_8"],
        n=2,
    )


@pytest.fixture
def terminal(runs: ModuleType) -> Iterator[Callable[..., Any]]:
    """Return what opens the command in a terminal: `terminal(*args, columns=80, rows=24)`."""
    Terminal = pytest.importorskip("view_terminal", reason="needs pseudo-terminals").Terminal  # noqa: N806
    opened = []

    def start(*args: object, columns: int = 80, rows: int = 24, **env: str) -> Any:
        opened.append(Terminal(["view", *map(str, args)], columns, rows, **env))
        return opened[-1]

    yield start
    for one in opened:
        one.close()
