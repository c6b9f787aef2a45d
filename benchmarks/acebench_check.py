"""Speed of ACEBench's checkers: checks a CPU-second, by kind.

Run `python benchmarks/acebench_check.py FOLDER [--seconds N]`; FOLDER holds the official files.
Every reference is rendered as a model would say it and judged: by the official rules, by the
mended ones, and by a floor in the same run, which is plain Python that parses the text with
`ast` and looks no further (for texts), or compares two states with `==` (for states). Texts
differ in every round, so that nothing is remembered of them. Beside them stand the figures
measured of the original, one core, on another machine.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentenvs.acebench import normal, sentences, special, states, strict
from agentenvs.acebench.expected import plain_name
from agentenvs.acebench.overlay import overlay
from agentenvs.acebench.records import AGENT, LANGS, NORMAL, SPECIAL, Records, Task, read_folder

#: the original's checks a CPU-second, lowest and highest of what was measured
ORIGINAL = {
    "normal: parallel": (6_500, 6_500),
    "normal: atom": (32_000, 32_000),
    "normal: all": (15_600, 15_600),
    "special": (180_000, 250_000),
    "states": (11_000, 15_000),
}

Job = tuple[Task, Any, Any]


def calls_text(answer: Mapping[str, Mapping[str, Any]], mark: str) -> str:
    """Return the calls as text; `mark` makes it differ from that of another round."""
    texts = [
        f"{plain_name(name)}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
        for name, given in answer.items()
    ]
    return f"{mark}[{', '.join(texts)}]"


def sentence(task: Task) -> str:
    """Return the right sentence of a special task."""
    if isinstance(task.answer, str):
        return f"['{task.answer}']"
    pattern = (
        "Missing necessary parameters ({words}) for the api ({name})"
        if task.category == "special_incomplete"
        else "There is incorrect value ({words}) for the parameters ({name})"
    )
    said = [
        pattern.format(words=", ".join(words), name=name) for name, words in task.answer.items()
    ]
    return str(said)


def rate(check: Callable[[Job], Any], rounds: Sequence[Sequence[Job]], seconds: float) -> float:
    """Return checks a CPU-second, the best of the rounds."""
    best = 0.0
    spent = 0.0
    number = 0
    while spent < seconds or number < 3:
        jobs = rounds[number % len(rounds)]
        start = time.process_time()
        for job in jobs:
            check(job)
        used = time.process_time() - start
        best = max(best, len(jobs) / used)
        spent += used
        number += 1
    return best


def shown(name: str, found: Mapping[str, float]) -> None:
    low, high = ORIGINAL[name]
    known = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    print(
        f"{name:17} official {found['official']:9,.0f}  fixed {found['fixed']:9,.0f}"
        f"  floor {found['floor']:9,.0f}  original {known:>18}"
        f"  official/original {found['official'] / high:5.2f}"
        f"  official/floor {found['official'] / found['floor']:5.2f}"
    )


def normal_rounds(records: Records, categories: Sequence[str], count: int) -> list[list[Job]]:
    """Return jobs (task, text, references); texts differ from round to round."""
    rounds: list[list[Job]] = []
    for number in range(count):
        jobs: list[Job] = []
        for lang in LANGS:
            for category in categories:
                for task in records.category(lang, category).values():
                    several = isinstance(task.answer, list)
                    answer = copy.deepcopy(task.answer[0] if several else task.answer)
                    for given in answer.values():
                        for key, value in given.items():
                            if isinstance(value, int | float) and not isinstance(value, bool):
                                given[key] = value + number
                    jobs.append((task, calls_text(answer, ""), [answer]))
        rounds.append(jobs)
    return rounds


def parse_only(job: Job) -> Any:
    return ast.parse(job[1], mode="eval")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data = os.environ.get("AGENTENVS_DATA")
    parser.add_argument(
        "folder",
        nargs=None if data is None else "?",
        default=data and os.path.join(data, "acebench"),
        help="the folder with data_en and data_zh; default acebench within AGENTENVS_DATA",
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU-seconds a figure")
    options = parser.parse_args()
    records = read_folder(options.folder)
    groups = {
        "normal: parallel": ["normal_single_turn_parallel_function"],
        "normal: atom": [category for category in NORMAL if "atom" in category],
        "normal: all": list(NORMAL),
    }
    for name, categories in groups.items():
        rounds = normal_rounds(records, categories, 4)
        checks: dict[str, Callable[[Job], Any]] = {
            "official": lambda job: normal.check(job[0], job[1]),
            "fixed": lambda job: strict.check(*job),
            "floor": parse_only,
        }
        shown(name, {key: rate(check, rounds, options.seconds) for key, check in checks.items()})
    answers: list[Job] = [
        (task, sentence(task), overlay().references(task, dict))
        for lang in LANGS
        for category in SPECIAL
        for task in records.category(lang, category).values()
    ]
    checks = {
        "official": lambda job: special.check(job[0], job[1]),
        "fixed": lambda job: sentences.check(*job),
        "floor": lambda job: job[1] in job[0].question,
    }
    shown(
        "special", {key: rate(check, [answers], options.seconds) for key, check in checks.items()}
    )
    episodes: list[Job] = [
        (task, copy.deepcopy(task.answer), [task.answer])
        for lang in LANGS
        for category in AGENT
        for task in records.category(lang, category).values()
    ]
    checks = {
        "official": lambda job: states.check(job[0], job[1], ()),
        "fixed": lambda job: states.check_both_ways(job[0], job[1], (), job[2]),
        "floor": lambda job: job[1] == job[2][0],
    }
    shown(
        "states", {key: rate(check, [episodes], options.seconds) for key, check in checks.items()}
    )


if __name__ == "__main__":
    main()
