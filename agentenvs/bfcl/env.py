"""The environment: user turns, steps of calls, and the verdict at the end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agentenvs.actions import canonical
from agentenvs.bfcl.checker import FORCED, MAX_STEPS, Judge
from agentenvs.bfcl.decoding import Decoding, Reading, decode
from agentenvs.bfcl.executor import World
from agentenvs.bfcl.prompts import (
    Docs,
    handed_over,
    handover_sentence,
    offer,
    schemas,
    system_prompt,
    tools,
)
from agentenvs.bfcl.tasks import Task, all_ids, data_version, is_official, task, task_ids
from agentenvs.core import Message, Rules, TextEnv, Tool, ToolCall, Transition
from agentenvs.errors import BadArgument
from agentenvs.syntax import CallNode, call_text

__all__ = ["BFCLEnv"]


@dataclass(slots=True)
class _State:
    """Everything of an episode that changes."""

    world: World
    judge: Judge
    turn: int = 0
    steps: int = 0
    acted: bool = False
    results: list[str] = field(default_factory=list)

    def copy(self) -> _State:
        results = list(self.results)
        world, judge = self.world.copy(), self.judge.copy()
        return _State(world, judge, self.turn, self.steps, self.acted, results)

    def __deepcopy__(self, memo: dict[int, Any]) -> _State:
        return self.copy()


class BFCLEnv(TextEnv):
    """BFCL v4 multi-turn: a user asks over several turns, the agent calls stateful tools.

    Task: fulfil each request by calls; the verdict compares, after every turn, the state of
    the tools and the results of the calls with those of the ground truth.

    Actions: a step is a list of calls, `[cd(folder='docs'), ls()]` or canonical JSON; any
    other text ends the turn, and so do calls that do not read (under "fixed" these are
    answered with an error as a step).

    Observations: what the user says at the start of a turn; after calls, their results as the
    official prompt shows them. `info["messages"]` has one "tool" message a call. `info` also
    has `turn`, and `withheld_call`: a function was called that is not on offer yet.

    Reward: 1.0 at the end when the verdict is valid, else 0.0.

    Ends: after the last turn; truncated by a step limit of 21 carried-out steps in one turn.

    Ids: `agentenvs/BFCLv4-v0`. Source: bfcl-eval 2026.3.23, Apache-2.0, Patil et al.

    Args:
        tasks: a name from `agentenvs.task_sets`, or task ids.
        task: play this task at every reset that names none.
        rules: "official", or "fixed": literals and functions on offer only, a stop by the step
            limit always fails, turns with an empty ground truth are judged.
        reward: "success" or "score"; the same here.
        decoding: "native" (strict, positional values bound by doc order), or "official" (what
            the official text decoder makes of a reply).
        docs: "official", or "compact" (one line a function and a parameter).
        max_steps_per_turn: the limit; one step more is carried out, then the episode stops.
        render_mode: None or "ansi".
        exclude: task ids that a bare `reset` never draws.

    Raises:
        BadArgument: an argument out of range.
        UnknownName: an unknown task or task set.
        SourceError: official tasks are asked for and the wheel cannot be had.
    """

    own_decoding: ClassVar[Mapping[str, Any]] = {"decoding": "official"}

    def __init__(
        self,
        tasks: str | Sequence[str] = "base",
        task: str | None = None,
        rules: Rules = "official",
        reward: Literal["success", "score"] = "success",
        decoding: Decoding = "native",
        docs: Docs = "official",
        max_steps_per_turn: int = MAX_STEPS,
        render_mode: str | None = None,
        exclude: Collection[str] = (),
    ) -> None:
        if decoding not in ("native", "official"):
            raise BadArgument(
                f"Expected `decoding` to be 'native' or 'official', got {decoding!r}."
            )
        if docs not in ("official", "compact"):
            raise BadArgument(f"Expected `docs` to be 'official' or 'compact', got {docs!r}.")
        if isinstance(max_steps_per_turn, bool) or not isinstance(max_steps_per_turn, int):
            got = type(max_steps_per_turn)
            raise BadArgument(f"Expected `max_steps_per_turn` to be an int, got {got}.")
        if max_steps_per_turn < 1:
            raise BadArgument(
                f"Expected `max_steps_per_turn` to be at least 1, got {max_steps_per_turn}."
            )
        if isinstance(exclude, str):
            raise BadArgument(f"Expected `exclude` to be a list of task ids, got {exclude!r}.")
        left_out = frozenset(task_ids(list(exclude)))
        drawn = [name for name in task_ids(tasks) if name not in left_out]
        super().__init__(
            task_ids=drawn,
            known_task_ids=all_ids(),
            task=task,
            rules=rules,
            reward=reward,
            render_mode=render_mode,
        )
        self.decoding: Decoding = decoding
        self.docs: Docs = docs
        self.max_steps_per_turn = max_steps_per_turn
        self._item: Task | None = None
        self._state: _State | None = None
        for name in drawn if task is None else [task]:
            if is_official(name):
                data_version([name])
                break

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The functions on offer now."""
        if self._item is None or self._state is None:
            return ()
        return offer(self._item, self._state.turn, self.docs)

    def write_calls(self, calls: Sequence[ToolCall], content: str | None = None) -> str:
        """Return structured calls as an action text that the decoding in force reads.

        The official decoding reads a Python-style list and nothing beside it, so that words
        that came with the calls are left out there.
        """
        if self.decoding == "native":
            return canonical(tuple(calls), content)
        return f"[{', '.join(call_text(call.name, call.arguments) for call in calls)}]"

    def _start(self, task_id: str, options: Mapping[str, Any]) -> Transition:
        self._item = item = task(task_id)
        self._state = _State(item.world(self.rules), Judge(item, self.rules))
        transition = self._open_turn()
        transition.info.update(
            system=system_prompt(item, self.docs),
            policy="",
            tools=schemas(item, self._state.turn, self.docs),
            data_version=data_version([task_id]),
        )
        return transition

    def _act(self, action: str) -> Transition:
        item, _ = self._parts()
        reading = decode(action, self.decoding, tools(item, self.docs))
        if reading.status == "calls":
            transition = self._carry_out(reading)
        elif reading.status == "malformed" and self.rules == "fixed":
            transition = self._refuse(reading)
        else:
            transition = self._close_turn()
        transition.info["parse"] = reading.parse
        return transition

    def _save(self) -> _State:
        return self._parts()[1].copy()

    def _load(self, state: _State) -> None:
        self._item = state.judge.item
        self._state = state.copy()

    def _parts(self) -> tuple[Task, _State]:
        if self._item is None or self._state is None:
            raise BadArgument("Expected `reset` before `step`.")
        return self._item, self._state

    def _open_turn(self) -> Transition:
        item, state = self._parts()
        said = item.questions[state.turn]
        info: dict[str, Any] = {"turn": state.turn, "withheld_call": False}
        if said is None:
            said = handover_sentence(item)
            observation = f"{handed_over(item, state.turn, self.docs)}\n{said}"
            info["tools"] = schemas(item, state.turn, self.docs)
        else:
            observation = said
        return Transition(observation, [{"role": "user", "content": said}], info=info)

    def _carry_out(self, reading: Reading) -> Transition:
        item, state = self._parts()
        on_offer = item.offer_sets[state.turn]
        results = state.world.run(reading.calls, on_offer if self.rules == "fixed" else None)
        names = [_shown(call) for call in reading.calls]
        state.acted = True
        state.results = [*state.results, *results]
        called = {name.split("(", 1)[0] for name in names}
        return self._after_step(
            [
                {"role": "tool", "name": name, "content": result}
                for name, result in zip(names, results, strict=True)
            ],
            any(name in item.docs and name not in on_offer for name in called),
        )

    def _refuse(self, reading: Reading) -> Transition:
        """Answer calls that do not read; the turn goes on."""
        content = f"Error: these calls could not be read: {reading.reason}"
        return self._after_step([{"role": "tool", "content": content}], False)

    def _after_step(self, messages: list[Message], withheld: bool) -> Transition:
        _, state = self._parts()
        state.steps += 1
        transition = Transition(
            str(messages), messages, info={"turn": state.turn, "withheld_call": withheld}
        )
        if state.steps > self.max_steps_per_turn:
            self._stop(transition)
        return transition

    def _stop(self, transition: Transition) -> None:
        """End the episode at the step limit."""
        item, state = self._parts()
        transition.truncated = True
        if self.rules == "official" and state.turn == item.turns - 1:
            state.judge.turn_over(state.turn, state.world, state.results, state.acted)
            self._conclude(transition)
        else:
            transition.reason = FORCED
            transition.info["failed_turn"] = state.turn if self.rules == "fixed" else None

    def _close_turn(self) -> Transition:
        item, state = self._parts()
        state.judge.turn_over(state.turn, state.world, state.results, state.acted)
        if state.turn == item.turns - 1:
            info = {"turn": state.turn, "withheld_call": False}
            transition = Transition("", [], terminated=True, info=info)
            self._conclude(transition)
            return transition
        state.turn += 1
        state.steps, state.acted, state.results = 0, False, []
        return self._open_turn()

    def _conclude(self, transition: Transition) -> None:
        verdict = self._parts()[1].judge.verdict()
        transition.success = verdict.valid
        transition.score = float(verdict.valid)
        transition.reason = verdict.error_type
        transition.info["failed_turn"] = verdict.turn


def _shown(call: str | CallNode) -> str:
    return call if isinstance(call, str) else call_text(call.name, dict(call.kwargs), call.args)
