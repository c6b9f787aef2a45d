"""The figures of a report, each from the measures that it shows; needs Matplotlib to draw."""

from __future__ import annotations

from agentenvs.harness.report.paint import Picture, save
from agentenvs.harness.report.paint_curves import consistency, curves
from agentenvs.harness.report.paint_study import scatter, tax_by_size, tax_grid
from agentenvs.harness.report.paint_tasks import flow, histograms
from agentenvs.harness.report.paint_tax import tax_contributions, tax_over_k
from agentenvs.harness.report.paint_theme import theme

__all__ = [
    "Picture",
    "consistency",
    "curves",
    "flow",
    "histograms",
    "save",
    "scatter",
    "tax_by_size",
    "tax_contributions",
    "tax_grid",
    "tax_over_k",
    "theme",
]
