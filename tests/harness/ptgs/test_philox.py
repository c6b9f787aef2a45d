from __future__ import annotations

import numpy as np
import pytest

from agentenvs.harness.ptgs.philox import philox

ALL = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ALL,) * 4, (ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers(counter: tuple, key: tuple, words: tuple) -> None:
    """The vectors that Random123 publishes for philox4x32-10."""
    column = np.array(counter, dtype=np.uint64)[:, None]
    found = philox(np.repeat(column, 3, axis=1), key[0] | key[1] << 32)
    assert found.shape == (4, 3)
    for one in found.T.tolist():
        assert tuple(one) == words


def test_the_counter_is_left_as_it_was() -> None:
    counter = np.arange(8, dtype=np.uint64).reshape(4, 2)
    before = counter.copy()
    philox(counter, 5)
    assert (counter == before).all()


def test_no_counter_no_words() -> None:
    assert philox(np.zeros((4, 0), dtype=np.uint64), 1).shape == (4, 0)
