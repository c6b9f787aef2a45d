"""What worlds of few words share: tokens that say who speaks, and a conversation as tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.errors import BadArgument

__all__ = ["AGENT", "END", "MARKERS", "PAD", "TOOL", "UNK", "USER", "ids_of"]

#: the first words of every vocabulary, in this order
MARKERS: tuple[str, ...] = ("<pad>", "<unk>", "<end>", "<user>", "<agent>", "<tool>")
PAD, UNK, END, USER, AGENT, TOOL = range(6)

_ROLES = {"user": USER, "assistant": AGENT, "tool": TOOL}


def ids_of(
    messages: Sequence[Mapping[str, Any]], ids: Mapping[str, int], *, cue: bool = False
) -> list[int]:
    """Return a conversation as token ids.

    A user's message is `<user> words`, an agent's `<agent> words <end>`, a tool's `<tool> words`;
    a word that the world does not know is `<unk>`.

    Args:
        messages: role-tagged messages, as of `Episode.messages`.
        ids: the world's words, from `MARKERS` on.
        cue: put `<agent>` at the end, where the agent is to go on.

    Raises:
        BadArgument: a message of another role; there is no word for it.
    """
    told: list[int] = []
    for message in messages:
        marker = _ROLES.get(message["role"])
        if marker is None:
            raise BadArgument(
                f"Expected messages of the roles {', '.join(_ROLES)}, got {message['role']!r}."
            )
        told.append(marker)
        told += [ids.get(word, UNK) for word in message["content"].split()]
        if marker == AGENT:
            told.append(END)
    return [*told, AGENT] if cue else told
