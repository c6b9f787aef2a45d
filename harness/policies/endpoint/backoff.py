"""How long to wait before a request is sent again."""

from __future__ import annotations

import email.utils
import math
import random
import time

__all__ = ["Backoff", "read_retry_after"]


class Backoff:
    """Waits that double from try to try, each drawn from the upper half of its span.

    Args:
        base: the span of the first wait, in seconds.
        longest: the longest wait, whatever a server asks for.
        seed: of the generator that draws them.
    """

    def __init__(self, base: float, longest: float, seed: int = 0) -> None:
        self.base = base
        self.longest = longest
        self._random = random.Random(seed)

    def wait(self, attempt: int, told: float | None = None) -> float:
        """Return seconds to wait.

        Args:
            attempt: tries before this wait, less one.
            told: seconds that the server asks for; the wait comes on top, so that those who
                were told the same do not come back together.
        """
        span = min(self.longest, self.base * 2.0 ** min(attempt, 64))
        own = span * self._random.uniform(0.5, 1.0)
        return min(self.longest, own + (told or 0.0))


def read_retry_after(value: str | None) -> float | None:
    """Return the seconds of a `Retry-After` header: a number, or a date; None for neither."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
