"""A world's words as a tokenizer of transformers, with the conversation's marks as its template."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument
from agentenvs.toollab.vocabulary import AGENT, END, PAD, TOOL, UNK, USER, VOCABULARY

__all__ = ["MARKS", "TEMPLATE", "build_tokenizer", "check_words", "words_of"]

#: what every vocabulary begins with
MARKS = VOCABULARY[: TOOL + 1]
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
_FILE = "tokenizer.json"


def build_tokenizer(context: int = 128, words: Sequence[str] = VOCABULARY) -> Any:
    """Return a `PreTrainedTokenizerFast` with one token a word.

    Text is split at white space; a word that the world does not know becomes `<unk>`. `<end>`
    ends a text. Its chat template writes conversations as `agentenvs.toollab.render` does, which
    the `render` of other worlds agrees with.

    Args:
        context: most tokens that the model takes.
        words: all words of a world, in the order of their ids, marks first; default ToolLab's.

    Raises:
        BadArgument: `words` is no such vocabulary.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = check_words(words)
    ids = {word: at for at, word in enumerate(words)}
    backend = Tokenizer(models.WordLevel(ids, unk_token=words[UNK]))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    known = words == VOCABULARY
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token=words[UNK],
        pad_token=words[PAD],
        eos_token=words[END],
        extra_special_tokens=[words[at] for at in (USER, AGENT, TOOL)],
        chat_template=TEMPLATE if known else TEMPLATE.replace("ToolLab has", "This world has"),
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )


def check_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return a world's vocabulary, having made sure that it is one.

    Raises:
        BadArgument: it does not begin with `MARKS`, or something in it is no word, or there twice.
    """
    told = tuple(words)
    if told[: len(MARKS)] != MARKS:
        raise BadArgument(
            f"Expected words that begin with {' '.join(MARKS)}, got {told[: len(MARKS)]!r:.120}."
        )
    odd = next((w for w in told if not isinstance(w, str) or w.split() != [w]), None)
    if odd is not None:
        raise BadArgument(f"Expected words without white space, got {odd!r:.40}.")
    if len(set(told)) < len(told):
        twice = next(word for at, word in enumerate(told) if word in told[:at])
        raise BadArgument(f"Expected each word once, got {twice!r:.40} twice.")
    return told


def words_of(folder: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the words that a saved model knows, in the order of their ids.

    Raises:
        BadArgument: the folder holds no tokenizer of this kind.
    """
    path = Path(folder) / _FILE
    try:
        ids = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
        words = sorted(ids, key=ids.__getitem__)
        gaps = [ids[word] for word in words] != list(range(len(words)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadArgument(f"Expected a tokenizer of words in {path}: {error!r}") from error
    if gaps:
        raise BadArgument(f"Expected ids from 0 without a gap in {path}.")
    return check_words(words)
