"""What an ablation gives: four arms side by side, as numbers, plain data or tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentenvs.errors import BadArgument, RunError
from agentenvs.harness.ablation.arms import ArmReport, arm_report
from agentenvs.harness.ablation.settings import ARMS, differences, refuse
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.task_facts import NONE, task_facts
from agentenvs.harness.tax.factorial import EFFECTS, Factorial, TwoByTwo, two_by_two
from agentenvs.harness.tax.shares import Estimate

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Ablation", "compared"]


_COMMON = "To compare the tasks and rollouts that all arms have: common=True (--common)."


@dataclass(frozen=True, slots=True)
class Ablation:
    """Four arms side by side; made by `ablate`.

    Attributes:
        env_id: the environment, "" where unknown.
        arms: what came of each arm besides its measures, by name: "base-none", "base-light",
            "post-none", "post-light".
        outcomes: the rollouts of each arm.
        measures: the 2 x 2 of pass@1, pass@K and S(K), with intervals.
        labels: what the two models are called: "base" and "post", or "first" and "second" where
            a policy is scripted.
        warnings: what may spoil the comparison, in sentences.
        notes: what is worth knowing and spoils nothing.
    """

    env_id: str
    arms: dict[str, ArmReport]
    outcomes: dict[str, Outcomes]
    measures: TwoByTwo
    labels: tuple[str, str]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def scripted(self) -> bool:
        """Whether a policy is scripted, so that no model was measured."""
        return any(report.scripted for report in self.arms.values())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; NaN stays NaN."""
        from agentenvs.harness.ablation.words import words

        found = self.measures
        p = iter(found.p.tolist())
        adjusted = iter(found.found.adjusted.tolist())
        none, light, mean = (tax._asdict() for tax in found.tax_S)
        return {
            "env_id": self.env_id,
            "labels": list(self.labels),
            "scripted": self.scripted,
            "tasks": found.tasks,
            "clusters": found.clusters,
            "K": found.K,
            "high_variance": found.high_variance,
            "confidence": found.confidence,
            "covers": list(found.covers),
            "measures": {
                name: _plain(measure, p, adjusted)
                for name, measure in (
                    ("pass_at_1", found.pass_1),
                    ("pass_at_K", found.pass_K),
                    ("S", found.S),
                )
            },
            "tax_S": {"none": none, "light": light, "mean": mean},
            "tested": found.found.tested,
            "false_discovery_rate": found.found.rate,
            "arms": {name: report.to_dict() for name, report in self.arms.items()},
            "words": words(self),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }

    def render(self, console: Console) -> None:
        """Print the ablation as tables and sentences; needs rich."""
        from agentenvs.harness.ablation.table import render

        render(self, console)


def compared(
    arms: dict[str, Outcomes],
    budget: int | None,
    confidence: float,
    clusters: str,
    anyway: bool,
    common: bool = False,
) -> Ablation:
    """Return what four arms say.

    Args:
        arms: the rollouts of each arm of `ARMS`.
        budget: K, or None for half of the rollouts of the task that has fewest.
        confidence: what each interval aims at.
        clusters: "auto", "none" or a file.
        anyway: compare arms that were not asked alike.
        common: compare on the tasks and rollouts that all arms have.

    Raises:
        SettingsDiffer: they were not, and `anyway` is False.
        RunError: an arm lacks every rollout of some task, and `common` is False; or no rollout is
            in all arms.
        BadArgument: arms over different tasks, or `budget` beyond the smallest n.
    """
    settings = {name: arm.settings for name, arm in arms.items()}
    refuse(settings, {}, anyway)
    found = differences(settings)
    lacking = [text for name, arm in arms.items() for text in _lacking(name, arm)]
    if common:
        arms, dropped = _shared(arms, lacking)
        lacking += dropped
    elif lacking and len({frozenset(arm.task_ids) for arm in arms.values()}) > 1:
        raise RunError(_listed("The arms have outcomes of different tasks:", lacking, _COMMON))
    reports = {name: arm_report(name, arm) for name, arm in arms.items()}
    facts = task_facts(arms["base-none"], arms["post-none"], clusters, NONE)
    first, second, third, fourth = (arms[name].counts() for name in ARMS)
    smallest = min(report.n[0] for report in reports.values())
    k = budget if budget is not None else max(smallest // 2, min(smallest, 2))
    try:
        measures = two_by_two(first, second, third, fourth, k, confidence, facts.clusters)
    except BadArgument as error:
        hint = "" if common or "same tasks" not in str(error) else _COMMON
        raise BadArgument(_listed(str(error), lacking, hint)) from None
    known = [arm.get("env_id") for arm in settings.values()]
    return Ablation(
        env_id=next((str(name) for name in known if name), ""),
        arms=reports,
        outcomes=arms,
        measures=measures,
        labels=_labels(reports),
        warnings=(*(f"not alike: {one.text}" for one in found if one.fault), *lacking),
        notes=(*(one.text for one in found if not one.fault), *facts.notes),
    )


def _lacking(name: str, arm: Outcomes) -> Iterator[str]:
    if missing := len(arm.open):
        void = arm.kinds()["void"]
        told = f", {void} of them void (no verdict)" if void else ""
        yield (
            f"{name} lacks {missing} of {len(arm) + missing} rollouts{told}; "
            "the same command plays them."
        )


def _shared(
    arms: dict[str, Outcomes], lacking: Sequence[str]
) -> tuple[dict[str, Outcomes], list[str]]:
    """Return the rollouts that all arms have, and what was left out in a sentence, if any was."""
    keys = {name: arm.keys() for name, arm in arms.items()}
    both = set.intersection(*keys.values())
    if not both:
        raise RunError(_listed("Expected rollouts that all four arms have, found none.", lacking))
    kept = {
        name: arm
        if len(both) == len(keys[name])
        else arm.filter(predicate=lambda row: (row["task_id"], row["rollout"]) in both)
        for name, arm in arms.items()
    }
    every = set.union(*keys.values())
    if len(every) == len(both):
        return kept, []
    tasks, known = (len({task for task, _ in some}) for some in (both, every))
    return kept, [
        f"compared on {len(both)} of {len(every)} rollouts and {tasks} of {known} tasks, those "
        "that all four arms have; what some lack may be the hard ones."
    ]


def _listed(head: str, lines: Sequence[str], hint: str = "") -> str:
    return "\n  ".join([head, *lines]) + (f"\n{hint}" if hint else "")


def _labels(reports: Mapping[str, ArmReport]) -> tuple[str, str]:
    if not any(report.scripted for report in reports.values()):
        return "base", "post"
    return "first", "second"


def _plain(measure: Factorial, p: Iterator[float], adjusted: Iterator[float]) -> dict[str, Any]:
    """Return a measure as plain data, the p-values with the effects that are tested."""
    plain: dict[str, Any] = {}
    for name, estimate in measure._asdict().items():
        one: Estimate = estimate
        plain[name] = one._asdict()
    for name in EFFECTS:
        plain[name] |= {"p": next(p), "p_adjusted": next(adjusted)}
    return plain
