"""The sections about what to do next: which model is cheaper, and how many more rollouts."""

from __future__ import annotations

import math

from agentenvs.harness.report.costs import between, cost, cost_span, tries
from agentenvs.harness.report.formats import count, number, percent, signed
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.markup import Cell, paragraph, section, table
from agentenvs.harness.report.sections_pilot import pilot_part
from agentenvs.harness.report.voice import names
from agentenvs.harness.tax.planning import SampleSize
from agentenvs.harness.tax.routing.options import KINDS, Option
from agentenvs.harness.tax.routing.route import Routing

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
            "share of the tasks with one of the two models. The interval of a cost is what other "
            "tasks like these might take. How sure: the share of resampled sets of tasks in which "
            "the same way is the cheapest."
        ),
        table(
            ["to solve", "cheapest", "with the other model", "saves", "how sure"],
            [_route(found, one) for one in found.routes],
        ),
    ]
    body += pilot_part(found)
    return section("Which model is cheaper?", body, "cheaper")


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
        return [aim, Cell("not reached", most), "", "", ""]
    sure = routing.shares[KINDS.index(routing.best.kind)]
    saved = routing.saving
    known = routing.runner_up is not None
    return [
        aim,
        _offer(found, routing, routing.best, "strong"),
        "not reached" if routing.runner_up is None else _offer(found, routing, routing.runner_up),
        Cell(cost(saved.value), between(saved.low, saved.high)) if known else "",
        Cell(percent(sure), "decided" if routing.decided else "not decided"),
    ]


def _offer(found: Findings, routing: Routing, option: Option, kind: str = "") -> Cell:
    price, spread = cost(option.cost.value), cost_span(routing, option)
    return Cell(_option(found, option), f"costs {price}{f' ({spread})' if spread else ''}", kind)


def _option(found: Findings, option: Option) -> str:
    star = " *" if option.high_variance and option.k > 1 else ""
    return f"{tries(found, option.arm, option.k)}{star}"
