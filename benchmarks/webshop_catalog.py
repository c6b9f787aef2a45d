"""Compiling and opening a WebShop catalog, and what of it grows with the number of products.

Two catalogs in the official format are made by a seeded generator (texts, options and
frequencies as in the real one), one with a tenth of the other's products. Each is compiled,
opened and read in a process of its own; the reference is `json.load` of the same products
file, which is how the original opens its catalog. Times are CPU seconds, so that other work on
the machine does not show.

    python benchmarks/webshop_catalog.py [--products N] [--nouns heuristic|spacy]
"""

from __future__ import annotations

import argparse
import json
import random
import string
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

MEASURE = """
import gc, json, random, resource, sys, time

def memory():
    with open("/proc/self/status") as lines:
        found = dict(line.split(":", 1) for line in lines)
    return [int(found[key].split()[0]) / 1024 for key in ("VmRSS", "RssAnon")]
"""

COMPILE = f"""{MEASURE}
import agentenvs.webshop.compile as c
phases, last, most = {{}}, [time.process_time(), ""], [0.0]
def tell(done, total, text):
    now = time.process_time()
    most[0] = max(most[0], memory()[1])
    phases[last[1]] = phases.get(last[1], 0.0) + now - last[0]
    last[:] = now, text
begun = time.process_time()
c.compile_catalog(sys.argv[1], sys.argv[2], name="generated", nouns=sys.argv[3], progress=tell)
tell(0, 0, "")
seconds = time.process_time() - begun
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({{"seconds": seconds, "phases": phases, "peak": peak, "own": most[0]}}))
"""

OPEN = f"""{MEASURE}
from agentenvs.webshop.catalog import Catalog
import agentenvs.webshop.bm25
gc.collect()
before = memory()
begun = time.process_time()
catalog = Catalog.open(sys.argv[1])
opened = time.process_time() - begun
after = memory()
rng = random.Random(1)
rows = [rng.randrange(len(catalog)) for _ in range(1000)]
begun = time.process_time()
for row in rows:
    catalog.product(row)
read = (time.process_time() - begun) / len(rows)
last = memory()
goals = catalog.goals("synthetic")
places = [rng.randrange(len(goals)) for _ in range(1000)]
begun = time.process_time()
for place in places:
    goals.goal(place)
drawn = (time.process_time() - begun) / len(places)
begun = time.process_time()
for place in places[:100]:
    catalog.top(goals.goal(place).instruction_text, 50)
searched = (time.process_time() - begun) / 100
print(json.dumps({{"open": opened, "read": read, "goal": drawn, "search": searched,
                  "goals": len(goals), "before": before, "after": after, "last": last}}))
"""

LOAD = f"""{MEASURE}
before = memory()
begun = time.process_time()
with open(sys.argv[1], encoding="utf-8") as stream:
    products = json.load(stream)
seconds = time.process_time() - begun
print(json.dumps({{"seconds": seconds, "memory": memory()[0] - before[0]}}))
"""


