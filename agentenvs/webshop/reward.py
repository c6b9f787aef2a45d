"""The reward of a purchase, and the parts that it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentenvs.core import Rules, check_rules
from agentenvs.webshop.colors import color_or_pair, color_or_text
from agentenvs.webshop.fuzzy import matches_any, prepared
from agentenvs.webshop.records import Goal, Options, Product

__all__ = [
    "Kind",
    "Score",
    "as_bought",
    "as_wanted",
    "attribute_hits",
    "kind",
    "option_hits",
    "score",
]

#: what a title scores that has no noun, and the least that makes up for another query
_TITLE_ENOUGH = 0.2
#: a title that scores less is of another kind, whatever else agrees
_TITLE_ALIEN = 0.1


@dataclass(frozen=True, slots=True)
class Score:
    """What a purchase is worth.

    Attributes:
        total: 0.0 to 1.0; exactly 1.0 is success.
        parts: the breakdown under its official names, in the official order: `r_type`;
            `r_att` and `w_att`, the share of the wanted attributes found and their weight;
            `query_match`, `category_match` and `title_score`, which `r_type` comes from;
            `r_option` and `w_option`, only where options are wanted; `r_price`, a bool, and
            `w_price`.
    """

    total: float
    parts: dict[str, Any]


class Kind(NamedTuple):
    """Whether a product is of the kind that is wanted.

    Attributes:
        r_type: 1.0, 0.5, 0.1 or 0.0, the factor of the whole reward.
        query_match: both were found under the same leaf name.
        category_match: two parts of the breadcrumbs agree.
        title_score: share of the nouns of the goal's title that the product's title has.
    """

    r_type: float
    query_match: bool
    category_match: bool
    title_score: float


def score(
    product: Product,
    goal: Goal,
    chosen: Options,
    price: float,
    goal_nouns: Sequence[str],
    rules: Rules = "official",
) -> Score:
    """Return what it is worth to buy `product` for `goal`.

    The total is `r_type * hits / wanted`, with a hit for each attribute and option found and
    one for a price within the cap. The rules differ in `option_hits` and nowhere else.

    Args:
        product: what is bought; its `nouns` count.
        goal: what was wanted.
        chosen: the options at the moment of buying, by name.
        price: what the product costs, in dollars; the options do not change it (W17).
        goal_nouns: the nouns of the goal's title, repeats kept.
        rules: "official" or "fixed".

    Raises:
        BadArgument: there are no such rules.
    """
    attributes = attribute_hits(product, goal)
    options = option_hits(goal, chosen, rules)
    in_budget = bool(price <= goal.price_upper)
    r_type, query_match, category_match, title_score = kind(product, goal, goal_nouns)
    wanted = len(attributes) + len(options) + 1
    parts: dict[str, Any] = {
        "r_type": r_type,
        "r_att": sum(attributes) / len(attributes) if attributes else 1.0,
        "w_att": len(attributes) / wanted,
        "query_match": query_match,
        "category_match": category_match,
        "title_score": title_score,
    }
    if options:
        parts["r_option"] = sum(options) / len(options)
        parts["w_option"] = len(options) / wanted
    parts["r_price"] = in_budget
    parts["w_price"] = 1 / wanted
    # Multiplied before it is divided, some totals would differ in their last bit.
    return Score((sum(attributes) + sum(options) + in_budget) / wanted * r_type, parts)


def kind(product: Product, goal: Goal, goal_nouns: Sequence[str]) -> Kind:
    """Return whether `product` is of the kind that `goal` wants.

    A title with next to no noun in common overrides a query or a breadcrumb that agrees. The
    nouns in common are counted once each, the goal's nouns with their repeats.
    """
    query_match = product.query == goal.query
    category_match = (
        len(_breadcrumb(product.product_category) & _breadcrumb(goal.product_category)) >= 2
    )
    title_score = _TITLE_ENOUGH
    if goal_nouns:
        title_score = len(set(product.nouns) & set(goal_nouns)) / len(goal_nouns)
    r_type = 1.0
    if title_score == 0:
        r_type = 0.0
    elif title_score < _TITLE_ALIEN:
        r_type = 0.1
    elif title_score <= _TITLE_ENOUGH and not (query_match or category_match):
        r_type = 0.5
    return Kind(r_type, query_match, category_match, title_score)


def attribute_hits(product: Product, goal: Goal) -> list[bool]:
    """Return for each attribute of `goal` whether `product` has it.

    It has the ones that are like one of its attributes, and those that stand word for word in
    the lower-cased title, bullets or description.
    """
    known = [prepared(attribute) for attribute in product.attributes]
    hits = [matches_any(prepared(attribute), known) for attribute in goal.attributes]
    if all(hits):
        return hits
    texts = (product.title.lower(), " ".join(product.bullets).lower(), product.description.lower())
    return [
        hit or any(attribute in text for text in texts)
        for hit, attribute in zip(hits, goal.attributes, strict=True)
    ]


def option_hits(goal: Goal, chosen: Options, rules: Rules = "official") -> list[bool]:
    """Return for each option of `goal` whether it was chosen.

    Values are shortened to a colour that they hold and compared by likeness, whatever they
    are options of: a human goal's "large" is met by "x-large", and its "10" by "10.5".

    Under "official" an option of a synthetic goal is the text of the pair of name and value,
    not shortened unless all of it is a colour, so that some goals are missed when they are
    chosen exactly (W2). Under "fixed" an equal value under the same name always counts, and
    one that is alike has to be under the same name; so no wrong value counts that did not count
    before. Human goals are the same under both rules.

    Raises:
        BadArgument: there are no such rules.
    """
    check_rules(rules)
    wanted = goal.goal_options
    if rules == "fixed" and isinstance(wanted, Mapping):
        return [
            name in chosen
            and (
                chosen[name] == value
                or matches_any(as_wanted(name, value), [as_bought(chosen[name])])
            )
            for name, value in wanted.items()
        ]
    bought = [as_bought(value) for value in chosen.values()]
    if isinstance(wanted, Mapping):
        return [matches_any(as_wanted(*pair), bought) for pair in wanted.items()]
    return [matches_any(as_bought(value), bought) for value in wanted]


def as_bought(value: str) -> str:
    """Return the text that a chosen value, or a wanted one without a name, is compared by."""
    return prepared(color_or_text(value))


def as_wanted(name: str, value: str) -> str:
    """Return the text that an option of a synthetic goal is compared by under "official"."""
    return prepared(color_or_pair(name, value))


def _breadcrumb(text: str) -> set[str]:
    return {part.strip() for part in text.split("\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}")}
