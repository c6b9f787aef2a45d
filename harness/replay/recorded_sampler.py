"""The sampler of a run that is over, built again from what `run.json` says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentenvs.errors import BadArgument
from agentenvs.harness.groups import Sampler, describe_sampler
from agentenvs.harness.ptgs import PTGS, Fixed, Gate, HeatMatched, Ramp, Spread

__all__ = ["recorded_sampler"]


def recorded_sampler(told: Mapping[str, Any]) -> Sampler | None:
    """Return a fresh sampler with the settings of a run's.

    Args:
        told: `sampler` of `run.json`.

    Returns:
        The sampler, or None where it is none of this package or describes itself otherwise now.
    """
    settings = {key: value for key, value in told.items() if key != "name"}
    made: Sampler
    try:
        match told.get("name"):
            case "PTGS":
                made = _ptgs(settings)
            case "HeatMatched":
                made = HeatMatched(_ptgs(settings["heat_matched"]))
            case "Fixed":
                made = Fixed(**settings)
            case "Spread":
                made = Spread(**settings)
            case _:
                return None
    except (BadArgument, KeyError, TypeError, AttributeError):
        return None
    return made if describe_sampler(made) == told else None


def _ptgs(settings: Mapping[str, Any]) -> PTGS:
    target, gate = settings["target"], settings["gate"]
    return PTGS(
        **{
            **settings,
            "target": Ramp(**target) if isinstance(target, dict) else target,
            "gate": None if gate is None else Gate(**gate),
        }
    )
