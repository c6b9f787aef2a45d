"""Hostile answers: nothing in them is run, and each is judged quickly."""

from __future__ import annotations

import builtins
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentenvs.acebench import sentences, special, strict
from agentenvs.acebench.judge import judge_answer, judge_state
from agentenvs.acebench.records import DIALOGUES, Task
from agentenvs.core import Rules

#: seconds of CPU, far more than is promised (benchmarks measure that): what grows fails here
LIMIT = 1.0

TRAPS = [
    "__import__('os').system('touch {trap}')",
    "open('{trap}', mode='w')",
    "open(file='{trap}', mode='w')",
    "1+__import__('os').system('touch {trap}')",
    "1+open('{trap}','w').write('x')",
    "'a'+str(open('{trap}','w'))",
    "[open('{trap}','w') for _ in [1]]",
    "(lambda: open('{trap}','w'))()",
    "(x := open('{trap}','w'))",
    "f\"{{open('{trap}','w')}}\"",
    "open('{trap}','w') if 1 else 2",
    "x[open('{trap}','w')]",
    "open('{trap}','w').name",
    "{{**open('{trap}','w').__dict__}}",
    "-open('{trap}','w').fileno()",
    "exec(\"open('{trap}','w')\")+'x'",
    "exit()",
    "1+exit()",
    "breakpoint()",
    "1+breakpoint()",
]
HEAVY = [
    "9**9**9",
    "-9**9**9",
    "2**(2**(2**(2**(2**2))))",
    "'a'*9999999999",
    "[[0]*4000]*4000",
    "[[[[0]*60]*60]*60]*60",
    "'%99999999d'%1",
    "1<<99999999999",
    "(" * 3000 + "1" + ")" * 3000,
    "[" * 50_000,
    "[" * 3000 + "]" * 3000,
    "{'a':" * 3000 + "1" + "}" * 3000,
    "-" * 50_000 + "1",
    "not " * 20_000 + "1",
    "1+" * 30_000 + "1",
    "x" + "[0]" * 20_000,
    "x" + ".y" * 40_000,
    "f(" * 10_000 + ")" * 10_000,
    "'" + "x" * 99_000 + "'",
    "'" + "!?" * 45_000 + "'",
    "'" + "\\'" * 45_000 + "'",
    "'" + "\\'" * 45_000,
    "'a'" * 30_000,
    "[" + "1," * 45_000 + "]",
    "['a'*4000," + "'a'*4000," * 1_400 + "]",
    "[x[0]," + "x[y[0]]," * 1_400 + "]",
    "{" + "'a': 1," * 12_000 + "}",
    "9" * 5_000,
    "1e" + "9" * 50_000,
    "0x" + "f" * 90_000,
    "lambda: " * 5_000 + "0",
    "1 if 1 else " * 4_000 + "2",
    "*" * 90_000,
    " " * 90_000,
    "\n" * 90_000,
    "\x00" * 1_000,
    "\ud800" * 1_000,
    "\ufeff\u202e",
    "你" * 90_000,
    ") for the api (" * 6_000,
    "] [ ' \" " * 11_000,
]
FUNCTION = {
    "name": "F",
    "parameters": {"properties": {"a": {"type": "string"}, "o": {"type": "object"}}},
}
TASKS = [
    Task(
        "normal_preference_0",
        "en",
        "normal_preference",
        0,
        None,
        "?",
        [FUNCTION],
        answer={"F": {"a": "x", "o": {"b": ["y"]}}},
    ),
    Task(
        f"{DIALOGUES[0]}_0_0", "en", DIALOGUES[0], 0, 0, "?", [FUNCTION], answer={"F": {"a": "x"}}
    ),
    Task(
        "special_incomplete_0", "en", "special_incomplete", 0, None, "?", (), answer={"Api": ["a"]}
    ),
    Task(
        "special_error_param_0", "en", "special_error_param", 0, None, "?", (), answer={"p": ["x"]}
    ),
    Task("special_irrelevant_0", "en", "special_irrelevant", 0, None, "?", (), answer="..."),
]
RULES: tuple[Rules, ...] = ("official", "fixed")
SHAPES = [
    "{}",
    "[F(a={})]",
    "[F(o={{'b': {}}})]",
    "[F({})]",
    "[{}(a=1)]",
    "[F(a=1, **{})]",
    "words [F(a={})",
    "['Missing necessary parameters ({}) for the api (Api)']",
    "There is incorrect value ({}) for the parameters (p)",
    '["{}"]',
]


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Fail where text is run meanwhile, whatever becomes of the error."""
    used: list[str] = []

    def trap(name: str) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            used.append(name)
            raise AssertionError(f"{name} was called")

        return run

    with pytest.MonkeyPatch.context() as patch:
        for name in ("eval", "exec", "breakpoint", "open"):
            patch.setattr(builtins, name, trap(name))
        patch.setattr(os, "system", trap("os.system"))
        yield
    assert used == []


def judged(task: Task, text: str, rules: Any) -> float:
    start = time.process_time()
    found = judge_answer(task, text, rules)
    spent = time.process_time() - start
    assert isinstance(found.valid, bool)
    return spent


@pytest.mark.parametrize("rules", ["official", "fixed"])
@pytest.mark.parametrize("trap", TRAPS)
def test_nothing_is_run(trap: str, rules: Any, tmp_path: Path) -> None:
    place = tmp_path / "trap"
    for task in TASKS:
        judged(task, "warm up: f([x", rules)
        judged(task, "[F(a=x[1+2])]", rules)
    with nothing_runs():
        for shape in SHAPES:
            for task in TASKS:
                judged(task, shape.format(trap.format(trap=place)), rules)
    assert not place.exists()


@pytest.mark.parametrize("rules", ["official", "fixed"])
@pytest.mark.parametrize("number", range(len(HEAVY)))
def test_each_check_is_quick(number: int, rules: Any) -> None:
    for shape in SHAPES:
        text = shape.format(HEAVY[number])[:100_000]
        for task in TASKS[:1] if "F(" in shape else TASKS[::2]:
            spent = judged(task, text, rules)
            if spent > LIMIT:
                # What else runs on the machine is no matter of ours.
                spent = min(judged(task, text, rules) for _ in range(4))
            assert spent < LIMIT, (shape, task.id, spent)


@pytest.mark.parametrize("number", range(len(HEAVY)))
def test_too_long_a_text_is_refused(number: int) -> None:
    heavy = HEAVY[number]
    text = "[F(a='" + heavy * (200_000 // len(heavy)) + "')]"
    assert len(text) > 100_000
    normal = TASKS[0]
    assert not strict.check(normal, text, [normal.answer]).valid
    assert not judge_answer(normal, text).valid
    assert not sentences.check(TASKS[4], text, ["..."]).valid
    assert not special.check(TASKS[4], text).valid


def test_states_that_are_large_or_deep() -> None:
    task = Task(
        "agent_multi_step_18",
        "en",
        "agent_multi_step",
        18,
        None,
        "?",
        (),
        involved_classes=("A",),
        answer=[{"A": {"x": {"1": "y"}}}],
        milestones=("[f()]",),
    )
    deep: Any = "y"
    for _ in range(900):
        deep = [deep]
    for value in (deep, "y" * 100_000, {str(n): "z" for n in range(10_000)}, [["y"] * 1000] * 100):
        for rules in RULES:
            start = time.process_time()
            found = judge_state(task, [{"A": {"x": value}}], [], rules, dict)
            assert time.process_time() - start < LIMIT
            assert not found.valid
