"""What post-training cost, on a page: figures, words and tables from the outcomes of two runs.

Names load when they are first used; figures need Matplotlib, the extra `report`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"agentenvs.harness.report.{_HOME[name]}"), name)
    raise AttributeError(f"module 'agentenvs.harness.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
