"""The figures of a report, each from the measures that it shows; needs Matplotlib to draw."""

from __future__ import annotations

from agentenvs.harness.report.paint import Picture, save
from agentenvs.harness.report.paint_curves import curves
from agentenvs.harness.report.paint_theme import theme

__all__ = ["Picture", "curves", "save", "theme"]
