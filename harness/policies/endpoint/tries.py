"""The tries of one request: which of them count, and how long to wait between them."""

from __future__ import annotations

from types import TracebackType

from agentenvs.harness.policies.endpoint.backoff import Backoff
from agentenvs.harness.policies.endpoint.faults import Fault
from agentenvs.harness.policies.endpoint.outage import Outage

__all__ = ["Tries"]

# To be refused takes no time.
_LEAST_S = 0.01


class Tries:
    """Decides after each fault of a request whether and when it is sent again.

    Faults are counted, but not those of a server that is gone: it is waited for by the clock.
    Where it answered others in between, another outage counts, since the request itself may be
    what breaks the connection.

    Args:
        retries: how many faults are borne.
        backoff: gives the waits.
        outage: shared by all requests.

    Attributes:
        end: why there is no further try, and what would allow one; "" before that.
    """

    def __init__(self, retries: int, backoff: Backoff, outage: Outage) -> None:
        self.end = ""
        self._retries = retries
        self._backoff = backoff
        self._outage = outage
        self._made = self._counted = 0
        self._number = self._row = 0

    def __enter__(self) -> Tries:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait no longer."""
        self._outage.waiting -= self._number > 0

    def wait_after(self, fault: Fault) -> float | None:
        """Return the seconds to wait before the next try, None where there is none."""
        self._made += 1
        outage = self._outage
        if not outage.includes(fault):
            if fault.reason != "timeout":
                outage.answered()
            return self._counted_wait(fault)
        left = outage.failed()
        if outage.number != self._number:
            again, self._number, self._row = self._number > 0, outage.number, 0
            outage.waiting += not again
            if again and self._counted_wait(fault) is None:
                return None
        if left <= 0:
            gone = f"{outage.lasted:.0f} s"
            self.end = f"; gone for {gone}, and the policy's `outage` is {outage.most:g} s"
            return None
        self._row += 1
        return min(left, max(_LEAST_S, self._backoff.wait(self._row - 1, fault.retry_after)))

    def _counted_wait(self, fault: Fault) -> float | None:
        self._counted += 1
        if self._counted <= self._retries:
            return self._backoff.wait(self._counted - 1, fault.retry_after)
        if self._made > 1:
            self.end = f" (tries: {self._made}, as the policy's `retries` allow)"
        return None
