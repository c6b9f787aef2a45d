"""Finding a source, and fetching or importing it where it is missing."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

from agentenvs.errors import BadArgument, SourceError, SourceMissing
from agentenvs.sources._cache import cached, keep, partial_folder, workspace
from agentenvs.sources._manifest import FAMILIES, members, source
from agentenvs.sources._plain import size_problems
from agentenvs.sources._progress import Progress, console_progress, quiet
from agentenvs.sources._source import Source
from agentenvs.sources._stamps import stream_sha256
from agentenvs.sources._tree import Tree, locate, mismatch, problems_of

__all__ = ["import_", "look", "missing", "open_source", "pull", "wrong_hash"]


def open_source(name: str, fetch: bool = True, progress: Progress | None = None) -> Tree:
    """Return the needed files of a source, from the first place that has them.

    Places, in order: the path in `AGENTENVS_<NAME>`; the folder `<name>`, or that of its
    family, in the one that `AGENTENVS_DATA` names, if it is there; an installed copy (found,
    never imported); the cache; the network, unless `fetch` is False or `AGENTENVS_OFFLINE=1`.
    Every file is checked against the manifest; of plain files, which may be large, the sizes,
    and the hashes where a file has changed since it was last read. A stated variant of a
    source serves as well (`Tree.source` says which it is). An installed copy of another
    version, and one of other content in `AGENTENVS_DATA`, is passed over and noted in
    `Tree.notes`.

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
    tree, notes = look(entry)
    if tree is not None:
        return tree
    if not fetch:
        raise missing(entry, "was not found", notes)
    if progress is not None:
        return _pull(entry, progress, notes)
    with console_progress() as bar:
        return _pull(entry, bar, notes)


