"""From an action's text to moves; and from calls to a line of moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentenvs.actions import canonical, read_json_action
from agentenvs.core import Shared, Tool, ToolCall
from agentenvs.frozenlake.lakes import MOVES

__all__ = ["MOVE", "TOOLS", "Reading", "read", "schemas", "write"]

MOVE = "move"
_USE = "Moves you one cell. You may slip."
_ID = {word: at for at, word in enumerate(MOVES)}


def _parameters() -> dict[str, Any]:
    direction = {"type": "string", "enum": list(MOVES), "description": "the way you mean to go"}
    return {"type": "object", "properties": {"direction": direction}, "required": ["direction"]}


TOOLS: tuple[Tool, ...] = (Tool(MOVE, _USE, _parameters()),)


def schemas() -> list[dict[str, Any]]:
    """Return the tool as a JSON schema, a fresh one, at a tenth of a copy's cost."""
    return [{"name": MOVE, "description": _USE, "parameters": _parameters()}]


@dataclass(frozen=True, slots=True)
class Reading(Shared):
    """How an action was read.

    Attributes:
        status: "calls", "words" (nothing moves) or "malformed" (JSON calls that do not read).
        moves: the moves to carry out, by Gymnasium's numbers.
        reason: what will not be carried out, or does not read.
    """

    status: Literal["calls", "words", "malformed"]
    moves: tuple[int, ...] = ()
    reason: str = ""

    @property
    def parse(self) -> dict[str, str]:
        """The entry of `info`."""
        return {"status": self.status, "reason": self.reason}


def read(text: str, limit: int) -> Reading:
    """Read an action; never raises on text.

    Args:
        text: directions with white space or commas between; canonical JSON calls of `move`; any
            other text is words.
        limit: how many moves, or calls, are carried out at most; the reason names what is left.
    """
    action = read_json_action(text)
    if action is None:
        words = text.replace(",", " ").split()
        if not words or any(word not in _ID for word in words):
            return Reading("words")
        return Reading("calls", tuple(_ID[word] for word in words[:limit]), _rest(words, limit))
    if action.status != "calls":
        return Reading(action.status, reason=action.reason)
    moves = [_direction(call) for call in action.calls[:limit]]
    wrong = [f"call {at} is no move" for at, move in enumerate(moves, 1) if move is None]
    reason = "; ".join(filter(None, [*wrong, _rest(action.calls, limit)]))
    return Reading("calls", tuple(move for move in moves if move is not None), reason)


def write(calls: Sequence[ToolCall], content: str | None = None) -> str:
    """Return calls as a text that `read` reads: a line of moves where one says the same.

    Calls that are no moves go as canonical JSON, with all that stand beside them. Words beside
    moves are left out; a line of moves has no place for them, and they do nothing.
    """
    moves = [_direction(call) for call in calls]
    if not moves or None in moves:
        return canonical(tuple(calls), content)
    return " ".join(MOVES[move] for move in moves if move is not None)


def _direction(call: ToolCall) -> int | None:
    way = call.arguments.get("direction")
    if call.name != MOVE or len(call.arguments) != 1 or not isinstance(way, str):
        return None
    return _ID.get(way)


def _rest(moves: Sequence[object], limit: int) -> str:
    return f"only {limit} of {len(moves)} are carried out" if len(moves) > limit else ""
