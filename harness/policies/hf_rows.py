"""One completion in the making: what was drawn, and when it ends."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence

from agentenvs.harness.exchange import Completion, FinishReason, Request

__all__ = ["Row"]

#: prompt tokens decoded in front of a continued text, so that its first blank is not lost
_LEAD = 4

#: drawn tokens after which the first half is no longer searched for stop strings
_WINDOW = 64

#: characters by which what is searched exceeds the stop strings: decoded from its middle, a text
#: may begin with pieces of a character or lack a blank, and its last character may be incomplete
_SLACK = 8


class Row:
    """One row of a batch.

    It ends at an end token, at a stop string (as soon as the text holds one, wherever token
    borders lie; at the earliest where it holds several), or after `max_tokens`.

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
        self._ends = ends
        self._decode = decode
        self._random = random.Random(request.seed)
        self._uniform = self._random.random()
        # A chat reply starts afresh after its template; a continued text does not.
        self._lead = [] if request.prompt is None else self.prompt_ids[-_LEAD:]
        self._lead_text = decode(self._lead) if self._lead else ""
        self._text: str | None = None
        self._stops = tuple(stop for stop in request.stop if stop)
        self._from = 0

    @property
    def done(self) -> bool:
        """True once the completion has ended or nobody waits for it."""
        return self.finish_reason is not None or self.cancelled()

    def uniform(self) -> float:
        """Return the number in [0, 1) that the next token is drawn with."""
        return self._uniform

    def take(self, token: int, logprob: float) -> None:
        """Add a drawn token and see whether it ends the completion."""
        self.ids.append(token)
        self.logprobs.append(logprob)
        self._uniform = self._random.random()
        if token in self._ends:
            self._text = self._decoded(self.ids[:-1])
            self.finish_reason = "stop"
            return
        at = self._stop() if self._stops else -1
        if at >= 0:
            self._text = self._decoded(self.ids)[:at]
            self.finish_reason = "stop"
            return
        if len(self.ids) >= self.max_tokens:
            self.finish_reason = "length"

    def _stop(self) -> int:
        """Return where the text first holds a stop string, or -1."""
        text = self._decode(self.ids[self._from :]) if self._from else self._decoded(self.ids)
        if any(stop in text for stop in self._stops):
            whole = self._decoded(self.ids) if self._from else text
            return min((i for i in map(whole.find, self._stops) if i >= 0), default=-1)
        if (len(self.ids) - self._from) % _WINDOW == 0:
            # What no stop string to come can reach back to is not decoded again.
            later = (self._from + len(self.ids)) // 2
            if len(self._decode(self.ids[later:])) >= max(map(len, self._stops)) + _SLACK:
                self._from = later
        return -1

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
