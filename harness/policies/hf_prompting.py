"""Requests as token ids, and the tokens that end a reply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agentenvs.core import Message
from agentenvs.errors import PolicyError
from agentenvs.harness.exchange import Request

__all__ = ["decoder", "encodable", "encode", "end_tokens", "fold_system"]

_PROBE = "Seventeen"


def encode(tokenizer: Any, request: Request) -> list[int]:
    """Return the prompt's token ids, with the marks that the tokenizer puts in front.

    Args:
        tokenizer: a transformers tokenizer.
        request: with `messages` (rendered by the chat template, up to where the assistant's
            reply begins) or with `prompt`.

    Raises:
        PolicyError: the chat template is missing or refuses the messages, or nothing is left.
    """
    if request.messages is not None:
        return _render(tokenizer, request.messages, add_generation_prompt=True)
    text = encodable(request.prompt or "")
    ids = [int(i) for i in tokenizer(text)["input_ids"]]
    eos = tokenizer.eos_token_id
    # Some tokenizers close every text, as training wants it; a prompt must stay open.
    if ids and ids[-1] == eos and not text.endswith(tokenizer.eos_token or "\0"):
        ids.pop()
    if not ids:
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else eos
        if start is None:
            raise PolicyError("The prompt is empty and the tokenizer has no token to start with.")
        ids = [int(start)]
    return ids


def encodable(text: str) -> str:
    """Replace lone surrogates, which a model can write as an escape and no tokenizer reads."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _render(
    tokenizer: Any, messages: Sequence[Message], *, add_generation_prompt: bool
) -> list[int]:
    if not tokenizer.chat_template:
        raise PolicyError(
            "The tokenizer has no chat template; use form='completion' or give `chat_template`."
        )
    from jinja2 import TemplateError

    def rendered(said: Sequence[Message]) -> list[int]:
        out = tokenizer.apply_chat_template(
            [{**m, "content": encodable(m["content"])} for m in said],
            add_generation_prompt=add_generation_prompt,
            tokenize=True,
            return_dict=True,
        )
        return [int(i) for i in out["input_ids"]]

    try:
        return rendered(messages)
    except (TemplateError, ValueError) as error:
        folded = fold_system(messages)
        if folded is None:
            raise PolicyError(f"The chat template refuses the conversation: {error}") from error
    try:
        return rendered(folded)
    except (TemplateError, ValueError) as error:
        raise PolicyError(f"The chat template refuses the conversation: {error}") from error


def fold_system(messages: Sequence[Message]) -> list[Message] | None:
    """Put the system text in front of the first user message, for templates without the role."""
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user":
        return None
    first: Message = {
        "role": "user",
        "content": f"{messages[0]['content']}\n\n{messages[1]['content']}",
    }
    return [first, *messages[2:]]


def end_tokens(tokenizer: Any, configured: int | Iterable[int] | None) -> frozenset[int]:
    """Return the ids of the tokens that end a reply.

    Args:
        tokenizer: its end-of-text token counts, and what its chat template puts after an
            assistant's words, where that is a special token.
        configured: `eos_token_id` of the model's generation config.
    """
    ends = {tokenizer.eos_token_id}
    if configured is not None:
        ends.update([configured] if isinstance(configured, int) else configured)
    if tokenizer.chat_template:
        ends.add(_turn_end(tokenizer))
    return frozenset(int(end) for end in ends if end is not None)


def _turn_end(tokenizer: Any) -> int | None:
    said: list[Message] = [
        {"role": "user", "content": "Say a number."},
        {"role": "assistant", "content": _PROBE},
    ]
    try:
        ids = _render(tokenizer, said, add_generation_prompt=False)
    except PolicyError:
        return None
    special = set(tokenizer.all_special_ids) | set(getattr(tokenizer, "added_tokens_decoder", ()))
    decode = decoder(tokenizer)
    start = next((i for i in reversed(range(len(ids))) if _PROBE in decode(ids[i:])), None)
    if start is None:
        return None
    end = next(i for i in range(start + 1, len(ids) + 1) if _PROBE in decode(ids[start:i]))
    return ids[end] if end < len(ids) and ids[end] in special else None


def decoder(tokenizer: Any) -> Any:
    """Return a function from token ids to text that hides nothing.

    Special tokens stay in the text, since several models mark their tool calls by them.
    """

    def decode(ids: Sequence[int]) -> str:
        return str(
            tokenizer.decode(
                list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    return decode
