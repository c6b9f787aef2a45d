from __future__ import annotations

import decimal
import json
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mpmath
import pytest

from agentenvs.bfcl.env import BFCLEnv
from agentenvs.bfcl.executor import World, result_text
from agentenvs.bfcl.tasks import task, task_ids
from agentenvs.core import Rules
from agentenvs.syntax import CallNode


def world_with(*classes: str, rules: Rules = "official", split: str = "base") -> World:
    name = next(name for name in task_ids(split) if set(classes) <= set(task(name).classes))
    return task(name).world(rules)


def official_world(name: str, number: int) -> World:
    """Return the world with the names that the official executor would use."""
    world = task(name).world("official", f"model{number}")
    world.label = re.sub(r"[-./:]", "_", world.label)
    return world


def test_every_ground_truth_result_is_byte_equal(
    official: Any, rows: dict[str, dict[str, Any]]
) -> None:
    jobs, found = [], []
    for number, name in enumerate(rows):
        steps = [list(turn) for turn in task(name).gold if turn]
        jobs.append({"kind": "results", "row": rows[name], "steps": steps})
        world = official_world(name, number)
        found.append([world.run(step) for step in steps])
    answers = official(jobs)
    differ = [
        (call, mine, theirs)
        for job, ours, other in zip(jobs, found, answers, strict=True)
        for step, x, y in zip(job["steps"], ours, other, strict=True)
        for call, mine, theirs in zip(step, x, y, strict=True)
        if mine != theirs
    ]
    assert differ == []
    assert sum(len(step) for job in jobs for step in job["steps"]) == 4_625


ODD_VALUES = [
    "'x'", "1", "-3", "2.5", "True", "None", "[]", "['a', 'b']", '"it\'s"', "''", "'..'", "'/'",
    "'cd (x) ls()'", "1e3", "(1, 2)", "{'a': 1}", "'é中'", "[1, 2.5, 3]", "abc", "str(ls())",
    "pwd()['current_working_directory']", "add(a=1, b=2)['result']", "{'title': 'z', 'bad': 1}",
]  # fmt: skip
ODD_CALLS = [
    "remove(x=1)", "os.remove('x')", "foo(1)", "foo.bar(2)", "ls", "ls(", "f(a=1,a=2)", " ls()",
    "cd(None='x')", "ls ()", "ls(a=b)", "a.run()", "kill()", "Bot.get_watchlist()", "cd('x'))",
]  # fmt: skip


def odd(rng: random.Random, name: str, call: str) -> str:
    """Return a call like `call`, or one that nobody would write."""
    roll = rng.random()
    if roll < 0.25:
        return re.sub(r"=('[^']*'|[\d.]+)", lambda _: "=" + rng.choice(ODD_VALUES), call, count=1)
    if roll < 0.35:
        return re.sub(r"\w+='[^']*',? ?", "", call, count=1)
    if roll < 0.4:
        return call.replace("(", "(extra=1, ", 1)
    if roll < 0.5:
        return rng.choice(ODD_CALLS)
    docs = task(name).docs
    function = rng.choice(list(docs))
    parameters = list(docs[function]["parameters"]["properties"])
    given = [f"{key}={rng.choice(ODD_VALUES)}" for key in parameters]
    if rng.random() < 0.3:
        given = [rng.choice(ODD_VALUES) for _ in parameters[: rng.randint(0, 3)]]
    return f"{function}({', '.join(given)})"


def test_odd_calls_give_the_official_texts(official: Any, rows: dict[str, dict[str, Any]]) -> None:
    rng = random.Random(20)
    jobs, found = [], []
    for number, name in enumerate(rng.sample(list(rows), 120)):
        steps = [[odd(rng, name, call) for call in turn] for turn in task(name).gold if turn]
        steps += [[odd(rng, name, "pwd()")] for _ in range(15)]
        jobs.append({"kind": "results", "row": rows[name], "steps": steps})
        world = official_world(name, number)
        found.append([world.run(step) for step in steps])
    differ = [
        (call, mine, theirs)
        for job, ours, other in zip(jobs, found, official(jobs), strict=True)
        for step, x, y in zip(job["steps"], ours, other, strict=True)
        for call, mine, theirs in zip(step, x, y, strict=True)
        if mine != theirs and not _joins_a_set(theirs)
    ]
    assert differ == []


def _joins_a_set(text: str) -> bool:
    """Whether a result's text depends on the order of a set, so on the process."""
    return "Must be one of {" in text or "Invalid fields" in text


