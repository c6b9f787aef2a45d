from __future__ import annotations

import numpy as np

from agentenvs.toollab import Design, ToolLabEnv, task_ids
from agentenvs.toollab.design import CHANNELS, CODES, ITEMS, KINDS, LABELS
from agentenvs.toollab.manual import policy, system


def test_it_has_every_convention_and_every_count() -> None:
    for world in (0, 3):
        design = Design.of(world)
        text = policy(design)
        channel, label, code = design.canonical[2, 1]
        assert f"- repair, clothes: {CHANNELS[channel]}, {LABELS[label]}, {CODES[code]}\n" in text
        assert text.count(" is ") - text.count("answer is") == 40
        assert all(item in text for item in ITEMS)


def test_the_conventions_alone_solve_every_canonical_task() -> None:
    design = Design.of(0)
    lines = policy(design).splitlines()
    told = dict(line.removeprefix("- ").split(": ", 1) for line in lines if line.startswith("- "))
    kinds = {item: kind for kind in KINDS for item in told[kind].split(", ")}
    solved = []
    env = ToolLabEnv(tasks="all")
    for name in task_ids("all"):
        _, errand, item, count = name.split("/")
        channel, label, code = told[f"{errand}, {kinds[item]}"].split(", ")
        amount = dict(part.split(" is ") for part in told[label].split(", "))[count]
        env.reset(seed=0, options={"task": name})
        tag = env.step(f"find {item}")[0]
        env.step(f"{channel} {tag} {label} {amount}")
        solved.append(env.step(code)[4]["success"])
    assert solved == (~design.is_exception(np.arange(1600))).tolist()


def test_it_says_how_to_write_only_where_the_format_is_the_benchmarks_own() -> None:
    design = Design.of(0)
    assert system(design).startswith(policy(design))
    assert "find ITEM" in system(design)
    assert "find ITEM" not in policy(design)


def test_exceptions_are_not_told() -> None:
    one, other = Design.of(0), Design.of(0)
    assert policy(one) == policy(other)
    # Nothing but the conventions and the counts goes into it.
    assert str(policy(one)).count("exception") == 1
