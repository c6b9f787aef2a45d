"""What post-training cost, on a page: figures, words and tables from the outcomes of two runs.

Names load when they are first used; figures need Matplotlib, the extra `report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import lazily

if TYPE_CHECKING:
    from agentenvs.harness.report.gather import Findings, find
    from agentenvs.harness.report.pair_figures import pictures
    from agentenvs.harness.report.pair_page import page
    from agentenvs.harness.report.played import title_of
    from agentenvs.harness.report.study.report import StudyReport, study_report

__all__ = ["Findings", "StudyReport", "find", "page", "pictures", "study_report", "title_of"]

_MODULES = {
    "gather": ("Findings", "find"),
    "pair_page": ("page",),
    "pair_figures": ("pictures",),
    "played": ("title_of",),
    "study": ("StudyReport", "study_report"),
}

__getattr__, __dir__ = lazily(__name__, _MODULES)
