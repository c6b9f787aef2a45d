"""What was found as plain data, which JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["as_data", "finite"]


def as_data(value: Any) -> Any:
    """Return dataclasses, named tuples and arrays as dictionaries, lists and numbers.

    Keys become text; NaN stays NaN.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_data(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: as_data(getattr(value, name)) for name in value._fields}
    if isinstance(value, Mapping):
        return {str(key): as_data(one) for key, one in value.items()}
    # Arrays and numbers of NumPy, which a command that prints text need not load.
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Collection) and not isinstance(value, str | bytes):
        return [as_data(one) for one in value]
    return value


def finite(value: Any) -> Any:
    """Return plain data with None for NaN and infinities, which JSON lacks."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
