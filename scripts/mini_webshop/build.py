"""Make the whole shop: every product, with the shares that official catalogs have."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from draw import drawn_items
from shapes import Item
from stock import SEED, placed_items, trait

__all__ = ["SHARES", "goal_count", "shop"]

#: share of products of which each holds
SHARES = {
    "no price": 0.089,
    "price range": 0.093,
    "no description": 0.30,
    "bullets in one string": 0.016,
    "option names without values": 0.054,
    "one more name without values": 0.05,
    "root of the breadcrumb alone": 0.02,
    "instruction": 0.415,
}

#: how many attributes products list, and their shares
_COUNTS = {0: 0.185, 1: 0.19, 2: 0.19, 3: 0.13, 4: 0.12, 5: 0.08, 6: 0.06, 7: 0.045}

#: how many attributes instructions ask for, where the product has as many
_ASKED = {2: 0.43, 3: 0.27, 4: 0.17, 5: 0.13}

#: no product makes more goals than this
_MOST_GOALS = 300


def shop() -> list[Item]:
    """Return all products in the catalog's order."""
    drawn, placed = drawn_items(), placed_items()
    rng = random.Random(f"{SEED}/shop")
    _deal(drawn, "no price", _drop_price, rng, lambda item: not item.options)
    _deal(drawn, "price range", _widen_price, rng, _has_values)
    _deal(drawn, "no description", _drop_description, rng)
    _deal(drawn, "bullets in one string", _join_bullets, rng)
    _deal(drawn, "option names without values", _name_option, rng, lambda item: not item.options)
    _deal(drawn, "one more name without values", _name_another, rng, _has_values)
    _deal(drawn, "root of the breadcrumb alone", _cut_crumb, rng)
    for item in drawn:
        item.truths = tuple(truth for truth in item.truths if _stated(item, truth))
    _list_attributes(drawn, rng)
    _ask(drawn, rng)
    items = drawn + placed
    rng.shuffle(items)
    if len({item.asin for item in items}) < len(items):
        raise ValueError("two products have the same asin")
    return items


def _has_values(item: Item) -> bool:
    return any(item.options.values())


def goal_count(item: Item) -> int:
    """Return how many synthetic goals a product with an instruction makes."""
    count = 1
    for values in item.options.values():
        count *= len(values) if values else 1
    return count


def _deal(
    items: Sequence[Item],
    what: str,
    change: Callable[[Item, random.Random], None],
    rng: random.Random,
    fits: Callable[[Item], bool] = lambda item: True,
) -> None:
    for item in rng.sample(
        [item for item in items if fits(item)], round(SHARES[what] * len(items))
    ):
        change(item, rng)


def _drop_price(item: Item, rng: random.Random) -> None:
    item.pricing = ""


def _widen_price(item: Item, rng: random.Random) -> None:
    low = float(item.pricing.strip("$"))
    high = int(low * rng.uniform(1.2, 2.0)) + rng.choice((0.99, 0.95, 0.49))
    item.pricing = f"${low:.2f} - ${high:.2f}"


def _drop_description(item: Item, rng: random.Random) -> None:
    item.description = ""


def _join_bullets(item: Item, rng: random.Random) -> None:
    item.bullets = "".join(item.bullets)


def _name_option(item: Item, rng: random.Random) -> None:
    names = ("Flavor Name", "Size") if item.category == "grocery" else ("Color", "Size", "Style")
    item.options = {rng.choice(names): None}


def _name_another(item: Item, rng: random.Random) -> None:
    name = next(name for name in ("Style", "Pattern Name") if name not in item.options)
    item.options = {**item.options, name: None}


def _cut_crumb(item: Item, rng: random.Random) -> None:
    item.crumb = item.crumb[:1]


def _stated(item: Item, truth: str) -> bool:
    told = trait(truth, item.category)
    text = item.description + "".join(item.bullets)
    bodies = [line.split(": ", 1)[1] for line in told.lines]
    return any(phrase in item.name for phrase in told.phrases) or any(
        body[1:] in text for body in bodies
    )


def _list_attributes(items: Sequence[Item], rng: random.Random) -> None:
    counts = [
        number for number, share in _COUNTS.items() for _ in range(int(share * len(items) + 0.5))
    ]
    counts = (counts + [2] * len(items))[: len(items)]
    rng.shuffle(counts)
    by_truths = sorted(range(len(items)), key=lambda n: (len(items[n].truths), n), reverse=True)
    high = iter(sorted((c for c in counts if c >= 5), reverse=True))
    low = iter([c for c in counts if c < 5])
    rich = by_truths[: sum(c >= 5 for c in counts)]
    for n in rich + sorted(by_truths[len(rich) :]):
        item = items[n]
        count = min(next(high if n in set(rich) else low), len(item.truths))
        item.attributes = tuple(rng.sample(item.truths, count))


def _ask(items: Sequence[Item], rng: random.Random) -> None:
    able = [i for i in items if len(i.attributes) >= 2 and goal_count(i) <= _MOST_GOALS]
    for item in rng.sample(able, round(SHARES["instruction"] * len(items))):
        asked = rng.choices(list(_ASKED), weights=list(_ASKED.values()))[0]
        item.wanted = tuple(rng.sample(item.attributes, min(asked, len(item.attributes))))
