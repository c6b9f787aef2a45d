"""A study of many pairs of models: read, measured, and told as table, page and plain data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentenvs.errors import BadArgument
from agentenvs.harness.report.study.cells import (
    Cell,
    Clusterer,
    Tagger,
    filed_clusters,
    filed_unsolvable,
    load_cells,
)
from agentenvs.harness.report.study.file import StudyFile, read_study
from agentenvs.harness.report.study.published import Beside, beside
from agentenvs.harness.report.study.stats import (
    Dependence,
    Line,
    Relation,
    Signs,
    changes,
    dependence,
    lines,
    relations,
    signs,
)
from agentenvs.harness.tax.prediction import SplitHalf, split_half

if TYPE_CHECKING:
    from rich.console import Console

    from agentenvs.harness.report.figures import Picture

__all__ = ["StudyReport", "study_report"]


@dataclass(frozen=True)
class StudyReport:
    """What a study found; made by `study_report`.

    Attributes:
        study: its file.
        confidence: what the intervals aim at.
        cells: each pair on each benchmark with each trained arm.
        ks: the budgets, rising.
        skipped: names of the cells whose runs are not there.
        dependence: how the cells hang together.
        signs: how often the tax is positive.
        signs_without: the same without the tasks that no agent can solve; empty where none is
            known.
        changes: how often training raised and lowered pass@1, pass@K and pass^8.
        relations: what the tax goes along with.
        lines: the taxes by the models' sizes.
        prediction: the split-half experiment; None where it cannot be made.
        unpredicted: why not, "" where it was made.
        published: what the paper reports of the same cells.
    """

    study: StudyFile
    confidence: float
    cells: tuple[Cell, ...]
    ks: tuple[int, ...]
    skipped: tuple[str, ...]
    dependence: Dependence
    signs: tuple[Signs, ...]
    signs_without: tuple[Signs, ...]
    changes: tuple[Signs, ...]
    relations: tuple[Relation, ...]
    lines: tuple[Line, ...]
    prediction: SplitHalf | None
    unpredicted: str
    published: Beside

    @property
    def scripted(self) -> bool:
        """Whether a policy was scripted, so that no model was measured."""
        return any(cell.scripted for cell in self.cells)

    @property
    def main(self) -> int:
        """The largest budget of at most half of every cell's rollouts, or else the smallest one."""
        n = min(cell.n for cell in self.cells)
        return max((k for k in self.ks if 2 * k <= n), default=self.ks[0])

    def render(self, console: Console) -> None:
        """Print what matters most, and every cell; needs rich."""
        from agentenvs.harness.report.study.table import render

        render(self, console)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; NaN stays NaN."""
        from agentenvs.harness.report.study.data import plain

        return plain(self)

    def pictures(self) -> list[Picture]:
        """Draw the figures; needs Matplotlib, the extra `report`."""
        from agentenvs.harness.report.study.pictures import pictures

        return pictures(self)

    def page(self) -> str:
        """Return one HTML file that asks nothing of the network; needs Matplotlib."""
        from agentenvs.harness.report.study.page import page

        return page(self, self.pictures())


def study_report(
    path: str | os.PathLike[str],
    *,
    confidence: float = 0.95,
    missing: str | None = None,
    clusters: Clusterer | None = filed_clusters,
    unsolvable: Tagger | None = filed_unsolvable,
) -> StudyReport:
    """Read a study's file and the outcomes that it names, and measure all of it.

    Args:
        path: `study.toml`.
        confidence: what the intervals aim at.
        missing: "error" or "skip", what becomes of runs that are not there; default what the
            file says, or else "error".
        clusters: from a run's settings, its task ids and the benchmark's file, if the study names
            one, which tasks hang together; default what the file says. None takes each for itself.
        unsolvable: from the same, which tasks no agent can solve; default what the file says.
            None asks nothing. Cells that have some are told without them as well.

    Raises:
        BadArgument: a file that makes no sense, a budget beyond a cell's rollouts, or arms of a
            cell with different tasks, or a file of tasks that are others; names the cell.
        RunDamaged: runs that are not there (names all of them), or cannot be read.
    """
    study = read_study(path, missing)
    loaded = load_cells(study, confidence, clusters, unsolvable)
    cells, ks = loaded.cells, loaded.ks
    hang = dependence(cells)
    tagged = any(cell.without is not None for cell in cells)
    rest = [cell.without or cell for cell in cells] if tagged else []
    foretold, why = _foretold(study, cells, confidence)
    asked = foretold and (foretold.early_rollouts, foretold.early_K, foretold.late_K)
    return StudyReport(
        study=study,
        confidence=confidence,
        cells=cells,
        ks=ks,
        skipped=loaded.skipped,
        dependence=hang,
        signs=signs(cells, ks, hang.any),
        signs_without=signs(rest, ks, hang.any) if rest else (),
        changes=changes(cells, ks, hang.any),
        relations=relations(cells, ks, confidence),
        lines=lines(cells, ks),
        prediction=foretold,
        unpredicted=why,
        published=beside(cells, ks, asked),
    )


def _foretold(
    study: StudyFile, cells: Sequence[Cell], confidence: float
) -> tuple[SplitHalf | None, str]:
    """Return the split-half experiment, or why there is none.

    Where nothing is asked for and rollouts are few, it is made with smaller budgets.

    Raises:
        BadArgument: settings of [predict] that cannot be met.
    """
    smallest = min(cell.n for cell in cells)
    if len(cells) < 4:
        return None, "foretelling the order of cells needs four of them or more"
    if min(cell.tasks for cell in cells) < 2:
        return None, "a cell has a single task, which cannot be halved"
    settings = dict(study.predict)
    if smallest < 4 and not settings:
        return None, "foretelling the tax needs four rollouts of each task"
    early = settings.setdefault("early_rollouts", min(8, max(2, smallest // 4)))
    settings.setdefault("early_K", min(8, early))
    settings.setdefault("late_K", min(32, settings.get("late_rollouts", smallest)))
    try:
        return split_half(
            [(cell.counts.base, cell.counts.post) for cell in cells],
            confidence=confidence,
            **settings,
        ), ""
    except BadArgument as error:
        raise BadArgument(f"{study.path}: [predict]: {error}") from None
