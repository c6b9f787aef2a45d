"""The environment: a few moves a turn over a frozen lake, the map in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agentenvs.core import Rules, TextEnv, Tool, ToolCall, Transition
from agentenvs.errors import BadArgument
from agentenvs.frozenlake import manual as pages
from agentenvs.frozenlake.grammar import TOOLS, read, schemas, write
from agentenvs.frozenlake.lakes import Lake, check_success_rate
from agentenvs.frozenlake.tasks import all_ids, data_version, seed_of, task_ids

__all__ = ["FrozenLakeTextEnv"]

_FELL = "fell into a hole"
_TOO_LONG = "out of steps"


@dataclass(slots=True)
class _Crossing:
    """One episode: the lake, where the player stands, and how many turns were had."""

    lake: Lake
    cell: int
    steps: int = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> _Crossing:
        return replace(self)


class FrozenLakeTextEnv(TextEnv):
    """Cross a slippery lake without falling in: Gymnasium's FrozenLake, told in words.

    Task: a 4x4 map. Get from the upper left cell to the goal in the lower right one, within
    `max_steps` turns of up to `moves_per_step` moves each. A move goes as meant with probability
    `success_rate`, else to one of the two sides. Maps, slips and ends are Gymnasium's: with the
    same seed and moves this and `FrozenLakeEnv` go the same way.

    Actions: `left`, `down right`: one to `moves_per_step` of the words left, down, right, up,
    white space or commas between. Canonical JSON calls of `move(direction)` mean the same.
    Further moves are not carried out, nor is anything after the episode's end; any other text is
    words: nothing moves, and the turn counts.

    Observations: the map, a line a row, blanks between the cells: `P` the player, `.` ice, `O` a
    hole, `G` the goal. `info["messages"]` has it under the roles user, at first, and tool, and
    unless `manual`, `info["own_roles"]` asks a prompt to keep these.

    Reward: 1.0 at the end when the goal was reached, else 0.0.

    Ends: with the goal or a hole; truncated after `max_steps` turns.

    Ids: `agentenvs/FrozenLakeText-v0`, over Gymnasium's `FrozenLake-v1`.

    Args:
        tasks: a name from `agentenvs.task_sets`, or task ids; default `train`.
        task: play this task at every reset that names none.
        success_rate: how likely a move goes as meant, from 0 to 1.
        manual: put the rules into `info["system"]` and `info["policy"]`, for models that never
            saw an episode.
        rules: "official" or "fixed"; they are the same here.
        reward: "success" or "score"; they are the same here.
        max_steps: the limit of turns.
        moves_per_step: the limit of moves in a turn.
        render_mode: None or "ansi".

    Raises:
        BadArgument: an argument out of range.
        UnknownName: an unknown task or task set.
    """

    def __init__(
        self,
        tasks: str | Sequence[str] | None = None,
        task: str | None = None,
        success_rate: float = 0.8,
        manual: bool = True,
        rules: Rules = "official",
        reward: Literal["success", "score"] = "success",
        max_steps: int = 5,
        moves_per_step: int = 2,
        render_mode: str | None = None,
    ) -> None:
        self.success_rate = check_success_rate(success_rate)
        if not isinstance(manual, bool):
            raise BadArgument(f"Expected `manual` to be a bool, got {manual!r}.")
        for name, value in (("max_steps", max_steps), ("moves_per_step", moves_per_step)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadArgument(f"Expected `{name}` to be an int >= 1, got {value!r}.")
        super().__init__(
            task_ids=task_ids(tasks),
            known_task_ids=all_ids(),
            task=task,
            rules=rules,
            reward=reward,
            render_mode=render_mode,
        )
        self.manual = manual
        self.max_steps = max_steps
        self.moves_per_step = moves_per_step
        told = (self.success_rate, max_steps, moves_per_step)
        self._system = pages.system(*told) if manual else ""
        self._policy = pages.policy(*told) if manual else ""
        self._crossing: _Crossing | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The function on offer: `move`."""
        return TOOLS

    def write_calls(self, calls: Sequence[ToolCall], content: str | None = None) -> str:
        """Return structured calls as an action text: a line of moves where one says the same."""
        return write(calls, content)

    def _start(self, task_id: str, options: Mapping[str, Any]) -> Transition:
        lake = Lake.of(seed_of(task_id), self.success_rate)
        self._crossing = _Crossing(lake, lake.start(self.np_random))
        info: dict[str, Any] = {
            "system": self._system,
            "policy": self._policy,
            "tools": schemas(),
            "own_roles": not self.manual,
            "data_version": data_version(),
        }
        shown = lake.shown[self._crossing.cell]
        return Transition(shown, [{"role": "user", "content": shown}], info=info)

    def _act(self, action: str) -> Transition:
        crossing = self._under_way()
        lake = crossing.lake
        reading = read(action, self.moves_per_step)
        crossing.steps += 1
        end = False
        for move in reading.moves:
            crossing.cell, end = lake.move(crossing.cell, move, self.np_random)
            if end:
                break
        shown = lake.shown[crossing.cell]
        # Whether a prompt keeps the roles is asked at every step.
        info = {"parse": reading.parse, "own_roles": not self.manual}
        transition = Transition(shown, [{"role": "tool", "content": shown}], info=info)
        if end:
            transition.terminated = True
            if lake.cells[crossing.cell] == "G":
                transition.success, transition.score = True, 1.0
            else:
                transition.reason = _FELL
        elif crossing.steps >= self.max_steps:
            transition.truncated, transition.reason = True, _TOO_LONG
        return transition

    def _save(self) -> _Crossing:
        return replace(self._under_way())

    def _load(self, state: _Crossing) -> None:
        self._crossing = replace(state)

    def _under_way(self) -> _Crossing:
        if self._crossing is None:
            raise BadArgument("Expected `reset` before `step`.")
        return self._crossing
