from __future__ import annotations

import copy
from typing import Any

import pytest

from agentenvs.bfcl import mini
from agentenvs.syntax import parse_call_list


class Play:
    """Fresh worlds of one task, acted on by call strings."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.worlds = {name: mini.worlds()[name]() for name in row["involved_classes"]}
        for name, world in self.worlds.items():
            world._load_scenario(row["initial_config"].get(name, {}))

    def __call__(self, text: str) -> dict[str, Any]:
        (node,) = parse_call_list(text)
        (world,) = [world for world in self.worlds.values() if hasattr(world, node.name)]
        result = getattr(world, node.name)(**dict(node.kwargs))
        assert isinstance(result, dict)
        return result

    def state(self) -> dict[str, dict[str, Any]]:
        return {
            name: copy.deepcopy({k: v for k, v in vars(world).items() if k[0] != "_"})
            for name, world in self.worlds.items()
        }


@pytest.fixture
def play() -> type[Play]:
    return Play
