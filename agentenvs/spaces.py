"""A Gymnasium space for any text up to a length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from agentenvs.errors import BadArgument

__all__ = ["UnicodeText"]

_SAMPLE = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 ()[]{}'\":,._=\n中é"


class UnicodeText(Space[str]):
    r"""Any string of at most `max_length` code points, the empty one included.

    `gymnasium.spaces.Text` needs a character set and scans it for every check; this space
    looks at type and length only, and its samples are short. It derives from `Space` and not
    from `Text` on purpose: `AsyncVectorEnv` with shared memory, which would silently freeze
    text observations, refuses it with an error that names `shared_memory=False`.

    Example:
        >>> space = UnicodeText(max_length=8)
        >>> "" in space, "naïve 中\n" in space, "far too long" in space
        (True, True, False)

    Args:
        max_length: the largest length in code points, at least 1.
        seed: seed of the space's own generator, used by `sample` alone.

    Raises:
        BadArgument: `max_length` is not an integer or below 1.
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        if isinstance(max_length, bool) or not isinstance(max_length, int):
            raise BadArgument(f"Expected `max_length` to be an int, got {type(max_length)}.")
        if max_length < 1:
            raise BadArgument(f"Expected `max_length` to be at least 1, got {max_length}.")
        self.max_length = max_length
        super().__init__(dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: text has no fixed-size array form."""
        return False

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a string of at most `max_length` code points."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Return a short random string (at most 32 code points); masks are not supported."""
        if mask is not None or probability is not None:
            raise BadArgument("`UnicodeText.sample` takes no mask and no probability.")
        length = int(self.np_random.integers(0, min(32, self.max_length) + 1))
        picks = self.np_random.integers(0, len(_SAMPLE), size=length)
        return "".join(_SAMPLE[i] for i in picks)

    def to_jsonable(self, sample_n: Iterable[str]) -> list[Any]:
        """Return the samples as a list, since strings are JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Return the list of strings that `to_jsonable` made."""
        return [str(x) for x in sample_n]

    def __repr__(self) -> str:
        return f"UnicodeText(max_length={self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length

    def __hash__(self) -> int:
        return hash((UnicodeText, self.max_length))
