"""The cells of a study: for each pair, benchmark and trained arm, what training gained and cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.report.study.file import Pair, StudyFile
from agentenvs.harness.task_files import clusters_in, unsolvable_in
from agentenvs.harness.tax._checks import Paired, Tasks
from agentenvs.harness.tax.clusters import cluster_codes, effective_count
from agentenvs.harness.tax.consistency import consistency_gap
from agentenvs.harness.tax.crossing import CrossoverSet, crossover_set
from agentenvs.harness.tax.intervals import TaxInterval, sharpening_tax_interval
from agentenvs.harness.tax.routing.route import Routing, route
from agentenvs.harness.tax.shares import Estimate
from agentenvs.harness.tax.sides import (
    Side,
    compared_ids,
    match,
    setting_warnings,
    side,
    side_warnings,
)

__all__ = [
    "CONSISTENCY_K",
    "Cell",
    "Clusterer",
    "Loaded",
    "Tagger",
    "filed_clusters",
    "filed_unsolvable",
    "load_cells",
    "study_budgets",
]

#: pass^k is told at this k
CONSISTENCY_K = 8

Clusterer = Callable[[Mapping[str, Any], Sequence[str], Path | None], Sequence[Hashable] | None]
"""From a run's settings, its task ids and the benchmark's file, None where the study names none: a
label for each task, alike for those that hang together; None where none do."""

Tagger = Callable[[Mapping[str, Any], Sequence[str], Path | None], Collection[str]]
"""From the same, the ids of tasks that no agent can solve."""


@dataclass(frozen=True)
class Cell:
    """One pair on one benchmark with one trained arm.

    Attributes:
        pair: the models.
        benchmark, base, arm: their names in the study.
        tasks: how many were compared.
        clusters: how many groups of tasks those make that hang together.
        worth: as how many groups of one size these count.
        rollouts: smallest and largest n, for each arm.
        pass_1: pass@1 of both arms.
        gain: pass@1 of the arm minus that of the base.
        taxes: the measures at each budget.
        crossing: k*, and where it may lie.
        consistency: pass^8 of the arm minus that of the base; None where a task has fewer than
            8 rollouts.
        choice: which arm to ask and how often; None where the study does not ask.
        scripted: whether a policy was scripted, so that no model was measured.
        warnings: what may spoil the comparison.
        without: the same without the tasks that no agent can solve; None where none is known.
        counts: of both arms, tasks in one order.
        base_run: where the base's outcomes lie: cells of one base hang together.
        task_ids: the tasks; cells of the same tasks hang together.
    """

    pair: Pair
    benchmark: str
    base: str
    arm: str
    tasks: int
    clusters: int
    worth: float
    rollouts: tuple[tuple[int, int], tuple[int, int]]
    pass_1: tuple[Estimate, Estimate]
    gain: Estimate
    taxes: tuple[TaxInterval, ...]
    crossing: CrossoverSet
    consistency: Estimate | None
    choice: Routing | None
    scripted: bool
    warnings: tuple[str, ...]
    without: Cell | None
    counts: Paired = field(repr=False)
    base_run: Path
    task_ids: frozenset[str] = field(repr=False)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.pair.name}, {self.benchmark}, {self.arm}"

    @property
    def n(self) -> int:
        """The rollouts of the task that has fewest."""
        return self.counts.smallest_n

    def tax(self, k: int) -> TaxInterval:
        """Return the measures at a budget of the study."""
        return next(found for found in self.taxes if k == found.K)


@dataclass(frozen=True)
class Loaded:
    """What was read of a study.

    Attributes:
        cells: in the order of pairs, benchmarks and arms.
        ks: the budgets, rising.
        skipped: names of the cells whose runs are not there.
    """

    cells: tuple[Cell, ...]
    ks: tuple[int, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class _Plan:
    """A cell whose outcomes are read and not yet looked at."""

    pair: Pair
    benchmark: str
    arm: str
    sides: tuple[Side, Side]
    counts: Paired


def filed_clusters(
    settings: Mapping[str, Any], ids: Sequence[str], path: Path | None
) -> Sequence[Hashable] | None:
    """Return which tasks hang together as the benchmark's file tells it; None without one."""
    return None if path is None else list(clusters_in(path, ids).values())


