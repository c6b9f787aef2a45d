from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs.trl.chat import Chat

pytest.importorskip("transformers", reason="needs the extra `hf`")

BEFORE = [{"role": "user", "content": "order lamp seven"}]
END = 2


@pytest.fixture
def tokenizer(model: Callable[..., Any]) -> Any:
    return model()[1]


def after(text: str) -> list[dict[str, str]]:
    return [*BEFORE, {"role": "assistant", "content": text}, {"role": "tool", "content": "k3"}]


def test_what_is_behind_a_reply_is_the_news_alone(tokenizer: Any) -> None:
    chat = Chat(tokenizer, [END])
    opening = chat.opening(BEFORE)
    assert tokenizer.decode(opening) == "<user> order lamp seven <agent>"
    drawn = tokenizer("find lamp <end>")["input_ids"]
    assert chat.text(drawn) == "find lamp"
    behind = chat.behind(BEFORE, drawn, after("find lamp"))
    assert tokenizer.decode(behind) == "<tool> k3 <agent>"
    whole = tokenizer.apply_chat_template(
        after("find lamp"), add_generation_prompt=True, return_dict=True
    )
    assert opening + drawn + behind == whole["input_ids"]


def test_a_reply_that_was_cut_is_closed_for_it(tokenizer: Any) -> None:
    chat = Chat(tokenizer, [END])
    drawn = tokenizer("find lamp")["input_ids"]
    assert not chat.ended(drawn)
    behind = chat.behind(BEFORE, drawn, after("find lamp"))
    assert tokenizer.decode(behind) == "<end> <tool> k3 <agent>"


def test_tokens_stay_as_they_were_drawn(tokenizer: Any) -> None:
    # Read back, the text would be other tokens: an unknown word, and none for the pad.
    chat = Chat(tokenizer, [END])
    drawn = [6, 0, 1, END]
    text = chat.text(drawn)
    behind = chat.behind(BEFORE, drawn, after(text))
    assert tokenizer.decode(behind) == "<tool> k3 <agent>"


REWRITES = (
    "{% for m in messages %}{% if not (m.role == 'assistant' and loop.index < loop.length - 1) %}"
    "<{{ m.role }}> {{ m.content }} <end> {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<agent>{% endif %}"
)
THINKS = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<agent> {% if loop.last %}"
    "{{ m.content }}{% else %}{{ m.content.split(' ')[-1] }}{% endif %} <end> "
    "{% else %}<user> {{ m.content }} {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<agent>{% endif %}"
)


@pytest.mark.parametrize("template", [REWRITES, THINKS])
def test_a_template_that_rewrites_earlier_words_is_refused(tokenizer: Any, template: str) -> None:
    chat = Chat(tokenizer, [END], template)
    with pytest.raises(BadArgument, match="leaves earlier messages as they were"):
        chat.behind(BEFORE, [6, 14, END], after("find lamp"))


LOUD = (
    "{% for m in messages %}<user> {{ m.content | upper }} <end> {% endfor %}"
    "{% if add_generation_prompt %}<agent>{% endif %}"
)
DEAF = (
    "{% for m in messages %}{% if m.role != 'assistant' %}<user> {{ m.content }} {% endif %}"
    "{% endfor %}"
)


@pytest.mark.parametrize("template", [LOUD, DEAF])
def test_a_template_that_hides_what_was_said_is_refused(tokenizer: Any, template: str) -> None:
    with pytest.raises(BadArgument, match="writes an assistant's words as they are"):
        Chat(tokenizer, [END], template).behind(BEFORE, [6, 14, END], after("find lamp"))


@pytest.mark.parametrize("template", ["{{ 1 / 0 }}", "{{ 1 + 'a' }}", "{{ messages[0].a.b }}"])
def test_a_template_that_fails_is_refused(tokenizer: Any, template: str) -> None:
    with pytest.raises(BadArgument, match="template refuses the conversation"):
        Chat(tokenizer, [END], template).opening(BEFORE)


TERSE = (
    "{% for m in messages if m.content %}{% if m.role == 'assistant' %}<agent> {{ m.content }} "
    "<end> {% else %}<tool> {{ m.content }} {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<agent>{% endif %}"
)


def test_a_reply_without_words_is_closed_though_the_template_leaves_it_out(tokenizer: Any) -> None:
    chat = Chat(tokenizer, [END], TERSE)
    first = after("")
    assert tokenizer.decode(chat.behind(BEFORE, [END], first)) == "<tool> k3 <agent>"
    then = [*first, {"role": "assistant", "content": "ok"}, {"role": "tool", "content": "lamp"}]
    drawn = tokenizer("ok <end>")["input_ids"]
    assert tokenizer.decode(chat.behind(first, drawn, then)) == "<tool> lamp <agent>"


@pytest.mark.parametrize(
    "later",
    [
        [{"role": "user", "content": "another"}],
        [*BEFORE, {"role": "assistant", "content": "find lamp"}],
    ],
)
def test_a_conversation_that_begins_anew_is_refused(tokenizer: Any, later: Any) -> None:
    with pytest.raises(BadArgument, match="conversation that only grows"):
        Chat(tokenizer, [END]).behind(BEFORE, [6, END], later)


def test_a_template_that_takes_no_system_text_gets_it_with_the_first_words(tokenizer: Any) -> None:
    system = {"role": "system", "content": "find ok"}
    # The bundled model's template refuses the role.
    ids = Chat(tokenizer, [END]).opening([system, *BEFORE])
    assert tokenizer.decode(ids) == "<user> find ok order lamp seven <agent>"
    with pytest.raises(BadArgument, match="refuses the conversation"):
        Chat(tokenizer, [END]).opening([system])


def test_settings_of_a_template_reach_it(tokenizer: Any) -> None:
    template = "{% if loud %}ok {% endif %}" + str(tokenizer.chat_template)
    ids = Chat(tokenizer, [END], template, {"loud": True}).opening(BEFORE)
    assert tokenizer.decode(ids).startswith("ok <user>")


def test_a_template_without_a_mark_behind_words_is_refused() -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = {"S": 0, "e": 1, "v": 2, "n": 3, "t": 4, "n!": 5, "!": 6, "<u>": 7}
    unknown = {"unk_token": "<u>"}
    backend = Tokenizer(models.BPE(words, [("n", "!")], **unknown))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        **unknown,
        chat_template="{% for m in messages %}{{ m.content }}!{% endfor %}",
    )
    with pytest.raises(BadArgument, match="a mark of its own behind"):
        Chat(tokenizer, []).behind(
            [{"role": "user", "content": "e"}],
            [1],
            [
                {"role": "user", "content": "e"},
                {"role": "assistant", "content": "e"},
                {"role": "user", "content": "v"},
            ],
        )


def test_a_tokenizer_without_a_template_is_refused(tokenizer: Any) -> None:
    tokenizer.chat_template = None
    with pytest.raises(BadArgument, match="with a chat template, got none"):
        Chat(tokenizer, [END])
