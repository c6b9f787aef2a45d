"""What Ray brings where rollouts cost CPU, and what it takes to begin.

Plays the same rollouts in this process and over a local Ray cluster with a worker a core: the
bundled BFCL tasks with scripted calls, where environments are all the work, and again with a
policy that computes for a while before each reply. Rates count from the first rollout's end to
the last one's; the time up to the first is told apart.

    python benchmarks/ray_engine.py [--workers 2]
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

from agentenvs.harness import Completion, Outcomes, Request, run
from agentenvs.harness.policies import ScriptedPolicy
from agentenvs.harness.progress import Progress


class Busy(ScriptedPolicy):
    """Computes before each reply."""

    work = 30_000

    async def generate(self, request: Request) -> Completion:
        """Return the scripted reply, later."""
        sum(index * index for index in range(self.work))
        return await super().generate(request)


class Clock:
    """Notes when the first and the last rollout ended."""

    def __init__(self) -> None:
        self.began = self.last = time.perf_counter()
        self.first = 0.0
        self.count = 0

    def __call__(self, progress: Progress) -> None:
        """Take note of an end."""
        self.last = time.perf_counter()
        self.first = self.first or self.last
        self.count += 1

    @property
    def rate(self) -> float:
        """Rollouts a second after the first."""
        return (self.count - 1) / (self.last - self.first)


def bare(outcomes: Outcomes) -> list[Any]:
    rows = ({**row, "wall_s": 0} for row in outcomes)
    return sorted(rows, key=lambda row: (row["task_id"], row["rollout"]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    workers = parser.parse_args().workers
    engines: dict[str, dict[str, Any]] = {
        "local": {},
        "ray": {"engine": "ray", "engine_kwargs": {"workers": workers, "address": "local"}},
    }
    for told, policy, n in (
        ("environments alone", ScriptedPolicy("wide"), 200),
        ("a policy that computes", Busy("wide"), 20),
    ):
        clocks, rows = {}, {}
        for name, settings in engines.items():
            clock = Clock()
            played = run("BFCLv4", policy, tasks="mini", n=n, progress=clock, **settings)
            ends = time.perf_counter() - clock.last
            clocks[name], rows[name] = clock, bare(played)
            print(
                f"{told}, {name}: first of {clock.count} rollouts after "
                f"{clock.first - clock.began:.2f} s, then {clock.rate:.0f}/s, "
                f"{ends:.2f} s to end"
            )
        assert rows["local"] == rows["ray"]
        ratio = clocks["ray"].rate / clocks["local"].rate
        print(f"{told}: {workers} workers play {ratio:.2f} times as fast as one pool\n")


if __name__ == "__main__":
    main()