def filed_unsolvable(
    settings: Mapping[str, Any], ids: Sequence[str], path: Path | None
) -> Collection[str]:
    """Return the tasks that no agent can solve as the benchmark's file tells it."""
    return () if path is None else unsolvable_in(path, ids)


def load_cells(
    study: StudyFile,
    confidence: float = 0.95,
    clusters: Clusterer | None = filed_clusters,
    unsolvable: Tagger | None = filed_unsolvable,
) -> Loaded:
    """Read the outcomes of a study and measure its cells.

    Args:
        study: as `read_study` gives it.
        confidence: what the intervals aim at.
        clusters: tells which tasks of a run hang together; None takes each for itself.
        unsolvable: tells which tasks no agent can solve; None asks nothing.

    Raises:
        RunDamaged: a run that cannot be read.
        BadArgument: arms of a cell with different tasks or without outcomes, a budget beyond a
            cell's rollouts, a file of tasks that does not fit them, or `confidence` outside
            (0, 1); names the cell.
    """
    plans, skipped = _plans(study)
    ks = _budgets(study, plans)
    cells = tuple(
        _named(_told, plan, study, ks, confidence, clusters, unsolvable) for plan in plans
    )
    return Loaded(cells, ks, skipped)


def study_budgets(n: int) -> tuple[int, ...]:
    """Return the budgets of a study without `K`: n/4, n/2, n, and 8 where n/4 is beyond 12."""
    parts = [max(n // 4, 2), n // 2, n]
    early = [8] if n > 48 else []
    return tuple(sorted({k for k in (*early, *parts) if 2 <= k <= n}))


def _plans(study: StudyFile) -> tuple[list[_Plan], tuple[str, ...]]:
    gone = set(study.missing)
    read: dict[Path, Side] = {}
    plans, skipped = [], []

    def load(path: Path) -> Side:
        # Counts and settings are kept, the rollouts are not: a large study has millions.
        if path not in read:
            read[path] = side(Outcomes.load(path))
        return read[path]

    for pair in study.pairs:
        for benchmark in study.benchmarks:
            start = (pair.name, benchmark, study.arms[0])
            for arm in study.arms[1:]:
                key = (pair.name, benchmark, arm)
                if {start, key} & gone:
                    skipped.append(", ".join(key))
                    continue
                sides = load(study.runs[start]), load(study.runs[key])
                try:
                    counts = match(sides, (study.arms[0], arm), study.common)
                except BadArgument as error:
                    raise BadArgument(f"{', '.join(key)}: {error}") from None
                plans.append(_Plan(pair, benchmark, arm, sides, counts))
    return plans, tuple(skipped)


def _budgets(study: StudyFile, plans: Sequence[_Plan]) -> tuple[int, ...]:
    """Return the budgets of all cells, which need one list to be counted together.

    Raises:
        BadArgument: cells have too few rollouts for a budget asked for.
    """
    sizes = [plan.counts.smallest_n for plan in plans]
    if study.K is None:
        if min(sizes) < 2:
            one = plans[sizes.index(1)]
            raise BadArgument(
                f"{one.pair.name}, {one.benchmark}, {one.arm}: expected two rollouts or more of "
                "each task, where a tax exists, got one."
            )
        return study_budgets(min(sizes))
    short = [at for at, n in enumerate(sizes) if n < study.K[-1]]
    if short:
        first = plans[short[0]]
        more = f" and {len(short) - 1} more" if len(short) > 1 else ""
        raise BadArgument(
            f"{study.path}: expected `K` of at most n, got {study.K[-1]}, but a task has "
            f"{sizes[short[0]]} rollouts in {first.pair.name}, {first.benchmark}, "
            f"{first.arm}{more}. Cells are counted together, so that all need every K."
        )
    return study.K


def _told(
    plan: _Plan,
    study: StudyFile,
    ks: Sequence[int],
    confidence: float,
    clusters: Clusterer | None,
    unsolvable: Tagger | None,
) -> Cell:
    """Measure a cell, and once more without the tasks that no agent can solve."""
    ids = compared_ids(plan.sides) or []
    settings = next(
        (one.settings for one in plan.sides if one.settings.get("env_id")), plan.sides[0].settings
    )
    groups = clusters and clusters(settings, ids, study.clusters.get(plan.benchmark))
    tagged = set()
    if unsolvable is not None:
        tagged = {*unsolvable(settings, ids, study.unsolvable.get(plan.benchmark))} & {*ids}
    without = None
    if tagged:
        kept = [at for at, name in enumerate(ids) if name not in tagged]
        if not kept:
            raise BadArgument(f"all of its {len(ids)} tasks are told to be unsolvable.")
        rest = Paired(*(Tasks(arm.c[kept], arm.n[kept]) for arm in plan.counts))
        without = _measured(
            replace(plan, counts=rest),
            study,
            ks,
            confidence,
            [ids[at] for at in kept],
            None if groups is None else [groups[at] for at in kept],
        )
    return replace(_measured(plan, study, ks, confidence, ids, groups), without=without)


def _measured(
    plan: _Plan,
    study: StudyFile,
    ks: Sequence[int],
    confidence: float,
    ids: Sequence[str],
    groups: Sequence[Hashable] | None,
) -> Cell:
    base, post = plan.counts
    labels = (study.arms[0], plan.arm)
    once = sharpening_tax_interval(base, post, 1, confidence, groups)
    warnings = [
        *side_warnings(plan.sides[0], labels[0], base, labels[1]),
        *side_warnings(plan.sides[1], labels[1], post, labels[0]),
        *setting_warnings(plan.sides, labels),
    ]
    return Cell(
        pair=plan.pair,
        benchmark=plan.benchmark,
        base=labels[0],
        arm=plan.arm,
        tasks=len(base.c),
        clusters=once.clusters,
        worth=effective_count(cluster_codes(groups, base, len(base.c)), len(base.c)),
        rollouts=((int(base.n.min()), int(base.n.max())), (int(post.n.min()), int(post.n.max()))),
        pass_1=(once.pass_base, once.pass_post),
        gain=once.pass_gap.negated(),
        taxes=tuple(sharpening_tax_interval(base, post, k, confidence, groups) for k in ks),
        crossing=crossover_set(base, post, plan.counts.smallest_n, confidence, groups),
        consistency=(
            consistency_gap(base, post, CONSISTENCY_K, confidence, groups)
            if plan.counts.smallest_n >= CONSISTENCY_K
            else None
        ),
        choice=_choice(plan.counts, study, confidence, groups),
        scripted=any(one.scripted for one in plan.sides),
        warnings=tuple(warnings),
        without=None,
        counts=plan.counts,
        base_run=study.runs[plan.pair.name, plan.benchmark, labels[0]],
        task_ids=frozenset(ids),
    )


def _choice(
    counts: Paired, study: StudyFile, confidence: float, groups: Sequence[Hashable] | None
) -> Routing | None:
    if study.target is None and study.budget is None:
        return None
    return route(
        counts.base,
        counts.post,
        study.price,
        study.target,
        study.budget,
        confidence=confidence,
        clusters=groups,
    )


def _named(measure: Callable[..., Cell], plan: _Plan, *rest: Any) -> Cell:
    """Measure a cell; what is wrong with it is told with its name."""
    try:
        return measure(plan, *rest)
    except BadArgument as error:
        raise BadArgument(f"{plan.pair.name}, {plan.benchmark}, {plan.arm}: {error}") from None
