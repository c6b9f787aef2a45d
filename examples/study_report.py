"""Tables and figures of what `study.py` has found so far; nothing here expects a sign."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from study import BASE, RESULT, Study, arguments, evaluated, place

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.student import Spread, over_seeds
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.plain_data import finite
from agentenvs.harness.ptgs import HeatingPremise, drawing, heating_premise
from agentenvs.harness.store.durable import write_whole
from agentenvs.harness.tax import Counts, curve, sharpening_tax

#: measures of the sampler, not of the model
OF_SAMPLER = {"mean_T": "mean T", "rails": "at the rails", "zero_advantage": "groups all alike"}
BIN_COLOURS = ("#7b3294", "#d55e00", "#b8860b", "#009e73")


@dataclass(frozen=True)
class Found:
    """One model: who succeeded, by (task set, temperature), and what its sampler told.

    Where a job went on with one that nobody timed, `cpu_s` is NaN.
    """

    counts: Mapping[tuple[str, float], Counts]
    stats: Mapping[str, float]
    cpu_s: float


def read(out: Path, study: Study) -> dict[tuple[str, str, int], Found]:
    """Return what is finished, by (world, arm, seed)."""
    models = {}
    for job in study.jobs():
        folder = place(out, job)
        if not (folder / RESULT).exists():
            continue
        told = json.loads((folder / RESULT).read_text(encoding="utf-8"))
        args = arguments(study, job, folder)
        cells = {
            cell: Outcomes.load(evaluated(folder, study, args, *cell)).counts()
            for cell in study.cells()
        }
        world, arm = job.arm.split()
        spent = math.nan if told["cpu_s"] is None else told["cpu_s"]
        models[world, arm, job.seed] = Found(cells, told["stats"], spent)
    return models


def titles(study: Study) -> dict[str, str]:
    """Return the measures by key, in the order of the tables."""
    ks = sorted({1, min(study.budgets), max(study.budgets)})
    return {
        **{f"train_{k}": f"pass@{k}" for k in ks},
        **{f"tax_{k}": f"Tax_S({k})" for k in study.budgets},
        **{f"heldout_{k}": f"held-out pass@{k}" for k in ks},
        **{f"heldout_tax_{k}": f"held-out Tax_S({k})" for k in study.budgets},
        **OF_SAMPLER,
    }


def measures(study: Study, found: Found, base: Found | None, trained: bool) -> dict[str, float]:
    """Return a model's measures by key; NaN where one is undefined."""
    told = dict.fromkeys(titles(study), math.nan)
    for name in ("train", "heldout"):
        own = found.counts[name, 1.0]
        for key in told:
            if key.startswith(f"{name}_") and key.removeprefix(f"{name}_").isdecimal():
                k = int(key.removeprefix(f"{name}_"))
                told[key] = float(curve(own.c, own.n, [k])[0])
        if trained and base is not None:
            start = "tax" if name == "train" else f"{name}_tax"
            for k in study.budgets:
                tax = sharpening_tax(base.counts[name, 1.0], own, k)
                told[f"{start}_{k}"] = tax.tax_S
    if trained:
        told |= {key: found.stats.get(key, math.nan) for key in OF_SAMPLER}
    return told


def premises(study: Study, found: Found) -> dict[float, HeatingPremise]:
    """Return what each temperature of the probe does to success, against T = 1."""
    ref = found.counts["train", 1.0]
    return {
        temperature: heating_premise(ref.c, ref.n, other.c, other.n)
        for temperature in study.probe
        for other in [found.counts["train", temperature]]
    }


def summarise(study: Study, models: Mapping[tuple[str, str, int], Found]) -> dict[str, Any]:
    """Return all numbers as plain data, world by world; every list has a value a seed."""
    told: dict[str, Any] = {}
    for world in study.worlds:
        by_arm: dict[str, dict[int, Found]] = {}
        for (where, arm, seed), found in models.items():
            if where == world:
                by_arm.setdefault(arm, {})[seed] = found
        bases = by_arm.get(BASE, {})
        values = {
            arm: {
                seed: measures(study, found, bases.get(seed), arm != BASE)
                for seed, found in seeds.items()
            }
            for arm, seeds in by_arm.items()
        }
        told[world] = {
            "seeds": {arm: sorted(seeds) for arm, seeds in by_arm.items()},
            "arms": {
                arm: {key: spread([seeds[s][key] for s in sorted(seeds)]) for key in titles(study)}
                for arm, seeds in values.items()
            },
            "pairs": [
                {"arm": one, "against": other, "seeds": both, "differences": differences}
                for one, other in study.pairs
                for both in [sorted(values.get(one, {}).keys() & values.get(other, {}).keys())]
                for differences in [
                    {
                        key: spread([values[one][s][key] - values[other][s][key] for s in both])
                        for key in titles(study)
                    }
                ]
                if both
            ],
            "temperatures": {
                arm: by_temperature(study, list(seeds.values())) for arm, seeds in by_arm.items()
            },
            "cpu_s": {
                arm: [seeds[s].cpu_s for s in sorted(seeds)] for arm, seeds in by_arm.items()
            },
        }
    return told


