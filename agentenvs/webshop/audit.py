"""Goals that cannot be met in full, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from agentenvs.core import Rules
from agentenvs.webshop.actions import Call, read
from agentenvs.webshop.fuzzy import LEAST, likeness
from agentenvs.webshop.layout import layout
from agentenvs.webshop.records import Goal, Options, Product
from agentenvs.webshop.reward import (
    Score,
    as_bought,
    as_wanted,
    attribute_hits,
    option_hits,
    score,
)

if TYPE_CHECKING:
    from agentenvs.sources import Progress
    from agentenvs.webshop.catalog import Catalog

__all__ = ["Finding", "findings", "unclickable", "unreachable"]

#: how many goals lie between two reports
_PACE = 1_000


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one goal.

    Attributes:
        task: the id of its task.
        index: where it stands among the catalog's synthetic goals.
        asin: the product that it was made from.
        total: what buying exactly that product with exactly the wanted options is worth.
        missed: for each thing that such a purchase fails in, a sentence that says why.
        unclickable: for each option that no click can choose, a sentence that says why; the
            total is counted as if it had been chosen.
    """

    task: str
    index: int
    asin: str
    total: float
    missed: tuple[str, ...]
    unclickable: tuple[str, ...]


def unreachable(
    catalog: Catalog, rules: Rules = "official", progress: Progress | None = None
) -> Iterator[Finding]:
    """Yield the synthetic goals that are worth less than 1.0 when bought exactly right.

    Whether some other purchase would be worth 1.0 is not searched. Human goals are left out:
    their options have no names, so no purchase is the exact one.

    Args:
        catalog: whose goals to look at.
        rules: the rules to score by; under "fixed" options do not fail.
        progress: told how many goals were looked at.

    Example:
        >>> from agentenvs.webshop import open_catalog
        >>> from agentenvs.webshop.audit import unreachable
        >>> list(unreachable(open_catalog("mini"), "fixed"))
        []
    """
    return (found for found in findings(catalog, rules, progress) if found.total < 1.0)


def findings(
    catalog: Catalog, rules: Rules = "official", progress: Progress | None = None
) -> Iterator[Finding]:
    """Yield the synthetic goals of which `unreachable` or `unclickable` has something to say.

    They come in the order of the goals, one at a time. The arguments are those of
    `unreachable`.
    """
    goals = catalog.goals("synthetic")
    for index in range(len(goals)):
        if progress and index % _PACE == 0:
            progress(index, len(goals), "looking for goals out of reach")
        goal, row = goals.goal(index), goals.row(index)
        chosen = cast("Options", goal.goal_options)
        product, price = catalog.product(row), catalog.price(row)
        worth = score(product, goal, chosen, price, product.nouns, rules)
        blocked = unclickable(product, chosen, rules)
        if worth.total < 1.0 or blocked:
            task = f"{catalog.name}/synthetic/{index}"
            missed = tuple(_missed(product, goal, chosen, price, worth, rules))
            yield Finding(task, index, goal.asin, worth.total, missed, tuple(blocked))
    if progress:
        progress(len(goals), len(goals), "looking for goals out of reach")


def unclickable(product: Product, chosen: Options, rules: Rules = "official") -> list[str]:
    """Return why options of a product cannot be chosen by `click[...]`, a sentence for each.

    Under "official" a value that two options share reaches the last of them (W3), and one
    that is called like a button, or that the grammar of actions cannot write, is out of reach
    (W4). Under "fixed" every value has a label of its own.

    Args:
        product: whose options they are.
        chosen: option name -> value, each one that the product has.
        rules: "official" or "fixed".
    """
    shown = layout(product, rules, show_attrs=False)
    reasons = []
    for name, value in chosen.items():
        label = shown.labels[name, value]
        target = shown.targets.get(label)
        if target is None:
            reasons.append(f"{name}: {value!r} is called like a button (W4)")
        elif target != (name, value):
            reasons.append(f"{name}: {value!r} chooses {target[0]!r}, which shares the value (W3)")
        elif read(f"click[{label}]", rules).calls != (Call("click", label),):
            reasons.append(f"{name}: {value!r} cannot be written as click[...] (W4)")
    return reasons


def _missed(
    product: Product, goal: Goal, chosen: Options, price: float, worth: Score, rules: Rules
) -> Iterator[str]:
    for attribute, hit in zip(goal.attributes, attribute_hits(product, goal), strict=True):
        if not hit:
            yield f"attribute {attribute!r} is not among the product's, nor in its texts"
    pairs = zip(chosen.items(), option_hits(goal, chosen, rules), strict=True)
    for (name, value), hit in pairs:
        if not hit:
            wanted, bought = as_wanted(name, value), as_bought(value)
            best = max(likeness(wanted, as_bought(other)) for other in chosen.values())
            yield (
                f"{name}: {value!r} counts as {_spaced(bought)!r} when bought, but as "
                f"{_spaced(wanted)!r} when wanted; they are {best} alike, {LEAST} are needed (W2)"
            )
    if price > goal.price_upper:
        yield f"it costs {price:.2f}, more than {goal.price_upper:.2f}"
    if worth.parts["r_type"] < 1.0:
        yield (
            f"its title has {worth.parts['title_score']:.3f} of its own nouns, counting "
            f"repeats, so that all counts {worth.parts['r_type']} times"
        )


def _spaced(text: str) -> str:
    return " ".join(text.split())
