"""Measure the sampler at a million prompts against a dict of lists, in the same process.

Run: python benchmarks/ptgs.py [--prompts 1000000] [--batch 512]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agentenvs.harness.ptgs import PTGS


class Plain:
    """The same rule, without a promise on order or resumption."""

    def __init__(self, tau: float, gamma: float, target: float) -> None:
        self.tau, self.gamma, self.target = tau, gamma, target
        self.counts: dict[Any, list[float]] = {}
        self.rng = random.Random(0)

    def temperatures(self, ids: Sequence[Any]) -> list[float]:
        """Return a temperature for each task."""
        out = []
        for task in ids:
            s, f = self.counts.setdefault(task, [0.0, 0.0])
            p = self.rng.betavariate(2 * self.target + s, 2 * (1 - self.target) + f)
            gap = self.target - p
            out.append(self.tau ** (gap / (self.target if gap > 0 else 1 - self.target)))
        return out

    def update(self, ids: Sequence[Any], successes: Sequence[int], n: int) -> None:
        """Take in successes of groups of n."""
        for task, s in zip(ids, successes, strict=True):
            row = self.counts[task]
            row[0] = self.gamma * row[0] + s
            row[1] = self.gamma * row[1] + n - s


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def cost(
    sampler: Any, ids: Any, successes: Any, batch: int, rounds: int
) -> tuple[float, float, float]:
    """Return microseconds a prompt: the first draw, later draws, and updates."""
    parts = [slice(at, at + batch) for at in range(0, len(ids), batch)]
    drawn, told = [], []
    for _ in range(rounds):
        draw = tell = 0.0
        for part in parts:
            mine, hits = ids[part], successes[part]
            draw += seconds(lambda mine=mine: sampler.temperatures(mine))
            tell += seconds(lambda mine=mine, hits=hits: sampler.update(mine, hits, 16))
        drawn.append(1e6 * draw / len(ids))
        told.append(1e6 * tell / len(ids))
    return drawn[0], min(drawn[1:]), min(told[1:])


def held(make: Callable[[], object]) -> float:
    """Return the bytes that an object holds."""
    tracemalloc.start()
    kept = make()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=512)
    args = parser.parse_args()
    size = args.prompts
    rng = np.random.default_rng(0)
    hits = rng.binomial(16, rng.beta(0.5, 1.5, size))
    numbers = np.arange(size)
    names = [f"webshop/synthetic/{at}" for at in range(size)]

    print(f"{size:,} prompts; microseconds of CPU a prompt (first draw, later draws, update)")
    plain_hits = hits.tolist()
    plain = cost(Plain(1.5, 0.95, 0.5), names, plain_hits, args.batch, 2)
    print(f"{'dict of lists, string ids':34} {plain[0]:7.3f} {plain[1]:7.3f} {plain[2]:7.3f}")
    for kind, ids in (("integer slots", numbers), ("string ids", names)):
        for batch in (args.batch, size):
            ours = cost(PTGS(1.5, 0.95, 0.5), ids, hits, batch, 3)
            label = f"{kind}, {batch:,} at a time"
            ratio = sum(plain[1:]) / sum(ours[1:])
            print(f"{label:34} {ours[0]:7.3f} {ours[1]:7.3f} {ours[2]:7.3f}  {ratio:5.1f} x faster")

    def filled(ids: Any) -> PTGS:
        sampler = PTGS()
        sampler.update(ids, hits, 16)
        return sampler

    def listed() -> Plain:
        sampler = Plain(1.5, 0.95, 0.5)
        sampler.temperatures(names)
        sampler.update(names, plain_hits, 16)
        return sampler

    print("\nbytes a prompt")
    table = filled(numbers)._memory.table
    for label, columns in (("counts", ("success", "failure")), ("all arrays", tuple(vars(table)))):
        print(f"  {label:32} {sum(getattr(table, one).nbytes for one in columns) / size:7.1f}")
    print(f"  {'integer slots, all that is held':32} {held(lambda: filled(numbers)) / size:7.1f}")
    print(f"  {'string ids, without the strings':32} {held(lambda: filled(names)) / size:7.1f}")
    print(f"  {'dict of lists, the same':32} {held(listed) / size:7.1f}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
