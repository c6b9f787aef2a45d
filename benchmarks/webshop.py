"""Steps per CPU-second in the shop, searches and purchases included.

A seeded clicker plays first, and its actions are noted: it searches with words of titles and
instructions, clicks what the page offers, and buys in the end. Then the same actions are
timed, each observation mode on a catalog that was opened afresh, so that no search or page is
in a cache at first. Resets are timed with the steps.

The reference is how the original makes its text: each page rendered as HTML and parsed back
for its texts, here with templates that are compiled once and the parser of the standard
library. The original itself is documented at about 50 steps per CPU-second in text mode.

    AGENTENVS_DATA=DIR python benchmarks/webshop.py [--steps N] [--catalog NAME_OR_FOLDER]
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import time
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import gymnasium

import agentenvs  # noqa: F401 - registers the environment
from agentenvs.webshop import Catalog, open_catalog

ORIGINAL = 50
AIM = 20_000

Episode = tuple[str, list[str]]


class Texts(HTMLParser):
    """The texts of a page, as far as they show."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Leave out what does not show."""
        self.hidden += tag in ("style", "script", "title")

    def handle_endtag(self, tag: str) -> None:
        """Come back to what shows."""
        self.hidden -= tag in ("style", "script", "title")

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if not self.hidden and (text := data.strip()):
            self.texts.append(text)


def make(catalog: Catalog, observation: str) -> gymnasium.Env[str, str]:
    """Return the environment as a user makes it."""
    made: gymnasium.Env[str, str] = gymnasium.make(
        "agentenvs/WebShop-v0",
        catalog=catalog,
        tasks="synthetic",
        observation=observation,
        disable_env_checker=True,
    )
    return made


def played(catalog: Catalog, steps: int, seed: int) -> list[Episode]:
    """Play about so many steps and return what was done."""
    rng = random.Random(seed)
    env = make(catalog, "text")
    ids = env.unwrapped.task_ids  # type: ignore[attr-defined]
    episodes: list[Episode] = []
    left = steps
    while left > 0:
        task = ids[rng.randrange(len(ids))]
        observation, info = env.reset(options={"task": task})
        told = observation.split(" [SEP] ")[2]
        actions: list[str] = []
        over = False
        while not over:
            action = choose(rng, catalog, told, info["available"], len(actions))
            actions.append(action)
            _, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        episodes.append((task, actions))
        left -= len(actions)
    return episodes


def choose(
    rng: random.Random, catalog: Catalog, told: str, available: dict[str, Any], done: int
) -> str:
    """Return an action of the clicker."""
    if available["has_search_bar"]:
        if rng.random() < 0.3:
            return f"search[{told}]"
        words = catalog.card(rng.randrange(len(catalog)))[1].replace("[", " ").split()
        return f"search[{' '.join(rng.sample(words, min(len(words), rng.randint(1, 8)))) or 'a'}]"
    offered = available["clickables"]
    if "buy now" in offered and done > 8 and rng.random() < 0.3:
        return "click[buy now]"
    return f"click[{rng.choice([label for label in offered if label != 'buy now'])}]"


def seconds(catalog: Catalog, observation: str, episodes: list[Episode], parse: bool) -> float:
    """Return the CPU seconds that the episodes take."""
    env = make(catalog, observation)
    gc.collect()
    begun = time.process_time()
    for task, actions in episodes:
        page, _ = env.reset(options={"task": task})
        for action in actions:
            if parse:
                reader = Texts()
                reader.feed(page)
            page, _, _, _, _ = env.step(action)
    return time.process_time() - begun


def main() -> None:
    """Print steps per CPU-second of every observation mode and its ratio to the reference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--catalog", help="default: webshop/ under AGENTENVS_DATA, else mini")
    args = parser.parse_args()
    data = os.environ.get("AGENTENVS_DATA")
    named = args.catalog or (str(Path(data) / "webshop") if data else "mini")
    catalog = open_catalog(named)
    episodes = played(catalog, args.steps, args.seed)
    steps = sum(len(actions) for _, actions in episodes)
    kinds = Counter(
        "buy" if action == "click[buy now]" else action.partition("[")[0]
        for _, actions in episodes
        for action in actions
    )
    shares = ", ".join(f"{kind} {count / steps:.0%}" for kind, count in kinds.most_common())
    print(f"{catalog!r}: {steps:,} steps in {len(episodes):,} episodes ({shares})")
    sample = episodes[: max(1, len(episodes) // 20)]
    parsed = sum(len(actions) for _, actions in sample)
    rates: dict[str, list[float]] = {}
    for _ in range(args.rounds):
        # Rounds alternate, so that whatever else the machine does strikes all alike.
        for mode in ("text", "text_rich", "url"):
            fresh = Catalog.open(catalog.folder)
            rates.setdefault(mode, []).append(steps / seconds(fresh, mode, episodes, False))
            rates.setdefault(f"{mode}, again", []).append(
                steps / seconds(fresh, mode, episodes, False)
            )
        fresh = Catalog.open(catalog.folder)
        rates.setdefault("html parsed back", []).append(
            parsed / seconds(fresh, "html", sample, True)
        )
    reference = sorted(rates["html parsed back"])[args.rounds // 2]
    print(f"{'steps per CPU-second':<22}{'median':>10}{'worst':>10}{'x reference':>13}{'x 50':>8}")
    for mode, found in rates.items():
        middle = sorted(found)[len(found) // 2]
        print(
            f"{mode:<22}{middle:>10,.0f}{min(found):>10,.0f}"
            f"{middle / reference:>13.1f}{middle / ORIGINAL:>8.0f}"
        )
    text = sorted(rates["text"])[args.rounds // 2]
    print(f"aim of {AIM:,} in text mode: {'met' if text >= AIM else 'missed'}")


if __name__ == "__main__":
    main()
