from __future__ import annotations

import pytest

from agentenvs.errors import BadArgument
from agentenvs.toollab import vocabulary as v
from agentenvs.toollab.design import CHANNELS, CODES, COUNTS, ERRANDS, ITEMS, LABELS, TAGS
from agentenvs.toollab.vocabulary import ID, VOCABULARY, render


def test_every_word_has_one_id() -> None:
    assert len(VOCABULARY) == len(set(VOCABULARY)) == 86
    assert [ID[word] for word in VOCABULARY] == list(range(86))
    assert not any(set(word) & set(" \t\n") for word in VOCABULARY)


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (v.ERRAND, ERRANDS),
        (v.ITEM, ITEMS),
        (v.COUNT, COUNTS),
        (v.TAG, TAGS),
        (v.CHANNEL, CHANNELS),
        (v.LABEL, LABELS),
        (v.CODE, CODES),
    ],
)
def test_lists_lie_at_their_offsets(first: int, words: tuple[str, ...]) -> None:
    assert VOCABULARY[first : first + len(words)] == words


def test_names_of_single_tokens() -> None:
    ids = (v.PAD, v.UNK, v.END, v.USER, v.AGENT, v.TOOL, v.FIND, v.OK, v.ERROR, v.UNKNOWN)
    assert [VOCABULARY[at] for at in ids] == list(VOCABULARY[:10])
    assert VOCABULARY[6:10] == ("find", "ok", "error", "unknown")


def test_render() -> None:
    messages = [
        {"role": "user", "content": "order lamp seven"},
        {"role": "assistant", "content": " find  lamp\n"},
        {"role": "tool", "content": "k3"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": "Signed!"},
    ]
    words = "<user> order lamp seven <agent> find lamp <end> <tool> k3 <agent> <end> <agent> <unk>"
    assert [VOCABULARY[at] for at in render(messages)] == [*words.split(), "<end>"]
    assert render(messages, cue=True) == [*render(messages), v.AGENT]


def test_a_role_without_a_word_is_refused() -> None:
    with pytest.raises(BadArgument, match="roles user, assistant, tool, got 'system'"):
        render([{"role": "system", "content": "rules"}])
