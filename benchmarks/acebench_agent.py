"""Speed of ACEBench's agent worlds: executed messages and whole episodes per CPU-second.

    AGENTENVS_DATA=... AGENTENVS_PARITY=... python benchmarks/acebench_agent.py [--rounds N]

Plays the gold plans and the recorded episodes of both modes and both languages. An episode is
a fresh world, all its messages, and the state that is scored. Each number stands beside

- the official figure, measured on one core of another machine (the original cannot be run
  here), and
- a floor in plain Python from the same run: each message parsed by `ast` and its values by
  `ast.literal_eval`, a result of the usual shape through JSON, no world; for an episode also
  the initial state copied by `copy.deepcopy` and the final one through JSON.

Last, the slowest of a set of hostile messages.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import gzip
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from agentenvs.acebench.executor import Executor
from agentenvs.acebench.records import read_folder
from agentenvs.acebench.worlds import World

OFFICIAL = {"multi_step": (9_800, 1_900), "multi_turn": (7_600, 1_900)}
RESULT = {"status": True, "message": "Food delivery order successfully placed."}
HOSTILE = (
    "[" + ", ".join(["login_device()"] * 900) + "]",
    "[" + ", ".join(["get_flight_details()"] * 900) + "]",
    "[" + ", ".join(["search_messages(user_name='Ann', keyword='aaaaaaab')"] * 800) + "]",
    "[cancel_reservation(user_id='u1', reservation_id=9**9**9, reason='')]",
    "[cancel_reservation(user_id=open(file='x', mode='w'), reservation_id='', reason='')]",
    "[f(a=" + "[" * 20_000 + "]" * 20_000 + ")]",
    "[f(a=" + "1+" * 24_000 + "1)]",
    "[f(a=[" + "1," * 20_000 + "])]",
    "(" * 25_000 + ")" * 25_000,
    "login_device()\n" * 3_000,
    "x" * 1_000_000,
)

Mode = Literal["multi_step", "multi_turn"]
MODES: tuple[Mode, ...] = ("multi_step", "multi_turn")


class Job(NamedTuple):
    """One episode."""

    lang: str
    initial: Any
    config: Any
    classes: tuple[str, ...]
    offered: list[str]
    messages: list[str]


def jobs(mode: Mode, data: Path, parity: Path) -> list[Job]:
    """Return the episodes of one mode."""
    records = read_folder(data)
    rows = [json.loads(line) for line in (parity / "acebench_gold_plans.jsonl").open("rb")]
    with gzip.open(parity / "acebench_verdicts.jsonl.gz") as file:
        rows += [json.loads(line) for line in file]
    found = []
    for row in rows:
        if row["category"] == f"agent_{mode}" and row.get("agent_messages"):
            task = records.task(row["lang"], row["id"])
            messages = [text for text in row["agent_messages"] if text != "finish conversation"]
            offered = [one["name"] for one in task.functions]
            initial = records.world(task.lang)
            classes = task.involved_classes
            found.append(Job(task.lang, initial, task.initial_config, classes, offered, messages))
    return found


def start(job: Job, mode: Mode) -> Executor:
    """Return the executor of a fresh world."""
    world = World.of(job.lang, job.initial, job.config, job.classes)
    return Executor(world, mode, job.offered)


def floor_message(text: str) -> Any:
    """Parse a message in plain Python and pass a result through JSON."""
    try:
        tree = ast.parse(text.strip("[]' "), mode="eval").body
        for call in tree.elts if isinstance(tree, ast.Tuple) else [tree]:
            if isinstance(call, ast.Call):
                for keyword in call.keywords:
                    ast.literal_eval(keyword.value)
    except (SyntaxError, ValueError):
        return None
    return json.loads(json.dumps(RESULT))


def best(rounds: int, work: Callable[[], None]) -> float:
    """Return the CPU-seconds of the fastest round."""
    spent = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return min(spent)


def measure(mode: Mode, episodes: list[Job], rounds: int) -> None:
    """Print one table."""
    fresh: list[Executor] = []
    executed = 0
    for job in episodes:
        ours = start(job, mode)
        executed += sum(not ours.run(text).to_user for text in job.messages)

    def messages() -> None:
        for ours, job in zip(fresh, episodes, strict=True):
            for text in job.messages:
                ours.run(text)

    def floor_messages() -> None:
        for job in episodes:
            for text in job.messages:
                floor_message(text)

    def whole() -> None:
        for job in episodes:
            ours = start(job, mode)
            for text in job.messages:
                ours.run(text)
            ours.state()

    def floor_whole() -> None:
        for job in episodes:
            state = {name: copy.deepcopy(job.initial[name]["state"]) for name in job.classes}
            for text in job.messages:
                floor_message(text)
            json.loads(json.dumps(state))

    spent = []
    for _ in range(rounds):
        fresh[:] = [start(job, mode) for job in episodes]
        spent.append(best(1, messages))
    table = (
        ("executed messages", executed, OFFICIAL[mode][0], min(spent), floor_messages),
        ("episodes", len(episodes), OFFICIAL[mode][1], best(rounds, whole), floor_whole),
    )
    for name, count, official, ours_s, floor in table:
        floor_s = best(rounds, floor)
        print(
            f"{mode:<11}{name:<18}{count:>6}{ours_s * 1e3:>9.2f}{count / ours_s:>10,.0f}"
            f"{official:>10,}{count / ours_s / official:>7.1f}{count / floor_s:>10,.0f}"
            f"{floor_s / ours_s:>7.2f}"
        )


def hostile(job: Job) -> None:
    """Print the CPU milliseconds of the slowest hostile message."""
    gc.collect()
    gc.freeze()
    worst = (0.0, "")
    for text in HOSTILE:
        for mode in MODES:
            ours = start(job, mode)
            begun = time.thread_time()
            ours.run(text)
            worst = max(worst, (time.thread_time() - begun, text[:40]))
    print(f"slowest hostile message: {1e3 * worst[0]:.1f} ms of CPU ({worst[1]!r}...)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="rounds, of which the best counts")
    rounds = parser.parse_args().rounds
    try:
        data = Path(os.environ["AGENTENVS_DATA"]) / "acebench"
        parity = Path(os.environ["AGENTENVS_PARITY"])
    except KeyError as missing:
        sys.exit(f"Expected the environment variable {missing} to name a folder.")
    print(
        f"{'':<11}{'per CPU-second':<18}{'count':>6}{'ms':>9}{'ours':>10}{'official':>10}"
        f"{'ratio':>7}{'floor':>10}{'ratio':>7}"
    )
    for mode in MODES:
        episodes = jobs(mode, data, parity)
        measure(mode, episodes, rounds)
    hostile(next(job for job in episodes if "Travel" in job.classes))


if __name__ == "__main__":
    main()
