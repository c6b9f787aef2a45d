"""Which two texts count as the same: the fuzzy matcher of the reward.

The original takes thefuzz's `token_set_ratio`. This is the same sum on rapidfuzz, with what
thefuzz does before and after spelled out. Texts are prepared once and compared often, so the
two halves stand apart.
"""

from __future__ import annotations

from collections.abc import Collection

from rapidfuzz.fuzz import token_set_ratio
from rapidfuzz.utils import default_process

__all__ = ["LEAST", "likeness", "matches_any", "prepared"]

#: the likeness that counts as the same
LEAST = 86
#: thefuzz makes a text ASCII by deleting this one block, and leaves all other letters in
_DELETED = dict.fromkeys(range(0x80, 0x100))


def prepared(text: str) -> str:
    """Return `text` as the matcher sees it.

    U+0080 to U+00FF are deleted, all but letters and digits become spaces, and the rest is
    lower-cased and stripped.
    """
    return default_process(text if text.isascii() else text.translate(_DELETED))


def likeness(one: str, other: str) -> int:
    """Return how alike two prepared texts are: a whole number from 0 to 100.

    Texts of which one has all the words of the other count as 100; an empty text is like
    nothing. A half is rounded to the even number, so 85.5 counts as the same.
    """
    return round(token_set_ratio(one, other))


def matches_any(wanted: str, offered: Collection[str]) -> bool:
    """Return whether one of several prepared texts counts as the same as `wanted`."""
    if wanted in offered:
        return wanted != ""
    return any(likeness(wanted, text) >= LEAST for text in offered)
