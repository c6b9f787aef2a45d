"""How the sources stand on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentenvs.errors import SourceMismatch, SourceMissing
from agentenvs.sources._cache import cached
from agentenvs.sources._find import look, missing, wrong_hash
from agentenvs.sources._manifest import SOURCES, source
from agentenvs.sources._progress import Progress, quiet
from agentenvs.sources._source import Source
from agentenvs.sources._tree import mismatch, problems_of

__all__ = ["Status", "status", "verify"]


@dataclass(frozen=True, slots=True)
class Status:
    """How one source stands on this machine.

    Attributes:
        name: the source's name.
        version: the version of the copy in use, a variant's too; else the pinned one.
        licence: SPDX identifier, or what the owners state.
        size: bytes of that version.
        title: what it is, one line.
        found: where the copy in use was found.
        path: that copy; None where it is missing.
        notes: what was passed over, or what is wrong, in words.
    """

    name: str
    version: str
    licence: str
    size: int
    title: str
    found: Literal["env", "installed", "cache", "missing"]
    path: Path | None
    notes: tuple[str, ...]


def status(name: str | None = None, progress: Progress | None = None) -> list[Status]:
    """Return how every source, or the one named, stands on this machine; nothing is fetched."""
    entries = tuple(SOURCES.values()) if name is None else (source(name),)
    return [_status(entry, progress or quiet) for entry in entries]


def _status(entry: Source, progress: Progress) -> Status:
    found: Literal["env", "installed", "cache", "missing"] = "missing"
    path = None
    try:
        tree, notes = look(entry, progress)
    except (SourceMissing, SourceMismatch) as error:
        notes = (str(error),)
    else:
        if tree is not None:
            found, path, entry = tree.origin, tree.path, tree.source
    facts = (entry.name, entry.version, entry.licence, entry.size, entry.title)
    return Status(*facts, found, path, notes)


def verify(name: str, progress: Progress | None = None) -> list[str]:
    """Check the copy in use and the cached ones anew, whole; return what is wrong, in words.

    An empty list means that `open_source(name, fetch=False)` works.

    Args:
        name: one of `names()`.
        progress: is told how it goes; default nobody.

    Raises:
        UnknownName: there is no such source.
    """
    told = progress or quiet
    entry = source(name)
    problems: list[str] = []
    for form in entry.forms:
        for copy in cached(form):
            wrong = problems_of(copy, form, told, anew=True)
            if not wrong and not form.plain and copy.name == form.filename:
                wrong = wrong_hash(form, copy)
            if wrong:
                problems.append(str(mismatch(form, copy, wrong)))
    try:
        tree, notes = look(entry, told)
    except (SourceMissing, SourceMismatch) as error:
        problems.append(str(error))
    else:
        if tree is None and not problems:
            problems.append(str(missing(entry, "was not found", notes)))
        elif tree is not None and tree.origin != "cache" and tree.source.plain:
            wrong = problems_of(tree.path, tree.source, told, anew=True)
            if wrong:
                problems.append(str(mismatch(tree.source, tree.path, wrong)))
    return problems
