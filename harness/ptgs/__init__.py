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

from agentenvs.harness.ptgs.events import Events
from agentenvs.harness.ptgs.gate import Gate
from agentenvs.harness.ptgs.protocol import Ids, Sampler
from agentenvs.harness.ptgs.sampler import PTGS
from agentenvs.harness.ptgs.schedule import Ramp

__all__ = ["PTGS", "Events", "Gate", "Ids", "Ramp", "Sampler"]
