"""All words of the world as tokens, and a conversation as a sequence of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agentenvs.dialogue_words import AGENT, END, MARKERS, PAD, TOOL, UNK, USER, ids_of
from agentenvs.toollab.design import CHANNELS, CODES, COUNTS, ERRANDS, ITEMS, LABELS, TAGS

__all__ = [
    "AGENT",
    "CHANNEL",
    "CODE",
    "COUNT",
    "END",
    "ERRAND",
    "ERROR",
    "FIND",
    "ID",
    "ITEM",
    "LABEL",
    "OK",
    "PAD",
    "TAG",
    "TOOL",
    "UNK",
    "UNKNOWN",
    "USER",
    "VOCABULARY",
    "render",
]

VOCABULARY: tuple[str, ...] = (
    *MARKERS,
    *("find", "ok", "error", "unknown"),
    *ERRANDS,
    *ITEMS,
    *COUNTS,
    *TAGS,
    *CHANNELS,
    *LABELS,
    *CODES,
)
ID: Mapping[str, int] = MappingProxyType({word: at for at, word in enumerate(VOCABULARY)})

FIND, OK, ERROR, UNKNOWN = range(len(MARKERS), len(MARKERS) + 4)
#: ids of the first word of each list; the list's index is added to it
ERRAND, ITEM, COUNT = ID[ERRANDS[0]], ID[ITEMS[0]], ID[COUNTS[0]]
TAG, CHANNEL, LABEL, CODE = ID[TAGS[0]], ID[CHANNELS[0]], ID[LABELS[0]], ID[CODES[0]]


def render(messages: Sequence[Mapping[str, Any]], *, cue: bool = False) -> list[int]:
    """Return a conversation as token ids.

    A user's message is `<user> words`, an agent's `<agent> words <end>`, a tool's `<tool> words`;
    a word that the world does not know is `<unk>`.

    Args:
        messages: role-tagged messages, as of `Episode.messages`.
        cue: put `<agent>` at the end, where the agent is to go on.

    Raises:
        BadArgument: a message of another role; the world has no word for it.
    """
    return ids_of(messages, ID, cue=cue)
