from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from agentenvs.harness.plain_data import as_data, finite


class Point(NamedTuple):
    x: float
    y: np.float64


@dataclass(frozen=True, slots=True)
class Line:
    points: tuple[Point, ...]
    names: frozenset[str]
    table: np.ndarray


def test_found_things_become_lists_and_dictionaries() -> None:
    line = Line((Point(0.5, np.float64(2)),), frozenset(("a",)), np.array([[1, 2]]))
    assert as_data({3: line}) == {
        "3": {"points": [{"x": 0.5, "y": 2.0}], "names": ["a"], "table": [[1, 2]]}
    }
    assert type(as_data(np.int64(3))) is int


def test_numbers_that_json_lacks_become_none() -> None:
    assert finite({"a": [math.nan, (math.inf, 1.5)], "b": True}) == {
        "a": [None, [None, 1.5]],
        "b": True,
    }
