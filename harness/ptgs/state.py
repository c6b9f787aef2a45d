"""A sampler's state in one file: arrays, and a header as JSON text."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agentenvs.errors import BadArgument, SettingsDiffer

__all__ = ["VERSION", "check_header", "read_state", "write_state"]

VERSION = 1
"""Of the state's form."""


def write_state(path: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Write a state to one .npz file, whole or not at all."""
    target = Path(path)
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
    try:
        with np.load(path, allow_pickle=False) as file:
            state: dict[str, Any] = {name: file[name] for name in file.files}
        state["header"] = json.loads(state["header"].tobytes())
    except FileNotFoundError:
        raise BadArgument(
            f"Expected the state of a sampler at {os.fspath(path)}: no file."
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise BadArgument(
            f"Expected the state of a sampler at {os.fspath(path)}: {error}"
        ) from None
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
        raise BadArgument(f"Expected the state of a {kind}, got {got!r}.")
    if header.get("version") != VERSION:
        raise BadArgument(f"Expected version {VERSION} of a state, got {header.get('version')!r}.")
    theirs = header.get("settings", {})
    ours = json.loads(json.dumps(dict(settings)))
    differ = [
        f"{name} is {ours.get(name)!r} here, {theirs.get(name)!r} there"
        for name in {**ours, **theirs}
        if ours.get(name) != theirs.get(name)
    ]
    if differ:
        raise SettingsDiffer(f"Expected a state made with the same settings: {'; '.join(differ)}.")
    return header
