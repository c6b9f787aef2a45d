"""Faults of the infrastructure: which they are, and when there are too many to go on."""

from __future__ import annotations

from agentenvs.errors import InfrastructureFault, RunError
from agentenvs.harness.records import Void

__all__ = ["FAULTS", "Breaker", "reason_of", "told"]

#: what, raised out of a policy or an environment, leaves a rollout without a verdict
FAULTS = (InfrastructureFault, TimeoutError, ConnectionError)
_LONGEST = 500
# Where one rollout in three stays open by chance, as many in a row are rare.
_FEWEST = 12
_TASKS = 4


def reason_of(error: BaseException) -> str:
    """Return the short word for one of `FAULTS`."""
    if isinstance(error, InfrastructureFault):
        return error.reason
    return "timeout" if isinstance(error, TimeoutError) else "connection"


def told(error: BaseException) -> str:
    """Return an error as it stands in a record: its class and its text, cut where it is long."""
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


class Breaker:
    """Stops a run in which nothing comes to a verdict any more.

    Rollouts of one task follow one another, so that many in a row may be one task's fault. They
    count where their task has come to a verdict before, or where they are of several tasks.

    Args:
        size: how many rollouts are under way at a time; twice as many in a row, and at least
            twelve, have to stay open.
        tasks: how many tasks there are.
    """

    def __init__(self, size: int, tasks: int) -> None:
        self._most = max(_FEWEST, 2 * size)
        self._few = min(_TASKS, tasks)
        self._row = 0
        self._tasks: set[str] = set()
        self._sound: set[str] = set()
        self._stopped = False

    def finished(self, task: str) -> None:
        """Take note of a rollout of this task with a verdict."""
        self._row = 0
        self._tasks.clear()
        self._sound.add(task)

    def left_open(self, last: Void) -> None:
        """Take note of a rollout whose every try was void.

        Args:
            last: the last of its tries.

        Raises:
            RunError: it was one too many.
        """
        self._row += 1
        self._tasks.add(last.task)
        telling = len(self._tasks) >= self._few or not self._sound.isdisjoint(self._tasks)
        # Once is enough: the run is being stopped then.
        if self._row >= self._most and telling and not self._stopped:
            self._stopped = True
            raise RunError(
                f"{self._row} rollouts in a row came to no verdict; the last, task "
                f"{last.task!r}, rollout {last.rollout}, by {last.reason}: {last.error}. "
                "In a run folder the same command goes on."
            )
