"""What a study says in words: what ran, what came out whichever way, what it does not show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentenvs.harness.lab.config import LabConfig
from agentenvs.harness.lab.short import short
from agentenvs.harness.lab.tables import listed, number
from agentenvs.harness.lab.verdicts import heat_verdict

__all__ = ["FIRST", "LAST", "Section", "words"]

#: the sections that come before everything else, and the one after it
FIRST = ("Read this first", "What ran, and what did not", "In short")
LAST = "What may not be concluded"
Section = tuple[str, list[str]]
Summary = Mapping[str, Any]


def words(summary: Summary, study: LabConfig) -> list[Section]:
    """Return headed lists of sentences.

    Args:
        summary: what was found.
        study: the settings of the reported study, to say what was left out of them.
    """
    if summary["name"] == "smoke":
        quick = (
            "This is a smoke study: everything was cut short to see every part work. Its numbers "
            "measure nothing and say nothing of the methods. The tables and figures show what a "
            "study's page has."
        )
        return [(FIRST[0], [quick]), (FIRST[1], _ran(summary, study))]
    sections: list[Section] = [
        (FIRST[1], _ran(summary, study)),
        (FIRST[2], list(short(summary))),
        ("Does heating raise success?", list(_heat(summary))),
        (LAST, _limits(summary)),
    ]
    return [(title, lines) for title, lines in sections if lines]


def _ran(summary: Summary, study: LabConfig) -> list[str]:
    arms, not_run = summary["arms"], summary["not_run"]
    every = len(arms) + len(not_run["arms"])
    heats = _temperatures(summary["temperatures"])
    lines = [
        f"Settings: {summary['name']} ({summary['digest']}), world {summary['world']}.",
        f"Arms that ran: {len(arms)} of {every}: {_names(summary, arms)}.",
        f"Seeds that ran: {listed(map(str, summary['seeds']))}.",
        f"Temperatures that ran: {heats}, {summary['n']} rollouts a task at each; for success "
        f"over temperature also {_temperatures(summary['probe_temperatures'])}, "
        f"{summary['probe_n']} rollouts a task.",
    ]
    fewer = [arm for arm in arms.values() if len(arm["seeds"]) < len(summary["seeds"])]
    if fewer:
        told = (f"{arm['label']} only {listed(map(str, arm['seeds']))}" for arm in fewer)
        lines.append(f"Not every arm has every seed: {'; '.join(told)}.")
    if not_run["arms"]:
        names = listed(_study_label(study, name) for name in not_run["arms"])
        lines.append(f"Arms that did not run: {names}.")
    else:
        lines.append("Arms that did not run: none.")
    if not_run["missing"]:
        told_all = listed(
            f"{_study_label(study, arm)} with seed {s}" for arm, s in not_run["missing"]
        )
        lines.append(f"Asked for and not finished: {told_all}.")
    left = [t for t in study.evaluation.temperatures if t not in summary["temperatures"]]
    left += [
        t
        for t in study.probe.temperatures
        if t not in (*summary["probe_temperatures"], *summary["temperatures"], *left)
    ]
    lines.append(
        f"Temperatures of the study that did not run: {_temperatures(left) if left else 'none'}."
    )
    most = max(summary["seeds"])
    gaps = [str(seed) for seed in range(most) if seed not in summary["seeds"]]
    lines.append(
        f"Seeds that did not run: {listed([*gaps, f'all from {most + 1}'])}"
        + (", and so no interval over seeds anywhere." if len(summary["seeds"]) == 1 else ".")
    )
    return lines


def _heat(summary: Summary) -> Iterable[str]:
    """Count, for the hardest and the easiest tasks, in how many models heating does what."""
    arms = summary["arms"].values()
    bins = next(iter(next(iter(arms))["heat"].values()))
    for at, title in ((0, "hardest"), (len(bins) - 1, "easiest")):
        told = []
        for arm in arms:
            known = [one[at] for one in arm["heat"].values() if one[at]["tasks"]]
            if known:
                told.append(heat_verdict(known))
        if not told:
            continue
        raises, lowers = told.count("raises"), told.count("lowers")
        yield (
            f"On the {title} tasks of each model (success {bins[at]['low']:g} to "
            f"{bins[at]['high']:g}), it succeeds more at T = {summary['hot']:g} than at "
            f"T = {summary['reference']:g} in {raises} of {len(told)} models and less in {lowers}; "
            f"in {len(told) - raises - lowers} that is not decided."
        )


def _limits(summary: Summary) -> list[str]:
    seeds, n = len(summary["seeds"]), summary["n"]
    lines = []
    if seeds == 1:
        lines.append(
            "One seed was run. Intervals are over tasks and rollouts of these very models; they "
            "hold nothing of another training. No arm can be said to be better than another."
        )
    elif seeds < 10:
        lines.append(
            f"{seeds} seeds give wide t intervals. That an interval holds 0 does not show that "
            "there is no effect, and small effects cannot be seen."
        )
    many = sum(_tested(pair) for pair in summary["pairs"])
    if many > 1:
        lines.append(
            f"{many} differences between arms are tested, each with a 95 % interval and none "
            f"corrected: about {number(many * 0.05, 0 if many > 40 else 1)} would leave out 0 by "
            "chance if nothing had an effect."
        )
    lines += [
        "All of it is one small world of tool dialogues and one small model. Whether large "
        "models on real tasks behave so is another question.",
        "The world is the same for all seeds: intervals hold nothing of another world.",
        f"Taxes are measured at T = {summary['reference']:g} for every arm. Post-training also "
        "changes how sharp a model is at a given temperature: look at the frontier over "
        "temperatures before calling a difference at one of them a loss.",
        f"A tax does not order arms by damage: one that solves the same tasks sooner has one, "
        f"too. Read it beside pass@{n}.",
        "Each method ran with the settings written down here. They were not tuned arm by arm, "
        "and rollouts and CPU time differ between arms, as the table says.",
    ]
    if any(arm["data"] == "better" for arm in summary["arms"].values()):
        lines.append(
            "Arms marked 'better data' learned from demonstrators who know more than those of "
            "the base model, of every task, held-out ones as well. They show what information "
            "does, not what a method does."
        )
    return lines


def _tested(pair: Mapping[str, Any]) -> int:
    """Count the differences that have an interval over seeds."""
    equal = pair["at_equal_pass_1"] or {}
    spreads = [*pair["differences"].values(), *(equal[key] for key in ("pass_k", "tax") if equal)]
    return sum(not math.isnan(spread["low"]) for spread in spreads)


def _label(summary: Summary, name: str) -> str:
    return str(summary["arms"][name]["label"]) if name in summary["arms"] else name


def _study_label(study: LabConfig, name: str) -> str:
    """Return an arm's label, or its name where the study has no such arm."""
    return next((arm.label for arm in study.arms if arm.name == name), name)


def _names(summary: Summary, names: Iterable[str]) -> str:
    return "; ".join(_label(summary, name) for name in names)


def _temperatures(values: Sequence[float]) -> str:
    return "T = " + listed(f"{value:g}" for value in values)
