from __future__ import annotations

import json
from typing import Any

import pytest

from agentenvs.errors import AgentEnvsError, UnknownName
from agentenvs.webshop import engine, plans
from agentenvs.webshop.audit import unreachable
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.env import WebShopEnv
from agentenvs.webshop.plans import gold_actions
from agentenvs.webshop.tasks import all_ids


def verdict(env: WebShopEnv, task: str, actions: list[str]) -> dict[str, Any]:
    """Play a plan and return the last `info`."""
    env.reset(options={"task": task})
    for action in actions:
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    assert terminated
    return info


def check(catalog: Catalog, tasks: list[str]) -> list[str]:
    """Play plans under both rules; return the tasks that official rules do not let succeed."""
    fixed, official = WebShopEnv(catalog=catalog, rules="fixed"), WebShopEnv(catalog=catalog)
    failed = []
    for task in tasks:
        actions = gold_actions(task, catalog=catalog)
        assert verdict(fixed, task, actions)["success"], task
        if not verdict(official, task, actions)["success"]:
            failed.append(task)
    return failed


def missed(catalog: Catalog) -> set[str]:
    """Return the tasks that the audit lists."""
    return {finding.task for finding in unreachable(catalog)}


def test_plans_are_canonical_calls_one_a_step(odd_shop: Catalog) -> None:
    for task in all_ids(odd_shop):
        for action in gold_actions(task, catalog=odd_shop):
            (call,) = json.loads(action)["tool_calls"]
            assert call["name"] in ("search", "click")


def test_plans_solve_every_goal_of_a_shop_full_of_collisions(odd_shop: Catalog) -> None:
    tasks = list(all_ids(odd_shop))
    assert len(tasks) == 18
    failed = check(odd_shop, tasks)
    assert failed
    assert set(failed) < set(tasks)


def test_plans_solve_a_sample_and_every_human_goal(shop_catalog: Catalog) -> None:
    tasks = list(all_ids(shop_catalog))
    sample = [*tasks[::60], *tasks[-13:]]
    assert set(check(shop_catalog, sample)) == missed(shop_catalog) & set(sample)


@pytest.mark.slow
def test_plans_solve_every_goal(shop_catalog: Catalog) -> None:
    tasks = list(all_ids(shop_catalog))
    assert set(check(shop_catalog, tasks)) == missed(shop_catalog)


def test_plans_turn_pages_where_no_search_does_better(
    odd_shop: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = odd_shop.row("C000000004")
    others = [at for at in range(len(odd_shop)) if at != row]

    def late(catalog: Catalog, keywords: list[str], rules: str, rng: Any) -> list[int]:
        return [*others[:21], row] if keywords[0] == "<q>" else []

    monkeypatch.setattr(engine, "hits", late)
    actions = gold_actions("odd/human/0", catalog=odd_shop)
    assert [action.count("next >") for action in actions] == [0, 1, 1, 0, 0]
    info = verdict(WebShopEnv(catalog=odd_shop), "odd/human/0", actions)
    assert info["success"]


def test_unreachable_products_are_an_error(
    odd_shop: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans.engine, "hits", lambda *_: [])
    with pytest.raises(AgentEnvsError, match="No search of catalog 'odd' finds 'C000000004'"):
        gold_actions("odd/human/0", catalog=odd_shop)


def test_unknown_tasks_are_refused(odd_shop: Catalog) -> None:
    for task in ("odd/synthetic/17", "1k/synthetic/0", "odd", ""):
        with pytest.raises(UnknownName):
            gold_actions(task, catalog=odd_shop)
