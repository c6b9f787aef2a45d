"""ToolLab's words as a tokenizer of transformers, with the conversation's marks as its template."""

from __future__ import annotations

from typing import Any

from agentenvs.toollab.vocabulary import AGENT, END, PAD, TOOL, UNK, USER, VOCABULARY

__all__ = ["TEMPLATE", "build_tokenizer"]

#: what `agentenvs.toollab.render` does
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}<agent> {{ message['content'] }} <end> "
    "{% elif message['role'] in ('user', 'tool') %}"
    "<{{ message['role'] }}> {{ message['content'] }} "
    "{% else %}{{ raise_exception('ToolLab has no ' ~ message['role'] ~ ' messages.') }}"
    "{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}<agent>{% endif %}"
)


def build_tokenizer(context: int = 128) -> Any:
    """Return a `PreTrainedTokenizerFast` with one token a word.

    Text is split at white space; a word that the world does not know becomes `<unk>`. `<end>`
    ends a text. Its chat template writes conversations as `agentenvs.toollab.render` does.

    Args:
        context: most tokens that the model takes.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {word: at for at, word in enumerate(VOCABULARY)}
    backend = Tokenizer(models.WordLevel(words, unk_token=VOCABULARY[UNK]))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token=VOCABULARY[UNK],
        pad_token=VOCABULARY[PAD],
        eos_token=VOCABULARY[END],
        extra_special_tokens=[VOCABULARY[at] for at in (USER, AGENT, TOOL)],
        chat_template=TEMPLATE,
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )
