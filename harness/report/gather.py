"""Everything that the page about two runs shows, worked out once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.plain_data import as_data
from agentenvs.harness.report.advice import pilot_of, routes_of
from agentenvs.harness.report.changes import SHOWN, Changes, task_changes
from agentenvs.harness.report.parsing import Reading, reading
from agentenvs.harness.report.settings import Setting, side_by_side
from agentenvs.harness.report.talks import Talk, Transcripts, choose
from agentenvs.harness.tax import Comparison, Counts, Estimate, compare, pass_hat_k
from agentenvs.harness.tax._checks import Arm, Paired
from agentenvs.harness.tax.bands import CurveBands, TaxBands, curve_bands, tax_bands
from agentenvs.harness.tax.clusters import cluster_codes
from agentenvs.harness.tax.consistency import consistency_gap
from agentenvs.harness.tax.crossing import CrossoverSet
from agentenvs.harness.tax.decomposition import Decomposition, decompose, flow
from agentenvs.harness.tax.intervals import TaxInterval
from agentenvs.harness.tax.parts import TaxParts, tax_parts
from agentenvs.harness.tax.planning import SampleSize, sample_size
from agentenvs.harness.tax.rollout_noise import rollout_interval
from agentenvs.harness.tax.routing.pilot import PilotProtocol
from agentenvs.harness.tax.routing.route import Routing
from agentenvs.harness.tax.sensitivity import Audit, lone_success_audit
from agentenvs.harness.tax.shares import quantile, share_interval
from agentenvs.harness.tax.sides import compared_codes, compared_ids, match, side
from agentenvs.harness.tax.theory import TheoremCheck, sharpening_theorem

if TYPE_CHECKING:
    from agentenvs.harness.outcomes import Outcomes
    from agentenvs.harness.replay.standing import Standing
    from agentenvs.harness.tax.clusters import Clusters

__all__ = ["Consistency", "Findings", "find"]


class Consistency(NamedTuple):
    """pass^k at one k: the chance that k tries all succeed.

    Attributes:
        k: tries.
        base, post: pass^k of both arms.
        gain: post minus base.
    """

    k: int
    base: Estimate
    post: Estimate
    gain: Estimate


@dataclass(frozen=True)
class Findings:
    """What was found about two runs; made by `find`.

    Attributes:
        comparison: the measures as `agentenvs tax` prints them.
        task_ids: the tasks' names.
        arms: the counts of both arms in this order.
        names: of the files, or what else tells the arms apart where no policy is known.
        target: the share of tasks that was asked about; None where several are shown.
        top: the largest budget shown, n unless `ks` says otherwise.
        K: the budget at which the tax is told, n/2 unless `ks` says otherwise; None where there
            is no second try.
        bands: pass@k over all budgets.
        tax_bands: S and the taxes over all budgets; None where there is no second try.
        crossing: where the curves cross.
        decomposition, parts: where the tax at `K` comes from; None without second try.
        audit: the tax at `K` without the tasks that were solved once; None without second try.
        theory: what the sharpening theorem says at `K`; None without second try.
        routes: which model is cheaper for some shares of the tasks.
        pilot: what deciding from a few rollouts is worth, for the middle one of these shares;
            None where there is none, or a single rollout.
        size: what it takes to know the tax at `K` better; None without second try.
        these_tasks: the measures at `K` with intervals for these very tasks; None where `K` is
            more than half of the rollouts.
        flow: (3, 3) expected shares of tasks that go from each bin to each.
        consistency: pass^k at some k.
        changes: what changed task by task.
        talks: for each arm, rollouts of the tasks shown, by task id and success.
        readings: how the replies of each arm were read, None where that is not recorded.
        settings: of both arms, side by side.
        one_model: whether both runs say that they come from the same weights.
        common: whether tasks that only one arm has were left out.
        certified: how runs that have a certificate stand to it.
    """

    comparison: Comparison
    task_ids: tuple[str, ...]
    arms: Paired
    names: tuple[str, str] | None
    target: float | None
    top: int
    K: int | None
    bands: CurveBands
    tax_bands: TaxBands | None
    crossing: CrossoverSet
    decomposition: Decomposition | None
    parts: TaxParts | None
    audit: Audit | None
    theory: TheoremCheck | None
    routes: tuple[Routing, ...]
    pilot: PilotProtocol | None
    size: SampleSize | None
    these_tasks: TaxInterval | None
    flow: NDArray[np.float64]
    consistency: tuple[Consistency, ...]
    changes: Changes
    talks: tuple[Mapping[tuple[str, bool], Talk], Mapping[tuple[str, bool], Talk]]
    readings: tuple[Reading | None, Reading | None]
    settings: tuple[Setting, ...]
    one_model: bool
    common: bool
    certified: tuple[Standing, ...] = ()

    @property
    def labels(self) -> tuple[str, str]:
        """What the two arms are called."""
        return self.comparison.labels

    @property
    def n(self) -> int:
        """The smallest number of rollouts of a task."""
        return self.arms.smallest_n

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the transcripts as plain data; NaN stays NaN."""
        left_out = ("comparison", "arms", "talks", "task_ids")
        rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}
        return {**self.comparison.to_dict(), **{key: as_data(value) for key, value in rest.items()}}


