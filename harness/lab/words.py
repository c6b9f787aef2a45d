"""What a study says in words: what ran, what came out whichever way, what it does not show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentenvs.harness.lab.config import LabConfig
from agentenvs.harness.lab.student import over_seeds
from agentenvs.harness.lab.tables import number
from agentenvs.harness.tax.student import student_quantile

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
    quick = (
        "Everything was cut short to see every part work. The numbers say nothing of the methods."
    )
    sections: list[Section] = [
        (FIRST[0], [quick] if summary["name"] == "smoke" else []),
        (FIRST[1], _ran(summary, study)),
        (FIRST[2], list(_short(summary))),
        ("What training did", list(_changes(summary))),
        ("Arms side by side", list(_pairs(summary))),
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
        f"Seeds that ran: {_list(map(str, summary['seeds']))}. A seed decides the demonstrations, "
        "the first weights, the training and the rollouts; the world and its tasks are the same "
        "in all.",
        f"Temperatures that ran: {heats}, {summary['n']} rollouts a task at each; for success "
        f"over temperature also {_temperatures(summary['probe_temperatures'])}, "
        f"{summary['probe_n']} rollouts a task.",
    ]
    short = {len(arm["seeds"]) for arm in arms.values()} != {len(summary["seeds"])}
    if short:
        told = (f"{arm['label']} {_list(map(str, arm['seeds']))}" for arm in arms.values())
        lines.append(f"Not every arm has every seed; there are: {'; '.join(told)}.")
    if not_run["arms"]:
        names = _list(_study_label(study, name) for name in not_run["arms"])
        lines.append(f"Arms that did not run: {names}.")
    else:
        lines.append("Arms that did not run: none.")
    if not_run["missing"]:
        told_all = _list(
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
        f"Seeds that did not run: {_list([*gaps, f'all from {most + 1}'])}"
        + (", and so no interval over seeds anywhere." if len(summary["seeds"]) == 1 else ".")
    )
    return lines


def _short(summary: Summary) -> Iterable[str]:
    """Count directions: of every arm from its start, and of every pair."""
    n, first = summary["n"], summary["budgets"][0]
    seeds = len(summary["seeds"])
    kinds = {
        "trained on outcomes of their own rollouts": ("outcomes",),
        "trained on better data": ("better",),
    }
    for title, data in kinds.items():
        arms = [arm for arm in summary["arms"].values() if arm["data"] in data and arm["change"]]
        if not arms:
            continue
        told = [
            f"pass@1 {_counted([arm['change']['pass_1'] for arm in arms])}",
            f"pass@{n} {_counted([arm['change']['pass_n'] for arm in arms])}",
            f"held-out pass@{n} {_counted([arm['change']['heldout_n'] for arm in arms])}",
        ]
        taxes = [arm["spread"][f"tax_{first}"]["mean"] for arm in arms]
        told.append(f"Tax_S({first}) is above 0 in {sum(tax > 0 for tax in taxes)}")
        yield f"Arms {title}: {len(arms)}. Of these, {_list(told)}."
    pairs = [pair for pair in summary["pairs"] if summary["arms"][pair["arm"]]["tempered"]]
    if pairs:
        keys = [("pass_1", "pass@1"), ("pass_n", f"pass@{n}"), (f"tax_{first}", f"Tax_S({first})")]
        told = [
            f"{title} {_counted([pair['differences'][key] for pair in pairs])}"
            for key, title in keys
        ]
        yield (
            f"Arms with temperatures set by a sampler, against the same training at fixed "
            f"T = {summary['reference']:g}: {len(pairs)}. Of these, {_list(told)}."
        )
    if seeds > 1:
        yield (
            "These are means over seeds, whatever their intervals; which of them the seeds decide "
            "is said below."
        )


def _counted(spreads: Sequence[Mapping[str, Any]]) -> str:
    means = [spread["mean"] for spread in spreads]
    higher, lower = sum(mean > 0 for mean in means), sum(mean < 0 for mean in means)
    same = len(means) - higher - lower
    return f"is higher in {higher} and lower in {lower}" + (
        f" (the same in {same})" if same else ""
    )


def _changes(summary: Summary) -> Iterable[str]:
    n, budgets = summary["n"], summary["budgets"]
    for arm in summary["arms"].values():
        if not arm["change"]:
            continue
        start = _label(summary, arm["start"])
        seeds = arm["change"]["pass_1"]["seeds"]
        head = f"{arm['label']}, from {start}{_marked(arm)}"
        if seeds > 1:
            told = [
                f"pass@1 {_spread(arm['change']['pass_1'])}",
                f"pass@{n} {_spread(arm['change']['pass_n'])}",
                f"held-out pass@{n} {_spread(arm['change']['heldout_n'])}",
                *(f"Tax_S({k}) {_spread(arm['spread'][f'tax_{k}'])}" for k in budgets),
            ]
            head += f", {seeds} seeds (95 % t intervals)"
        else:
            alone = arm["within"]
            told = [
                f"pass@1 {_estimate(alone['pass_1'])}",
                f"pass@{n} {_estimate(alone['pass_n'])}",
                *(f"Tax_S({k}) {_estimate(alone[f'tax_{k}'])}" for k in budgets),
            ]
            head += f", seed {alone['seed']} (95 % intervals over tasks)"
        crossing = _crossing(arm, n)
        yield f"{head}: {', '.join(told)}. {crossing}"


def _crossing(arm: Mapping[str, Any], n: int) -> str:
    values = [by["k_star"] for by in arm["by_seed"].values() if not math.isnan(by["k_star"])]
    crossed = [value for value in values if 1 < value < math.inf]
    ahead = sum(value == 1 for value in values)
    if len(values) == 1:
        (value,) = values
        if value == 1:
            return "The start is not behind at the first try."
        if math.isinf(value):
            return f"The curves do not cross within {n} tries."
        return f"The start catches up at k* = {value:.0f}."
    if not values:
        return "The curves are the same."
    ends = f", between k* = {min(crossed):.0f} and {max(crossed):.0f}" if crossed else ""
    text = f"The start catches up within {n} tries in {len(crossed)} of {len(values)} seeds{ends}."
    return text + (f" In {ahead} it is not behind at the first." if ahead else "")


def _pairs(summary: Summary) -> Iterable[str]:
    n, first = summary["n"], summary["budgets"][0]
    for pair in summary["pairs"]:
        arm, other = (summary["arms"][pair[key]] for key in ("arm", "against"))
        keys = [("pass_1", "pass@1"), ("pass_n", f"pass@{n}")]
        if arm["start"] == other["start"]:
            keys += [(f"tax_{k}", f"Tax_S({k})") for k in summary["budgets"]]
        keys += [("heldout_n", f"held-out pass@{n}")]
        head = f"{arm['label']}{_marked(arm)} against {other['label']}"
        found, count = pair["differences"], len(pair["seeds"])
        if count == 1:
            alone = pair["within"]
            told = _list(
                f"{title} {_estimate(alone[key]) if key in alone else _signed(found[key]['mean'])}"
                for key, title in keys
            )
            yield (
                f"{head}, seed {alone['seed']}: {told}. One seed: another may come out the other "
                "way."
            )
            continue
        kinds: dict[str, list[str]] = {"higher": [], "lower": [], "open": []}
        for key, title in keys:
            spread = found[key]
            kind = "higher" if spread["low"] > 0 else "lower" if spread["high"] < 0 else "open"
            kinds[kind].append(f"{title} {_spread(spread)}")
        parts = [f"{kind} {_list(kinds[kind])}" for kind in ("higher", "lower") if kinds[kind]]
        if kinds["open"]:
            parts.append(f"not decided by these seeds: {_list(kinds['open'])}")
        equal = pair["at_equal_pass_1"]
        text = f"{head}, {count} seeds, paired: {'; '.join(parts)}."
        if equal is not None and len(equal["seeds"]) > 1:
            text += (
                f" At equal pass@1 ({len(equal['seeds'])} seeds): pass@{equal['k']} "
                f"{_spread(equal['pass_k'])}, Tax_S({first}) {_spread(equal['tax'])}."
            )
        yield text


def _heat(summary: Summary) -> Iterable[str]:
    for arm in summary["arms"].values():
        each = list(arm["heat"].values())
        told = []
        for at in (0, len(each[0]) - 1):
            known = [one[at] for one in each if one[at]["tasks"]]
            if not known:
                continue
            low, high = known[0]["low"], known[0]["high"]
            cold, hot, gain = (
                sum(one[key] for one in known) / len(known) for key in ("cold", "hot", "gain")
            )
            verdict = _verdict(known)
            tasks = sum(one["tasks"] for one in known) / len(known)
            told.append(
                f"at p {low:g} to {high:g} ({tasks:.0f} tasks) success goes from "
                f"{number(cold)} at T = {summary['reference']:g} to {number(hot)} at "
                f"T = {summary['hot']:g} ({_signed(gain)}: {verdict})"
            )
        if told:
            yield f"{arm['label']}: {_list(told)}."


def _verdict(bins: Sequence[Mapping[str, Any]]) -> str:
    """Say what the interval of a gain says: over seeds where there are several, else over tasks."""
    gains = [one["gain"] for one in bins]
    if len(gains) > 1:
        found = over_seeds(gains)
        low, high = found.low, found.high
    else:
        half = student_quantile(0.95, max(bins[0]["tasks"] - 1, 1)) * bins[0]["se"]
        low, high = gains[0] - half, gains[0] + half
    if math.isnan(low):
        return "too few tasks to say"
    return "heating raises it" if low > 0 else "heating lowers it" if high < 0 else "not decided"


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


def _marked(arm: Mapping[str, Any]) -> str:
    return " (better data)" if arm["data"] == "better" else ""


def _label(summary: Summary, name: str) -> str:
    return str(summary["arms"][name]["label"]) if name in summary["arms"] else name


def _study_label(study: LabConfig, name: str) -> str:
    """Return an arm's label, or its name where the study has no such arm."""
    return next((arm.label for arm in study.arms if arm.name == name), name)


def _names(summary: Summary, names: Iterable[str]) -> str:
    return "; ".join(_label(summary, name) for name in names)


def _temperatures(values: Sequence[float]) -> str:
    return "T = " + _list(f"{value:g}" for value in values)


def _list(parts: Iterable[str]) -> str:
    listed = list(parts)
    if len(listed) < 2:
        return "".join(listed)
    joint = "; " if any("," in part for part in listed) else ", "
    return f"{joint.join(listed[:-1])} and {listed[-1]}"


def _signed(value: float) -> str:
    return number(value, 3, sign=True)


def _spread(spread: Mapping[str, Any]) -> str:
    return f"{_signed(spread['mean'])} ({_signed(spread['low'])} to {_signed(spread['high'])})"


def _estimate(found: Mapping[str, Any]) -> str:
    if math.isnan(found["low"]):
        return f"{_signed(found['value'])} (no interval)"
    return f"{_signed(found['value'])} ({_signed(found['low'])} to {_signed(found['high'])})"
