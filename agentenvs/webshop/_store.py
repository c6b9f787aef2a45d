"""Files of a compiled catalog: arrays, blobs and row lists, opened by memory map."""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import SourceError

__all__ = ["Blob", "BlobWriter", "Groups", "load_array", "write_array", "write_groups"]


def write_array(folder: Path, name: str, values: Any, dtype: str) -> None:
    """Write `values` as `name`.npy in the given type."""
    np.save(folder / f"{name}.npy", np.asarray(values, dtype=dtype), allow_pickle=False)


def load_array(folder: Path, name: str) -> NDArray[Any]:
    """Open `name`.npy; its pages are read when they are touched.

    Raises:
        SourceError: it is missing or damaged.
    """
    path = folder / f"{name}.npy"
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, SyntaxError, TokenError) as error:
        # NumPy reads a damaged header as Python.
        raise SourceError(f"Could not open {path}: {error}") from error
    # A plain array on the same memory: items of np.memmap take several times as long.
    return np.asarray(mapped).view(np.ndarray)


class BlobWriter:
    """Writes byte strings one behind the other, with a table of where each begins."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._stream = open(folder / f"{name}.bin", "wb")  # noqa: SIM115
        self._starts = array("q", [0])

    def add(self, data: bytes) -> None:
        """Append one."""
        self._stream.write(data)
        self._starts.append(self._starts[-1] + len(data))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        write_array(self._folder, self._name, self._starts, "<i8")


class Blob:
    """Byte strings as `BlobWriter` wrote them."""

    def __init__(self, folder: Path, name: str) -> None:
        self._starts = load_array(folder, name)
        path = folder / f"{name}.bin"
        try:
            with open(path, "rb") as stream:
                size = stream.seek(0, 2)
                self._data: mmap.mmap | bytes = b""
                if size:
                    self._data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise SourceError(f"Could not open {path}: {error}") from error
        if not len(self._starts) or int(self._starts[-1]) != size:
            raise SourceError(f"{path} is damaged: its length does not fit its table.")

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, index: int) -> bytes:
        return self._data[int(self._starts[index]) : int(self._starts[index + 1])]


def write_groups(folder: Path, name: str, groups: Mapping[str, Iterable[int]]) -> None:
    """Write key -> rows so that `Groups` finds a key by bisection."""
    starts, rows = array("q", [0]), array("i")
    with BlobWriter(folder, f"{name}_keys") as keys:
        for key, found in sorted((key.encode(), found) for key, found in groups.items()):
            keys.add(key)
            rows.extend(found)
            starts.append(len(rows))
    write_array(folder, f"{name}_starts", starts, "<i8")
    write_array(folder, f"{name}_rows", rows, "<i4")


class Groups:
    """Key -> rows, as `write_groups` wrote them."""

    def __init__(self, folder: Path, name: str) -> None:
        self._keys = Blob(folder, f"{name}_keys")
        self._starts = load_array(folder, f"{name}_starts")
        self._rows = load_array(folder, f"{name}_rows")

    def rows(self, key: str) -> list[int]:
        """Return the rows of `key` in the order they were given; [] where it is unknown."""
        wanted = key.encode("utf-8", "replace")
        place = bisect_left(self._keys, wanted)
        if place == len(self._keys) or self._keys[place] != wanted:
            return []
        found: list[int] = self._rows[self._starts[place] : self._starts[place + 1]].tolist()
        return found
