"""Models behind OpenAI-compatible servers."""

from __future__ import annotations

from agentenvs.harness.policies.endpoint.policy import EndpointPolicy, from_spec

__all__ = ["EndpointPolicy", "from_spec"]
