"""Speed of a WebShop purchase: microseconds for the whole reward and for its two fuzzy halves.

Run `python benchmarks/webshop_reward.py [--purchases N]`. Goals and products are drawn from a
seeded generator with as many words, attributes and options as real ones have. Each number
stands beside a floor measured in the same run: the same comparisons, with the token set ratio
written in plain Python on `difflib`.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from agentenvs.webshop.records import Goal, Options, Product
from agentenvs.webshop.reward import as_bought, as_wanted, attribute_hits, option_hits, score

ROUNDS = 5
WORDS = [
    first + middle + last
    for first in ("mer", "tol", "sa", "quin", "bro", "fle", "du", "wix")
    for middle in ("a", "i", "an", "er", "ol")
    for last in ("den", "t", "sk", "ner", "mo", "ble")
]
COLORS = ("black", "navy blue", "rose gold", "dark green", "white7", "army print", "a-red")
SIZES = ("small", "large", "x-large", "10", "10.5", "4 ounce (pack of 2)")


class Purchase(NamedTuple):
    """What `score` takes."""

    product: Product
    goal: Goal
    chosen: Options
    price: float
    goal_nouns: tuple[str, ...]


def product(rng: random.Random, number: int) -> Product:
    """Make a product about as long as a real one."""

    def text(words: int) -> str:
        return " ".join(rng.choices(WORDS, k=words))

    title = text(18)
    return Product(
        asin=f"B{number:09}",
        title=title,
        description=text(120),
        bullets=tuple(text(25) for _ in range(5)),
        prices=(20.0,),
        price_tag="$20.0",
        options={"color": COLORS, "size": SIZES},
        attributes=tuple(text(2) for _ in range(rng.randint(2, 10))),
        category="garden",
        query=rng.choice(WORDS),
        product_category=" \u203a ".join(rng.choices(WORDS[:20], k=4)),
        image="",
        nouns=tuple(title.split()[::2]),
    )


def purchases(count: int, right: bool) -> list[Purchase]:
    """Return purchases of what was wanted, or of something else."""
    rng = random.Random(0)
    made = []
    for number in range(count):
        wanted = product(rng, number)
        options = {name: rng.choice(values) for name, values in wanted.options.items()}
        goal = Goal(
            asin=wanted.asin,
            category=wanted.category,
            query=wanted.query,
            name=wanted.title,
            product_category=wanted.product_category,
            instruction_text="",
            attributes=wanted.attributes[: rng.randint(2, 5)],
            price_upper=30.0,
            goal_options=options,
        )
        bought = wanted if right else product(rng, number + count)
        made.append(Purchase(bought, goal, options, 20.0, wanted.nouns))
    return made


def plain_likeness(one: str, other: str) -> int:
    """Return the token set ratio of two texts by `difflib`."""
    first, second = set(one.split()), set(other.split())
    if not first or not second:
        return 0
    both = " ".join(sorted(first & second))
    left = f"{both} {' '.join(sorted(first - second))}".strip()
    right = f"{both} {' '.join(sorted(second - first))}".strip()
    pairs = ((both, left), (both, right), (left, right))
    return round(100 * max(SequenceMatcher(None, *pair).ratio() for pair in pairs))


def plain_attributes(bought: Product, goal: Goal) -> list[bool]:
    """Find attributes as `attribute_hits` does, by `plain_likeness`."""
    texts = [bought.title.lower(), " ".join(bought.bullets).lower(), bought.description.lower()]
    return [
        any(plain_likeness(wanted, known) > 85 for known in bought.attributes)
        or any(wanted in text for text in texts)
        for wanted in goal.attributes
    ]


def plain_options(goal: Goal, chosen: Options) -> list[bool]:
    """Find options as `option_hits` does, by `plain_likeness`."""
    bought = [as_bought(value) for value in chosen.values()]
    return [
        any(plain_likeness(as_wanted(name, value), known) > 85 for known in bought)
        for name, value in dict(goal.goal_options).items()
    ]


def micros(work: Callable[[Purchase], object], made: Sequence[Purchase]) -> float:
    """Return microseconds of CPU per purchase, the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.process_time()
        for purchase in made:
            work(purchase)
        best = min(best, time.process_time() - begun)
    return best / len(made) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--purchases", type=int, default=1_000)
    count = parser.parse_args().purchases
    print(f"{'':26}{'us':>8}{'floor us':>10}{'ratio':>8}")
    for name, right in (("right", True), ("wrong", False)):
        made = purchases(count, right)
        agree = sum(
            attribute_hits(one.product, one.goal) == plain_attributes(one.product, one.goal)
            and option_hits(one.goal, one.chosen) == plain_options(one.goal, one.chosen)
            for one in made
        )
        attributes = micros(lambda one: attribute_hits(one.product, one.goal), made)
        options = micros(lambda one: option_hits(one.goal, one.chosen), made)
        floor_attributes = micros(lambda one: plain_attributes(one.product, one.goal), made)
        floor_options = micros(lambda one: plain_options(one.goal, one.chosen), made)
        whole = micros(lambda one: score(*one), made)
        floor = floor_attributes + floor_options
        for what, ours, plain in (
            ("attributes", attributes, floor_attributes),
            ("options", options, floor_options),
            ("whole purchase", whole, floor),
        ):
            print(f"{name + ' item, ' + what:26}{ours:8.1f}{plain:10.1f}{plain / ours:8.1f}")
        print(f"{name + ' item, floor agrees on':26}{agree / len(made):8.1%}")


if __name__ == "__main__":
    main()
