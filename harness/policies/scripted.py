"""Known solutions with seeded slips: curves to work on where there is no model.

The curves are invented. They show that a pipeline works and say nothing about any model, so
results are marked as scripted wherever they appear and are never called base or post.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from agentenvs import registry
from agentenvs.actions import canonical, read_json_action
from agentenvs.core import Tool, ToolCall
from agentenvs.errors import PolicyError, UnknownName, did_you_mean
from agentenvs.harness.exchange import Completion, Form, Request, Where
from agentenvs.harness.policies.grammar import write_calls
from agentenvs.harness.seeds import derive
from agentenvs.syntax import read_call_list

__all__ = ["KINDS", "ScriptedPolicy", "from_spec"]

#: kind -> what its success probabilities look like over the tasks
KINDS: Mapping[str, str] = {
    "wide": "every task solvable, with small to middling probabilities (0.03 to 0.6)",
    "narrow": "35 in 100 tasks always solved, 45 never, the rest now and then",
}
_DONE = "Done."
# A changed argument does no harm now and then, which would blur what "narrow" never solves.
_SLIPS = {"wide": ("drop", "drop", "argument", "words"), "narrow": ("drop", "drop", "words")}


class ScriptedPolicy:
    """Plays a task's known solution, faultless or with one slip.

    Each task has a success probability that its id decides; "wide" and "narrow" hold the same
    tasks to be hard. Each rollout is faultless with that probability. Otherwise one real wrong
    action is played at a random step: a call is left out, words come where calls were due, or
    ("wide" alone) an argument is changed. The verdict is the environment's own; a slip that does
    no harm counts as a success. "wide" has the lower pass@1 and, from a few k on, the higher
    pass@k. Temperature changes nothing.

    Args:
        kind: "wide" or "narrow".
        seed: decides which tasks are hard; a run's own seed decides the rollouts.
        gold: gives the actions that solve a task, one a step, from the environment's id and
            the task's; default those of the benchmark.

    Raises:
        UnknownName: there is no such kind.
    """

    form: Form = "completion"
    scripted = True

    def __init__(
        self,
        kind: Literal["wide", "narrow"],
        *,
        seed: int = 0,
        gold: Callable[[str, str], Sequence[str]] = registry.gold_actions,
    ) -> None:
        if kind not in KINDS:
            raise UnknownName(f"There is no scripted policy {kind!r}.{did_you_mean(kind, KINDS)}")
        self.kind = kind
        self.name = f"scripted:{kind}"
        self.seed = seed
        self._gold = gold
        self._plans: dict[tuple[str, str], tuple[str, ...]] = {}

    def probability(self, task: str) -> float:
        """Return how often the policy means to play a task without a slip."""
        ease = derive(self.seed, "ease", task) / 2**63
        if self.kind == "wide":
            return float(0.03 * 20.0**ease)
        return float(min(1.0, max(0.0, (ease - 0.45) / 0.2)))

    async def generate(self, request: Request) -> Completion:
        """Return the next action of the plan, or the slip."""
        where = request.where
        plan = self._plan(where)
        slip = self._slip(where, plan)
        if slip is not None and slip[0] == where.step:
            return Completion(_slipped(plan[where.step], slip[1], _SLIPS[self.kind], request))
        return Completion(plan[where.step] if where.step < len(plan) else _DONE)

    def _plan(self, where: Where) -> tuple[str, ...]:
        key = (where.env_id, where.task)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = tuple(self._gold(*key))
            if not plan:
                raise PolicyError(f"There is no known solution of task {where.task!r}.")
        return plan

    def _slip(self, where: Where, plan: Sequence[str]) -> tuple[int, int] | None:
        """Return the step and the seed of the rollout's slip, or None."""
        if derive(where.seed, "faultless") / 2**63 < self.probability(where.task):
            return None
        acting = [step for step, text in enumerate(plan) if text.lstrip().startswith(("[", "{"))]
        seed = derive(where.seed, "slip")
        return (acting[seed % len(acting)] if acting else 0), seed

    def describe(self) -> dict[str, Any]:
        """Return the settings that a run records."""
        return {"kind": self.kind, "seed": self.seed}

    async def close(self) -> None:
        """Nothing to free."""


def _slipped(text: str, seed: int, slips: Sequence[str], request: Request) -> str:
    """Return a wrong action in place of `text`."""
    tools = {tool["name"]: Tool.of(tool) for tool in request.tools}
    read = read_json_action(text)
    # In the plan's own form, since not every decoding reads both.
    write = write_calls if read is None else canonical
    read = read or read_call_list(text, tools)
    if read is None or not read.calls:
        return _DONE
    draw = random.Random(seed)
    calls = list(read.calls)
    slip = draw.choice(slips)
    if slip == "argument":
        able = [at for at, call in enumerate(calls) if call.arguments]
        if able:
            at = draw.choice(able)
            calls[at] = _changed(calls[at], draw)
            return write(calls)
    if slip == "words" or len(calls) == 1:
        return _DONE
    del calls[draw.randrange(len(calls))]
    return write(calls)


def _changed(call: ToolCall, draw: random.Random) -> ToolCall:
    name = draw.choice(sorted(call.arguments))
    value = call.arguments[name]
    other: Any
    if isinstance(value, bool):
        other = not value
    elif isinstance(value, int | float):
        other = value + draw.choice((1, 2, 10))
    elif isinstance(value, str):
        other = value + draw.choice(("s", "_2", " copy"))
    else:
        other = []
    return ToolCall(call.name, {**call.arguments, name: other})


def from_spec(rest: str, **settings: Any) -> ScriptedPolicy:
    """Return the policy of the spec `scripted:wide` or `scripted:narrow`.

    Raises:
        UnknownName: there is no such kind.
    """
    return ScriptedPolicy(rest, **settings)  # type: ignore[arg-type]
