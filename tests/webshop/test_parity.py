"""Recordings of the original, replayed step by step under the official rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.env import WebShopEnv
from agentenvs.webshop.tasks import task_ids
from agentenvs.webshop.urls import url

RECORDINGS = {
    "text": ("text", "synthetic"),
    "rewards": ("text", "synthetic"),
    "text_rich": ("text_rich", "synthetic"),
    "url": ("url", "synthetic"),
    "human_text": ("text", "human"),
}


def environment(catalog: Catalog, name: str, prices: Any) -> WebShopEnv:
    return WebShopEnv(
        catalog=catalog,
        observation=RECORDINGS[name][0],  # type: ignore[arg-type]
        show_attrs=RECORDINGS[name][1] == "human",
        reward="score",
        prices=prices,
        max_steps=None,
    )


def episodes(rows: list[Any]) -> Iterator[tuple[Any, Any]]:
    header = rows[0]
    assert header["header"] == 1
    assert len(rows) > 5
    for row in rows[1:]:
        yield header, row


def replay(env: WebShopEnv, row: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Step through a recorded episode and compare everything; return the last `info`."""
    session = f"t{row['traj']}-{row['goal_idx']}"
    observation, info = env.reset(options={**options, "session": session})
    assert observation == row["reset_obs"]
    assert "goal" not in info
    for at, step in enumerate(row["steps"]):
        where = (row["traj"], at, step["action"][:80])
        assert info["available"] == step["available"], where
        observation, reward, terminated, truncated, info = env.step(step["action"])
        assert observation == step["obs"], where
        assert (reward, terminated, truncated) == (step["reward"], step["done"], False), where
        assert url(env._parts().state) == step["url"], where
        assert terminated or info["messages"] == [{"role": "user", "content": observation}]
    assert "reward_info" not in row or list(info["score_parts"].items()) == [
        (key, value) for key, value in row["reward_info"].items()
    ]
    return info


@pytest.mark.parametrize("name", list(RECORDINGS))
def test_every_recorded_episode_replays_with_its_own_goal(
    name: str, recorded: Callable[[str], list[Any]], shop_catalog: Catalog
) -> None:
    rows = recorded(name)
    env = environment(shop_catalog, name, rows[0]["random_prices"])
    for _, row in episodes(rows):
        info = replay(env, row, {"goal": row["goal"]})
        assert info["task"] == f"{shop_catalog.name}/given/{row['goal']['asin']}"


@pytest.mark.parametrize("name", list(RECORDINGS))
def test_every_recorded_episode_replays_as_a_task_of_the_catalog(
    name: str, recorded: Callable[[str], list[Any]], shop_catalog: Catalog
) -> None:
    rows = recorded(name)
    kind = RECORDINGS[name][1]
    ids = task_ids(kind, catalog=shop_catalog)
    assert len(ids) == rows[0]["n_goals"]
    env = environment(shop_catalog, name, rows[0]["random_prices"])
    for _, row in episodes(rows):
        task = ids[row["goal_idx"]]
        assert replay(env, row, {"task": task})["task"] == task


@pytest.mark.parametrize("name", list(RECORDINGS))
def test_the_catalog_draws_the_recorded_prices_and_caps_itself(
    name: str, recorded: Callable[[str], list[Any]], shop_catalog: Catalog
) -> None:
    rows = recorded(name)
    kind = RECORDINGS[name][1]
    env = environment(shop_catalog, name, None)
    for header, row in episodes(rows):
        assert header["seed"] == shop_catalog.meta["seed"]
        replay(env, row, {"task": f"{shop_catalog.name}/{kind}/{row['goal_idx']}"})


def test_a_whole_price_table_does_the_same(
    recorded: Callable[[str], list[Any]], shop_catalog: Catalog
) -> None:
    env = environment(shop_catalog, "text", recorded("prices"))
    for _, row in episodes(recorded("text")):
        replay(env, row, {"task": f"{shop_catalog.name}/synthetic/{row['goal_idx']}"})
