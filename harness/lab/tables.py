"""The study's numbers as tables of text, for a terminal and for the page alike."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentenvs.harness.lab.verdicts import decided, heat_verdict

__all__ = ["ARMS", "HEAT", "PAIRS", "Table", "listed", "number", "tables"]

#: titles of the tables that matter most
ARMS = "Training tasks"
PAIRS = "Against the arm beside it"
#: how the title of the table of heating begins
HEAT = "Success at T"
# Marks a difference whose interval over seeds leaves out 0.
_STAR = "*"

Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        title: what it shows.
        columns: the headers.
        rows: a cell for each column; the first says what the row is.
        note: how to read it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str


def number(value: Any, digits: int = 3, sign: bool = False) -> str:
    """Return a number as text, "-" where it is not defined."""
    if value is None or not isinstance(value, int | float) or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf"
    # Adding 0 takes the sign from what rounds to zero.
    rounded = round(float(value), digits) + 0.0
    return f"{rounded:+.{digits}f}" if sign else f"{rounded:,.{digits}f}"


def listed(parts: Iterable[str]) -> str:
    """Return parts as a list in a sentence."""
    told = list(parts)
    if len(told) < 2:
        return "".join(told)
    joint = "; " if any("," in part for part in told) else ", "
    return f"{joint.join(told[:-1])} and {told[-1]}"


def tables(summary: Summary) -> list[Table]:
    """Return all tables of a study."""
    found = [_arms(summary)]
    if any(arm["change"] for arm in summary["arms"].values()):
        found.append(_changes(summary))
    found.append(_where(summary))
    if summary["pairs"]:
        found.append(_pairs(summary))
    found.append(_heat(summary))
    if any(arm["sampler"] for arm in summary["arms"].values()):
        found.append(_samplers(summary))
    return found


def _several(summary: Summary) -> bool:
    return any(len(arm["seeds"]) > 1 for arm in summary["arms"].values())


def _cell(spread: Mapping[str, Any], digits: int = 3, sign: bool = False) -> str:
    """Return a mean over seeds, with half of its t interval where there are several.

    A difference, shown with its sign, has a star where that interval leaves out 0.
    """
    text = number(spread["mean"], digits, sign)
    if spread["seeds"] > 1:
        text += _STAR if sign and decided(spread) else ""
        text += f" ±{number((spread['high'] - spread['low']) / 2, digits)}"
    return text


def _between(found: Mapping[str, Any] | None, sign: bool = False) -> str:
    """Return an estimate with its interval over tasks."""
    if found is None:
        return "-"
    text = number(found["value"], 3, sign)
    if math.isnan(found["low"]):
        return text
    return f"{text} ({number(found['low'], 3, sign)}, {number(found['high'], 3, sign)})"


def _k_star(arm: Mapping[str, Any], n: int) -> str:
    values = [by["k_star"] for by in arm["by_seed"].values()]
    if all(math.isnan(value) for value in values):
        return "-"
    told = [f"> {n}" if math.isinf(value) else number(value, 0) for value in values]
    if len(told) <= 3:
        return ", ".join(told)
    known = [value for value in values if not math.isnan(value)]
    low, middle, high = min(known), statistics.median(known), max(known)
    ends = [f"> {n}" if math.isinf(value) else f"{value:g}" for value in (low, middle, high)]
    return f"{ends[1]} [{ends[0]}, {ends[2]}]"


def _arms(summary: Summary) -> Table:
    keys = [
        key
        for key in ("pass_1", "pass_k", "pass_n", "never", "always")
        if key in summary["measures"]
    ]
    taxes = [f"tax_{k}" for k in summary["budgets"]]
    rows = []
    for arm in summary["arms"].values():
        spread, alone = arm["spread"], len(arm["seeds"]) == 1
        start = "-" if arm["start"] is None else _label(summary, arm["start"])
        cells = [arm["label"], start, str(len(arm["seeds"]))]
        cells += [_cell(spread[key]) for key in keys]
        cells += [
            _between(arm["within"].get(key)) if alone else _cell(spread[key]) for key in taxes
        ]
        rows.append([*cells, _k_star(arm, summary["n"])])
    titles = [summary["measures"][key] for key in (*keys, *taxes)]
    note = (
        "Taxes and k* are against the model that the arm started from. never, always: the shares "
        f"of tasks that none, and that all, of {summary['n']} tries solve. "
    )
    note += (
        "± is half of the 95 % t interval over seeds; k* by seed, of more than three seeds the "
        "median [least, greatest]."
        if _several(summary)
        else "One seed: no interval over seeds. Brackets of taxes are 95 % intervals over tasks."
    )
    return Table(
        f"{ARMS}, T = {summary['reference']:g}",
        ["arm", "from", "seeds", *titles, "k*"],
        rows,
        note,
    )


def _changes(summary: Summary) -> Table:
    keys = ["pass_1", "pass_n", "heldout_1", "heldout_n"]
    keys += ["canonical_1", "canonical_n", "exception_1", "exception_n"]
    rows = []
    for arm in summary["arms"].values():
        if not arm["change"]:
            continue
        alone = arm["change"]["pass_1"]["seeds"] == 1
        cells = [
            _between(arm["within"][key], sign=True)
            if alone and key in arm["within"]
            else _cell(arm["change"][key], sign=True)
            for key in keys
        ]
        rows.append([arm["label"], _label(summary, arm["start"]), *cells])
    return Table(
        "What training changed",
        ["arm", "from", *(summary["measures"][key] for key in keys)],
        rows,
        "The arm minus the model that it started from, seed by seed. "
        + (
            "± is half of the 95 % t interval over seeds; a star marks those that leave out 0."
            if _several(summary)
            else "One seed: no interval over seeds. Brackets are 95 % intervals over tasks."
        ),
    )


def _where(summary: Summary) -> Table:
    keys = [
        *("heldout_1", "heldout_n", "canonical_1", "canonical_n"),
        *("exception_1", "exception_n", "rollouts", "cpu_s"),
    ]
    rows = [
        [
            arm["label"],
            *(
                _cell(arm["spread"][key])
                if key not in ("rollouts", "cpu_s")
                else number(arm["spread"][key]["mean"], 0)
                for key in keys
            ),
        ]
        for arm in summary["arms"].values()
    ]
    odd, every = summary["tasks"]["exceptions"], summary["tasks"]["train"]
    return Table(
        "Held-out tasks, canonical tasks and exceptions, and what it took",
        ["arm", *(summary["measures"][key] for key in keys)],
        rows,
        f"Of the {every} training tasks {odd} are exceptions. Rollouts are those that training "
        "played, a teacher's own training left out; CPU seconds are of training and all "
        "measuring, on one core.",
    )


def _pairs(summary: Summary) -> Table:
    keys = [
        "pass_1",
        "pass_n",
        *(f"tax_{k}" for k in summary["budgets"]),
        "heldout_1",
        "heldout_n",
        "exception_n",
    ]
    several = any(len(pair["seeds"]) > 1 for pair in summary["pairs"])
    rows = []
    for pair in summary["pairs"]:
        same_start = (
            summary["arms"][pair["arm"]]["start"] == summary["arms"][pair["against"]]["start"]
        )
        alone = len(pair["seeds"]) == 1
        cells = [
            f"{_label(summary, pair['arm'])} - {_label(summary, pair['against'])}",
            str(len(pair["seeds"])),
        ]
        for key in keys:
            if key.startswith("tax_") and not same_start:
                cells.append("-")
            elif alone and key in pair["within"]:
                cells.append(_between(pair["within"][key], sign=True))
            else:
                cells.append(_cell(pair["differences"][key], sign=True))
        equal = pair["at_equal_pass_1"]
        for key in ("pass_k", "tax"):
            told = "-" if equal is None else _cell(equal[key], sign=True)
            if equal is not None and len(equal["seeds"]) < len(pair["seeds"]):
                told += f" [{len(equal['seeds'])}]"
            cells.append(told)
        rows.append(cells)
    equals = [pair["at_equal_pass_1"] for pair in summary["pairs"]]
    k = next((one["k"] for one in equals if one is not None), summary["budgets"][0])
    titles = [summary["measures"][key] for key in keys]
    note = (
        "Seed by seed, arm minus the other. ± is half of the 95 % t interval over seeds; a star "
        "marks those that leave out 0, the others are not decided by these seeds. "
        if several
        else "One seed: these differences have no interval over seeds, and say nothing of another "
        "seed. Brackets are 95 % intervals over tasks within the seed. "
    )
    note += (
        "'Equal pass@1' compares both trainings where they reach the same pass@1, between "
        f"checkpoints, with pass@{k}; a number in brackets says for how many seeds they meet."
    )
    return Table(
        PAIRS,
        [
            *("difference", "seeds"),
            *titles,
            f"at equal pass@1: pass@{k}",
            f"at equal pass@1: Tax_S({summary['budgets'][0]})",
        ],
        rows,
        note,
    )


def _heat(summary: Summary) -> Table:
    rows = []
    bins: list[Mapping[str, Any]] = []
    for arm in summary["arms"].values():
        each = list(arm["heat"].values())
        bins = each[0]
        cells = [arm["label"]]
        for at in range(len(bins)):
            known = [one[at] for one in each if one[at]["tasks"]]
            if not known:
                cells.append("no task")
                continue
            cold, hot = (sum(one[key] for one in known) / len(known) for key in ("cold", "hot"))
            tasks = sum(one["tasks"] for one in known) / len(known)
            star = _STAR if heat_verdict(known) in ("raises", "lowers") else ""
            cells.append(f"{number(cold)} -> {number(hot)}{star} ({tasks:.0f})")
        rows.append(cells)
    return Table(
        f"{HEAT} = {summary['reference']:g} -> T = {summary['hot']:g}, by difficulty",
        ["arm", *(f"p {one['low']:g} to {one['high']:g}" for one in bins)],
        rows,
        "Training tasks, binned by p, the share of tries that the model itself solves in its "
        "evaluation, and measured by other rollouts; over seeds the mean. In brackets, or smaller "
        "below, the number of tasks. A star: the 95 % interval of the change, over seeds if there "
        "are several, else over tasks, leaves out 0.",
    )


def _samplers(summary: Summary) -> Table:
    shown = {
        "mean_T": "mean T",
        "rails": "at the rails",
        "heated": "heated",
        "zero_advantage": "groups all alike",
        "brier": "Brier score",
        "brier_mean": "... of the base rate",
    }
    rows = []
    for arm in summary["arms"].values():
        stats = list(arm["sampler"].values())
        if not stats:
            continue
        cells = [arm["label"]]
        for key in shown:
            values = [one[key] for one in stats if isinstance(one.get(key), int | float)]
            values = [value for value in values if not math.isnan(value)]
            cells.append(number(sum(values) / len(values)) if values else "-")
        rows.append(cells)
    return Table(
        "What set the temperatures",
        ["arm", *shown.values()],
        rows,
        "Over the whole training, as shares of its groups (a group is the rollouts of one task "
        "in a step); over seeds the mean. The rails are the hottest and the coldest temperature "
        "that the sampler may give; heated is above the reference. The Brier score is the mean "
        "squared error of the sampler's estimate of success against the next group, and that of "
        "the base rate the error of always guessing the mean: less is better.",
    )


def _label(summary: Summary, name: str) -> str:
    return str(summary["arms"][name]["label"]) if name in summary["arms"] else name