class Shop:
    """Makes products of texts that nobody wrote, in the official format."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        syllables = [a + b for a in "bcdfglmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er")]
        self.words = list(
            dict.fromkeys("".join(self.rng.choices(syllables, k=3)) for _ in range(60_000))
        )
        self.summed = list(accumulate(1 / (rank + 3) for rank in range(len(self.words))))
        self.queries = [" ".join(self.some(2)) for _ in range(2_000)]
        self.attributes = [" ".join(self.some(2)) for _ in range(3_000)]
        self.kinds = ("beauty", "electronics", "garden", "fashion", "grocery")

    def some(self, count: int) -> list[str]:
        """Return words, common ones more often."""
        return self.rng.choices(self.words, cum_weights=self.summed, k=count)

    def price(self) -> str:
        """Return a price tag."""
        return f"${self.rng.lognormvariate(3.3, 0.9):.2f}"

    def product(self, asin: str) -> dict[str, Any]:
        """Return a record of the products file."""
        rng, luck = self.rng, self.rng.random()
        pricing = "" if luck < 0.09 else self.price()
        if luck > 0.907:
            pricing = f"{pricing} - {self.price()}"
        return {
            "name": " ".join(self.some(18)).title(),
            "full_description": ""
            if rng.random() < 0.3
            else " ".join(self.some(int(rng.expovariate(1 / 110)) + 1)),
            "pricing": pricing,
            "images": [f"https://example.org/{asin}-{n}.jpg" for n in range(rng.randint(1, 8))],
            "product_category": " \u203a ".join(" ".join(self.some(2)).title() for _ in range(4)),
            "average_rating": round(rng.uniform(1, 5), 1),
            "small_description": [" ".join(self.some(20)) + " " for _ in range(5)],
            "customization_options": self.options() if rng.random() < 0.48 else "",
            "asin": asin,
            "category": rng.choice(self.kinds),
            "query": rng.choice(self.queries),
            "page": rng.randint(1, 413),
        }

    def options(self) -> dict[str, list[dict[str, Any]] | None]:
        """Return option values by name."""
        rng = self.rng
        kinds = (("Color", "Size"), ("Color",), ("Size",), ("Style",), ("Flavor Name",))
        names = rng.choices(kinds, (148, 123, 93, 23, 14))[0]
        return {
            name: [
                {"is_selected": False, "url": None, "value": value.title(), "image": None}
                for value in self.some(2 + min(int(rng.expovariate(1 / 3.7)), 43))
            ]
            for name in names
        }

    def record(self, query: str) -> dict[str, Any]:
        """Return a record of the attribute file."""
        rng = self.rng
        attributes = rng.sample(self.attributes, min(int(rng.expovariate(1 / 2.6)), 27))
        if len(attributes) < 2:
            return {"attributes": attributes}
        wanted = attributes[: rng.randint(2, len(attributes))]
        text = f"Find me {', '.join(wanted[:-1])} {query} with {wanted[-1]}"
        return {"attributes": attributes, "instruction": text, "instruction_attributes": wanted}


def asins(count: int, rng: random.Random) -> Iterator[str]:
    letters = string.ascii_uppercase + string.digits
    seen: set[str] = set()
    while len(seen) < count:
        asin = "B0" + "".join(rng.choices(letters, k=8))
        if asin not in seen:
            seen.add(asin)
            yield asin


def generate(folder: Path, count: int) -> Path:
    shop = Shop(count)
    products = folder / "items_shuffle.json"
    with open(products, "w") as items, open(folder / "items_ins_v2.json", "w") as attributes:
        items.write("[")
        attributes.write("{")
        for place, asin in enumerate(asins(count, random.Random(count + 1))):
            product = shop.product(asin)
            comma = ", " if place else ""
            items.write(comma + json.dumps(product))
            attributes.write(
                f"{comma}{json.dumps(asin)}: {json.dumps(shop.record(product['query']))}"
            )
        items.write("]")
        attributes.write("}")
    return products


def measure(code: str, *arguments: object) -> Any:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return json.loads(done.stdout)


def megabytes(path: Path) -> float:
    return path.stat().st_size / 1e6


def report(count: int, nouns: str) -> None:
    with tempfile.TemporaryDirectory(prefix="agentenvs-") as name:
        folder = Path(name)
        products = generate(folder, count)
        source = megabytes(products) + megabytes(folder / "items_ins_v2.json")
        compiled = folder / "catalog"
        made = measure(COMPILE, products, compiled, nouns)
        read = measure(OPEN, compiled)
        load = measure(LOAD, products)
        files = {
            path.relative_to(compiled).as_posix(): megabytes(path)
            for path in compiled.rglob("*")
            if path.is_file()
        }
    print(f"{count:,} products, {source:,.0f} MB of JSON, {read['goals']:,} synthetic goals")
    print(f"  compile ({nouns} nouns)  {made['seconds']:8.1f} s")
    print(f"    memory at its peak  {made['peak']:10,.0f} MiB, {made['own']:,.0f} of it private")
    for phase, seconds in made["phases"].items():
        if seconds > 0.005 * made["seconds"]:
            print(f"    {phase or 'the rest':22} {seconds:8.1f} s")
    print(f"  open                {1e3 * read['open']:10.1f} ms")
    for label, key in (("before", "before"), ("opened", "after"), ("1,000 products read", "last")):
        resident, own = read[key]
        print(f"  memory, {label:20} {resident:6.0f} MiB resident, {own:4.0f} of it private")
    print(f"  random product      {1e6 * read['read']:10.1f} us")
    print(f"  random goal         {1e6 * read['goal']:10.1f} us")
    print(f"  search              {1e3 * read['search']:10.2f} ms")
    print(f"  json.load           {load['seconds']:10.1f} s, {load['memory']:,.0f} MiB")
    print(f"  open vs json.load   {load['seconds'] / read['open']:10,.0f} times faster")
    print(f"  compile vs json.load {made['seconds'] / load['seconds']:9.1f} times its time")
    print(f"  disk                {sum(files.values()):10.1f} MB")
    for file, size in sorted(files.items(), key=lambda item: -item[1])[:12]:
        print(f"    {file:30} {size:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--products", type=int, default=100_000)
    parser.add_argument("--nouns", default="heuristic", choices=("heuristic", "spacy"))
    arguments = parser.parse_args()
    for count in (max(arguments.products // 10, 10), arguments.products):
        report(count, arguments.nouns)


if __name__ == "__main__":
    main()
