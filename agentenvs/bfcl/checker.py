"""The verdict: state and results after each turn against the ground truth's."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentenvs.bfcl.clone import clone
from agentenvs.bfcl.executor import World
from agentenvs.bfcl.tasks import Task, task
from agentenvs.core import Rules, Shared, check_rules
from agentenvs.errors import BadArgument

__all__ = [
    "EMPTY_TURN",
    "FORCED",
    "MAX_STEPS",
    "RESULTS_DIFFER",
    "STATE_DIFFERS",
    "Judge",
    "Verdict",
    "verdict",
]

#: official step limit: one step more is carried out, then the model is stopped
MAX_STEPS = 20
EMPTY_TURN = "multi_turn:empty_turn_model_response"
FORCED = "multi_turn:force_terminated"
RESULTS_DIFFER = "multi_turn:execution_response_mismatch"
STATE_DIFFERS = "multi_turn:instance_state_mismatch"


class Verdict(NamedTuple):
    """What the checker says of a trajectory.

    Attributes:
        valid: every turn passed.
        error_type: the official name of the first failure, "" when valid.
        turn: the turn that failed, from 0; None when valid or where no turn did.
    """

    valid: bool
    error_type: str = ""
    turn: int | None = None


@dataclass(frozen=True, eq=False)
class _Truth(Shared):
    """The ground truth of one turn, carried out.

    Attributes:
        results: how often each result text occurs.
        state: public attributes by class, after the turn.
    """

    results: Mapping[str, int]
    state: Mapping[str, Mapping[str, Any]]


@functools.cache
def _truth(item: Task) -> tuple[_Truth, ...]:
    """Return the ground truth of every turn; the same for every model, so run once."""
    world = item.world("official", "ground_truth")
    turns = []
    for calls in item.gold:
        results = [text for call in calls for text in world.run([call])]
        state = clone({name: _public(one) for name, one in world.instances.items()}, {})
        turns.append(_Truth(Counter(results), state))
    return tuple(turns)


def _public(instance: Any) -> dict[str, Any]:
    return {key: value for key, value in vars(instance).items() if not key.startswith("_")}


class Judge:
    """Judges one episode turn by turn.

    Args:
        item: the task.
        rules: "official" leaves turns with an empty ground truth unjudged; "fixed" demands
            that they leave the public state as the ground truth does.
    """

    __slots__ = ("_results", "failure", "item", "rules")

    def __init__(self, item: Task, rules: Rules) -> None:
        self.item = item
        self.rules = rules
        self.failure: tuple[str, int] | None = None
        self._results: dict[str, int] = {}

    def copy(self) -> Judge:
        """Return an independent copy."""
        twin = Judge(self.item, self.rules)
        twin.failure, twin._results = self.failure, self._results.copy()
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Judge:
        return self.copy()

    def turn_over(self, turn: int, world: World, results: Sequence[str], acted: bool) -> None:
        """Judge a turn.

        Args:
            turn: its index.
            world: the world after the turn.
            results: the turn's result texts.
            acted: whether any call was carried out in it.
        """
        if self.failure is not None:
            return
        counts = self._results
        for text in results:
            counts[text] = counts.get(text, 0) + 1
        calls = self.item.gold[turn]
        if not calls and self.rules == "official":
            return
        truth = _truth(self.item)[turn]
        if calls and not acted:
            self.failure = (EMPTY_TURN, turn)
        elif not _same_state(world, truth.state):
            self.failure = (STATE_DIFFERS, turn)
        elif any(counts.get(text, 0) < count for text, count in truth.results.items()):
            self.failure = (RESULTS_DIFFER, turn)

    def verdict(self) -> Verdict:
        """Return the verdict on the turns judged so far."""
        return Verdict(True) if self.failure is None else Verdict(False, *self.failure)


def _same_state(world: World, truth: Mapping[str, Mapping[str, Any]]) -> bool:
    try:
        for name, attributes in truth.items():
            found = vars(world.instances[name])
            for key, value in attributes.items():
                if found[key] != value:
                    return False
    except RecursionError:
        return False
    return True


def verdict(
    task_id: str, turns: Sequence[Sequence[Sequence[str]]], rules: Rules = "official"
) -> Verdict:
    """Judge a trajectory of call strings.

    Args:
        task_id: a task.
        turns: `turns[turn][step]` is the list of call strings of a step; steps without calls
            do not count.
        rules: "official" or "fixed".

    Returns:
        The official verdict and error type under "official". Under "fixed" calls may hold
        literals and name functions on offer only, a turn with more than 21 steps fails as
        a stopped one, and turns with an empty ground truth must leave the state alone.

    Raises:
        UnknownName: there is no such task.
        BadArgument: `turns` has another shape, or unknown rules.
        SourceError: the task is official and the wheel cannot be had.
    """
    check_rules(rules)
    item = task(task_id)
    _check_shape(turns)
    if len(turns) != item.turns:
        return Verdict(False, FORCED)
    world = item.world(rules)
    judge = Judge(item, rules)
    for index, turn in enumerate(turns):
        steps = [step for step in turn if step]
        if rules == "fixed" and len(steps) > MAX_STEPS:
            return Verdict(False, FORCED, index)
        allowed = item.offer_sets[index] if rules == "fixed" else None
        results = [text for step in steps for text in world.run(step, allowed)]
        judge.turn_over(index, world, results, bool(steps))
        if judge.failure is not None:
            break
    return judge.verdict()


def _check_shape(turns: object) -> None:
    if not isinstance(turns, list | tuple):
        raise BadArgument(f"Expected `turns` to be a list of turns, got {type(turns)}.")
    for turn in turns:
        if not isinstance(turn, list | tuple):
            raise BadArgument(f"Expected a turn to be a list of steps, got {type(turn)}.")
        for step in turn:
            if not isinstance(step, list | tuple):
                raise BadArgument(f"Expected a step to be a list of calls, got {type(step)}.")
            for call in step:
                if not isinstance(call, str):
                    raise BadArgument(f"Expected a call to be a str, got {type(call)}.")
