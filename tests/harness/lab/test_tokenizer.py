from __future__ import annotations

import pytest

from agentenvs.errors import BadArgument
from agentenvs.toollab import VOCABULARY, render
from agentenvs.toollab import vocabulary as v

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]

TALK = [
    {"role": "user", "content": "order lamp seven"},
    {"role": "assistant", "content": "find lamp"},
    {"role": "tool", "content": "k3"},
    {"role": "assistant", "content": ""},
    {"role": "tool", "content": "ok"},
    {"role": "assistant", "content": "<pad> zebra  <user>\nlamp <tool>"},
]


def ids_of(tokenizer, messages, cue=False):
    return tokenizer.apply_chat_template(messages, add_generation_prompt=cue, return_dict=True)[
        "input_ids"
    ]


@pytest.mark.parametrize("cue", [False, True])
def test_the_chat_template_renders_as_the_world_does(tokenizer, cue):
    for length in range(1, len(TALK) + 1):
        said = TALK[:length]
        assert ids_of(tokenizer, said, cue) == render(said, cue=cue)


def test_every_token_survives_being_read_back(tokenizer):
    ids = list(range(len(VOCABULARY)))
    text = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    assert text.split() == list(VOCABULARY)
    assert tokenizer(text)["input_ids"] == ids


def test_unknown_words_are_one_token_each(tokenizer):
    assert tokenizer("lamp; {zebra} É")["input_ids"] == [v.UNK, v.UNK, v.UNK]


def test_other_roles_are_refused(tokenizer):
    from jinja2 import TemplateError

    with pytest.raises(TemplateError, match="no system messages"):
        ids_of(tokenizer, [{"role": "system", "content": "find"}, *TALK])


def test_a_saved_tokenizer_is_the_same(torch, tokenizer, tmp_path):
    from transformers import AutoTokenizer

    tokenizer.save_pretrained(tmp_path)
    other = AutoTokenizer.from_pretrained(tmp_path)
    assert ids_of(other, TALK) == ids_of(tokenizer, TALK)
    assert (other.eos_token_id, other.pad_token_id, other.unk_token_id) == (v.END, v.PAD, v.UNK)


def test_the_policy_ends_a_turn_at_end_alone(tokenizer):
    from agentenvs.harness.policies.hf_prompting import end_tokens

    assert end_tokens(tokenizer, v.END) == {v.END}
    assert end_tokens(tokenizer, None) == {v.END}


OTHER = (*VOCABULARY[:6], ".", "O", "left")


def test_another_world_has_its_own_words(torch, tmp_path):
    from agentenvs.harness.lab.tokenizer import build_tokenizer, words_of

    tokenizer = build_tokenizer(32, OTHER)
    asked = [{"role": "user", "content": ". O\nlamp"}]
    assert ids_of(tokenizer, asked, cue=True) == [v.USER, 6, 7, v.UNK, v.AGENT]
    tokenizer.save_pretrained(tmp_path)
    assert words_of(tmp_path) == OTHER


def test_another_world_is_not_called_toollab(torch):
    from jinja2 import TemplateError

    from agentenvs.harness.lab.tokenizer import build_tokenizer

    with pytest.raises(TemplateError, match="This world has no system messages"):
        ids_of(build_tokenizer(32, OTHER), [{"role": "system", "content": "find"}])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (OTHER[1:], "begin with <pad>"),
        ((*OTHER, "left"), "'left' twice"),
        ((*OTHER, "two words"), "'two words'"),
        ((*OTHER, 5), "got 5"),
        ((*OTHER, ""), "got ''"),
    ],
)
def test_what_is_no_vocabulary_is_refused(words, said):
    from agentenvs.harness.lab.tokenizer import build_tokenizer

    with pytest.raises(BadArgument, match=said):
        build_tokenizer(32, words)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"model": {"vocab": {"<pad>": 0, "a": 2}}}'])
def test_a_folder_without_words_is_refused(tmp_path, text):
    from agentenvs.harness.lab.tokenizer import words_of

    if text:
        (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(BadArgument, match=r"tokenizer\.json"):
        words_of(tmp_path)
