"""Where the cache folder is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Return the folder for fetched data; it need not exist yet.

    `AGENTENVS_CACHE` names it; else it is `agentenvs` in the user's cache folder
    (`XDG_CACHE_HOME` or `~/.cache`; `~/Library/Caches`; `%LOCALAPPDATA%`).
    """
    named = os.environ.get("AGENTENVS_CACHE")
    if named:
        return Path(os.path.abspath(Path(named).expanduser()))
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "agentenvs"
