from __future__ import annotations

import ast
import copy
import os
import subprocess
import sys

import pytest

from agentenvs.bfcl.ordered import OrderedSet, with_ordered_sets

SHOW = """
from agentenvs.bfcl import tasks
from agentenvs.bfcl.simulators import simulator
tree = tasks.open_official()
travel, tickets = simulator(tree, "TravelAPI")(), simulator(tree, "TicketAPI")()
travel._load_scenario({"access_token": "t", "credit_card_list": {"c": {"balance": 9}}})
print(travel.book_flight("t", "c", "2030-01-01", "SFO", "LAX", "x"))
tickets.ticket_queue = [{"id": 1, "created_by": "ada"}]
tickets.current_user = "ada"
print(tickets.edit_ticket(1, {"zeta": 1, "alpha": 2, "mid": 3}))
"""


def test_texts_come_sorted_and_print_like_a_set() -> None:
    found = OrderedSet(["b", "c", "a"])
    assert list(found) == ["a", "b", "c"]
    assert repr(found) == "{'a', 'b', 'c'}"
    assert repr(OrderedSet()) == "set()"
    assert ", ".join(found - {"b"}) == "a, c"


def test_numbers_keep_the_order_of_a_plain_set() -> None:
    plain = {30, 1, 200, 7}
    assert list(OrderedSet(plain)) == list(plain)
    assert repr(OrderedSet(plain)) == repr(plain)


@pytest.mark.parametrize("operation", ["__sub__", "__and__", "__or__", "__xor__"])
def test_operations_give_ordered_sets(operation: str) -> None:
    one, two = {"a", "b", "c"}, {"b", "d"}
    found = getattr(OrderedSet(one), operation)(two)
    assert type(found) is OrderedSet
    assert found == getattr(one, operation)(two)


def test_copies_are_equal_and_independent() -> None:
    first = OrderedSet(["a"])
    second = copy.deepcopy(first)
    second.add("b")
    assert (first, second) == ({"a"}, {"a", "b"})
    assert type(second) is OrderedSet


def test_displays_become_calls() -> None:
    assert ast.unparse(with_ordered_sets("x = {1, 'b'}\ny = {1: 2}\nz = {*()}")) == (
        "x = set([1, 'b'])\ny = {1: 2}\nz = set([*()])"
    )


def test_error_texts_do_not_depend_on_the_hash_seed(official_bfcl: None) -> None:
    shown = {
        subprocess.run(
            [sys.executable, "-c", SHOW],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(4)
    }
    assert len(shown) == 1
    text = shown.pop()
    assert "{'business', 'economy', 'first'}" in text
    assert "alpha, mid, zeta" in text
