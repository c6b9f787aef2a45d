"""Finding a source, fetching it where it is missing, and saying how things stand."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentenvs.errors import SourceMismatch, SourceMissing
from agentenvs.sources._cache import cached, file_sha256, keep, workspace
from agentenvs.sources._manifest import SOURCES, Source, source
from agentenvs.sources._progress import Progress, console_progress, quiet
from agentenvs.sources._tree import Tree, locate, mismatch, problems_of

__all__ = ["Status", "import_", "open_source", "pull", "status", "verify"]


@dataclass(frozen=True, slots=True)
class Status:
    """How one source stands on this machine.

    Attributes:
        name: the source's name.
        version: the pinned version.
        licence: SPDX identifier.
        size: bytes of the official archive.
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


def open_source(name: str, fetch: bool = True, progress: Progress | None = None) -> Tree:
    """Return the needed files of a source, from the first place that has them.

    Places, in order: the path in `AGENTENVS_<NAME>`; an installed copy (found, never
    imported); the cache; the network, unless `fetch` is False or `AGENTENVS_OFFLINE=1`.
    Every file is checked against the manifest. An installed copy of another version is
    passed over and noted in `Tree.notes`.

    Args:
        name: one of `names()`.
        fetch: whether the network may be used.
        progress: is told how a fetch goes; default a message and a bar on stderr.

    Raises:
        UnknownName: there is no such source.
        SourceMismatch: the copy that `AGENTENVS_<NAME>` points at has other content, or
            what was fetched has.
        SourceMissing: it is in none of the places; the text says what can be done.

    Example:
        >>> from agentenvs import sources
        >>> tree = sources.open_source("bfcl")  # doctest: +SKIP
        >>> len(tree.read("bfcl_eval/constants/default_prompts.py"))  # doctest: +SKIP
        9118
    """
    entry = source(name)
    tree, notes = _look(entry)
    if tree is not None:
        return tree
    if not fetch:
        raise _missing(entry, "was not found", notes)
    if progress is not None:
        path = _pull(entry, progress, notes)
    else:
        with console_progress() as bar:
            path = _pull(entry, bar, notes)
    return Tree(entry, path, "cache", notes)


def pull(name: str, progress: Progress | None = None) -> Path:
    """Fetch a source into the cache, unless a whole copy is there; return where it lies.

    Args:
        name: one of `names()`.
        progress: is told how the fetch goes; default nobody.

    Raises:
        UnknownName: there is no such source.
        SourceMismatch: what was fetched does not have the pinned hash.
        SourceMissing: it could not be fetched; the text says why and what can be done.
        SourceError: the cache cannot be written.
    """
    return _pull(source(name), progress or quiet)


def import_(name: str, path: str | os.PathLike[str]) -> Path:
    """Copy a source that is already on this machine into the cache; return where it lies.

    Args:
        name: one of `names()`.
        path: the archive, a folder that holds it, or an unpacked or installed tree.

    Raises:
        UnknownName: there is no such source.
        SourceMissing: there is nothing of the kind at `path`.
        SourceMismatch: it does not have the pinned content.
        SourceError: the cache cannot be written.
    """
    entry = source(name)
    found = _located(entry, Path(path), f"{os.fspath(path)!r}")
    with workspace(entry, lambda: None) as temporary:
        return keep(entry, found, temporary)


def verify(name: str) -> list[str]:
    """Check the copy in use and the cached one anew, whole; return what is wrong, in words.

    An empty list means that `open_source(name, fetch=False)` works.

    Raises:
        UnknownName: there is no such source.
    """
    entry = source(name)
    problems: list[str] = []
    for copy in cached(entry):
        wrong = problems_of(copy, entry)
        if not wrong and copy.name == entry.filename:
            wrong = _wrong_hash(entry, copy)
        if wrong:
            problems.append(str(mismatch(entry, copy, wrong)))
    try:
        tree, notes = _look(entry)
    except (SourceMissing, SourceMismatch) as error:
        problems.append(str(error))
    else:
        if tree is None and not problems:
            problems.append(str(_missing(entry, "was not found", notes)))
    return problems


