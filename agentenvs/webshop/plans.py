"""Solutions as plans: action texts that find a goal's product, choose its options and buy it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike

import numpy as np

from agentenvs.actions import canonical
from agentenvs.core import ToolCall
from agentenvs.errors import AgentEnvsError
from agentenvs.webshop import engine
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.layout import BUY, NEXT, layout
from agentenvs.webshop.locate import open_catalog
from agentenvs.webshop.pages import PAGE_SIZE
from agentenvs.webshop.records import Goal, Product
from agentenvs.webshop.reward import option_hits
from agentenvs.webshop.sets import parse_task
from agentenvs.webshop.tasks import task_ids

__all__ = ["gold_actions"]

#: words of the goal's own texts are tried up to this many, since hits lessen no further
_WORDS = 60


def gold_actions(task: str, *, catalog: str | PathLike[str] | Catalog | None = None) -> list[str]:
    """Return action texts that buy what a task asks for, one call a step, for `env.step`.

    The goal's own product is found by words of the goal, opened, given the options that are
    wanted, and bought. The actions serve under both rules: where an option value has another
    label under "fixed", both are clicked, and one of the clicks does nothing.

    Args:
        task: a task's id.
        catalog: as for the environment; default the one that the task is from.

    Raises:
        UnknownName: there is no such task.
        AgentEnvsError: no search finds the product.
        SourceError: the catalog cannot be had.
    """
    shop = open_catalog(catalog, [task])
    _, kind, index = parse_task(task_ids([task], catalog=shop)[0])
    goals = shop.goals(kind)
    goal, row = goals.goal(index), goals.row(index)
    product = shop.product(row)
    query, place = _way_to(shop, row, product, goal)
    actions = [_call("search", query=query)]
    actions += [_call("click", element=NEXT)] * (place // PAGE_SIZE)
    actions.append(_call("click", element=product.asin.lower()))
    official, fixed = (layout(product, rules, False) for rules in ("official", "fixed"))
    for name, value in _wanted(product, goal).items():
        labels = [value] if value in official.targets else []
        labels += [fixed.labels[name, value]] if (name, value) in fixed.labels else []
        actions += [_call("click", element=label) for label in dict.fromkeys(labels)]
    return [*actions, _call("click", element=BUY)]


def _call(name: str, **arguments: str) -> str:
    return canonical([ToolCall(name, dict(arguments))])


def _way_to(catalog: Catalog, row: int, product: Product, goal: Goal) -> tuple[str, int]:
    """Return a query and the place of the product among what it finds, from 0."""
    best: tuple[str, int] | None = None
    for query in _queries(product, goal):
        place = _place(catalog, query, row)
        if place is not None and (best is None or place // PAGE_SIZE < best[1] // PAGE_SIZE):
            best = query, place
        if best is not None and (best[1] < PAGE_SIZE or query[:3] in engine.MODES):
            return best
    if best is None:
        raise AgentEnvsError(
            f"No search of catalog {catalog.name!r} finds {product.asin!r}, so that it cannot "
            "be bought."
        )
    return best


def _queries(product: Product, goal: Goal) -> Iterator[str]:
    options = goal.goal_options
    values = options.values() if isinstance(options, Mapping) else options
    texts = (
        goal.instruction_text,
        product.title,
        " ".join([goal.query, *goal.attributes, *values]),
        f"{product.title} {product.description}",
    )
    for text in texts:
        words = text.lower().split()[:_WORDS]
        if words and words[0] not in engine.MODES:
            yield " ".join(words)
    yield f"<q> {product.query}"
    yield f"<c> {product.category}"


def _place(catalog: Catalog, query: str, row: int) -> int | None:
    """Return where a query shows the product, None where not at one place under both rules."""
    places = set()
    for rules in ("official", "fixed"):
        found = engine.hits(catalog, query.split(" "), rules, np.random.default_rng(0))
        if found is None or row not in found:
            return None
        places.add(list(found).index(row))
    return places.pop() if len(places) == 1 else None


def _wanted(product: Product, goal: Goal) -> Mapping[str, str]:
    """Return the options to choose: those of a synthetic goal, or the best for a human one."""
    options = goal.goal_options
    if isinstance(options, Mapping):
        return options
    # What can be covered -> the choice that covers it, option by option.
    ways: dict[frozenset[int], dict[str, str]] = {frozenset(): {}}
    for name, values in product.options.items():
        covers: dict[frozenset[int], str] = {}
        for value in sorted(values, key=lambda value: value not in options):
            hits = option_hits(goal, {name: value})
            covers.setdefault(frozenset(at for at, hit in enumerate(hits) if hit), value)
        for covered, chosen in list(ways.items()):
            for cover, value in covers.items():
                if cover - covered:
                    ways.setdefault(covered | cover, {**chosen, name: value})
    return ways[max(ways, key=len)]