def by_temperature(study: Study, models: Sequence[Found]) -> list[dict[str, Any]]:
    """Return for each temperature how success changes against T = 1: all hard tasks, and bins."""
    rows = []
    by_model = [premises(study, found) for found in models]
    for temperature in study.probe:
        told = [by[temperature] for by in by_model]
        spans = [(f"below {told[0].heated.high:g}", [one.heated for one in told])]
        spans += [
            (f"{bins[0].low:g} to {bins[0].high:g}", list(bins))
            for bins in zip(*(one.bins for one in told), strict=True)
        ]
        for name, cells in spans:
            rows.append(
                {
                    "T": temperature,
                    "tasks": name,
                    "number": float(np.mean([cell.tasks for cell in cells])),
                    "ref": spread([cell.ref for cell in cells]),
                    "then": spread([cell.hot for cell in cells]),
                    "change": spread([cell.change.value for cell in cells]),
                    "verdicts": [cell.verdict for cell in cells],
                }
            )
    return rows


def spread(values: Sequence[float]) -> dict[str, Any]:
    return {"values": list(values), **over_seeds(values)._asdict()}


def shown(told: Mapping[str, Any], sign: bool = False) -> str:
    """Return a mean over seeds with half of its interval, as the tables have it."""
    found = Spread(*(told[name] for name in Spread._fields))
    if math.isnan(found.mean):
        return "-"
    text = f"{found.mean:+.3f}" if sign else f"{found.mean:.3f}"
    text = text if math.isnan(found.low) else f"{text} ±{(found.high - found.low) / 2:.3f}"
    return f"**{text}**" if sign and found.decides else text


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def words(study: Study, told: Mapping[str, Any]) -> str:
    """Return the tables, as Markdown."""
    named, parts = titles(study), []
    intervals = decides = 0
    for world, found in told.items():
        if not found["arms"]:
            continue
        arms = sorted(found["arms"], key=[BASE, *study.worlds[world]].index)
        parts.append(f"## {world}\n")
        counts = ", ".join(f"{arm} {len(found['seeds'][arm])}" for arm in arms)
        parts.append(f"Mean over seeds ± half of the 95 % t interval. Seeds: {counts}.\n")
        cells = [[shown(found["arms"][arm][key]) for arm in arms] for key in named]
        parts.append(
            table(["", *arms], [[named[k], *row] for k, row in zip(named, cells, strict=True)])
        )
        if BASE in arms:
            parts.append(
                f"The {BASE} is one model whatever the seed: its intervals are over repeated "
                "rollouts of the same weights, those of the arms over trainings too.\n"
            )
        parts.append("Differences seed by seed; in bold where the interval leaves out 0:\n")
        pairs = found["pairs"]
        rows = [
            [named[key], *(shown(pair["differences"][key], sign=True) for pair in pairs)]
            for key in named
        ]
        spans = [p["differences"][key] for p in pairs for key in named if key not in OF_SAMPLER]
        intervals += sum(not math.isnan(one["low"]) for one in spans)
        decides += sum(one["low"] > 0 or one["high"] < 0 for one in spans)
        parts.append(table(["", *(f"{p['arm']} - {p['against']}" for p in pairs)], rows))
        repeats = f"; of the {BASE}, in how many repeats with the same weights"
        parts.append(
            "Success at another temperature minus that at T = 1, training tasks by their success "
            "at T = 1 in other rollouts; in brackets in how many seeds the interval over tasks, "
            "taken as independent, "
            f"lies above 0, holds it, lies below{repeats if BASE in arms else ''}:\n"
        )
        rows = []
        for at, row in enumerate(found["temperatures"][arms[0]]):
            line = [f"{row['T']:g}", row["tasks"]]
            for arm in arms:
                one = found["temperatures"][arm][at]
                votes = [one["verdicts"].count(v) for v in ("holds", "undecided", "fails")]
                line.append(f"{shown(one['change'], sign=True)} ({'/'.join(map(str, votes))})")
            rows.append(line)
        parts.append(table(["T", "success at T = 1", *arms], rows))
    parts.append(
        f"Of {intervals} intervals of differences between models {decides} leave out 0; by chance "
        f"alone about {0.05 * intervals:.0f} would.\n"
    )
    return "\n".join(parts)


