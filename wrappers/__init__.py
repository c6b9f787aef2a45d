"""Wrappers between model text and environments."""

from __future__ import annotations

from agentenvs.wrappers.parse import Parse, parse_tool_calls
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.trouble import PARSE_REASONS

__all__ = ["PARSE_REASONS", "Parse", "Toolset", "parse_tool_calls"]
