"""Searching a catalog: milliseconds a query, against BM25 in plain Python on the same terms.

Two collections: the 1,000 products of `AGENTENVS_DATA` (left out where that is unset), and
generated documents with the lengths and the word frequencies of product texts. Rounds
alternate between the two sides and the best of each counts; both must give the same order.
All times are CPU times of this process.

    python benchmarks/webshop_search.py [--documents N] [--rounds N]
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import nsmallest
from pathlib import Path
from typing import Any

import numpy as np

from agentenvs.webshop.bm25 import Index
from agentenvs.webshop.official import OfficialFiles, read_products
from agentenvs.webshop.postings import contents, quantized, write_index
from agentenvs.webshop.records import Product
from agentenvs.webshop.tokens import Memo, tokenize

SYLLABLES = ["ba", "ke", "mo", "tu", "ri", "sa", "lo", "ve", "ni", "da", "pe", "gu"]


class Floor:
    """BM25 as one writes it in a few lines: dictionaries, and a heap at the end."""

    def __init__(self, docs: Iterable[tuple[str, str]]) -> None:
        self.postings: dict[str, list[tuple[int, int]]] = {}
        self.memo = Memo(1 << 20)
        lengths = []
        for number, (_, text) in enumerate(docs):
            terms = tokenize(text, self.memo)
            lengths.append(len(terms))
            for term, count in Counter(terms).items():
                self.postings.setdefault(term, []).append((number, count))
        self.size = len(lengths)
        average = sum(lengths) / self.size
        self.norms = [0.9 * (0.6 + 0.4 * quantized(length) / average) for length in lengths]

    def top(self, query: str, k: int) -> list[int]:
        """Return the best `k` documents, as `Index.top` does."""
        scores: dict[int, float] = {}
        for term, times in Counter(tokenize(query, self.memo)).items():
            found = self.postings.get(term, [])
            idf = math.log(1 + (self.size - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found:
                score = times * idf * count / (count + self.norms[number])
                scores[number] = scores.get(number, 0.0) + score
        return nsmallest(k, scores, key=lambda number: (-scores[number], number))


def word(number: int) -> str:
    made = ""
    number += 1
    while number:
        number, digit = divmod(number, len(SYLLABLES))
        made += SYLLABLES[digit]
    return made


def generated(size: int) -> tuple[Callable[[], Iterator[tuple[str, str]]], list[str]]:
    """Return a maker of `size` documents, about 108 terms each, and queries of ten terms."""
    vocabulary = np.array([word(number) for number in range(int(30 * size**0.75))], dtype=object)
    odds = np.cumsum(1 / (np.arange(len(vocabulary)) + 5.0) ** 1.05)

    def words(rng: np.random.Generator, count: int) -> str:
        return " ".join(vocabulary[np.searchsorted(odds, rng.random(count) * odds[-1])])

    def docs() -> Iterator[tuple[str, str]]:
        rng = np.random.default_rng(0)
        for number in range(size):
            yield f"{number:010d}", words(rng, max(5, int(rng.gamma(2.0, 54.0))))

    rng = np.random.default_rng(1)
    return docs, [words(rng, 10) for _ in range(50)]


def real() -> tuple[Callable[[], Iterator[tuple[str, str]]], list[str]] | None:
    """Return the products of the official files, and their titles' first words as queries."""
    base = os.environ.get("AGENTENVS_DATA")
    if not base:
        return None
    read = read_products(OfficialFiles.find(Path(base) / "webshop" / "items_shuffle_1000.json"))
    products = sorted(
        (item for item in read if isinstance(item, Product)), key=lambda item: item.asin
    )
    queries = [
        f"i am looking for {' '.join(item.title.split()[:8])}, and price lower than 40.00 dollars"
        for item in products[::4]
    ]
    return lambda: ((item.asin, contents(item)) for item in products), queries


def seconds(act: Callable[[], Any]) -> float:
    gc.collect()
    begun = time.process_time()
    act()
    return time.process_time() - begun


def compare(
    name: str, docs: Callable[[], Iterator[tuple[str, str]]], queries: list[str], rounds: int
) -> None:
    reading = seconds(lambda: sum(len(text) for _, text in docs()))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        made: dict[str, Any] = {}
        building = seconds(lambda: made.update(write_index(place, docs()))) - reading
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = sum(path.stat().st_size for path in place.iterdir())
        opening = min(seconds(lambda: Index.open(place, made)) for _ in range(5))
        index, floor = Index.open(place, made), Floor(docs())
        cold = seconds(lambda: [index.top(query, 50) for query in queries])
        agreed = 0
        for query in queries:
            ours, theirs = index.top(query, 50), floor.top(query, 50)
            # Single precision rounds together what double precision still tells apart.
            assert len(set(ours) & set(theirs)) >= len(theirs) - 2, query
            agreed += ours == theirs
        sides = {"ours": index.top, "floor": floor.top}
        best = dict.fromkeys(sides, math.inf)
        for _ in range(rounds):
            for side, top in sides.items():
                spent = seconds(lambda top=top: [top(query, 50) for query in queries])
                best[side] = min(best[side], spent)
    each = {side: spent / len(queries) * 1000 for side, spent in best.items()}
    print(f"{name}: {made['documents']:,} documents, {made['postings']:,} postings")
    print(
        f"  build {building:.2f} s ({made['tokens'] / building / 1e6:.2f} M terms/s), process "
        f"peak {peak:.0f} MB, on disk {size / 1e6:.1f} MB, open {opening * 1000:.2f} ms"
    )
    print(
        f"  query {each['ours']:.4f} ms (first time {cold / len(queries) * 1000:.4f}), "
        f"plain Python {each['floor']:.3f} ms, ratio {each['floor'] / each['ours']:.0f}; "
        f"same order {agreed} of {len(queries)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000, help="generated documents")
    parser.add_argument("--rounds", type=int, default=5, help="rounds a side, the best counts")
    options = parser.parse_args()
    products = real()
    if products is None:
        print("AGENTENVS_DATA is unset: no real products")
    else:
        compare("products", *products, options.rounds)
    compare("generated", *generated(options.documents), options.rounds)


if __name__ == "__main__":
    main()
