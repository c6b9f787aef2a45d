"""What it is worth to decide which model to ask from a few tries of each task."""

from __future__ import annotations

import math

from agentenvs.harness.report.cells import share_cell
from agentenvs.harness.report.costs import between, cost, cost_span, way
from agentenvs.harness.report.formats import number, percent
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.markup import Cell, paragraph, table
from agentenvs.harness.report.voice import voice
from agentenvs.harness.tax.routing.pilot import PilotProtocol
from agentenvs.harness.tax.routing.route import Routing
from agentenvs.harness.tax.routing.serving import Served

__all__ = ["pilot_part"]

_MIDDLE = " (no share was asked about; this is the middle one above)"


def pilot_part(found: Findings) -> list[str]:
    """Return the part about a pilot, nothing where there is none."""
    pilot = found.pilot
    if pilot is None:
        return []
    routing = next(one for one in found.routes if one.target == pilot.target)
    which = "" if found.target is not None or len(found.routes) == 1 else _MIDDLE
    words = (
        f"Suppose each task is first played {pilot.pilot} times by both models, which costs "
        f"{pilot.pilot_cost:g} a task, and the way to solve {percent(pilot.target or 0)} of the "
        f"tasks{which} is chosen from that. It is judged on the other tries, so that at most "
        f"{pilot.K} tries can be chosen. {_chosen(found, pilot, routing)}"
    )
    notes = (
        "Costs are those of serving a task once; the pilot's own tries are not in them. "
        f"{_pays(pilot)} The last row is a bound and no plan: it shows about how much could be "
        "gained at most, with half of all tries as a pilot. It has no interval, because it is "
        "worked out for these tasks alone"
    )
    notes += "; nor has asking both, whose tries are counted on these tasks." if pilot.both else "."
    heads = ["", "solved", "cost of a task", f"given to {voice(found).first}"]
    return [
        "<h3>Can a few tries decide?</h3>",
        paragraph(words),
        table(heads, _rows(found, pilot, routing)),
        paragraph(notes, "note"),
    ]


def _rows(found: Findings, pilot: PilotProtocol, routing: Routing) -> list[list[str | Cell]]:
    rows: list[list[str | Cell]] = []
    single = _single(pilot, routing)
    if single is None:
        rows.append([f"one model, up to {pilot.K} tries", Cell("not reached", "", "quiet"), "", ""])
    else:
        arm = single.name.partition("@")[0]
        option = (routing.base if arm == "base" else routing.post).option
        fits = option is not None and str(option) == single.name
        spread = cost_span(routing, option) if option is not None and fits else ""
        rows.append(_row(f"one model: {way(found, single.name)}", single, spread))
    if pilot.both is not None:
        name, *cells, share = _row(
            f"both models: {way(found, pilot.both.name)}", pilot.both, "no interval"
        )
        rows.append([name, *cells, Cell(f"{share}", "of the tries")])
    for name, served in (
        ("one way for all tasks, by the pilot", pilot.by_pilot),
        ("a way for each task, by the pilot", pilot.by_task),
    ):
        rows.append(_row(name, served, between(served.cost.low, served.cost.high)))
    rows.append(_row("a way for each task, by half of the tries", pilot.oracle, "no interval"))
    return rows


def _row(name: str, served: Served, spread: str) -> list[str | Cell]:
    return [
        name,
        share_cell(served.coverage),
        Cell(cost(served.cost.value), spread),
        percent(served.base_share),
    ]


def _single(pilot: PilotProtocol, routing: Routing) -> Served | None:
    """Return the cheapest way with one model, that of the table above; None where none will do."""
    ways = [one for one in (pilot.base_k, pilot.post_k) if one is not None]
    named = (one for one in ways if one.name == str(routing.best))
    return next(named, min(ways, key=lambda one: one.cost.value, default=None))


def _chosen(found: Findings, pilot: PilotProtocol, routing: Routing) -> str:
    """Return what such pilots choose, and whether that says anything."""
    base, post = pilot.shares[0], pilot.shares[1] + pilot.shares[2]
    say = voice(found)
    none = percent(pilot.share_none)
    if _single(pilot, routing) is None:
        rest = "; the others name one that falls short" if base + post > 0 else ""
        return (
            "With that, no number of tries of one model is seen to be enough here: "
            f"{none} of such pilots see that{rest}."
        )
    shares = f"{percent(base)} would ask {say.first}, {percent(post)} {say.second}"
    if pilot.share_none:
        shares += f", and {none} see no way to get there"
    return (
        f"Of such pilots, {shares}. {percent(pilot.agreement)} choose what the other tries of "
        "these tasks say too. That is not how likely the choice is right for other tasks: see "
        "\u201chow sure\u201d above."
    )


def _pays(pilot: PilotProtocol) -> str:
    saving, times = pilot.saving, pilot.break_even
    if math.isnan(saving.value):
        return ""
    if pilot.matched is None:
        return "Nothing without a pilot is seen to solve as many as a way for each task does."
    ends = between(saving.low, saving.high)
    if math.isinf(times.value):
        return (
            "A way for each task saves nothing over the cheapest that solves as many without a "
            f"pilot ({cost(saving.value)} a task, {ends})."
        )
    text = (
        "Over the cheapest that solves as many without a pilot, a way for each task saves "
        f"{cost(saving.value)} a task ({ends}"
    )
    text += ", so that it may save nothing). " if saving.low <= 0 else "). "
    many = _often(times.value)
    if math.isnan(times.low):
        return f"{text}The pilot has paid for itself once each task is served {many} times."
    most = "never" if math.isinf(times.high) else _often(times.high)
    return (
        f"{text}The pilot has paid for itself once each task is served {many} times "
        f"({_often(times.low)} to {most})."
    )


def _often(times: float) -> str:
    return number(times, 0 if times >= 10 or times == int(times) else 1)
