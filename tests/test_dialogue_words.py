from __future__ import annotations

import pytest

from agentenvs import dialogue_words as words
from agentenvs import frozenlake, toollab


def test_markers_have_their_names() -> None:
    ids = (words.PAD, words.UNK, words.END, words.USER, words.AGENT, words.TOOL)
    named = ("<pad>", "<unk>", "<end>", "<user>", "<agent>", "<tool>")
    assert [words.MARKERS[at] for at in ids] == list(words.MARKERS) == list(named)


@pytest.mark.parametrize("world", [frozenlake, toollab])
def test_every_world_begins_with_them(world: object) -> None:
    assert world.VOCABULARY[:6] == words.MARKERS  # type: ignore[attr-defined]


def test_a_conversation_has_the_words_of_its_world() -> None:
    messages = [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "b"}]
    assert words.ids_of(messages, {"b": 6}) == [words.USER, words.UNK, 6, words.AGENT, 6, words.END]
    assert words.ids_of(messages[:1], {"a": 6, "b": 7}, cue=True)[-1] == words.AGENT
