"""The figures of the page about two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentenvs.harness.report.gather import Findings
    from agentenvs.harness.report.paint import Picture

__all__ = ["pictures"]


def pictures(findings: Findings) -> list[Picture]:
    """Draw what was found; needs Matplotlib.

    Raises:
        ImportError: Matplotlib is missing.
    """
    from agentenvs.harness.report import figures
    from agentenvs.harness.report.voice import long_names

    labels, (base, post) = long_names(findings), findings.arms
    drawn = [figures.curves(findings.bands, findings.crossing, labels)]
    if findings.tax_bands is not None:
        drawn.append(figures.tax_over_k(findings.tax_bands, labels, findings.n))
    if findings.decomposition is not None:
        drawn.append(figures.tax_contributions(findings.decomposition, labels))
    drawn.append(figures.histograms(base, post, labels))
    if findings.decomposition is not None:
        drawn.append(figures.flow(findings.flow, findings.decomposition, labels))
    drawn.append(figures.consistency(base, post, labels, findings.top))
    return drawn
