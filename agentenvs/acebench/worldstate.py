"""Where the official services' first state comes from: a pinned file of the source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agentenvs.errors import SourceMissing
from agentenvs.sources import Tree, source

__all__ = ["WORLD", "reader", "world_of"]

#: the file with `{lang: {class: {"state": {attribute: value}}}}`; the repository has none: it is
#: made of the literals in the sources of its classes, which are parsed and never imported
WORLD = "world.json"
_FOLDER = "data_all/"


def reader(tree: Tree) -> Callable[[str], bytes]:
    """Return what reads the files of the source, by the paths that `Records` asks for.

    Reading `world.json` raises SourceMissing where the copy has neither that file nor sources
    of the service classes whose literals have the pinned hashes: agent tasks cannot be played
    from such a copy then, and all others can.
    """

    def read(name: str) -> bytes:
        return _world(tree) if name == WORLD else tree.read(_FOLDER + name)

    return read


def world_of(checkout: Path) -> bytes:
    """Return the content of `world.json` for a folder that is no checked source.

    Raises:
        SourceMissing: as `reader` says.
    """
    return _world(Tree(source("acebench"), checkout, "env"))


def _world(tree: Tree) -> bytes:
    try:
        return tree.read(WORLD)
    except SourceMissing as problem:
        raise SourceMissing(
            f"What ACEBench's services start from cannot be read: {problem} It takes {WORLD}, or "
            "the sources of the service classes as in the pinned commit, whose literals are read "
            "by parsing. Tasks of the agent categories need it; all others, and "
            'tasks="mini", work without.'
        ) from None
