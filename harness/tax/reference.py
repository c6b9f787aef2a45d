"""What the paper reports, to hold other numbers against: arXiv 2610.01509, version 1."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

__all__ = ["published"]


def published() -> dict[str, Any]:
    """Return the published figures, each with its source; the caller's own copy.

    Shares are numbers from 0 to 1, areas are in tries, and where two values stand together the
    first is the base's (of `harness_*`: without the harness; of `ptgs`: at a fixed temperature).

    Returns:
        `paper`: title, arXiv number, version, date;
        `sources`: what the names of the sources mean;
        `figures`: a list of {name, value, what, source};
        `cells`: `rows` of 12 pairs of models and benchmarks with {model, benchmark, tasks,
        pass_1, pass_128, crossover (None for beyond 128), A, S, tax_S by K, se}, at K = n = 128;
        `ptgs`: `rows` of {environment, algorithm, pass_1, pass_128, tax_S_128, checkpoint}.
    """
    place = resources.files("agentenvs.assets") / "paper" / "reference.json"
    data: dict[str, Any] = json.loads(place.read_text("utf-8"))
    return data
