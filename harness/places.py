"""Where in a caller's own code an error was raised."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

__all__ = ["place_of"]

_PACKAGES = {"site-packages", "dist-packages"}


def place_of(error: BaseException) -> str:
    """Return "FILE, line N" of the innermost frame of an error in the caller's own file.

    Where there is none it is the innermost one outside this package, and "" where there is none
    either.
    """
    library = f"{sysconfig.get_path('stdlib')}/"
    innermost = ""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        path = Path(frame.f_code.co_filename)
        if str(frame.f_globals.get("__name__")).partition(".")[0] == "agentenvs":
            continue
        place = f"{path.name}, line {line}"
        if not str(path).startswith((library, "<frozen ")) and _PACKAGES.isdisjoint(path.parts):
            return place
        innermost = innermost or place
    return innermost
