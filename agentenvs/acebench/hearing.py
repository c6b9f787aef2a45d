"""What a scripted user makes of the agent's words."""

# ruff: noqa: RUF001 - Chinese punctuation is meant

from __future__ import annotations

import re
from typing import NamedTuple

from agentenvs.acebench.goals import count_of, days_of
from agentenvs.acebench.slots import Slot, Table, Words

__all__ = ["Heard", "hear"]

_PIECES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；?])|\n+")
#: words of the agent that are looked at
_MAX_HEARD = 4_000


class Heard(NamedTuple):
    """What was heard.

    Attributes:
        asked: slots that were asked for, in the order of telling, those included of which a
            wrong value was named.
        confirm: whether something is to be agreed to.
        more: whether the agent asks for further wishes.
        help: whether the agent asks what is wanted.
        claim: whether the agent says that something was done.
    """

    asked: tuple[str, ...]
    confirm: bool
    more: bool
    help: bool
    claim: bool


def hear(text: str, table: Table) -> Heard:
    """Return what a user with this table hears in the agent's words.

    A slot is asked for in a sentence that asks or requests something and names it, or in what
    follows such a sentence after a colon. Where the sentence names the slot's right value, or
    wants a confirmation and the text names it, no more than a yes is wanted; where another one
    is named, the slot is told again.
    """
    hears = table.words.hear
    text = text[:_MAX_HEARD]
    asking = _asking(text, table.words)
    asked: set[str] = set()
    agreed = bool(hears["confirm"].search(text))
    for sentence in asking:
        for slot in table.slots.values():
            if slot.ask.search(sentence):
                right = _named(slot, sentence, table.words)
                if right is None and hears["confirm"].search(sentence):
                    right = _named(slot, text, table.words)
                if right:
                    agreed = True
                else:
                    asked.add(slot.name)
    return Heard(
        tuple(name for name in table.slots if name in asked),
        agreed,
        bool(hears["more"].search(text)),
        bool(hears["help"].search(text)),
        bool(hears["claim"].search(text)),
    )


def _asking(text: str, words: Words) -> list[str]:
    """Return the sentences that ask or request something."""
    asking: list[str] = []
    listed = False
    for piece in _PIECES.split(text):
        sentence = piece.strip()
        if sentence and (listed or words.hear["cue"].search(sentence)):
            asking.append(sentence)
            listed = listed or sentence.endswith((":", "："))
    return asking


def _named(slot: Slot, text: str, words: Words) -> bool | None:
    """Return whether a text names the right value of a slot and no other; None where none."""
    right = _kinds(slot.name, slot.value, words)
    if right:
        named = _kinds(slot.name, text, words)
        return named == right if named else None
    days = days_of(slot.value)
    if days:
        found = days_of(text)
        return found <= days if found else None
    return True if slot.value and slot.value.casefold() in text.casefold() else None


def _kinds(name: str, text: str, words: Words) -> frozenset[str]:
    """Return which of the few values that a slot can have are named in a text."""
    if name == "bags":
        numbers = [
            count_of(next(filter(None, match.groups())))
            for match in words.hear["bags"].finditer(text)
        ]
        alone = count_of(text) if not numbers and len(text) < 16 else None
        return frozenset(str(number) for number in (*numbers, alone) if number is not None)
    values = words.kinds.get(name, {})
    return frozenset(value for value, pattern in values.items() if pattern.search(text))
