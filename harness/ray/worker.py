"""What plays within a Ray worker, how it is built there, and what it reports."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import platform
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec

from agentenvs import registry
from agentenvs.errors import AgentEnvsError, PolicyError, RunError
from agentenvs.harness.jobs import Job
from agentenvs.harness.playing import Cast, Playing
from agentenvs.harness.policies.callable import CallablePolicy
from agentenvs.harness.pool import Pool
from agentenvs.harness.progress import Progress, Reporter
from agentenvs.harness.records import Played, Void
from agentenvs.harness.store.folder import differences, versions

__all__ = ["Failed", "Ready", "Recipe", "Record", "Worker"]


class Ready(NamedTuple):
    """A worker has built everything and waits for rollouts."""


class Failed(NamedTuple):
    """A worker cannot go on, and neither can the run.

    Attributes:
        kind: the name of the exception's class in `agentenvs.errors`.
        text: its message.
    """

    kind: str
    text: str


Record = Played | Void | Failed | Ready


@dataclasses.dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that a worker needs to play.

    Attributes:
        playing: what is played.
        spec: the environment as it is registered with Gymnasium, where it is none of ours.
        facts: what has to be the same in every process of a run.
        variables: of the environment.
        folder: the working folder, taken where it is there; None keeps the worker's own.
    """

    playing: Playing
    spec: EnvSpec | None
    facts: Mapping[str, Any]
    variables: Mapping[str, str]
    folder: str | None

    @classmethod
    def written(cls, cast: Cast, environment: Mapping[str, Any]) -> bytes:
        """Return the recipe for what is cast here, as it is sent to workers.

        Args:
            cast: what is played.
            environment: the workers' `runtime_env`; what it sets is left alone.

        Raises:
            PolicyError: it cannot be sent to other processes.
        """
        from ray import cloudpickle

        there = environment.get("env_vars", {})
        own = {k: v for k, v in os.environ.items() if k.startswith("AGENTENVS_") and k not in there}
        env_id = cast.arm.env_id
        spec = None if env_id in registry.WORLDS else gymnasium.registry[env_id]
        folder = None if "working_dir" in environment else os.getcwd()
        try:
            made: bytes = cloudpickle.dumps(cls(_by_value(cast), spec, _facts(cast), own, folder))
        except Exception as error:
            raise PolicyError(
                f"What is played cannot be sent to workers ({type(error).__name__}: {error}). "
                "Name the policy by a spec, or give a function or an object that pickles."
            ) from error
        return made

    def cast(self) -> Cast:
        """Build the policies, and see that they will play what the others do.

        Raises:
            RunError: data or software are others than where the run was begun.
        """
        os.environ.update(self.variables)
        if self.folder is not None:
            with contextlib.suppress(OSError):
                os.chdir(self.folder)
        if self.spec is not None:
            gymnasium.registry.setdefault(self.spec.id, self.spec)
        cast = self.playing.cast()
        if lines := differences(self.facts, _facts(cast)):
            raise RunError(f"it would play something else: {'; '.join(lines)}")
        return cast


class Worker:
    """An actor: plays what it is handed with a pool of its own, kept from first to last.

    `records` has to be called first, and only once.
    """

    def __init__(self) -> None:
        self._news: list[Record] = []
        self._some = asyncio.Event()
        self._plays: set[asyncio.Task[None]] = set()
        self._pool: Pool | None = None
        self._cast: Cast | None = None

    async def records(self, recipe: bytes) -> AsyncIterator[list[Record]]:
        """Build everything, then yield what there is to report, as soon as there is some.

        The first list is empty: the process is up.
        """
        from ray import cloudpickle

        yield []
        try:
            given: Recipe = cloudpickle.loads(recipe)
            self._cast = given.cast()
            self._pool = self._cast.pool(self._tell, self._tell)
        except (Exception, SystemExit) as error:
            where = f"A worker on {platform.node()} cannot begin"
            yield [Failed("RunError", f"{where}: {type(error).__name__}: {error}")]
            return
        yield [Ready()]
        while True:
            await self._some.wait()
            self._some.clear()
            news, self._news = self._news, []
            yield news

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


def _facts(cast: Cast) -> dict[str, Any]:
    told = cast.arm.describe()
    return {"data": told["data"], "task_hash": told["task_hash"], "versions": versions()}


def _by_value(cast: Cast) -> Playing:
    """Return what is played with functions in place of their names, which files elsewhere lack."""
    playing = cast.playing
    policies: dict[str, Any] = {"policy": cast.policy}
    if cast.user is not None:
        policies["user"] = cast.user.policy
    changes: dict[str, Any] = {}
    for name, policy in policies.items():
        if isinstance(getattr(playing, name), str) and isinstance(policy, CallablePolicy):
            kwargs = getattr(playing, f"{name}_kwargs") or {}
            changes |= {name: policy.function, f"{name}_kwargs": {"name": policy.name, **kwargs}}
    return dataclasses.replace(playing, **changes)
