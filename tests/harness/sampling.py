"""Small samplers and a policy that minds temperature, for tests of what feeds samplers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agentenvs.harness import Completion, Request
from agentenvs.harness.seeds import derive


class Plain:
    """Temperatures and updates, nothing else; notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[list[str], list[int], list[int]]] = []

    def temperatures(self, task_ids: Sequence[str]) -> Any:
        return 0.5 + 0.1 * np.arange(len(task_ids)) + len(self.told)

    def update(self, task_ids: Sequence[str], successes: Any, n: Any) -> None:
        self.told.append((list(task_ids), np.asarray(successes).tolist(), np.asarray(n).tolist()))


class Learner:
    """Each task's temperature depends on its own outcomes so far, and on a seed; whole."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.seen: dict[str, list[str]] = {}

    def temperatures(self, task_ids: Sequence[str]) -> Any:
        return self.rollout_temperatures(task_ids, 1)[:, 0]

    def rollout_temperatures(self, task_ids: Sequence[str], n: int) -> Any:
        drawn = [
            [derive(self.seed, task, *self.seen.get(task, ()), at) / 2**63 for at in range(n)]
            for task in task_ids
        ]
        return 0.5 + np.array(drawn)

    def update(self, task_ids: Sequence[str], successes: Any, n: Any) -> None:
        raise AssertionError("`record` goes before `update`")

    def record(self, task_ids: Sequence[str], outcomes: Any) -> None:
        for task, row in zip(task_ids, outcomes, strict=True):
            self.seen.setdefault(task, []).append("".join(str(int(one)) for one in row))

    def describe(self) -> dict[str, Any]:
        return {"seed": self.seed, "pair": (1, 2)}

    def state_dict(self) -> dict[str, Any]:
        return {"header": json.dumps(self.seen)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.seen = json.loads(state["header"])


class Warm:
    """Succeeds with a chance that falls with temperature, by a known solution.

    Args:
        gold: gives the actions that solve a task, from the environment's id and the task's.
        ease: chance of success at temperature 0.
        after: how many replies it gives before it fails.
    """

    name = "warm"
    form = "completion"
    scripted = False

    def __init__(self, gold: Any, ease: float = 1.0, after: int = 10**9) -> None:
        self.gold = gold
        self.ease = ease
        self.left = after

    async def generate(self, request: Request) -> Completion:
        self.left -= 1
        if self.left < 0:
            raise OSError("the model went away")
        where = request.where
        plan = self.gold(where.env_id, where.task)
        chance = self.ease * np.exp(-request.temperature * derive(1, where.task) / 2**63)
        if derive(where.seed, "hit") / 2**63 < chance and where.step < len(plan):
            return Completion(plan[where.step])
        return Completion("No.")

    def describe(self) -> dict[str, Any]:
        return {"ease": self.ease}

    async def close(self) -> None:
        """Nothing to free."""
