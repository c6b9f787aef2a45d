"""A temperature for each task, learned from outcomes, and what is known of such rules.

NumPy is all that is needed. Ask for temperatures, play, tell how it went:

>>> from agentenvs.harness.ptgs import PTGS
>>> sampler = PTGS(tau=1.5, gamma=0.95, target=0.5)
>>> sampler.temperatures(["easy", "hard"]).shape
(2,)
>>> sampler.update(["easy", "hard"], successes=[15, 0], n=16)
>>> sampler.estimates(["easy", "hard"]).round(3).tolist()
[0.889, 0.056]
"""

from __future__ import annotations

from agentenvs.harness.ptgs.baselines import Fixed, HeatMatched, Spread
from agentenvs.harness.ptgs.events import Events
from agentenvs.harness.ptgs.gate import Gate
from agentenvs.harness.ptgs.law import TemperatureLaw, cold_start, temperature_law
from agentenvs.harness.ptgs.loop import Feedback, feedback, tracked, tracking_error
from agentenvs.harness.ptgs.premise import HeatingBin, HeatingPremise, heating_premise
from agentenvs.harness.ptgs.protocol import Ids, RefSampler, Sampler
from agentenvs.harness.ptgs.sampler import PTGS
from agentenvs.harness.ptgs.schedule import Ramp
from agentenvs.harness.ptgs.theory import (
    expected_mixed,
    heat,
    informative,
    mixed,
    temperature,
    visits_to_rail,
)

__all__ = [
    "PTGS",
    "Events",
    "Feedback",
    "Fixed",
    "Gate",
    "HeatMatched",
    "HeatingBin",
    "HeatingPremise",
    "Ids",
    "Ramp",
    "RefSampler",
    "Sampler",
    "Spread",
    "TemperatureLaw",
    "cold_start",
    "expected_mixed",
    "feedback",
    "heat",
    "heating_premise",
    "informative",
    "mixed",
    "temperature",
    "temperature_law",
    "tracked",
    "tracking_error",
    "visits_to_rail",
]
