"""All words of the world as tokens, and a conversation as a sequence of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agentenvs.dialogue_words import AGENT, END, MARKERS, PAD, TOOL, UNK, USER, ids_of
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
    *MARKERS,
    *(".", "O", "G", "P"),
    *MOVES,
)
ID: Mapping[str, int] = MappingProxyType({word: at for at, word in enumerate(VOCABULARY)})

ICE, HOLE, GOAL, PLAYER = range(len(MARKERS), len(MARKERS) + 4)
#: id of the first direction; Gymnasium's number of the action is added to it
MOVE = ID[MOVES[0]]


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
    return ids_of(messages, ID, cue=cue)
