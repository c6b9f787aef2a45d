from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.ptgs.slots import MOST_SLOTS, Slots


def find(slots: Slots, ids: Any, add: bool = True) -> list[int]:
    return slots.find(slots.read(ids), add=add).slots.tolist()


def test_strings_get_the_next_slot() -> None:
    slots = Slots()
    assert find(slots, ["b", "a", "b", ""]) == [0, 1, 0, 2]
    assert find(slots, ["c", "a"], add=False) == [-1, 1]
    assert find(slots, np.array(["c", "a"])) == [3, 1]
    assert find(slots, ("c",)) == [3]
    assert (len(slots), slots.ids, slots.kind) == (4, ["b", "a", "", "c"], "str")


def test_hashes_are_those_of_the_strings_wherever_they_lie() -> None:
    slots, other = Slots(), Slots()
    names = [f"task {at}" for at in range(100)]
    one = slots.find(slots.read(names), add=True).hashes
    back = other.find(other.read(names[::-1]), add=True).hashes[::-1]
    unknown = Slots().find(Slots().read(names), add=False).hashes
    assert one.tolist() == back.tolist() == unknown.tolist()
    assert len(set(one.tolist())) == 100
    assert find(other, ["\ud800", "ü"]) == [100, 101]
    mixed = other.find(other.read(["task 3", "new"]), add=False).hashes
    assert mixed[0] == one[3]
    assert mixed[1] == Slots().find(Slots().read(["new"]), add=False).hashes[0]


def test_numbers_are_their_slots() -> None:
    slots = Slots()
    assert find(slots, [5, 2]) == [5, 2]
    assert find(slots, np.array([9], dtype=np.uint8), add=False) == [9]
    assert find(slots, (np.int32(1), 3)) == [1, 3]
    assert (len(slots), slots.kind, slots.ids) == (6, "int", [])


def test_no_ids_settle_nothing() -> None:
    slots = Slots()
    for empty in ([], (), np.zeros(0, dtype=int), np.zeros(0)):
        assert find(slots, empty) == []
    assert (slots.kind, len(slots)) == (None, 0)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("task", "a list of task ids, got 'task' alone"),
        (b"task", "a list of task ids, got b'task' alone"),
        (7, "a list of task ids, got int"),
        (bytearray(b"ab"), "a list of task ids, got bytearray"),
        (iter(["a", "b"]), "a list of task ids, got list_iterator"),
        (np.array("task"), r"a list of task ids, got an array of shape \(\)"),
        (np.ma.masked_array([1, 2], mask=[False, True]), "task ids without masked ones"),
        (["a", 1], "all strings or all whole numbers, got int, str"),
        ([True, False], "all strings or all whole numbers, got bool"),
        (np.array([True]), "all strings or all whole numbers, got bool"),
        ([1.0], "all strings or all whole numbers, got float"),
        ([None], "all strings or all whole numbers, got NoneType"),
        ([["a"]], "all strings or all whole numbers, got list"),
        ([[1]], "all strings or all whole numbers, got list"),
        (np.zeros((2, 2), dtype=int), r"a list of task ids, got an array of shape \(2, 2\)"),
        ([3, -1], "task ids of at least 0, got -1"),
        ([MOST_SLOTS], f"task ids below {MOST_SLOTS}, got {MOST_SLOTS}"),
        ([2**80], "task ids below"),
        (np.array([2**63], dtype=np.uint64), "task ids below"),
    ],
)
def test_wrong_ids(ids: Any, message: str) -> None:
    for ask in (Slots().read, PTGS().temperatures, PTGS().visits):
        with pytest.raises(BadArgument, match=message):
            ask(ids)


def test_the_kind_is_fixed_at_first_use() -> None:
    named, numbered = PTGS(), PTGS()
    named.temperatures(["a"])
    numbered.update([0], 1, 2)
    with pytest.raises(BadArgument, match="to be strings as before, got whole numbers"):
        named.update([0], 1, 2)
    with pytest.raises(BadArgument, match="to be whole numbers as before, got strings"):
        numbered.estimates(["a"])
    named.estimates([])


def test_a_member_of_an_enum_is_its_value() -> None:
    class Task(str, enum.Enum):  # noqa: UP042
        EASY = "easy"

    sampler = PTGS()
    sampler.update([Task.EASY], 1, 2)
    assert sampler.visits(["easy"]).tolist() == [1]
    assert sampler.state_dict()["header"]["ids"] == ["easy"]


def test_looking_neither_adds_nor_fixes() -> None:
    sampler = PTGS()
    assert sampler.estimates(["a"]).tolist() == [0.5]
    assert sampler.visits([3]).tolist() == [0]
    assert len(sampler) == 0
    sampler.temperatures([3])
    assert len(sampler) == 4
    assert sampler.visits([100]).tolist() == [0]
    assert len(sampler) == 4
