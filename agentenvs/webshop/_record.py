"""How a compiled catalog writes a product and its goals' instructions down."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

from agentenvs.errors import SourceError
from agentenvs.webshop.goals import HumanWish, SyntheticWish, Wishes
from agentenvs.webshop.records import Product

__all__ = ["Card", "card", "card_of", "encode", "entry_of"]

#: asin, title and price tag
Card = tuple[str, str, str]
_MAX_RECORD = 64 << 20


def encode(product: Product, wishes: Wishes) -> bytes:
    """Return the bytes that `entry_of` reads."""
    values = [
        product.asin,
        product.title,
        product.description,
        product.bullets,
        product.prices,
        product.price_tag,
        list(product.options.items()),
        product.attributes,
        product.category,
        product.query,
        product.product_category,
        product.image,
        product.nouns,
        wishes.synthetic,
        wishes.human,
    ]
    return zlib.compress(_plain(values))


def entry_of(data: bytes) -> tuple[Product, Wishes]:
    """Return the product and the instructions that `encode` wrote.

    Raises:
        SourceError: the bytes are none of its.
    """
    try:
        decoder = zlib.decompressobj()
        values = json.loads(decoder.decompress(data, _MAX_RECORD))
        (asin, title, description, bullets, prices, tag, options, attributes) = values[:8]
        (category, query, breadcrumb, image, nouns, synthetic, human) = values[8:]
        product = Product(
            asin=asin,
            title=title,
            description=description,
            bullets=tuple(bullets),
            prices=tuple(prices),
            price_tag=tag,
            options={name: tuple(choices) for name, choices in options},
            attributes=tuple(attributes),
            category=category,
            query=query,
            product_category=breadcrumb,
            image=image,
            nouns=tuple(nouns),
        )
        wishes = Wishes(
            synthetic and SyntheticWish(synthetic[0], tuple(synthetic[1])),
            tuple(HumanWish(text, tuple(wanted), tuple(chosen)) for text, wanted, chosen in human),
        )
    except (zlib.error, ValueError, TypeError) as error:
        raise SourceError(f"A record of the catalog is damaged: {error}") from error
    return product, wishes


def card(product: Product) -> bytes:
    """Return the bytes that `card_of` reads."""
    return _plain([product.asin, product.title, product.price_tag])


def card_of(data: bytes) -> Card:
    """Return the asin, title and price tag that `card` wrote.

    Raises:
        SourceError: the bytes are none of its.
    """
    try:
        asin, title, tag = json.loads(data)
    except (ValueError, TypeError) as error:
        raise SourceError(f"A record of the catalog is damaged: {error}") from error
    return asin, title, tag


def _plain(values: Sequence[object]) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
