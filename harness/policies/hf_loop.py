"""The decoding loop: rows join and leave a running batch between steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from agentenvs.errors import PolicyError
from agentenvs.harness.policies.hf_decode import Decoder
from agentenvs.harness.policies.hf_live import ROOM, Alone, Live, grown
from agentenvs.harness.policies.hf_reading import Reading
from agentenvs.harness.policies.hf_rows import Row
from agentenvs.harness.policies.hf_sampling import draw
from agentenvs.harness.policies.hf_states import size

__all__ = ["Arrivals", "Ended", "Loop"]


class Arrivals(Protocol):
    """Where rows come from."""

    def __call__(self, room: int, idle: bool) -> Sequence[Row]:
        """Return up to `room` rows that wait, in order of arrival; may wait a moment if idle."""


#: told once of every row that was not cancelled: it is complete, or this is why it will not be
Ended = Callable[[Row, Exception | None], None]


class Loop:
    """Completes rows as they arrive, `max_batch` at a time.

    Between two steps of the batch, rows that have ended leave, and prompts of rows that wait are
    read, in order of arrival and at most `chunk` tokens of them; those that are read join.
    So a long prompt holds neither the batch up nor those behind it for more than its own time.

    Args:
        decoder: the model.
        max_batch: most rows at a time.
        chunk: most tokens of prompts read between two steps.
        cache_bytes: a bound on the batch's attention states, or None. A row is let in where
            all rows could grow to their full length; a single row is always let in.
    """

    def __init__(
        self, decoder: Decoder, max_batch: int, chunk: int, cache_bytes: int | None = None
    ) -> None:
        self.decoder = decoder
        self.max_batch = max_batch if decoder.plain else 1
        self.chunk = chunk
        self.cache_bytes = cache_bytes
        self._live: Live | Alone = Live(decoder, max_batch) if decoder.plain else Alone(decoder)
        self._waiting: list[Row] = []
        self._reading: Reading | None = None
        self._joining: list[Row] = []
        self._number: dict[Row, int] = {}
        self._arrived = 0
        self._apart: set[Row] = set()
        self._stale: set[Row] = set()
        self._limit = self.max_batch
        self._token_bytes = 0

    def run(self, arrivals: Arrivals, ended: Ended) -> None:
        """Answer until nothing is left and nothing arrives."""
        self._ended = ended
        try:
            with self.decoder.session():
                while self._admit(arrivals):
                    self._attempt(self._read, self._retry_reading)
                    self._attempt(self._step, self._fail_live)
        finally:
            self._reset()

    def _reset(self) -> None:
        self._live.clear()
        self._waiting, self._joining, self._reading = [], [], None
        for kept in (self._number, self._apart, self._stale):
            kept.clear()
        self._limit = self.max_batch

    def _admit(self, arrivals: Arrivals) -> bool:
        """Take in rows that arrive and let go those that nobody waits for any more."""
        for row in [row for row in self._number if row.done]:
            self._drop(row)
            if row.finish_reason is not None:
                self._ended(row, None)
        idle = not self._number
        if idle:
            self._reset()
        room = self._limit - len(self._number)
        arrived = arrivals(room, idle) if room > 0 else ()
        for row in arrived:
            if not row.done:
                self._arrived += 1
                self._number[row] = self._arrived
                self._waiting.append(row)
        return bool(self._number or arrived)

    def _drop(self, row: Row) -> None:
        for rows in (self._waiting, self._joining):
            if row in rows:
                rows.remove(row)
        if row in self._live.rows:
            self._live.leave(row)
        self._number.pop(row, None)
        self._apart.discard(row)
        self._stale.discard(row)

    def _fail(self, row: Row, error: Exception) -> None:
        if row in self._live.rows:
            self._live.leave(row, broken=True)
        self._drop(row)
        self._ended(row, error)

    def _attempt(self, phase: Callable[[], None], fail: Callable[[Exception], None]) -> None:
        """Do a part of a step; where it fails, only the rows that took part are touched."""
        try:
            phase()
            return
        except Exception as error:
            full = _is_out_of_memory(error)
            failure: Exception = error
            if not isinstance(error, PolicyError):
                failure = PolicyError(f"The model failed: {type(error).__name__}: {error}")
                # A traceback would hold on to tensors.
                failure.__cause__ = None if full else error
        (self._shrink if full else fail)(failure)

    def _fail_live(self, failure: Exception) -> None:
        if not self._live.rows:
            raise failure
        for row in self._live.rows:
            if row.finish_reason is None:
                self._fail(row, failure)

    def _retry_reading(self, failure: Exception) -> None:
        """Read prompts one by one that could not be read together, and find the one that fails."""
        rows, several = self._joining, self._reading is not None and len(self._reading.rows) > 1
        if not rows:
            raise failure
        self._reading, self._joining = None, []
        if several:
            self._apart.update(rows)
            self._put_back(rows)
            return
        for row in rows:
            self._fail(row, failure)

    def _shrink(self, failure: Exception) -> None:
        """Go on with half as many rows where the device's memory does not do."""
        rows = [r for r in (*self._live.rows, *self._joining) if r.finish_reason is None]
        if not self._number:
            raise failure
        self._live.clear()
        self._reading, self._joining = None, []
        self.decoder.release()
        if len(rows) > 1:
            self._limit = len(rows) // 2
            self._put_back(rows)
        elif rows:
            self._fail(rows[0], PolicyError(f"A single row does not fit the device: {failure}"))

    def _put_back(self, rows: Sequence[Row]) -> None:
        self._waiting = sorted([*rows, *self._waiting], key=self._number.__getitem__)

    def _read(self) -> None:
        if not self._joining:
            self._reading = None
            self._open()
        reading = self._reading
        if reading is None or not reading.step(self.chunk):
            return
        import torch

        found = [(row, p) for p in reading for row in p.rows if row in self._joining]
        rows = self._draw(torch.stack([p.logits for _, p in found]), [row for row, _ in found])
        for row in [row for row in rows if row.finish_reason is not None]:
            self._finish(row)
        for row, prompt in [(row, prompt) for row, prompt in found if row in self._joining]:
            if self.decoder.plain:
                self._token_bytes = size(prompt.states) // len(prompt.ids)
                self.decoder.store.add(prompt.ids, prompt.states)
            self._live.join(row, prompt.states, len(prompt.ids))
            self._joining.remove(row)
        self._reading = None

    def _open(self) -> None:
        """Begin to read for the rows that have waited longest, as many as a step can bear."""
        if self._waiting and self.decoder.forget_if_trained():
            self._stale.update(self._live.rows)
        rows: dict[tuple[int, ...], list[Row]] = {}
        unread = 0
        for row in list(self._waiting):
            prompt = (*row.prompt_ids, *row.ids)
            if not self._fits(row):
                break
            if prompt not in rows:
                most = max(unread, len(prompt) - self.decoder.store.find(prompt)[1])
                apart = row in self._apart or any(r in self._apart for r in self._joining)
                if rows and (apart or most * (len(rows) + 1) > self.chunk):
                    break
                unread = most
            rows.setdefault(prompt, []).append(row)
            self._joining.append(row)
            self._waiting.remove(row)
        if rows:
            self._reading = Reading(self.decoder, rows)

    def _fits(self, row: Row) -> bool:
        """Tell whether the states of one more row have room at their longest."""
        inside = [*self._live.rows, *self._joining]
        if len(inside) >= self._limit:
            return False
        if not inside or self.cache_bytes is None:
            return True
        longest = max(len(r.prompt_ids) + r.max_tokens for r in (row, *inside)) + ROOM
        needed = grown(len(inside) + 1) * longest * self._token_bytes
        return 0 < needed <= self.cache_bytes

    def _step(self) -> None:
        if not self._live.rows:
            return
        rows, logits = self._live.step()
        for row in self._draw(logits, rows):
            if row.finish_reason is not None:
                self._finish(row)

    def _draw(self, logits: Any, rows: Sequence[Row]) -> list[Row]:
        """Draw a token for each row; return those for which that went well."""
        tokens, logprobs = draw(
            logits,
            [row.temperature for row in rows],
            [row.top_p for row in rows],
            [row.uniform() for row in rows],
        )
        drawn = []
        for row, token, logprob in zip(rows, tokens, logprobs, strict=True):
            try:
                if token is None:
                    raise PolicyError("The model's logits are no numbers (NaN); try another dtype.")
                row.take(token, logprob)
            except PolicyError as error:
                self._fail(row, error)
            except Exception as error:
                self._fail(row, PolicyError(f"The tokenizer failed: {error!r}"))
            else:
                drawn.append(row)
        return drawn

    def _finish(self, row: Row) -> None:
        """Let a complete row go; its next prompt most likely goes on from its states."""
        live, store = self._live, self.decoder.store
        if isinstance(live, Live) and store.limit and row in live.rows and row not in self._stale:
            store.add(row.prompt_ids + row.ids[:-1], live.states(row))
        self._drop(row)
        self._ended(row, None)


def _is_out_of_memory(error: Exception) -> bool:
    import torch

    words = ("DefaultCPUAllocator", "out of memory")
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and any(word in str(error) for word in words)
    )
