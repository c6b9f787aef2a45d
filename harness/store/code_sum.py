"""A sum of the code that an episode depends on, since one version may see many edits."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import gymnasium
from gymnasium.envs.registration import load_env_creator

import agentenvs
from agentenvs import registry

__all__ = ["code_sum"]

_SHARED = ("actions", "core", "syntax", "tools")
_HARNESS = ("arms", "episode", "prompts", "seeds", "stubs")


def code_sum(env_id: str) -> str:
    """Return a short sum of the sources of an environment, its parser and what shows it.

    Of an environment that is not of this package the file of its class counts.

    Args:
        env_id: the full id of a registered environment; of any other, what all share counts.
    """
    found = hashlib.sha256()
    for path in _files(env_id):
        found.update(path.name.encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def _files(env_id: str) -> Iterator[Path]:
    from agentenvs import harness, wrappers

    own = Path(str(agentenvs.__file__)).parent
    yield from (own / f"{name}.py" for name in _SHARED)
    yield from sorted(Path(str(wrappers.__file__)).parent.glob("*.py"))
    beside = Path(str(harness.__file__)).parent
    yield from (beside / f"{name}.py" for name in _HARNESS)
    world = registry.WORLDS.get(env_id)
    if world is not None:
        yield from sorted((own / world.module.rpartition(".")[2]).rglob("*.py"))
    elif env_id in gymnasium.registry:
        creator = gymnasium.registry[env_id].entry_point
        try:
            made = load_env_creator(creator) if isinstance(creator, str) else creator
            source = inspect.getsourcefile(made)  # type: ignore[arg-type]
        except (ImportError, AttributeError, TypeError, OSError):
            return
        if source is not None and Path(source).is_file():
            yield Path(source)