def pull(name: str, progress: Progress | None = None) -> Tree:
    """Fetch a source into the cache, unless a whole copy is there; return it.

    Of a family ("webshop") the first member is fetched.

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


def import_(name: str, path: str | os.PathLike[str], progress: Progress | None = None) -> Tree:
    """Copy a source that is already on this machine into the cache; return it.

    `Tree.source` of the answer says which it was, where `name` is a family ("webshop") or
    the source has variants.

    Args:
        name: one of `names()`, or a family of them.
        path: the archive, a folder that holds it, or an unpacked or installed tree; of plain
            files their folder, or one of them with the others beside it.
        progress: is told how it goes; default nobody.

    Raises:
        UnknownName: there is no such source.
        BadArgument: several members of the family lie there.
        SourceMissing: there is nothing of the kind at `path`.
        SourceMismatch: it does not have the pinned content.
        SourceError: the cache cannot be written.
    """
    told = progress or quiet
    family = members(name)
    if len(family) > 1:
        family = _present(family, Path(path)) or family
    forms = [form for entry in family for form in entry.forms]
    form, found = _recognised(forms, Path(path), f"{os.fspath(path)!r}", told)
    with workspace(form, lambda: told(0, 0, f"Waiting for another process at {form.title}")) as new:
        return Tree(form, keep(form, found, new, told), "cache")


def _present(family: tuple[Source, ...], path: Path) -> tuple[Source, ...]:
    """Return the members of a family of plain sources whose files lie there, by size."""
    found = tuple(
        entry
        for entry in family
        if any(
            (root := locate(path, form)) is not None and not size_problems(root, form)
            for form in entry.forms
        )
    )
    if len(found) > 1:
        names = " and ".join(entry.name for entry in found)
        raise BadArgument(f"{path} holds {names}: say which instead of the family's name.")
    return found


def look(entry: Source, progress: Progress = quiet) -> tuple[Tree | None, tuple[str, ...]]:
    """Return the copy in use, None where there is none, and what was passed over, in words.

    Raises:
        SourceMissing: the variable points at nothing of the kind.
        SourceMismatch: it points at other content.
    """
    named = os.environ.get(entry.variable)
    if named:
        label = f"{entry.variable}={named}"
        form, found = _recognised(entry.forms, Path(named), label, progress)
        return Tree(form, found, "env"), ()
    notes: list[str] = []
    for folder in _given(entry):
        try:
            form, found = _recognised(entry.forms, folder, f"{folder}", progress)
            return Tree(form, found, "env"), ()
        except SourceError as problem:
            # The folder of a family holds some of its members.
            if folder.name == entry.name or not isinstance(problem, SourceMissing):
                notes.append(f"Passed over AGENTENVS_DATA: {problem}")
    for found in _installed(entry):
        problems = problems_of(found, entry)
        if not problems:
            return Tree(entry, found, "installed", tuple(notes)), tuple(notes)
        notes.append(f"Passed over the installed copy: {mismatch(entry, found, problems)}")
    for form in entry.forms:
        for found in cached(form):
            problems = problems_of(found, form, progress)
            if not problems:
                return Tree(form, found, "cache", tuple(notes)), tuple(notes)
            notes.append(f"Passed over a damaged copy: {mismatch(form, found, problems)}")
    return None, tuple(notes)


def _given(entry: Source) -> list[Path]:
    """Return the folders of the source and of its family within AGENTENVS_DATA."""
    base = os.environ.get("AGENTENVS_DATA")
    if not base:
        return []
    families = [name for name, known in FAMILIES.items() if entry.name in known]
    folders = (Path(base) / name for name in (entry.name, *families))
    return [folder for folder in folders if folder.is_dir()]


def _installed(entry: Source) -> list[Path]:
    module = entry.way.module if entry.way is not None else None
    if module is None:
        return []
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return []
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [Path(os.path.abspath(place)).parent for place in spec.submodule_search_locations]


def _recognised(
    forms: Sequence[Source], path: Path, label: str, progress: Progress
) -> tuple[Source, Path]:
    """Return the form that lies at `path`, and its archive or root folder there.

    Raises:
        SourceMissing: none of them does.
        SourceMismatch: some have files there, and none has all of them as pinned.
    """
    closest: tuple[Source, Path, list[str]] | None = None
    for form in forms:
        found = locate(path, form)
        if found is None:
            continue
        problems = problems_of(found, form, progress)
        if not problems:
            return form, found
        if closest is None or len(problems) < len(closest[2]):
            closest = form, found, problems
    if closest is not None:
        raise mismatch(*closest)
    came = "a folder without either" if path.is_dir() else "nothing there"
    if forms[0].plain:
        wanted = ", ".join(file.path for file in forms[0].files)
        came = "a folder without any" if path.is_dir() else "nothing of the kind"
        raise SourceMissing(
            f"Expected {label} to be a folder with {wanted}, or one of them, got {came}."
        )
    archive = "its archive" if forms[0].loose else forms[0].filename
    raise SourceMissing(
        f"Expected {label} to be {archive}, a folder that holds it, or an unpacked "
        f"copy, got {came}."
    )


def _pull(entry: Source, progress: Progress, notes: tuple[str, ...] = ()) -> Tree:
    path = _whole_copy(entry, progress) or _fetched(entry, progress, notes)
    return Tree(entry, path, "cache", notes)


def _fetched(entry: Source, progress: Progress, notes: tuple[str, ...]) -> Path:
    if os.environ.get("AGENTENVS_OFFLINE", "0").lower() not in ("", "0", "false", "no"):
        raise missing(
            entry, "is not in the cache, and AGENTENVS_OFFLINE forbids fetching it", notes
        )
    if entry.way is None:
        raise missing(entry, "cannot be fetched", notes)
    waiting = f"Waiting for another process that is fetching {entry.title}"
    with workspace(entry, lambda: progress(0, 0, waiting)) as temporary:
        whole = _whole_copy(entry, progress)
        if whole is not None:
            return whole
        folder = partial_folder(entry) if entry.way.resumes else temporary
        try:
            found = entry.way.fetch(entry, folder, progress)
        except SourceMissing as error:
            raise missing(entry, "could not be fetched", (*notes, str(error))) from error
        wrong = wrong_hash(entry, found) if found.is_file() else []
        if wrong:
            raise mismatch(entry, found, wrong)
        return keep(entry, found, temporary, progress)


def _whole_copy(entry: Source, progress: Progress) -> Path | None:
    copies = (copy for copy in cached(entry) if not problems_of(copy, entry, progress))
    return next(copies, None)


def wrong_hash(entry: Source, path: Path) -> list[str]:
    """Return how an archive's hash differs from the pinned one, [] if it does not or none is."""
    if entry.loose:
        return []
    found = stream_sha256(path)
    return [] if found == entry.sha256 else [f"expected sha256 {entry.sha256}, found {found}"]


def missing(entry: Source, what: str, notes: tuple[str, ...] = ()) -> SourceMissing:
    """Return the error that says what cannot be had, why, and what can be done."""
    said = "".join(f"{note}\n" for note in notes)
    name = entry.name
    fetch = f"To fetch it ({entry.size / 1e6:,.1f} MB): agentenvs data pull {name}\n"
    return SourceMissing(
        f"{entry.title} ({name} {entry.version}) {what}.\n{said}{fetch if entry.way else ''}"
        f"To use a copy that you have: agentenvs data import {name} PATH\n"
        'Without it: the bundled set, tasks="mini", works offline.'
    )
