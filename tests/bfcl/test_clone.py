from __future__ import annotations

import copy
import random
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentenvs.bfcl.clone import LazyRandom, clone, separated

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner, inner)
        | st.sets(st.integers())
    ),
    max_leaves=20,
)


class Node:
    def __init__(self, parent: Node | None = None) -> None:
        self.parent = parent
        self.contents: dict[str, Any] = {}


class Hooked:
    def __deepcopy__(self, memo: dict[int, Any]) -> Hooked:
        return self


@given(values)
def test_equals_deepcopy(value: Any) -> None:
    twin = clone(value, {})
    assert twin == value
    assert type(twin) is type(value)


def test_is_independent() -> None:
    value = {"a": [1, {"b": 2}]}
    twin = clone(value, {})
    twin["a"][1]["b"] = 3
    assert value == {"a": [1, {"b": 2}]}


def test_keeps_aliases_and_cycles() -> None:
    root = Node()
    child = Node(root)
    root.contents = {"x": child, "y": child}
    child.contents = root.contents
    twin = clone([root, root.contents], {})
    assert twin[0].contents is twin[1]
    assert twin[0].contents["x"] is twin[0].contents["y"]
    assert twin[0].contents["x"].parent is twin[0]
    assert twin[0].contents["x"].contents is twin[1]
    assert twin[0] is not root


def test_falls_back_to_the_copy_protocol() -> None:
    hooked = Hooked()
    assert clone([hooked], {})[0] is hooked
    assert clone({"d": Decimal("1.5")}, {}) == {"d": Decimal("1.5")}


def test_lazy_generator_draws_what_the_generator_draws() -> None:
    plain, lazy = random.Random(141053), LazyRandom(random.Random(141053).getstate())
    untouched = copy.deepcopy(lazy)
    first = [lazy.randint(0, 10**9) for _ in range(3)]
    assert first == [plain.randint(0, 10**9) for _ in range(3)]
    later = copy.deepcopy(lazy)
    assert [lazy.random(), lazy.random()] == [later.random(), later.random()]
    assert untouched.randint(0, 10**9) == first[0]


def test_separated_is_independent_of_the_instance() -> None:
    class World:
        def __init__(self) -> None:
            self._random = random.Random(7)
            self.cards = {"a": 1}
            self.same = self.cards
            self.name = "x"

    world = World()
    shared, copied = separated(world)
    assert shared == {"name": "x"}
    assert copied["_random"].random() == random.Random(7).random()
    assert copied["cards"] is copied["same"]
    copied["cards"]["a"] = 2
    assert world.cards == {"a": 1}