def draw_curves(study: Study, models: Mapping[tuple[str, str, int], Found], path: Path) -> None:
    """Paint pass@k of the base and the arms: the mean over seeds, and from lowest to highest."""
    ks = np.arange(1, study.n + 1)
    with drawing.blank((9.0, 6.4)) as figure:
        grid = figure.subplots(2, len(study.worlds), sharex=True, squeeze=False)
        for at, (world, arms) in enumerate(study.worlds.items()):
            for axes, name in zip(grid[:, at], ("train", "heldout"), strict=True):
                for colour, arm in zip(
                    (drawing.SOFT, *drawing.COLOURS), (BASE, *arms), strict=False
                ):
                    lines = [
                        curve(one.counts[name, 1.0].c, one.counts[name, 1.0].n, ks.tolist())
                        for (where, what, _), one in models.items()
                        if (where, what) == (world, arm)
                    ]
                    if not lines:
                        continue
                    axes.plot(ks, np.mean(lines, 0), color=colour, linewidth=1.8, label=arm)
                    axes.fill_between(
                        ks, np.min(lines, 0), np.max(lines, 0), color=colour, alpha=0.15, lw=0
                    )
                axes.set_xscale("log", base=2)
                axes.xaxis.set_major_formatter("{x:.0f}")
                axes.xaxis.set_major_formatter("{x:g}")
                axes.set_title(f"{world}, {'training' if name == 'train' else 'held-out'} tasks")
                axes.set_ylabel("pass@k")
            grid[1, at].set_xlabel("k")
        name_lines(grid[0, 0])
        figure.savefig(path, dpi=130)


def draw_differences(study: Study, told: Mapping[str, Any], path: Path) -> None:
    """Paint every difference between arms: a dot a seed, and the interval."""
    named = {key: title for key, title in titles(study).items() if key not in OF_SAMPLER}
    with drawing.blank((9.0, 0.9 + 0.42 * len(named))) as figure:
        grid = figure.subplots(1, len(study.worlds), sharey=True, squeeze=False)[0]
        for axes, (world, found) in zip(grid, told.items(), strict=True):
            axes.axvline(0.0, color=drawing.INK, linewidth=0.8)
            middle = (len(found["pairs"]) - 1) / 2
            for nth, (colour, pair) in enumerate(
                zip(drawing.COLOURS, found["pairs"], strict=False)
            ):
                for row, key in enumerate(named):
                    one, y = pair["differences"][key], row + 0.22 * (nth - middle)
                    dots = [y] * len(one["values"])
                    axes.plot(one["values"], dots, "o", color=colour, ms=2.5, alpha=0.6)
                    if not math.isnan(one["low"]):
                        axes.plot([one["low"], one["high"]], [y, y], color=colour, linewidth=1.6)
                axes.plot([], [], color=colour, label=f"{pair['arm']} - {pair['against']}")
            axes.set_title(world)
            axes.set_yticks(range(len(named)), list(named.values()))
            axes.set_xlabel("difference, a dot a seed, 95 % t interval")
            axes.locator_params(axis="x", nbins=6)
        grid[0].invert_yaxis()
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=max(len(labels), 1))
        figure.savefig(path, dpi=130)


def draw_temperatures(study: Study, told: Mapping[str, Any], path: Path) -> None:
    """Paint success over temperature, by difficulty, of every arm."""
    columns = max(len(arms) for arms in study.worlds.values()) + 1
    with drawing.blank((2.6 * columns, 2.6 * len(study.worlds) + 0.3)) as figure:
        grid = figure.subplots(len(study.worlds), columns, sharex=True, sharey=True, squeeze=False)
        for line, (world, arms) in zip(grid, study.worlds.items(), strict=True):
            for axes, arm in zip(line, (BASE, *arms), strict=False):
                rows = told[world]["temperatures"].get(arm, [])
                names = list(dict.fromkeys(r["tasks"] for r in rows if " to " in r["tasks"]))
                for colour, name in zip(BIN_COLOURS, names, strict=False):
                    mine = [row for row in rows if row["tasks"] == name]
                    seen = {1.0: mine[0]["ref"]["mean"]}
                    seen |= {row["T"]: row["then"]["mean"] for row in mine}
                    ts = sorted(seen)
                    axes.plot(ts, [seen[t] for t in ts], "o-", color=colour, ms=3, label=name)
                axes.set_title(f"{world}, {arm}", fontsize=8)
                axes.set_xlabel("T")
            line[0].set_ylabel("success")
        name_lines(grid[0, 0], title="success at T = 1")
        figure.savefig(path, dpi=130)


def name_lines(axes: Any, title: str | None = None) -> None:
    """Add a legend where there is something to name: not yet in a report of a few models."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="best", title=title)


def write_report(out: Path, study: Study) -> Path:
    """Write `summary.json`, `table.md` and the figures; return the path of the tables.

    Raises:
        BadArgument: nothing is finished there.
    """
    models = read(out, study)
    if not models:
        raise BadArgument(f"{out}: nothing is finished there.")
    told = summarise(study, models)
    write_whole(out / "summary.json", [json.dumps(finite(told), indent=1).encode() + b"\n"])
    write_whole(out / "table.md", [words(study, told).encode()])
    draw_curves(study, models, out / "curves.png")
    draw_differences(study, told, out / "differences.png")
    draw_temperatures(study, told, out / "temperatures.png")
    return out / "table.md"
