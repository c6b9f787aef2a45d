from __future__ import annotations

import collections

import pytest

from agentenvs.core import Rules
from agentenvs.errors import UnknownName
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.records import Goal
from agentenvs.webshop.site import sessions as module
from agentenvs.webshop.site.sessions import Assigned, Sessions
from agentenvs.webshop.tasks import all_ids, task_ids


def made(catalog: Catalog, tasks: str = "synthetic", rules: Rules = "fixed") -> Sessions:
    return Sessions(Shop(catalog, rules=rules), task_ids(tasks, catalog=catalog))


def test_fixed_names_number_the_tasks(odd_shop: Catalog) -> None:
    mine = made(odd_shop)
    for number, task in enumerate(task_ids("synthetic", catalog=odd_shop)):
        assert mine.task(f"fixed_{number}") == task
        assert mine.task(f"my_fixed_session_{number}") == task
    with pytest.raises(UnknownName, match=r"There is no goal 999: this shop has \d+, numbered"):
        mine.of("fixed_999")


def test_fixed_without_a_number_is_a_name_like_any(odd_shop: Catalog) -> None:
    mine = made(odd_shop)
    assert mine.task("fixed") in task_ids("synthetic", catalog=odd_shop)
    assert mine.task("fixed_x") in task_ids("synthetic", catalog=odd_shop)


def test_a_task_id_is_taken_at_its_word(odd_shop: Catalog) -> None:
    mine = made(odd_shop)
    for task in all_ids(odd_shop):
        assert mine.task(task) == task
        assert mine.of(task).goal.instruction_text == mine.told(task)


def test_other_names_keep_their_goal(odd_shop: Catalog) -> None:
    names = [f"name{at}" for at in range(50)]
    drawn = [made(odd_shop).task(name) for name in names]
    assert [made(odd_shop).task(name) for name in reversed(names)] == drawn[::-1]
    assert len(set(drawn)) > 1
    other = Sessions(Shop(odd_shop), task_ids("synthetic", catalog=odd_shop), seed=1)
    assert [other.task(name) for name in names] != drawn


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_names_draw_by_weight_as_the_rules_say(odd_shop: Catalog, rules: Rules) -> None:
    mine = made(odd_shop, rules=rules)
    seen = collections.Counter(mine.task(str(at)) for at in range(600))
    goals = odd_shop.goals("synthetic")
    # Off by one, the original never draws the first goal.
    assert ("odd/synthetic/0" in seen) == (rules == "fixed")
    assert len(seen) == len(goals) - (rules == "official")


def test_names_draw_from_a_part_uniformly(odd_shop: Catalog) -> None:
    part = ["odd/synthetic/0", "odd/human/0"]
    mine = Sessions(Shop(odd_shop), part)
    assert {mine.task(str(at)) for at in range(40)} == set(part)


def test_assignments_overrule_names_and_are_bounded(
    odd_shop: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_KEPT", 3)
    mine = made(odd_shop)
    goal = Goal.of({**odd_shop.goals("human").goal(0).as_record(), "instruction_text": "mine"})
    for name in ("fixed_0", "b", "c", "d"):
        mine.assign(name, Assigned(goal))
    assert [mine.of(name).goal == goal for name in ("fixed_0", "b", "c", "d")] == [0, 1, 1, 1]


def test_fresh_names_differ(odd_shop: Catalog) -> None:
    mine = made(odd_shop)
    assert len({mine.fresh_name() for _ in range(100)}) == 100
    assert made(odd_shop).fresh_name() == made(odd_shop).fresh_name()


def test_surrogates_in_a_name_draw_too(odd_shop: Catalog) -> None:
    assert made(odd_shop).task("\ud800") in all_ids(odd_shop)
