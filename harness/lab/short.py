"""A study in short: what its numbers mean, whatever their sign, and how often which came out."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentenvs.harness.lab.tables import listed
from agentenvs.harness.lab.verdicts import decided

__all__ = ["short"]

# A difference below this is none at the three digits of the tables.
_LEVEL = 0.0005
Summary = Mapping[str, Any]
Arm = Mapping[str, Any]


def short(summary: Summary) -> Iterable[str]:
    """Return sentences: one arm's numbers beside its start's, then counts over all arms."""
    yield from _meaning(summary)
    yield from _counts(summary)


def _meaning(summary: Summary) -> Iterable[str]:
    """Tell the first plain arm that learned from outcomes, and its twin with a sampler."""
    arms, n = summary["arms"], summary["n"]
    trained = [name for name, arm in arms.items() if arm["change"] and arm["start"] in arms]
    if not trained:
        return
    name = min(trained, key=lambda one: (arms[one]["data"] != "outcomes", arms[one]["tempered"]))
    arm, start = arms[name], arms[arms[name]["start"]]
    seeds = [seed for seed in arm["by_seed"] if seed in start["by_seed"]]
    before, after = (_shares(one, seeds) for one in (start, arm))
    label = arm["label"]
    yield (
        f"With one try the {start['label']} model solves {before['pass_1']} of the training tasks "
        f"and {label} {after['pass_1']}; with {n} tries {before['pass_n']} and {after['pass_n']}. "
        f"On held-out tasks it is {before['heldout_1']} and {after['heldout_1']} with one try, "
        f"{before['heldout_n']} and {after['heldout_n']} with {n}."
    )
    yield (f"So, against the {start['label']} model, {label} is {_standing(arm['change'], n)}")
    twin = next((p for p in summary["pairs"] if p["against"] == name and _tempered(arms, p)), None)
    if twin is not None:
        other = arms[twin["arm"]]
        own = _shares(other, [str(seed) for seed in twin["seeds"]])
        yield (
            f"{other['label']}, the same training with temperatures set by a sampler, solves "
            f"{own['pass_1']} of the training tasks with one try and {own['pass_n']} with {n}, "
            f"of the held-out ones {own['heldout_1']} and {own['heldout_n']}. Against {label} it "
            f"is {_standing(twin['differences'], n)}"
        )


def _tempered(arms: Mapping[str, Any], pair: Mapping[str, Any]) -> bool:
    return bool(arms[pair["arm"]]["tempered"])


def _shares(arm: Arm, seeds: Sequence[str]) -> dict[str, str]:
    keys = ("pass_1", "pass_n", "heldout_1", "heldout_n")
    means = {key: statistics.fmean(arm["by_seed"][seed][key] for seed in seeds) for key in keys}
    return {key: f"{100 * mean:.0f}\u00a0%" for key, mean in means.items()}


def _standing(spreads: Mapping[str, Any], n: int) -> str:
    """Say where differences point, then which of them the seeds leave open."""
    places = {
        "pass_1": "on training tasks with one try",
        "pass_n": f"on training tasks with {n}",
        "heldout_1": "on held-out tasks with one try",
        "heldout_n": f"on held-out tasks with {n}",
    }
    words = {key: _stands(spreads[key]["mean"]) for key in places}
    text = (
        f"{words['pass_1']} with one try and {words['pass_n']} with {n} on training tasks, "
        f"{words['heldout_1']} with one try and {words['heldout_n']} with {n} on held-out tasks."
    )
    if spreads["pass_1"]["seeds"] == 1:
        return text
    left = [place for key, place in places.items() if not decided(spreads[key])]
    if not left:
        return text
    open_ = "any of it" if len(left) == len(places) else f"how it stands {listed(left)}"
    return f"{text} These seeds do not decide {open_}."


def _stands(mean: float) -> str:
    return "level" if abs(mean) < _LEVEL else "ahead" if mean > 0 else "behind"


def _counts(summary: Summary) -> Iterable[str]:
    """Count directions: of every arm from its start, and of every pair."""
    n, first = summary["n"], summary["budgets"][0]
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
        yield f"Arms {title}: {len(arms)}. Of these, {listed(told)}."
    pairs = [pair for pair in summary["pairs"] if _tempered(summary["arms"], pair)]
    if pairs:
        keys = [("pass_1", "pass@1"), ("pass_n", f"pass@{n}"), (f"tax_{first}", f"Tax_S({first})")]
        told = [
            f"{title} {_counted([pair['differences'][key] for pair in pairs])}"
            for key, title in keys
        ]
        yield (
            f"Arms with temperatures set by a sampler, against the same training at fixed "
            f"T = {summary['reference']:g}: {len(pairs)}. Of these, {listed(told)}."
        )
    if len(summary["seeds"]) > 1:
        yield (
            "These count means over seeds, whatever their intervals; a star in the tables marks "
            "what the seeds decide."
        )
    else:
        yield "One seed: in another, any of this may come out the other way."


def _counted(spreads: Sequence[Mapping[str, Any]]) -> str:
    means = [spread["mean"] for spread in spreads]
    higher, lower = sum(mean > 0 for mean in means), sum(mean < 0 for mean in means)
    same = len(means) - higher - lower
    return f"is higher in {higher} and lower in {lower}" + (
        f" (the same in {same})" if same else ""
    )
