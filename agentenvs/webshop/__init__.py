"""WebShop: catalog, goals, search, pages, reward and environment.

Official catalogs are read from files that the user has or pulls; the catalog `mini` is
bundled. Benchmark: WebShop, Yao et al. 2022, princeton-nlp/WebShop.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.webshop.browser import WebShopBrowserEnv
    from agentenvs.webshop.catalog import Catalog
    from agentenvs.webshop.compile import compile_catalog
    from agentenvs.webshop.engine import search
    from agentenvs.webshop.env import WebShopEnv
    from agentenvs.webshop.locate import open_catalog
    from agentenvs.webshop.plans import gold_actions
    from agentenvs.webshop.records import Goal, Product
    from agentenvs.webshop.reward import Score, score
    from agentenvs.webshop.tasks import clusters, data_version, task_ids, task_sets

_HOMES = {
    "Catalog": "catalog",
    "Goal": "records",
    "Product": "records",
    "Score": "reward",
    "WebShopBrowserEnv": "browser",
    "WebShopEnv": "env",
    "clusters": "tasks",
    "compile_catalog": "compile",
    "data_version": "tasks",
    "gold_actions": "plans",
    "open_catalog": "locate",
    "score": "reward",
    "search": "engine",
    "task_ids": "tasks",
    "task_sets": "tasks",
}

__all__ = [
    "Catalog",
    "Goal",
    "Product",
    "Score",
    "WebShopBrowserEnv",
    "WebShopEnv",
    "clusters",
    "compile_catalog",
    "data_version",
    "gold_actions",
    "open_catalog",
    "score",
    "search",
    "task_ids",
    "task_sets",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"agentenvs.webshop.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'agentenvs.webshop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
