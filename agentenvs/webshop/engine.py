"""What a search finds: plain BM25, and the five modes behind the shop's search bar."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import numpy as np

from agentenvs.core import Rules
from agentenvs.errors import BadArgument
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.locate import open_catalog

__all__ = ["DEPTH", "MODES", "hits", "search"]

#: how many hits a search has at most, and how many products `<r>` draws
DEPTH = 50
#: first keywords that choose a mode of the search bar, see `hits`
MODES = ("<r>", "<a>", "<c>", "<q>")


def search(catalog: str | PathLike[str] | Catalog, query: str, k: int = DEPTH) -> list[str]:
    """Return the asins of the best `k` products for a query, best first.

    Scores are those of Lucene's BM25; equal ones are in the order of asins. Nothing in the
    query is special: see `hits` for the modes of the search bar.

    Args:
        catalog: one that is open, the name of a known one, a compiled folder, or official
            files (compiled on first use).
        query: any text, in any case.
        k: how many at most.

    Raises:
        BadArgument: an argument of the wrong kind.
        SourceMissing: there is no such catalog.

    Example:
        >>> from agentenvs.webshop import search
        >>> len(search("mini", "a warm blanket", k=3))
        3
    """
    if not isinstance(query, str):
        raise BadArgument(f"Expected `query` to be a str, got {type(query)}.")
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise BadArgument(f"Expected `k` to be a whole number of at least 0, got {k!r:.80}.")
    found = open_catalog(catalog)
    return [found.asin(row) for row in found.top(query.lower(), k)]


def hits(
    catalog: Catalog, keywords: Sequence[str], rules: Rules, rng: np.random.Generator
) -> list[int] | None:
    """Return the rows of the products that the search bar finds, in the order shown.

    The first keyword may choose a mode; the original's lists are not cut but for BM25's:

    - `<r>`: 50 products drawn at random, at every page that is shown. With fewer in the
      catalog the original raises; under "fixed" there are then as many as it has.
    - `<a> ATTRIBUTE`: the products with that attribute. The original's text environment
      raises; under "fixed" the rest of the keywords is the attribute, as on its site.
    - `<c> CATEGORY`: the products of that category, by the next keyword alone; without one
      the original raises. Under "fixed" the rest of the keywords is the category.
    - `<q> QUERY`: the products whose query equals the rest.
    - anything else: the best 50 by BM25 for all keywords.

    Args:
        catalog: where to look.
        keywords: the lower-cased query, split at single spaces.
        rules: "official" or "fixed".
        rng: draws the products of `<r>`.

    Returns:
        Rows of `catalog`, or None where the original raises (quirk W7).
    """
    mode, rest = (keywords[0] if keywords else ""), keywords[1:]
    text = " ".join(rest)
    official = rules == "official"
    if mode == "<r>":
        if official and len(catalog) < DEPTH:
            return None
        drawn = rng.choice(len(catalog), min(DEPTH, len(catalog)), replace=False)
        return [int(row) for row in drawn]
    if mode == "<a>":
        return None if official else catalog.with_attribute(text)
    if mode == "<c>":
        if official:
            return catalog.in_category(rest[0]) if rest else None
        return catalog.in_category(text)
    if mode == "<q>":
        return catalog.with_query(text)
    return catalog.top(" ".join(keywords), DEPTH)
