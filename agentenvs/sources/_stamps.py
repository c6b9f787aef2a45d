"""Hashes of large files, remembered, so that opening them does not mean reading them."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from agentenvs.sources._home import cache_folder

__all__ = ["file_digest", "forget", "remember", "stream_sha256"]

_CHUNK = 1 << 20
#: a file changed this shortly before it was hashed may change again without its time showing it
_SETTLED_NS = 2_000_000_000


def stream_sha256(path: Path, on_bytes: Callable[[int], None] | None = None) -> str:
    """Return the SHA-256 of a file's content; `on_bytes` is told how many have been read."""
    digest = hashlib.sha256()
    done = 0
    with open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            if on_bytes is not None:
                on_bytes(done)
    return digest.hexdigest()


def file_digest(
    path: Path, on_bytes: Callable[[int], None] | None = None, anew: bool = False
) -> str:
    """Return the SHA-256 of a file's content, read once as long as size and time stay the same.

    Args:
        path: the file; what is remembered of it lies in the cache folder.
        on_bytes: is told how many bytes have been read, where they are read.
        anew: read the file whatever is remembered.

    Raises:
        OSError: it cannot be read.
    """
    if not anew and (known := _remembered(path)) is not None:
        return known
    begun = time.time_ns()
    before = path.stat().st_mtime_ns
    found = stream_sha256(path, on_bytes)
    if begun - before >= _SETTLED_NS:
        remember(path, found)
    else:
        forget(path)
    return found


def remember(path: Path, sha256: str) -> None:
    """Remember the hash of a file as it is now; a cache that cannot be written is no error."""
    stamp = _stamp(path)
    facts = path.stat()
    row = {
        "path": str(path),
        "size": facts.st_size,
        "mtime_ns": facts.st_mtime_ns,
        "sha256": sha256,
    }
    temporary = stamp.with_name(f"{stamp.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(row), encoding="utf-8")
        os.replace(temporary, stamp)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def forget(path: Path) -> None:
    """Forget what is remembered of a file."""
    with suppress(OSError):
        _stamp(path).unlink(missing_ok=True)


def _remembered(path: Path) -> str | None:
    facts = path.stat()
    try:
        row = json.loads(_stamp(path).read_text(encoding="utf-8"))
        same = (row["size"], row["mtime_ns"]) == (facts.st_size, facts.st_mtime_ns)
        return str(row["sha256"]) if same else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _stamp(path: Path) -> Path:
    # Named from below the cache, so that a cache that is moved keeps what it knows.
    cache = cache_folder()
    name = path.relative_to(cache) if path.is_relative_to(cache) else path
    return cache / "stamps" / f"{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}.json"
