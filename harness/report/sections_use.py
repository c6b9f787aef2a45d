"""The sections about what to do next: which model is cheaper, and how many more rollouts."""

from __future__ import annotations

import math

from agentenvs.harness.report.cells import share_cell
from agentenvs.harness.report.formats import count, number, percent, signed
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.markup import Cell, paragraph, section, table
from agentenvs.harness.report.voice import names, voice
from agentenvs.harness.tax.options import KINDS, Option
from agentenvs.harness.tax.pilot import PilotProtocol
from agentenvs.harness.tax.planning import SampleSize
from agentenvs.harness.tax.routing import Routing

__all__ = ["routing_section", "size_section"]


def routing_section(found: Findings) -> str:
    """Return which model is cheaper for some shares of the tasks."""
    if not found.routes:
        return ""
    first, second = names(found)
    one, two = found.routes[0].price
    price = (
        "A try of either model is taken to cost the same, 1"
        if one == two
        else f"A try costs {one:g} {first} and {two:g} {second}"
    )
    body = [
        paragraph(
            f"{price}, and every try is paid, whether an earlier one succeeded or not. Given a way "
            "to tell which of several tries succeeded, this is the cheapest way to solve a given "
            "share of the tasks. How sure: the share of resampled sets of tasks in which the same "
            "way is the cheapest."
        ),
        table(
            ["to solve", "cheapest", "cost of a task", "otherwise", "its cost", "how sure"],
            [_route(found, one) for one in found.routes],
        ),
    ]
    body += _pilot(found)
    return section("Which model is cheaper?", body, "cheaper")


def _pilot(found: Findings) -> list[str]:
    """Return what it is worth to decide from a few rollouts of each task."""
    pilot = found.pilot
    if pilot is None:
        return []
    aim = percent(pilot.target or 0)
    rows: list[list[str | Cell]] = []
    for name, one in (
        ("the best single way", pilot.best),
        ("one way for all tasks, by the pilot", pilot.by_pilot),
        ("a way for each task, by the pilot", pilot.by_task),
        ("a way for each task, chosen by half of the tries", pilot.oracle),
    ):
        if one is not None:
            cost = number(one.cost.value, 1)
            rows.append([name, share_cell(one.coverage), cost, percent(one.base_share)])
    words = (
        f"Can a few tries decide? Suppose each task is first played {pilot.pilot} times by both "
        f"models ({pilot.pilot_cost:g} a task), and the way to solve {aim} of the tasks is chosen "
        f"from that, judged on other tries. {percent(pilot.agreement)} of such pilots call the "
        f"same way best as the other tries do. {_pays(pilot)}"
    )
    told = table(["", "solved", "cost of a task", f"given to {voice(found).first}"], rows)
    return ["<h3>Deciding from a few tries</h3>", paragraph(words), told]


def _pays(pilot: PilotProtocol) -> str:
    times = pilot.break_even.value
    if math.isnan(times):
        return ""
    if math.isinf(times):
        return "Choosing task by task saves nothing here."
    low, high = pilot.break_even.low, pilot.break_even.high
    ends = ""
    if not math.isnan(low):
        most = "never" if math.isinf(high) else f"{high:,.0f}"
        ends = f" ({low:,.0f} to {most})"
    return (
        "Choosing task by task has paid back its pilot once each task is served "
        f"{times:,.0f} times{ends}."
    )


def size_section(found: Findings) -> str:
    """Return how many more tasks or rollouts would make the tax sure."""
    size = found.size
    if size is None:
        return ""
    k = size.K
    if math.isnan(size.now):
        words = [
            f"Tax_S({k}) has no interval here: one model does the same in every task. More tasks "
            "are needed before anything can be planned."
        ]
    elif size.enough:
        words = [
            f"Enough for the question whether Tax_S({k}) is 0: its interval, "
            f"\u00b1{number(size.now, 3)}, leaves 0 out."
        ]
    else:
        words = [
            f"Tax_S({k}) is {signed(size.tax_S, 3)} \u00b1{number(size.now, 3)}. If it really is "
            f"of that size, its interval would begin to leave 0 out with {_needed(size)}. About "
            "every second repetition of that size would then leave it out, so plan for more."
        ]
    if not math.isnan(size.now):
        words.append(
            f"{percent(size.from_rollouts)} of the uncertainty comes from chance in the tries, "
            f"which more tries of these {size.tasks:,} tasks remove; the rest comes from which "
            f"tasks these are, and with endless tries \u00b1{number(size.floor, 3)} would remain."
        )
        if size.rollouts < 2 * k:
            words.append(
                f"With {2 * k} tries, twice as many as K, it would be "
                f"\u00b1{number(size.at_2K, 3)}."
            )
    body = [paragraph(line) for line in words]
    return section("How much more would it take?", body, "more")


def _needed(size: SampleSize) -> str:
    parts = []
    if size.tasks_needed is not None:
        parts.append(f"{count(size.tasks_needed, 'task')} (now {size.tasks:,})")
    if size.rollouts_needed is not None:
        parts.append(
            f"{count(size.rollouts_needed, 'try', 'tries')} of each of these tasks "
            f"(now {size.rollouts:,})"
        )
    if not parts:
        return "more tasks than can be told"
    return " or ".join(parts)


def _route(found: Findings, routing: Routing) -> list[str | Cell]:
    aim = percent(routing.target or 0)
    if routing.best is None:
        reach = max(
            (routing.base.furthest, routing.post.furthest), key=lambda one: one.coverage.value
        )
        most = f"{_option(found, reach)} solve {percent(reach.coverage.value)}"
        return [aim, Cell("not reached", most), "", "", "", ""]
    rival = routing.runner_up
    sure = routing.shares[KINDS.index(routing.best.kind)]
    return [
        aim,
        Cell(_option(found, routing.best), "", "strong"),
        _cost(routing.best),
        "not reached" if rival is None else _option(found, rival),
        "" if rival is None else _cost(rival),
        Cell(percent(sure), "decided" if routing.decided else "not decided"),
    ]


def _option(found: Findings, option: Option) -> str:
    which = names(found)[0 if option.arm == "base" else 1]
    star = " *" if option.high_variance and option.k > 1 else ""
    return f"{option.k} {'try' if option.k == 1 else 'tries'}, {which}{star}"


def _cost(option: Option) -> str:
    value = option.cost.value
    return (
        "" if math.isnan(value) else number(value, 0 if value >= 100 or value == int(value) else 1)
    )
