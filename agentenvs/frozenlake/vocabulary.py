"""All words of the world as tokens, and a conversation as a sequence of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agentenvs.errors import BadArgument
from agentenvs.frozenlake.lakes import MOVES

__all__ = [
    "AGENT",
    "END",
    "GOAL",
    "HOLE",
    "ICE",
    "ID",
    "MOVE",
    "PAD",
    "PLAYER",
    "TOOL",
    "UNK",
    "USER",
    "VOCABULARY",
    "render",
]

VOCABULARY: tuple[str, ...] = (
    *("<pad>", "<unk>", "<end>", "<user>", "<agent>", "<tool>"),
    *(".", "O", "G", "P"),
    *MOVES,
)
ID: Mapping[str, int] = MappingProxyType({word: at for at, word in enumerate(VOCABULARY)})

PAD, UNK, END, USER, AGENT, TOOL, ICE, HOLE, GOAL, PLAYER = range(10)
#: id of the first direction; Gymnasium's number of the action is added to it
MOVE = ID[MOVES[0]]

_MARKERS = {"user": USER, "assistant": AGENT, "tool": TOOL}


def render(messages: Sequence[Mapping[str, Any]], *, cue: bool = False) -> list[int]:
    """Return a conversation as token ids.

    A user's message is `<user> words`, an agent's `<agent> words <end>`, a tool's `<tool> words`;
    a word that the world does not know is `<unk>`. An episode of five turns with two moves each
    has 122 tokens.

    Args:
        messages: role-tagged messages, as of `Episode.messages`.
        cue: put `<agent>` at the end, where the agent is to go on.

    Raises:
        BadArgument: a message of another role; the world has no word for it.
    """
    ids: list[int] = []
    for message in messages:
        marker = _MARKERS.get(message["role"])
        if marker is None:
            raise BadArgument(
                f"Expected messages of the roles {', '.join(_MARKERS)}, got {message['role']!r}."
            )
        ids.append(marker)
        ids += [ID.get(word, UNK) for word in message["content"].split()]
        if marker == AGENT:
            ids.append(END)
    return [*ids, AGENT] if cue else ids
