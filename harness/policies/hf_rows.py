"""One completion in the making: what was drawn, and when it ends."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence

from agentenvs.harness.exchange import Completion, FinishReason, Request

__all__ = ["Row"]

#: prompt tokens decoded in front of a continued text, so that its first blank is not lost
_LEAD = 4


class Row:
    """One row of a batch.

    It ends at an end token, at a stop string (wherever token borders lie: the whole text is
    searched after every token), or after `max_tokens`.

    Args:
        request: what was asked.
        prompt_ids: the rendered prompt.
        ends: ids of the tokens that end a completion.
        decode: token ids to text.
    """

    def __init__(
        self,
        request: Request,
        prompt_ids: Sequence[int],
        ends: Collection[int],
        decode: Callable[[Sequence[int]], str],
    ) -> None:
        self.prompt_ids = list(prompt_ids)
        self.temperature = request.temperature
        self.top_p = request.top_p
        self.max_tokens = request.max_tokens
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.finish_reason: FinishReason | None = None
        self.cancelled: Callable[[], bool] = lambda: False
        self._request = request
        self._ends = ends
        self._decode = decode
        self._random = random.Random(request.seed)
        # A chat reply starts afresh after its template; a continued text does not.
        self._lead = [] if request.prompt is None else self.prompt_ids[-_LEAD:]
        self._lead_text = decode(self._lead) if self._lead else ""
        self._text: str | None = None

    @property
    def done(self) -> bool:
        """True once the completion has ended or nobody waits for it."""
        return self.finish_reason is not None or self.cancelled()

    def uniform(self) -> float:
        """Return the next draw of the row's own generator, in [0, 1)."""
        return self._random.random()

    def take(self, token: int, logprob: float) -> None:
        """Add a drawn token and see whether it ends the completion."""
        self.ids.append(token)
        self.logprobs.append(logprob)
        if token in self._ends:
            self._text = self._decoded(self.ids[:-1])
            self.finish_reason = "stop"
            return
        if self._request.stop:
            text = self._decoded(self.ids)
            at = min((i for i in map(text.find, self._request.stop) if i >= 0), default=-1)
            if at >= 0:
                self._text = text[:at]
                self.finish_reason = "stop"
                return
        if len(self.ids) >= self.max_tokens:
            self.finish_reason = "length"

    def completion(self) -> Completion:
        """Return the completion; its token ids include the end token or stop string."""
        return Completion(
            self._decoded(self.ids) if self._text is None else self._text,
            token_ids=tuple(self.ids),
            logprobs=tuple(self.logprobs),
            prompt_token_ids=tuple(self.prompt_ids),
            finish_reason=self.finish_reason or "length",
        )

    def _decoded(self, ids: Sequence[int]) -> str:
        return self._decode([*self._lead, *ids])[len(self._lead_text) :]