def find(
    base: Outcomes | Arm,
    post: Outcomes | Arm,
    *,
    ks: Sequence[int] | None = None,
    confidence: float = 0.95,
    common: bool = False,
    clusters: Clusters | None = None,
    unsolvable: Collection[str] = (),
    price: tuple[float, float] = (1.0, 1.0),
    target: float | None = None,
    transcripts: tuple[Transcripts | None, Transcripts | None] = (None, None),
    names: tuple[str, str] | None = None,
    certified: tuple[Standing, ...] = (),
) -> Findings:
    """Work out what the page about two runs shows.

    Args:
        base: `Outcomes` before post-training, or its `Counts`, or a pair (c, n).
        post: the same after it.
        ks: the budgets of the table; default those of `compare`. The largest one heads the page.
        confidence: what the intervals aim at.
        common: compare on the tasks that both have, where one lacks some.
        clusters: which tasks belong together: a label for each task of base, or by task id.
        unsolvable: ids of tasks that nobody can solve; numbers are then given without them too.
        price: of a rollout before and after training, in any unit.
        target: the share of tasks for which the cheaper model is asked; default several.
        transcripts: for each arm what was said: a mapping task id -> rows of
            `read_transcripts`, or the rows in any order, which are read once; or None.
        names: what to call arms whose policy is not known, their files' names say.
        certified: how the runs stand to their certificates, as `standings` tells.

    Raises:
        BadArgument: as `compare`.
    """
    comparison = compare(base, post, ks, confidence, common, clusters, unsolvable)
    sides = side(base), side(post)
    arms = match(sides, comparison.labels, common)
    ids = compared_ids(sides)
    task_ids = tuple(ids or (f"task {at}" for at in range(1, len(arms.base.c) + 1)))
    codes = compared_codes(clusters, sides, len(arms.base.c))
    groups = None if codes is None else codes.tolist()
    first, second = (Counts(task_ids, *arm) for arm in arms)
    n = arms.smallest_n
    top, k = max(row.K for row in comparison.rows), _tax_budget(comparison)
    changes = task_changes(task_ids, arms)
    routes = routes_of(first, second, price, target, confidence, groups)
    return Findings(
        comparison=comparison,
        task_ids=task_ids,
        arms=arms,
        names=names,
        target=target,
        top=top,
        K=k,
        bands=curve_bands(first, second, None, confidence, groups),
        tax_bands=tax_bands(first, second, None, confidence, groups) if n > 1 else None,
        crossing=comparison.crossing_set,
        decomposition=None if k is None else decompose(first, second, k, confidence, groups),
        parts=None if k is None else tax_parts(first, second, k, confidence, groups),
        audit=None if k is None else lone_success_audit(first, second, k),
        theory=None if k is None else sharpening_theorem(first, second, k, confidence, groups),
        routes=routes,
        pilot=pilot_of(first, second, routes, confidence, groups),
        size=None
        if k is None
        else sample_size(first, second, k, confidence=confidence, clusters=groups),
        these_tasks=None
        if k is None or 2 * k > n
        else rollout_interval(first, second, k, confidence),
        flow=flow(first, second),
        consistency=tuple(_consistency(first, second, k, confidence, groups) for k in _tries(n)),
        changes=changes,
        talks=_talks(changes, transcripts),
        readings=(_reading(base), _reading(post)),
        settings=side_by_side(sides[0].settings, sides[1].settings),
        one_model=_weights(sides[0].settings) == _weights(sides[1].settings) is not None,
        common=common,
        certified=certified,
    )


def _tax_budget(comparison: Comparison) -> int | None:
    """Return the budget at which the tax is told; None where there is no second try."""
    first = comparison.headline.K
    return first if first > 1 else next((row.K for row in comparison.rows if row.K > 1), None)


def _tries(n: int) -> list[int]:
    return sorted({k for k in (1, 2, 4, 8, n // 4, n // 2, n) if 1 <= k <= n})


def _consistency(
    base: Counts, post: Counts, k: int, confidence: float, clusters: Clusters | None
) -> Consistency:
    z, codes = quantile(confidence), cluster_codes(clusters, base, len(base.c))
    before, after = (share_interval(pass_hat_k(a.c, a.n, k), z, codes) for a in (base, post))
    return Consistency(k, before, after, consistency_gap(base, post, k, confidence, clusters))


def _talks(
    changes: Changes, transcripts: tuple[Transcripts | None, Transcripts | None]
) -> tuple[Mapping[tuple[str, bool], Talk], Mapping[tuple[str, bool], Talk]]:
    """Choose a success of the arm that solves a task and a failure of the one that does not."""
    lost, gained = changes.shown(SHOWN)
    first = {one.task_id: (one.change < 0,) for one in (*lost, *gained)}
    second = {one.task_id: (one.change > 0,) for one in (*lost, *gained)}
    return choose(transcripts[0], first), choose(transcripts[1], second)


def _weights(settings: Mapping[str, Any]) -> str | None:
    policy = settings.get("policy")
    told = policy.get("weights") if isinstance(policy, Mapping) else None
    return told if isinstance(told, str) else None


def _reading(source: Any) -> Reading | None:
    totals = getattr(source, "parse_totals", None)
    return reading(totals()) if callable(totals) else None
