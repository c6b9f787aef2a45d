"""Executing and scoring ground truths: ours against the official code, in the same run.

Rounds alternate between this process and a second one that runs the official executor and
checker out of the pinned wheel. Both play every ground truth, one call a step, on fresh
instances; loading the rows is left out on both sides.

- `warm`: the ground truth's own results and the initial states of the simulators are kept
  between rounds, as they are in use (they do not depend on the model).
- `cold`: both are computed again in every round, as the official code does.

Last, the slowest step over a set of hostile action texts.

    python benchmarks/bfcl.py [--rounds N]
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium

from agentenvs import sources
from agentenvs.bfcl import checker, gold, verdict
from agentenvs.bfcl.env import BFCLEnv
from agentenvs.bfcl.tasks import SPLITS, task, task_ids
from agentenvs.wrappers import RelaxedToolCalls

OFFICIAL = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker
jobs = json.loads(sys.stdin.readline())
for number, line in enumerate(sys.stdin):
    split = json.loads(line)
    begun = time.perf_counter()
    valid = 0
    for row, turns, truth in jobs[split]:
        valid += multi_turn_checker(turns, truth, row, split, f"round{number}")["valid"]
    print(json.dumps([time.perf_counter() - begun, valid]), flush=True)
"""


def official_side(jobs: dict[str, Any]) -> tuple[Callable[[str], float], Callable[[], None]]:
    """Return a function that times the official code on a split, and one that ends it."""
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", OFFICIAL, str(sources.open_source("bfcl").path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    asked, answered = child.stdin, child.stdout
    asked.write(json.dumps(jobs) + "\n")

    def seconds(split: str) -> float:
        asked.write(json.dumps(split) + "\n")
        asked.flush()
        spent, valid = json.loads(answered.readline())
        assert valid == len(jobs[split])
        return float(spent)

    def end() -> None:
        asked.close()
        child.wait(timeout=30)

    return seconds, end


def forget(split: str) -> None:
    """Drop what is kept of the ground truths and initial states of a split."""
    checker._truth.cache_clear()
    for name in task_ids(split):
        vars(task(name)).pop("_first_state", None)


def ours(plans: dict[str, Any]) -> float:
    """Return the seconds that our verdicts take."""
    begun = time.perf_counter()
    valid = sum(verdict(name, turns).valid for name, turns in plans.items())
    spent = time.perf_counter() - begun
    assert valid == len(plans)
    return spent


def hostile() -> tuple[float, str]:
    """Return the CPU seconds of the slowest hostile step, and how its text begins."""
    texts = [
        "[" + ", ".join(["square_root(number=2.5, precision=1000)"] * 250) + "]",
        "[" + ", ".join(["logarithm(value=2.5, base=7, precision=1000)"] * 250) + "]",
        "[power(base=9, exponent=999999999)]",
        "[sum_values(numbers=[" + "1," * 45_000 + "])]",
        json.dumps([{"name": "sum_values", "arguments": {"numbers": [1] * 30_000}}]),
        "[" + ", ".join(f"mkdir('m{i}')" for i in range(250)) + "]",
        "[" + ", ".join(["find('/')"] * 250) + "]",
        "[mkdir('a'), cp('a', 'a'), find(), du()]",
        "[ls(a=" + "1+" * 45_000 + "1)]",
        "[ls(a=f'" + "{1}" * 30_000 + "')]",
        "(" * 50_000 + ")" * 50_000,
        " " * 100_000,
        "ls()\n" * 19_000,
    ]
    name = next(
        name
        for name in task_ids("base")
        if {"GorillaFileSystem", "MathAPI"} <= set(task(name).classes)
    )
    worst = (0.0, "")
    # A pass of the collector over what the rounds above left would be charged to some step.
    gc.collect()
    gc.freeze()
    envs: list[gymnasium.Env[Any, Any]] = [
        BFCLEnv(task=name, rules="fixed"),
        BFCLEnv(task=name, decoding="official", rules="fixed"),
        RelaxedToolCalls(BFCLEnv(task=name, rules="fixed")),
    ]
    for env in envs:
        env.reset(seed=0)
        for text in texts:
            begun = time.thread_time()
            _, _, terminated, truncated, _ = env.step(text)
            worst = max(worst, (time.thread_time() - begun, text[:40]))
            if terminated or truncated:
                env.reset(seed=0)
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds a side, the best counts")
    rounds = parser.parse_args().rounds
    rows = {}
    tree = sources.open_source("bfcl")
    for split in SPLITS:
        for line in tree.read(f"bfcl_eval/data/BFCL_v4_multi_turn_{split}.json").splitlines():
            row = json.loads(line)
            rows[row["id"]] = row
    plans = {
        split: {
            name: [[[call] for step in turn for call in step] for turn in gold(name)]
            for name in task_ids(split)
        }
        for split in SPLITS
    }
    jobs = {
        split: [[rows[name], turns, task(name).gold] for name, turns in plans[split].items()]
        for split in SPLITS
    }
    seconds, end = official_side(jobs)
    print(
        f"{'200 tasks of':<14}{'official':>10}{'cold':>9}{'ratio':>7}{'warm':>9}{'ratio':>7}  (ms)"
    )
    for split in SPLITS:
        best = {"official": 9e9, "cold": 9e9, "warm": 9e9}
        for _ in range(rounds):
            best["official"] = min(best["official"], seconds(split))
            forget(split)
            best["cold"] = min(best["cold"], ours(plans[split]))
            best["warm"] = min(best["warm"], ours(plans[split]))
        official, cold, warm = (1_000 * best[key] for key in ("official", "cold", "warm"))
        print(
            f"{split:<14}{official:>10.1f}{cold:>9.1f}{official / cold:>7.1f}"
            f"{warm:>9.1f}{official / warm:>7.1f}"
        )
    end()
    worst, text = hostile()
    print(f"slowest hostile step: {1_000 * worst:.1f} ms of CPU ({text!r}...)")


if __name__ == "__main__":
    main()
