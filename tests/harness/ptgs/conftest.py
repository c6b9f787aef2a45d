from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest


def _same(one: Mapping[str, Any], two: Mapping[str, Any]) -> None:
    assert one.keys() == two.keys()
    assert one["header"] == two["header"]
    for name in one.keys() - {"header"}:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)


@pytest.fixture
def same() -> Callable[[Mapping[str, Any], Mapping[str, Any]], None]:
    """Two states are equal, bit by bit."""
    return _same
