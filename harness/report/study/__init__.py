"""Many pairs of models on many benchmarks: read from one file, told as tables, figures and a page.

>>> from agentenvs.harness.report.study import study_report
>>> study_report("study.toml").to_dict()  # doctest: +SKIP
"""

from __future__ import annotations

from agentenvs.harness.report.study.report import StudyReport, study_report

__all__ = ["StudyReport", "study_report"]
