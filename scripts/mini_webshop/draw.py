"""Draw the products of a leaf, each from a generator of its own: leaves move no others."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from shapes import Item, Leaf
from stock import ROOTS, SEED, asin_of, leaves, pools, trait

__all__ = ["drawn_items"]

#: attributes and option names that cannot both be true
_CLASHES = (
    {"long sleeve", "short sleeve"},
    {"slim fit", "loose fit"},
    {"machine wash", "hand wash"},
    {"zipper closure", "button closure"},
    {"natural bristles", "synthetic bristles"},
    {"oily hair", "damaged hair"},
    {"battery powered", "plug play"},
    {"living room", "guest bedroom"},
    {"raw honey", "plant based"},
    {"raw honey", "low sugar"},
    {"raw honey", "keto friendly"},
    {"dark cocoa", "caffeine free"},
    {"fragrance free", "Scent"},
    {"travel size", "Size"},
    {"natural jute", "super soft"},
    {"natural jute", "machine wash"},
    {"solid wood", "light weight"},
)


def drawn_items() -> list[Item]:
    """Return the drawn products of every leaf, in the order of the leaves."""
    items = []
    for category in ROOTS:
        for leaf in leaves(category):
            before = ""
            for number in range(leaf.count):
                item, before = _draw(category, leaf, number, before)
                items.append(item)
    return items


def _draw(category: str, leaf: Leaf, number: int, before: str) -> tuple[Item, str]:
    rng = random.Random(f"{SEED}/{leaf.query}/{number}")
    brand = before if before and rng.random() < 0.2 else rng.choice(pools("brands")[category])
    facts = {key: rng.choice(texts) for key, texts in leaf.facts.items()}
    options = _options(leaf, rng)
    truths = _truths(leaf, number, options, rng)
    name = leaf.names[(number + len(leaf.query)) % len(leaf.names)].format_map(facts)
    item = Item(
        asin=asin_of(f"{SEED}/{leaf.query}/{number}"),
        category=category,
        query=leaf.query,
        crumb=(ROOTS[category], *leaf.crumb.split(" > ")),
        name="",
        bullets=[],
        description="",
        pricing=_price(leaf.price, rng),
        options=options,
        truths=tuple(truths),
    )
    bullets = [line.format_map(facts) for line in leaf.lines]
    bullets += [rng.choice(trait(truth, category).lines) for truth in truths]
    rng.shuffle(bullets)
    item.name = _title(brand, name, item, rng)
    item.description = _description(brand, leaf, facts, bullets, rng)
    item.bullets = _styled(bullets, rng)
    return item, brand


def _options(leaf: Leaf, rng: random.Random) -> dict[str, list[str] | None]:
    if not leaf.options or rng.random() >= leaf.share:
        return {}
    options: dict[str, list[str] | None] = {}
    for name, pool in _pairs(rng.choice(leaf.options)):
        ordered = pool in pools("ordered")
        values = pools("ordered" if ordered else "drawn")[pool]
        count = min(len(values), rng.choice((3, 4, 5, 5, 6, 6, 7, 7, 8, 11)))
        if ordered:
            start = rng.randrange(len(values) - count + 1)
            drawn = list(values[start : start + count])
        else:
            drawn = rng.sample(values, count)
            if pool in ("cloth", "sport", "gadget") and rng.random() < 0.06:
                code = rng.randrange(1000, 9999)
                drawn = [f"{value}{code}" for value in drawn]
            elif pool in ("cloth", "shoe", "print") and rng.random() < 0.08:
                drawn = [f"{rng.choice('ABZ')}{n}-{value}" for n, value in enumerate(drawn, 1)]
        options[name] = drawn
    return options


def _pairs(text: str) -> list[tuple[str, str]]:
    """Read "Color:cloth Fit Type:fit Size:women shoe" as names and pools."""
    known = (*pools("ordered"), *pools("drawn"))
    pairs: list[tuple[str, str]] = []
    rest = text
    while ":" in rest:
        name, rest = rest.split(":", 1)
        pool = max((p for p in known if rest == p or rest.startswith(p + " ")), key=len)
        pairs.append((name.strip(), pool))
        rest = rest[len(pool) :]
    return pairs


def _truths(
    leaf: Leaf, number: int, options: Mapping[str, object], rng: random.Random
) -> list[str]:
    truths = [leaf.one[(number + rng.randrange(2)) % len(leaf.one)]]
    others = list(leaf.traits)
    rng.shuffle(others)
    wanted = rng.choice((3, 3, 4, 4, 5, 5, 6, 7))
    for other in others[:wanted]:
        taken = {*truths, *options}
        if other not in taken and not any(
            other in clash and clash & (taken - {other}) for clash in _CLASHES
        ):
            truths.append(other)
    return truths


def _price(bounds: tuple[float, float], rng: random.Random) -> str:
    low, high = bounds
    dollars = int(low * (high / low) ** rng.betavariate(1.6, 2.2))
    return f"${dollars}.{rng.choice(('99', '99', '99', '95', '49', '89', '00', '79'))}"


def _title(brand: str, name: str, item: Item, rng: random.Random) -> str:
    said = list(item.truths[: rng.choice((1, 1, 2, 2, 3, 4))])
    rng.shuffle(said)
    phrases: dict[str, list[str]] = {"is": [], "with": [], "for": []}
    for attribute in said:
        told = trait(attribute, item.category)
        phrases[told.place].append(rng.choice(told.phrases))
    shape = rng.randrange(4)
    uses = " and ".join(phrases["for"])
    if shape == 0:
        title = ", ".join([f"{brand} {name}", *phrases["is"], *phrases["with"]])
        title += f" for {uses}" if uses else ""
    elif shape == 1:
        first, *more = phrases["with"] or [""]
        title = " ".join(part for part in (brand, first, name) if part)
        title += f" for {uses}" if uses else ""
        title = ", ".join([title, *phrases["is"], *more])
    elif shape == 2:
        parts = [*phrases["is"], *phrases["with"], *([f"for {uses}"] if uses else [])]
        title = f"{brand} {name} - " + ", ".join(parts)
    else:
        title = " | ".join([f"{brand} {name}", *phrases["with"], *phrases["is"]])
        title += f" | {uses}" if uses else ""
    for extra in rng.sample(pools("extras")[item.category], rng.choice((0, 1, 2, 2, 3))):
        title += f", {extra}"
    shown = [value for option, value in _shown_first(item).items() if rng.random() < 0.6]
    if shown:
        joined = ", ".join(shown)
        title += rng.choice((f" ({joined})", f", {joined}", f" - {joined}"))
    return title


def _description(
    brand: str, leaf: Leaf, facts: Mapping[str, str], bullets: Sequence[str], rng: random.Random
) -> str:
    sentences = [line.format_map(facts) for line in leaf.about]
    told = rng.sample(bullets, min(len(bullets), rng.randrange(3, 8)))
    for line in told:
        _, body = line.split(": ", 1)
        sentences.append(body[0].upper() + body[1:])
    ends = (
        f"In the box: {leaf.box.format_map(facts)}.",
        "Colors may look a little different on your screen.",
        f"Questions? {brand} answers within a day.",
        "Not happy? Send it back within 60 days, no reasons asked.",
        f"{brand} is a small company, and every order counts.",
    )
    sentences += rng.sample(ends, rng.randrange(1, 4))
    return rng.choice((" ", " ", "\n")).join(sentences)


def _styled(bullets: Sequence[str], rng: random.Random) -> list[str]:
    style = rng.randrange(5)
    styled = []
    for line in bullets[: rng.choice((1, 3, 4, 5, 5, 5, 5, 6, 7))]:
        head, body = line.split(": ", 1)
        body = body[0].upper() + body[1:]
        styled.append(
            (
                f"{head}: {body} ",
                f"{head.upper()} - {body} ",
                f"【{head}】{body} ",
                f"{body} ",
                f"✔ {head.title()}: {body} ",
            )[style]
        )
    return styled


def _shown_first(item: Item) -> dict[str, str]:
    return {name: values[0] for name, values in item.options.items() if values}
