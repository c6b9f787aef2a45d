from __future__ import annotations

from collections.abc import Mapping

import gymnasium
import pytest

from agentenvs.toollab.design import TAGS


@pytest.fixture(scope="session")
def seeds() -> Mapping[str, int]:
    """Return a seed of `reset` for each tag."""
    env = gymnasium.make("agentenvs/ToolLab-v0", task="0/order/lamp/seven")
    found: dict[str, int] = {}
    seed = 0
    while len(found) < len(TAGS):
        env.reset(seed=seed)
        found.setdefault(env.step("find lamp")[0], seed)
        seed += 1
    return found
