"""Samplers by name, as the command line writes them: `ptgs:tau=1.5,target=0.5`."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Mapping
from typing import Any

from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.harness.ptgs.gate import Gate
from agentenvs.harness.ptgs.protocol import Sampler
from agentenvs.harness.ptgs.sampler import PTGS
from agentenvs.harness.ptgs.schedule import Ramp

__all__ = ["SAMPLERS", "make_sampler"]

_BASELINES = "agentenvs.harness.ptgs.baselines"
#: name -> (module, class, one-line description)
SAMPLERS: Mapping[str, tuple[str, str, str]] = {
    "ptgs": (
        "agentenvs.harness.ptgs.sampler",
        "PTGS",
        "each task by its own rate of success: ptgs:tau=1.5,gamma=0.95,target=0.5",
    ),
    "heat-matched": (
        _BASELINES,
        "HeatMatched",
        "all tasks alike, by the mean of what ptgs would give",
    ),
    "fixed": (_BASELINES, "Fixed", "one temperature: fixed:t=1.2"),
    "spread": (_BASELINES, "Spread", "from low to high within each group: spread:low=0.7,high=1.4"),
}
# Numbers that JSON lacks: no digit before the point, or none after it.
_BARE = re.compile(r"-?(?:\d+\.|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_RAMP = "START:END:TOTAL or START:END:TOTAL:visits"


def make_sampler(spec: str, *, seed: int = 0) -> Sampler:
    """Return the sampler that a spec names, `NAME` or `NAME:SETTING=VALUE,SETTING=VALUE`.

    Values are numbers, `true` or `false`. A ramp is `target=0.25:0.5:200` (start, end, total;
    `:visits` counts each task's visits); `gate=true` is the gate with its defaults.

    Args:
        spec: a name from `SAMPLERS` with settings of its class.
        seed: of its draws, where it has a seed and the spec does not say; any integer.

    Raises:
        UnknownName: there is no such sampler.
        BadArgument: a setting that it does not take, or one out of range.
    """
    if not isinstance(spec, str):
        raise BadArgument(f"Expected the spec of a sampler to be a str, got {spec!r}.")
    name, _, rest = spec.partition(":")
    if name not in SAMPLERS:
        raise UnknownName(f"There is no sampler {name!r}.{did_you_mean(name, SAMPLERS)}")
    module, kind, text = SAMPLERS[name]
    own = getattr(importlib.import_module(module), kind)
    # What evens out the heat of a PTGS takes the settings of the latter.
    made = PTGS if name == "heat-matched" else own
    takes = {k: v for k, v in inspect.signature(made).parameters.items() if k != "keep_events"}
    settings: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, sep, value = part.partition("=")
        if key not in takes:
            raise BadArgument(f"The sampler {name!r} takes no {key!r}.{did_you_mean(key, takes)}")
        if not sep or key in settings:
            raise BadArgument(
                f"Expected each setting of a sampler once, as KEY=VALUE, got {part!r}."
            )
        settings[key] = _value(key, value)
    for key, parameter in takes.items():
        if parameter.default is parameter.empty and key not in settings:
            raise BadArgument(f"The sampler {name!r} needs `{key}`, as in {text!r}.")
    if "seed" in takes:
        settings.setdefault("seed", seed % 2**64)
    sampler: Sampler = made(**settings)
    return sampler if own is made else own(sampler)


def _value(key: str, text: str) -> Any:
    """Return a setting's value from its text; only numbers and the two forms with a name."""
    if key == "target" and ":" in text:
        parts = text.split(":")
        if not 3 <= len(parts) <= 4 or parts[3:] not in ([], ["step"], ["visits"]):
            raise BadArgument(f"Expected `target` to be a number or {_RAMP}, got {text!r}.")
        return Ramp(*(_number(key, part) for part in parts[:3]), *parts[3:])
    value = _number(key, text)
    if key == "gate":
        if not isinstance(value, bool):
            raise BadArgument(f"Expected `gate` to be true or false, got {text!r}.")
        return Gate() if value else None
    return value


def _number(key: str, text: str) -> Any:
    try:
        value = float(text) if _BARE.fullmatch(text) else json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, int | float):
        raise BadArgument(f"Expected `{key}` of a sampler to be a number, got {text!r:.60}.")
    return value
