"""One row of a batch: an episode, and its tokens as they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentenvs.errors import BadArgument, InfrastructureFault
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Completion, FinishReason
from agentenvs.harness.ptgs.trl.chat import Chat

__all__ = ["Dialogue"]


class Dialogue:
    """Plays one episode from tokens.

    Args:
        episode: just begun, in chat form.
        chat: renders it.
        longest: most tokens behind the first prompt, the environment's among them.

    Attributes:
        ids: everything so far: the first prompt, then what was drawn and what was said.
        start: where the first prompt ends.
        mask: for each id behind it, 1 where the model drew it, else 0.
        logprobs: for each of these, 0.0 where nothing was drawn; None once a reply came without.
        reason: why the episode failed, "" before.
    """

    def __init__(self, episode: Episode, chat: Chat, longest: int) -> None:
        self._episode, self._chat, self._longest = episode, chat, longest
        self._open = episode.request is not None
        self._lost = False
        self.ids = chat.opening(self._messages)
        self.start = len(self.ids)
        self.mask: list[int] = []
        self.logprobs: list[float | None] | None = []
        self.reason = ""

    @property
    def temperature(self) -> float:
        """At which every reply is drawn."""
        return self._episode.sampling.temperature

    @property
    def success(self) -> bool | None:
        """Whether the episode succeeded; None where an outage left it without a verdict."""
        return None if self._lost else self._episode.success

    @property
    def score(self) -> float | None:
        """The benchmark's graded score, None likewise."""
        return None if self._lost else self._episode.score

    @property
    def _messages(self) -> tuple[Any, ...]:
        request = self._episode.request
        return () if request is None or request.messages is None else request.messages

    def room(self, context: int) -> int:
        """Return how many tokens the next reply may have at most, 0 where there is none.

        Raises:
            BadArgument: the first prompt does not fit into the model's context.
        """
        if not self._open:
            return 0
        room = min(self._longest - len(self.mask), context - len(self.ids))
        if room < 1 and not self.mask:
            raise BadArgument(
                f"Expected the first prompt of task {self._episode.task!r} to fit into the "
                f"model's context of {context} tokens, got {len(self.ids)}."
            )
        return room

    def take(
        self, drawn: Sequence[int], logprobs: Sequence[float | None] | None, context: int
    ) -> None:
        """Carry out a reply.

        Args:
            drawn: its tokens, with the one that ended it.
            logprobs: of these, or None.
            context: how many tokens the model takes.
        """
        room = self.room(context)
        prompt, before = tuple(self.ids), self._messages
        kept = tuple(int(token) for token in drawn[:room])
        if not kept:
            raise BadArgument("Expected at least one drawn token a reply, got none.")
        self._add(kept, 1, None if logprobs is None else logprobs[: len(kept)])
        ended = self._chat.ended(kept)
        if not ended and len(kept) == room:
            self._stop(context)
            return
        finish: FinishReason = "stop" if ended else "length"
        try:
            self._episode.respond(
                Completion(
                    self._chat.text(kept),
                    token_ids=kept,
                    prompt_token_ids=prompt,
                    finish_reason=finish,
                )
            )
        except InfrastructureFault as fault:
            self._open, self._lost, self.reason = False, True, fault.reason
            return
        if self._episode.request is None:
            self._open, self.reason = False, self._episode.reason
            return
        said = self._chat.behind(before, kept, self._messages)
        if len(said) < self.room(context):
            self._add(said, 0, [0.0] * len(said))
        else:
            self._stop(context)

    def _add(self, ids: Sequence[int], drawn: int, logprobs: Sequence[float | None] | None) -> None:
        self.ids += ids
        self.mask += [drawn] * len(ids)
        if self.logprobs is None or logprobs is None:
            self.logprobs = None
        else:
            self.logprobs += logprobs

    def _stop(self, context: int) -> None:
        """End the row where no further token fits."""
        short = self._longest - len(self.mask) <= context - len(self.ids)
        self._open = False
        self.reason = "max_completion_length" if short else "context_overflow"
