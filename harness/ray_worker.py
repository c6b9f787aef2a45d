"""What plays within a Ray worker, and what it reports."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec

from agentenvs.errors import AgentEnvsError
from agentenvs.harness.folder import differences, versions
from agentenvs.harness.playing import Cast, Playing
from agentenvs.harness.pool import Job, Pool
from agentenvs.harness.progress import Progress, Reporter
from agentenvs.harness.records import Played, Void

__all__ = ["Failed", "Ready", "Recipe", "Record", "Worker", "facts"]


class Ready(NamedTuple):
    """A worker has built everything and waits for rollouts.

    Attributes:
        pid: the id of its process.
    """

    pid: int


class Failed(NamedTuple):
    """A worker cannot go on, and neither can the run.

    Attributes:
        kind: the name of the exception's class in `agentenvs.errors`.
        text: its message.
    """

    kind: str
    text: str


Record = Played | Void | Failed | Ready


def facts(cast: Cast) -> dict[str, Any]:
    """Return what has to be the same in every process of a run."""
    told = cast.arm.describe()
    return {"data": told["data"], "task_hash": told["task_hash"], "versions": versions()}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that a worker needs to play.

    Attributes:
        playing: what is played.
        spec: the environment as it is registered with Gymnasium, where it is none of ours.
        facts: see `facts`.
        folder: the working folder, taken where it is there; None keeps the worker's own.
    """

    playing: Playing
    spec: EnvSpec | None
    facts: Mapping[str, Any]
    folder: str | None

    def cast(self) -> Cast:
        """Build the policies."""
        if self.folder is not None:
            with contextlib.suppress(OSError):
                os.chdir(self.folder)
        if self.spec is not None:
            gymnasium.registry.setdefault(self.spec.id, self.spec)
        return self.playing.cast()


class Worker:
    """An actor: plays what it is handed with a pool of its own, kept from first to last.

    `records` has to be called first, and only once.
    """

    def __init__(self) -> None:
        self._news: list[Record] = []
        self._some = asyncio.Event()
        self._pool: Pool | None = None
        self._cast: Cast | None = None
        self._plays: set[asyncio.Task[None]] = set()

    async def records(self, recipe: bytes) -> AsyncIterator[list[Record]]:
        """Build everything, then yield what there is to report, as soon as there is some.

        The first list is empty: the process is up.
        """
        yield []
        try:
            self._cast = self._built(recipe)
            self._pool = self._cast.pool(self._tell, self._tell)
        except Exception as error:
            where = os.uname().nodename
            told = f"A worker on {where} cannot begin: {type(error).__name__}: {error}"
            yield [Failed("RunError", told)]
            return
        yield [Ready(os.getpid())]
        while True:
            await self._some.wait()
            self._some.clear()
            news, self._news = self._news, []
            yield news

    def _built(self, recipe: bytes) -> Cast:
        from ray import cloudpickle

        given: Recipe = cloudpickle.loads(recipe)
        cast = given.cast()
        if lines := differences(given.facts, facts(cast)):
            raise AgentEnvsError(f"it would play something else: {'; '.join(lines)}")
        return cast

    def _tell(self, record: Record) -> None:
        self._news.append(record)
        self._some.set()

    async def play(self, jobs: Sequence[Job]) -> None:
        """Play these rollouts, all of them at once."""
        assert self._pool is not None  # noqa: S101
        going = self._pool.play(jobs, len(jobs), Progress(len(jobs)), Reporter())
        play = asyncio.create_task(going)
        self._plays.add(play)
        play.add_done_callback(self._plays.discard)
        try:
            await play
        except asyncio.CancelledError:
            return
        except AgentEnvsError as error:
            self._tell(Failed(type(error).__name__, str(error)))
        except Exception as error:
            self._tell(Failed("RunError", f"{type(error).__name__}: {error}"))

    async def close(self) -> None:
        """Drop what is under way; close environments and policies."""
        for play in self._plays:
            play.cancel()
        await asyncio.gather(*self._plays, return_exceptions=True)
        if self._pool is not None:
            self._pool.close()
        if self._cast is not None:
            await self._cast.close()
