"""A purchase's score in words: what was asked for, what was bought, and how they compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentenvs.core import Rules
from agentenvs.webshop.records import NO_CAP, Goal
from agentenvs.webshop.reward import attribute_hits, option_hits
from agentenvs.webshop.views import View

__all__ = ["Breakdown", "Line", "Part", "breakdown"]


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was compared; `hit` is None for what only explains."""

    text: str
    hit: bool | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One factor or term of the score: its share of the best, and where that comes from."""

    title: str
    share: float
    sum: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A score in words; `target` and `href` name the product that the goal was made from."""

    parts: tuple[Part, ...]
    sum: str
    target: str
    href: str


def breakdown(view: View, goal: Goal, rules: Rules, href: str) -> Breakdown | None:
    """Return the score of the purchase that `view` shows in words, None where it shows none."""
    score, product = view.score, view.product
    if score is None or product is None:
        return None
    parts = score.parts
    attributes = attribute_hits(product, goal)
    options = option_hits(goal, view.options, rules)
    wanted = len(attributes) + len(options) + 1
    hits = sum(attributes) + sum(options) + bool(parts["r_price"])
    title_share = f"{parts['title_score']:.0%} of the nouns of the wanted title"
    kind = Part(
        "The right kind of product",
        parts["r_type"],
        f"factor {parts['r_type']:g}",
        (
            Line(f"listed under the same name, {goal.query!r}", parts["query_match"]),
            Line("two parts of the department agree", parts["category_match"]),
            Line(f"its title has {title_share}"),
        ),
    )
    told = [kind, _term("Features", goal.attributes, attributes)]
    if options:
        told.append(_term("Options", _asked(goal), options))
    within = bool(parts["r_price"])
    cap = "no limit" if goal.price_upper >= NO_CAP else f"at most ${goal.price_upper:.2f}"
    price = Line(f"paid ${view.price:.2f}, asked for {cap}", within)
    told.append(Part("Price", float(within), f"{within:d} of 1", (price,)))
    total = f"{parts['r_type']:g} times {hits} of {wanted} = {score.total:.4g}"
    return Breakdown(tuple(told), total, goal.name or goal.asin, href)


def _asked(goal: Goal) -> tuple[str, ...]:
    options = goal.goal_options
    if isinstance(options, Mapping):
        return tuple(f"{name}: {value}" for name, value in options.items())
    return tuple(options)


def _term(title: str, wanted: tuple[str, ...], hits: list[bool]) -> Part:
    share = sum(hits) / len(hits) if hits else 1.0
    lines = tuple(Line(text, hit) for text, hit in zip(wanted, hits, strict=True))
    return Part(title, share, f"{sum(hits)} of {len(hits)}", lines)
