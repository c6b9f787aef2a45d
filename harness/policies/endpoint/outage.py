"""A server that is gone: one clock for all requests, by which it is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from agentenvs.harness.policies.endpoint.faults import Fault
from agentenvs.harness.progress import duration

__all__ = ["Outage"]


class Outage:
    """Times how long a server has been gone, for all requests to it together.

    An outage begins with the first request that gets no connection, or loses it before any byte
    of the answer, and ends with the next answer.

    Args:
        most: seconds that a server is waited for; 0 for not at all.
        quiet: seconds without a request after which a failure begins another outage.
        now: the clock.

    Attributes:
        number: which outage this is or the last one was, from 1.
        waiting: requests that wait for its end.
    """

    def __init__(
        self, most: float, quiet: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.most = most
        self.number = 0
        self.waiting = 0
        self._quiet = quiet
        self._now = now
        self._since: float | None = None
        self._last = 0.0

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what belongs to this process."""
        return {**vars(self), "waiting": 0, "_since": None}

    def includes(self, fault: Fault) -> bool:
        """Whether a fault says that the server is gone, or is not back yet."""
        if not self.most:
            return False
        # One that comes back may say for minutes that it loads its model.
        loads = self._since is not None and fault.reason == "http_503"
        return loads or fault.reason == "connection"

    def failed(self) -> float:
        """Take note that there is no server; return the seconds it is still waited for."""
        now = self._now()
        if self._since is None or now - self._last > self._quiet:
            self._since, self.number = now, self.number + 1
        self._last = now
        return self._since + self.most - now

    def answered(self) -> None:
        """Take note that the server is there."""
        self._since = None

    @property
    def lasted(self) -> float:
        """Seconds since its beginning, 0 where there is none."""
        return 0.0 if self._since is None else self._now() - self._since

    def told(self, host: str) -> str:
        """Return that requests wait for this host, in a few words; "" where none do."""
        if self._since is None or not self.waiting:
            return ""
        requests = "1 request" if self.waiting == 1 else f"{self.waiting} requests"
        return f"no answer from {host} for {duration(self.lasted)}, waiting ({requests})"
