from __future__ import annotations

import multiprocessing
from types import SimpleNamespace
from typing import Any

import pytest

from agentenvs.errors import RunError
from agentenvs.harness.replay.workers import _Worker


@pytest.mark.parametrize("go_on", [lambda worker: worker.begin([]), lambda worker: worker.hear()])
def test_a_process_that_was_killed_is_told(go_on: Any) -> None:
    worker = _Worker.__new__(_Worker)
    worker.connection, other = multiprocessing.Pipe()
    other.close()
    process: Any = SimpleNamespace(join=lambda seconds: None, exitcode=-9)
    worker._process = process
    with pytest.raises(RunError, match="ended with exit code -9"):
        go_on(worker)
    worker.connection.close()
