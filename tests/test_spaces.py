from __future__ import annotations

import copy
import pickle

import gymnasium
import pytest
from gymnasium.error import CustomSpaceError
from gymnasium.vector import AsyncVectorEnv
from gymnasium.vector.utils import batch_space

from agentenvs.errors import BadArgument
from agentenvs.spaces import UnicodeText


@pytest.mark.parametrize("text", ["", "abc", "naïve", "中文\n\t", "\U0001f600" * 8, "\ud800"])
def test_contains_any_text(text: str) -> None:
    assert text in UnicodeText(8)


@pytest.mark.parametrize("value", ["123456789", 3, None, b"abc", ["a"]])
def test_contains_nothing_else(value: object) -> None:
    assert value not in UnicodeText(8)


def test_samples_are_short_members_and_seeded() -> None:
    space = UnicodeText(1_000_000, seed=3)
    samples = [space.sample() for _ in range(50)]
    assert all(sample in space and len(sample) <= 32 for sample in samples)
    assert samples == [
        s for twin in [UnicodeText(1_000_000, seed=3)] for s in [twin.sample() for _ in range(50)]
    ]
    assert all(len(UnicodeText(1, seed=s).sample()) <= 1 for s in range(20))


def test_sample_takes_no_mask() -> None:
    with pytest.raises(BadArgument, match="no mask"):
        UnicodeText(3).sample(mask=1)


@pytest.mark.parametrize("length", [0, -1, 2.0, True, "3"])
def test_length_is_checked(length: object) -> None:
    with pytest.raises(BadArgument, match="`max_length`"):
        UnicodeText(length)  # type: ignore[arg-type]


def test_equality_copies_and_pickles() -> None:
    space = UnicodeText(5)
    assert space == copy.deepcopy(space) == pickle.loads(pickle.dumps(space))  # noqa: S301
    assert space != UnicodeText(6)
    assert hash(space) == hash(UnicodeText(5))
    assert repr(space) == "UnicodeText(max_length=5)"


def test_jsonable_round_trip() -> None:
    space = UnicodeText(5)
    assert space.from_jsonable(space.to_jsonable(["a", "é"])) == ["a", "é"]


def test_has_no_array_form() -> None:
    assert not UnicodeText(5).is_np_flattenable


def test_batches_as_a_tuple() -> None:
    assert batch_space(UnicodeText(5), 2) == gymnasium.spaces.Tuple([UnicodeText(5)] * 2)


def test_async_vector_with_shared_memory_fails_loudly() -> None:
    with pytest.raises(
        (CustomSpaceError, ValueError, TypeError), match="shared_memory|shared memory"
    ):
        AsyncVectorEnv([lambda: gymnasium.make("agentenvs:agentenvs/BFCLv4-v0", tasks="mini")])
