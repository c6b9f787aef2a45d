"""What post-training cost: pass@k, the Sharpening Tax and what belongs to them."""

from __future__ import annotations

from agentenvs.harness.tax.counts import Counts

__all__ = ["Counts"]
