"""Which of two policies to ask, and how often, for a target or a budget.

>>> from agentenvs.harness.tax.routing import route
>>> route(([3] * 20, 16), ([16] * 8 + [0] * 12, 16), target=0.35).best.arm
'post'
"""

from __future__ import annotations

from agentenvs.harness.tax.routing.bins import BinRouting, RoutingByBin, route_by_bin
from agentenvs.harness.tax.routing.demand import expected_tries
from agentenvs.harness.tax.routing.options import KINDS, Option
from agentenvs.harness.tax.routing.pilot import PilotProtocol, pilot_protocol
from agentenvs.harness.tax.routing.route import ArmChoice, Routing, route
from agentenvs.harness.tax.routing.serving import Served

__all__ = [
    "KINDS",
    "ArmChoice",
    "BinRouting",
    "Option",
    "PilotProtocol",
    "Routing",
    "RoutingByBin",
    "Served",
    "expected_tries",
    "pilot_protocol",
    "route",
    "route_by_bin",
]
