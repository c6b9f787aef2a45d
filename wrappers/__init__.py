"""Wrappers between model text and environments.

`RelaxedToolCalls` steps with whatever a model wrote; `parse_tool_calls` is the parser alone.
`CapObservation` bounds what a model reads, `FormatPenalty` prices how it writes.
"""

from __future__ import annotations

from agentenvs.wrappers.cap import CapObservation
from agentenvs.wrappers.parse import Parse, parse_tool_calls
from agentenvs.wrappers.penalty import FormatPenalty
from agentenvs.wrappers.relaxed import RelaxedToolCalls
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.trouble import PARSE_REASONS

__all__ = [
    "PARSE_REASONS",
    "CapObservation",
    "FormatPenalty",
    "Parse",
    "RelaxedToolCalls",
    "Toolset",
    "parse_tool_calls",
]