def test_episodes_of_one_task_do_not_meet(official_bfcl: None) -> None:
    for name in task_ids("base")[::23]:
        calls = [call for turn in task(name).gold for call in turn]
        alone = task(name).world("official").run(calls)
        one, two = task(name).world("official"), task(name).world("official")
        woven = [(one.run([call]), two.run([call])) for call in calls]
        assert [[a[0] for a, _ in woven], [b[0] for _, b in woven]] == [alone, alone]


def test_copies_go_their_own_way(official_bfcl: None) -> None:
    world = world_with("GorillaFileSystem")
    twin = world.copy()
    world.run(["mkdir(dir_name='only_here')"])
    assert "only_here" in world.run(["ls()"])[0]
    assert "only_here" not in twin.run(["ls()"])[0]


def test_precision_of_the_process_is_kept(official_bfcl: None) -> None:
    world = world_with("MathAPI")
    before = (mpmath.mp.dps, decimal.getcontext().prec)
    results = world.run(
        ["logarithm(value=10.0, base=2.0, precision=40)", "square_root(number=2.0, precision=50)"]
    )
    assert "3.3219280948873623478703194294893901758648" in results[0]
    assert results[1].startswith("{'result': Decimal('1.41421356237309504880168872420969807856967")
    assert (mpmath.mp.dps, decimal.getcontext().prec) == before


def test_precision_of_one_thread_stays_out_of_another(official_bfcl: None) -> None:
    def results(precision: int) -> list[str]:
        world = world_with("MathAPI")
        return world.run(
            [f"logarithm(value={v}, base=7, precision={precision})" for v in range(2, 9)]
        )

    before = (mpmath.mp.prec, sys.getswitchinterval())
    precisions = [5, 40, 200] * 40
    alone = [results(precision) for precision in precisions]
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(results, precisions)) == alone
    finally:
        sys.setswitchinterval(before[1])
    assert mpmath.mp.prec == before[0]


def test_nested_values_under_official_only(official_bfcl: None) -> None:
    call = "echo(content=str(ls()))"
    assert world_with("GorillaFileSystem").run([call])[0].startswith('{"terminal_output": "{')
    fixed = world_with("GorillaFileSystem", rules="fixed").run([call])[0]
    assert fixed == "Error during execution: a Call where a literal was expected"


def test_strings_are_rewritten_under_official_only(official_bfcl: None) -> None:
    call = "echo(content='call ls() now')"
    assert "_GorillaFileSystem_instance.ls()" in world_with("GorillaFileSystem").run([call])[0]
    fixed = world_with("GorillaFileSystem", rules="fixed").run([call])
    assert fixed == ['{"terminal_output": "call ls() now"}']


def test_functions_that_are_not_on_offer() -> None:
    world = task("mini_home_0").world("fixed")
    assert world.run(["list_rooms()"], {"turn_on"}) == [
        "Error during execution: name 'list_rooms' is not defined"
    ]
    assert "Error" not in world.run(["list_rooms()"], {"list_rooms"})[0]


@pytest.mark.parametrize(
    "call",
    [
        "_load_scenario(scenario={})",
        "__init__()",
        "__class__()",
        "list_rooms.__self__.x()",
        "vars()",
    ],
)
def test_private_names_are_out_of_reach(call: str) -> None:
    world = task("mini_home_0").world("official")
    assert "is not defined" in world.run([call])[0]
    assert "is not defined" in world.run([CallNode(call.split("(")[0])])[0]


def test_calls_that_were_read_already_run_alike(official_bfcl: None) -> None:
    world = world_with("GorillaFileSystem")
    node = CallNode("echo", (), (("content", "call ls() now (please)"),))
    assert world.run([node]) == world.run(["echo(content='call ls() now (please)')"])


class Odd:
    def __repr__(self) -> str:
        return "odd"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ({"a": "é", "b": None}, '{"a": "\\u00e9", "b": null}'),
        ({"a": Odd()}, "{'a': odd}"),
        ([1, "a"], "[1, 'a']"),
        (None, "None"),
        (2.50, "2.5"),
    ],
)
def test_result_texts(value: Any, text: str) -> None:
    assert result_text(value) == text


def test_default_lists_are_never_shared(official_bfcl: None) -> None:
    world = world_with("TwitterAPI")
    one = world.copy()
    posting = one.instances["TwitterAPI"]
    posting.authenticated = True
    number = posting.tweet_counter
    one.run(["post_tweet(content='a')", f"mention(tweet_id={number}, mentioned_usernames=['@b'])"])
    assert json.loads(one.run(["post_tweet(content='c')"])[0])["mentions"] == []


def test_the_limit_on_digits_stays(official_bfcl: None) -> None:
    env = BFCLEnv(task="multi_turn_base_15")
    env.reset()
    before = sys.get_int_max_str_digits()
    env.step("[logarithm(value='x', base=2, precision=10)]")
    assert sys.get_int_max_str_digits() == before
