"""Compile official files into a folder that opens at once."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument, SourceError, SourceMissing
from agentenvs.sources import Progress, file_digest, quiet
from agentenvs.webshop._build import Build
from agentenvs.webshop.catalog import FORMAT, META, VERSION, Catalog
from agentenvs.webshop.nouns import Tagger, heuristic_tagger, tagger_of
from agentenvs.webshop.official import OfficialFiles

__all__ = ["compile_catalog"]

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


def compile_catalog(
    src: str | PathLike[str] | OfficialFiles,
    dst: str | PathLike[str],
    *,
    name: str | None = None,
    seed: int = 0,
    nouns: str | Tagger = "auto",
    limit: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Compile official WebShop files into a catalog folder and return the folder.

    The folder appears whole or not at all. One that already holds the same catalog is left as
    it is, one that holds another is replaced, and any other folder is refused. Records that
    make no product are counted in `meta.json` by reason, with the first few asins.

    Args:
        src: a folder with official files, a products file, or the files by name.
        dst: the folder to write.
        name: what task ids begin with; by default that of known content, "1k" or "full", else
            made from the folder's name, with the limit and the seed where they change the tasks.
        seed: of the purchase prices of ranged products and of the price caps.
        nouns: "auto" takes the `nouns.json` beside the products where there is one, else spaCy
            where it is installed, else the heuristic; "spacy" and "heuristic" insist; or a
            tagger.
        limit: take only the first so many records, counted before any is dropped.
        progress: told of bytes read and of what is being done.

    Raises:
        BadArgument: an argument out of range, or a folder that is no catalog.
        SourceMissing: a file is missing.
        SourceError: a file is truncated or malformed, or there is no product in it; or the
            folder cannot be written, of which nothing is left then.
    """
    files = src if isinstance(src, OfficialFiles) else OfficialFiles.find(src)
    if name is not None and (not isinstance(name, str) or not _NAME.fullmatch(name)):
        raise BadArgument(f"Expected `name` to match {_NAME.pattern}, got {name!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise BadArgument(f"Expected `seed` to be an int, got {seed!r}.")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise BadArgument(f"Expected `limit` to be a positive int or None, got {limit!r}.")
    if not isinstance(nouns, str) and not hasattr(nouns, "nouns"):
        raise BadArgument(f"Expected `nouns` to be a str or a tagger, got {nouns!r}.")
    given = nouns == "auto" and files.nouns is not None
    if not given:
        files = OfficialFiles(files.products, files.attributes, files.human)
    tagger = nouns if not isinstance(nouns, str) else None if given else tagger_of(nouns)
    target = Path(dst).absolute()
    tell = progress or quiet
    sources = {role: _source(path, tell) for role, path in files.named().items()}
    kind = "given" if tagger is None else tagger.name.split()[0]
    settings = {
        "version": VERSION,
        "sources": {role: source["sha256"] for role, source in sources.items()},
        "seed": seed,
        "limit": limit,
        "nouns": "given" if tagger is None else tagger.name,
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    if name is None:
        name = _default_name(files, seed, limit)
    if _holds(target, digest, name):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        built = temporary / "catalog"
        built.mkdir()
        made = Build(files, built, tagger or heuristic_tagger(), seed, limit, tell).run(
            temporary / "scratch"
        )
        meta: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "name": name,
            "digest": digest,
            "sources": sources,
            "seed": seed,
            "limit": limit,
            "nouns": {"kind": kind, "tagger": settings["nouns"]},
            **made,
        }
        meta["files"] = {
            path.relative_to(built).as_posix(): path.stat().st_size
            for path in sorted(built.rglob("*"))
            if path.is_file()
        }
        (built / META).write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")
        _place(built, target, temporary, digest, name)
    except SourceError:
        raise
    except OSError as error:
        raise SourceError(f"Could not write {target}: {error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _default_name(files: OfficialFiles, seed: int, limit: int | None) -> str:
    # Opening by place compiles on first use.
    from agentenvs.webshop.locate import catalog_name

    parts = [catalog_name(files)]
    # Tasks keep their names only where they are the same tasks.
    if limit is not None:
        parts.append(str(limit))
    if seed:
        parts.append(f"seed{seed}")
    return "-".join(parts)


def _source(path: Path, tell: Progress) -> dict[str, Any]:
    text = f"checking {path.name}"
    try:
        size = path.stat().st_size
        tell(0, size, text)
        sha256 = file_digest(path, lambda done: tell(min(done, size), size, text))
    except FileNotFoundError:
        raise SourceMissing(f"There is no file {path}.") from None
    except OSError as error:
        raise SourceError(f"Could not read {path}: {error}") from error
    return {"file": path.name, "size": size, "sha256": sha256}


def _holds(target: Path, digest: str, name: str) -> bool:
    if not target.exists():
        return False
    if not target.is_dir():
        raise BadArgument(f"Expected {target} to be a folder or nothing yet, got a file.")
    if not any(target.iterdir()):
        return False
    try:
        found = Catalog.open(target)
    except SourceMissing as error:
        raise BadArgument(
            f"{target} holds other things than a catalog and is left alone: name another folder."
        ) from error
    except SourceError:
        return False
    return found.digest == digest and found.name == name


def _place(built: Path, target: Path, temporary: Path, digest: str, name: str) -> None:
    old = temporary / "old"
    try:
        if target.exists():
            os.replace(target, old)
        os.replace(built, target)
    except OSError:
        # Another process may have placed the same catalog meanwhile.
        if _holds(target, digest, name):
            return
        if old.exists() and not target.exists():
            os.replace(old, target)
        raise
