"""A conversation as tokens that only grows: what was drawn is never split into tokens again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agentenvs.core import Message
from agentenvs.errors import BadArgument
from agentenvs.harness.policies.hf_prompting import encodable, fold_system

__all__ = ["Chat"]

_PROBE = "Seventeen"


class Chat:
    """Renders conversations by a chat template, a piece at a time.

    Args:
        tokenizer: of transformers, with a chat template.
        ends: ids of the tokens that end a reply.
        template: instead of the tokenizer's own.
        settings: further arguments of the template.

    Raises:
        BadArgument: there is no chat template.
    """

    def __init__(
        self,
        tokenizer: Any,
        ends: Collection[int],
        template: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if not (template or tokenizer.chat_template):
            raise BadArgument(
                "Expected a tokenizer with a chat template, got none: an episode is put to the "
                "model as messages."
            )
        self._tokenizer = tokenizer
        self._ends = frozenset(ends)
        self._settings = {"chat_template": template, **(settings or {})}

    def opening(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of a conversation, up to where the assistant's reply begins.

        Raises:
            BadArgument: the template refuses the messages.
        """
        return self._ids(self._text(messages, cue=True))

    def ended(self, drawn: Sequence[int]) -> bool:
        """Return whether a reply's last token ended it."""
        return bool(drawn) and drawn[-1] in self._ends

    def text(self, drawn: Sequence[int]) -> str:
        """Return a reply as text, without the token that ended it; nothing else is hidden."""
        said = drawn[:-1] if self.ended(drawn) else drawn
        return str(
            self._tokenizer.decode(
                list(said), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    def behind(
        self, before: Sequence[Message], drawn: Sequence[int], after: Sequence[Message]
    ) -> list[int]:
        """Return what follows a reply: its closing mark, the news, and the next reply's cue.

        Args:
            before: the messages that were replied to.
            drawn: the reply's tokens, with the token that ended it, if one did.
            after: the same messages, the reply as the environment was given it, and the news.

        Raises:
            BadArgument: the conversation began anew, or the template fails, writes an assistant's
                words otherwise, or earlier messages once there are more: the tokens so far would
                not be what it shows.
        """
        known = len(before)
        if list(after[:known]) != list(before) or len(after) < known + 2:
            raise BadArgument(
                "Expected a conversation that only grows, got one that began anew: its tokens "
                "are not one sequence."
            )
        if not after[known]["content"].strip():
            # A template may leave out messages without words; the model wrote this one.
            spoken: Message = {**after[known], "content": _PROBE}
            after = [*before, spoken, *after[known + 1 :]]
        opened = self._text(before, cue=True)
        closed = self._text(after[: known + 1], cue=False)
        whole = self._text(after, cue=True)
        closing = self._closing(before)
        if not (
            closed.startswith(opened) and closed.endswith(closing) and whole.startswith(closed)
        ):
            raise BadArgument(
                "Expected a chat template that leaves earlier messages as they were, got one that "
                "writes them otherwise once there are more. Give the tokenizer one that keeps "
                "them (TRL's `get_training_chat_template` has some)."
            )
        ids = self._tail(closing + whole[len(closed) :])
        # The model wrote the closing mark itself.
        own = self.ended(drawn) and ids[:1] == [drawn[-1]]
        return ids[1:] if own else ids

    def _closing(self, before: Sequence[Message]) -> str:
        """Return what the template puts behind an assistant's words."""
        said: Message = {"role": "assistant", "content": _PROBE}
        text = self._text([*before, said], cue=False)
        if _PROBE not in text:
            raise BadArgument(
                "Expected a chat template that writes an assistant's words as they are, got one "
                f"that does not write {_PROBE!r}."
            )
        return text[text.rindex(_PROBE) + len(_PROBE) :]

    def _text(self, messages: Sequence[Message], *, cue: bool) -> str:
        from jinja2 import TemplateError

        # A template is a program: it may fail as one does.
        failures = (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TemplateError,
            TypeError,
            ValueError,
        )

        def rendered(said: Sequence[Message]) -> str:
            return str(
                self._tokenizer.apply_chat_template(
                    [{**m, "content": encodable(m["content"])} for m in said],
                    add_generation_prompt=cue,
                    tokenize=False,
                    **self._settings,
                )
            )

        try:
            return rendered(messages)
        except failures as error:
            folded = fold_system(messages)
            if folded is None:
                raise BadArgument(f"The chat template refuses the conversation: {error}") from error
        try:
            return rendered(folded)
        except failures as error:
            raise BadArgument(f"The chat template refuses the conversation: {error}") from error

    def _ids(self, text: str) -> list[int]:
        # The template writes every mark itself.
        return [int(i) for i in self._tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _tail(self, text: str) -> list[int]:
        """Return the ids of a text that stands behind words."""
        front = self._ids(_PROBE)
        both = self._ids(_PROBE + text)
        if both[: len(front)] != front:
            raise BadArgument(
                "Expected a chat template with a mark of its own behind an assistant's words, got "
                f"{text[:20]!r}, which the tokenizer joins with them."
            )
        return both[len(front) :]