def status() -> list[Status]:
    """Return how every source stands on this machine; nothing is fetched."""
    return [_status(entry) for entry in SOURCES.values()]


def _status(entry: Source) -> Status:
    found: Literal["env", "installed", "cache", "missing"] = "missing"
    path = None
    try:
        tree, notes = _look(entry)
    except (SourceMissing, SourceMismatch) as error:
        notes = (str(error),)
    else:
        if tree is not None:
            found, path = tree.origin, tree.path
    facts = (entry.name, entry.version, entry.licence, entry.size, entry.title)
    return Status(*facts, found, path, notes)


def _look(entry: Source) -> tuple[Tree | None, tuple[str, ...]]:
    named = os.environ.get(entry.variable)
    if named:
        found = _located(entry, Path(named), f"{entry.variable}={named}")
        problems = problems_of(found, entry)
        if problems:
            raise mismatch(entry, found, problems)
        return Tree(entry, found, "env"), ()
    notes: list[str] = []
    for found in _installed(entry):
        problems = problems_of(found, entry)
        if not problems:
            return Tree(entry, found, "installed", tuple(notes)), tuple(notes)
        notes.append(f"Passed over the installed copy: {mismatch(entry, found, problems)}")
    for found in cached(entry):
        problems = problems_of(found, entry)
        if not problems:
            return Tree(entry, found, "cache", tuple(notes)), tuple(notes)
        notes.append(f"Passed over a damaged copy: {mismatch(entry, found, problems)}")
    return None, tuple(notes)


def _installed(entry: Source) -> list[Path]:
    module = entry.way.module
    if module is None:
        return []
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return []
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [Path(os.path.abspath(place)).parent for place in spec.submodule_search_locations]


def _located(entry: Source, path: Path, label: str) -> Path:
    found = locate(path, entry)
    if found is None:
        raise SourceMissing(
            f"Expected {label} to be {entry.filename}, a folder that holds it, or an unpacked "
            f"copy, got {'a folder without either' if path.is_dir() else 'nothing there'}."
        )
    return found


def _pull(entry: Source, progress: Progress, notes: tuple[str, ...] = ()) -> Path:
    whole = _whole_copy(entry)
    if whole is not None:
        return whole
    if os.environ.get("AGENTENVS_OFFLINE", "0").lower() not in ("", "0", "false", "no"):
        raise _missing(
            entry, "is not in the cache, and AGENTENVS_OFFLINE forbids fetching it", notes
        )
    waiting = f"Waiting for another process that is fetching {entry.title}"
    with workspace(entry, lambda: progress(0, 0, waiting)) as temporary:
        whole = _whole_copy(entry)
        if whole is not None:
            return whole
        try:
            found = entry.way.fetch(entry, temporary, progress)
        except SourceMissing as error:
            raise _missing(entry, "could not be fetched", (*notes, str(error))) from error
        wrong = _wrong_hash(entry, found) if found.is_file() else []
        if wrong:
            raise mismatch(entry, found, wrong)
        return keep(entry, found, temporary)


def _whole_copy(entry: Source) -> Path | None:
    copies = (copy for copy in cached(entry) if not problems_of(copy, entry))
    return next(copies, None)


def _wrong_hash(entry: Source, path: Path) -> list[str]:
    found = file_sha256(path)
    return [] if found == entry.sha256 else [f"expected sha256 {entry.sha256}, found {found}"]


def _missing(entry: Source, what: str, notes: tuple[str, ...] = ()) -> SourceMissing:
    said = "".join(f"{note}\n" for note in notes)
    name = entry.name
    return SourceMissing(
        f"{entry.title} ({name} {entry.version}) {what}.\n{said}"
        f"To fetch it ({entry.size / 1e6:.1f} MB): agentenvs data pull {name}\n"
        f"To use a copy that you have: agentenvs data import {name} PATH\n"
        'Without it: the bundled set, tasks="mini", works offline.'
    )
