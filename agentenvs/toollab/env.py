"""The environment: find an item, carry out the errand by the convention, close with a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agentenvs.core import Rules, TextEnv, Tool, ToolCall, Transition
from agentenvs.errors import BadArgument
from agentenvs.toollab import manual as pages
from agentenvs.toollab.design import (
    CHANNELS,
    CODES,
    COUNTS,
    ERRANDS,
    ITEMS,
    LABELS,
    TAGS,
    Design,
    check_world,
)
from agentenvs.toollab.grammar import FIND, FOUND, TOOLS, read, schemas, write
from agentenvs.toollab.tasks import all_ids, index_of, task_ids

__all__ = ["ToolLabEnv"]

_REFUSED_TWICE = "rejected twice"
_DONE_TWICE = "carried out twice"
_TOO_SOON = "closed before the errand was carried out"
_WRONG_WORD = "wrong closing word"
_TOO_LONG = "out of steps"
_ERRORS = 2


@dataclass(slots=True)
class _Errand:
    """One episode: what is asked for, and how far it is."""

    item: str
    call: tuple[str, str, str, str]
    code: str
    found: bool = False
    accepted: bool = False
    errors: int = 0
    steps: int = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> _Errand:
        return replace(self)


class ToolLabEnv(TextEnv):
    """An errand desk whose conventions, exceptions and demonstrations are fully known.

    Task: the user names an errand, an item and a count, `order lamp seven`. Find the item's
    tag, carry out the errand once by the right channel, with the right label and the count as
    that label counts it, and close with the right word. What is right is the convention of the
    errand and the item's kind, or, for four items in ten, an exception to it.

    Actions: `find ITEM`; a call, `CHANNEL TAG LABEL COUNT`; the closing word. Canonical JSON
    calls mean the same. Any text that is neither, an empty one too, is closing words.

    Observations: the user's words; then `k3`, a tag, or `unknown` for another item; `ok` or
    `error` for a call. `info["messages"]` has them under the roles user and tool, and unless
    `manual`, `info["own_roles"]` asks a prompt to keep these.

    Reward: 1.0 at the end for the right word after an accepted call, else 0.0.

    Ends: with the closing words; with the second refused call; with any call after an accepted
    one; truncated after `max_steps` actions.

    Ids: `agentenvs/ToolLab-v0`. A world of this project's own.

    Args:
        tasks: a name from `agentenvs.task_sets`, or task ids; default `train`.
        task: play this task at every reset that names none.
        world: which conventions, exceptions and demonstrators; any int >= 0.
        manual: put the conventions, not the exceptions, into `info["system"]` and
            `info["policy"]`, for models that never saw a demonstration.
        rules: "official" or "fixed"; they are the same here.
        reward: "success" or "score"; they are the same here.
        max_steps: the limit of actions.
        render_mode: None or "ansi".

    Raises:
        BadArgument: an argument out of range.
        UnknownName: an unknown task or task set, or a task of another world.
    """

    def __init__(
        self,
        tasks: str | Sequence[str] | None = None,
        task: str | None = None,
        world: int = 0,
        manual: bool = False,
        rules: Rules = "official",
        reward: Literal["success", "score"] = "success",
        max_steps: int = 5,
        render_mode: str | None = None,
    ) -> None:
        check_world(world)
        if not isinstance(manual, bool):
            raise BadArgument(f"Expected `manual` to be a bool, got {manual!r}.")
        if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
            raise BadArgument(f"Expected `max_steps` to be an int >= 1, got {max_steps!r}.")
        super().__init__(
            task_ids=task_ids(tasks, world),
            known_task_ids=all_ids(world),
            task=task,
            rules=rules,
            reward=reward,
            render_mode=render_mode,
        )
        self.world = world
        self.manual = manual
        self.max_steps = max_steps
        self.design = Design.of(world)
        self._system = pages.system(self.design) if manual else ""
        self._policy = pages.policy(self.design) if manual else ""
        self._errand: _Errand | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The functions on offer: `find`, and one for each channel."""
        return TOOLS

    def write_calls(self, calls: Sequence[ToolCall], content: str | None = None) -> str:
        """Return structured calls as an action text: a command line where one says the same."""
        return write(calls, content)

    def _start(self, task_id: str, options: Mapping[str, Any]) -> Transition:
        design = self.design
        errand, item, count = design.task(index_of(task_id))
        channel, label, code = design.truth[errand, item]
        self._errand = _Errand(
            ITEMS[item],
            (
                CHANNELS[channel],
                TAGS[int(self.np_random.integers(len(TAGS)))],
                LABELS[label],
                COUNTS[design.counted[label, count]],
            ),
            CODES[code],
        )
        text = f"{ERRANDS[errand]} {ITEMS[item]} {COUNTS[count]}"
        info: dict[str, Any] = {
            "system": self._system,
            "policy": self._policy,
            "tools": schemas(),
            "own_roles": not self.manual,
            "data_version": design.digest,
        }
        return Transition(text, [{"role": "user", "content": text}], info=info)

    def _act(self, action: str) -> Transition:
        errand = self._under_way()
        reading = read(action)
        transition = Transition("", [], info={"parse": reading.parse})
        errand.steps += 1
        if reading.status == "words":
            self._close(transition, reading.words)
            return transition
        for command in reading.commands:
            if command[:1] == (FIND,):
                self._answer(transition, self._find(command))
            else:
                self._carry_out(transition, command)
            if transition.terminated:
                break
        transition.observation = "\n".join(said["content"] for said in transition.messages)
        if errand.steps >= self.max_steps and not transition.terminated:
            transition.truncated, transition.reason = True, _TOO_LONG
        # Whether a prompt keeps the roles is asked at every step.
        transition.info["own_roles"] = not self.manual
        return transition

    def _save(self) -> _Errand:
        return replace(self._under_way())

    def _load(self, state: _Errand) -> None:
        self._errand = replace(state)

    def _under_way(self) -> _Errand:
        if self._errand is None:
            raise BadArgument("Expected `reset` before `step`.")
        return self._errand

    def _find(self, command: tuple[str, ...]) -> str:
        errand = self._under_way()
        if command != (FIND, errand.item):
            return "unknown"
        errand.found = True
        return errand.call[1]

    def _carry_out(self, transition: Transition, command: tuple[str, ...]) -> None:
        errand = self._under_way()
        if errand.accepted:
            transition.terminated, transition.reason = True, _DONE_TWICE
            return
        if errand.found and command[1:2] == (FOUND,):
            command = (command[0], errand.call[1], *command[2:])
        errand.accepted = command == errand.call
        if errand.accepted:
            self._answer(transition, "ok")
            return
        self._answer(transition, "error")
        errand.errors += 1
        if errand.errors >= _ERRORS:
            transition.terminated, transition.reason = True, _REFUSED_TWICE

    def _close(self, transition: Transition, words: tuple[str, ...]) -> None:
        errand = self._under_way()
        transition.terminated = True
        if not errand.accepted:
            transition.reason = _TOO_SOON
        elif words != (errand.code,):
            transition.reason = _WRONG_WORD
        else:
            transition.success, transition.score = True, 1.0

    def _answer(self, transition: Transition, word: str) -> None:
        transition.messages.append({"role": "tool", "content": word})
