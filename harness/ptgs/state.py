"""A sampler's state in one file: arrays, and a header as JSON text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agentenvs.errors import BadArgument, SettingsDiffer
from agentenvs.harness.ptgs._ranges import shown

__all__ = ["VERSION", "check_header", "read_state", "write_state"]

VERSION = 1
"""Of the state's form."""


def write_state(path: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Write a state to one .npz file, whole or not at all.

    Raises:
        BadArgument: the path is that of a folder, or lies in none.
    """
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        raise BadArgument(f"Expected a file in a folder that is there, got {os.fspath(path)!r}.")
    text = json.dumps(state["header"]).encode()
    arrays = {name: value for name, value in state.items() if name != "header"}
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            np.savez(file, header=np.frombuffer(text, dtype=np.uint8), **arrays)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `write_state` wrote.

    Raises:
        BadArgument: no such file, or another kind of file.
    """
    what = f"Expected the state of a sampler at {os.fspath(path)}"
    try:
        with open(path, "rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if isinstance(arrays, np.ndarray):
                raise BadArgument(f"{what}, got a single array.")
            state: dict[str, Any] = {name: arrays[name] for name in arrays.files}
        if "header" not in state:
            raise BadArgument(f"{what}, got arrays without a header: {sorted(state)}.")
        state["header"] = json.loads(state["header"].tobytes())
    except BadArgument:
        raise
    except FileNotFoundError:
        raise BadArgument(f"{what}: no file.") from None
    except Exception as error:
        # A damaged archive makes zipfile, zlib and NumPy raise nearly everything there is.
        raise BadArgument(f"{what}: {type(error).__name__}: {error}") from None
    return state


def check_header(
    state: Mapping[str, Any], kind: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the header of a state that a sampler with these settings gave.

    Raises:
        BadArgument: not the state of such a sampler.
        SettingsDiffer: other settings; names them.
    """
    header = state.get("header") if isinstance(state, Mapping) else None
    if not isinstance(header, dict) or header.get("sampler") != kind:
        got = header.get("sampler") if isinstance(header, dict) else None
        raise BadArgument(f"Expected the state of a {kind}, got {shown(got)}.")
    if header.get("version") != VERSION:
        raise BadArgument(
            f"Expected version {VERSION} of a state, got {shown(header.get('version'))}."
        )
    theirs = header.get("settings")
    if not isinstance(theirs, dict):
        raise BadArgument(f"Expected `settings` in the header of a state, got {shown(theirs)}.")
    ours = json.loads(json.dumps(dict(settings)))
    differ = [
        f"{name} is {shown(ours.get(name))} here, {shown(theirs.get(name))} there"
        for name in {**ours, **theirs}
        if ours.get(name) != theirs.get(name)
    ]
    if differ:
        raise SettingsDiffer(f"Expected a state made with the same settings: {'; '.join(differ)}.")
    return header
