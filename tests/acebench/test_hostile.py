"""Texts that would run, hang or break the original; here nothing runs, and no step takes long."""

from __future__ import annotations

import ast
import builtins
import json
import os
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.acebench import gold_actions, task_ids
from agentenvs.acebench.env import ACEBenchEnv
from agentenvs.acebench.tasks import turns_of
from agentenvs.wrappers import RelaxedToolCalls

SINGLE = "mini/normal_single_turn_single_function_0"
DIALOGUE = "mini/normal_multi_turn_user_adjust_0"
SPECIAL = "mini/special_error_param_1"
STEP = "mini/agent_multi_step_0"
TURN = "mini/agent_multi_turn_8"
KINDS = (SINGLE, DIALOGUE, SPECIAL, STEP, TURN)
RULES = ("official", "fixed")
WAYS = (("official", "official"), ("official", "native"), ("fixed", "native"))
#: seconds of CPU, far more than is promised (benchmarks measure that): what grows fails here
LIMIT = 1.0
LARGE = 100_000


def values(mark: str) -> list[str]:
    """Return values that the original evaluates, each of which would leave a trace."""
    return [
        f"1 + open({mark!r}, 'w').write('x')",
        f"__import__('os').system('touch {mark}')",
        f"open(file={mark!r}, mode='w')",
        f"dict(a=open(file={mark!r}, mode='w'))",
        f"{{'open': {{'file': {mark!r}, 'mode': 'w'}}}}",
        f"[1, 2][__import__('pathlib').Path({mark!r}).touch()]",
        f"(lambda: open({mark!r}, 'w'))()",
        f"f'{{open({mark!r}, \"w\")}}'",
        f"[open({mark!r}, 'w') for x in [1]]",
        f"(x := open({mark!r}, 'w'))",
        f"exec(\"open({mark!r}, 'w')\")",
        f"not open({mark!r}, 'w')",
        f"a.b.open({mark!r}, 'w').c",
        f"{{**open({mark!r}, 'w')}}",
        f"*open({mark!r}, 'w')",
        f"breakpoint(open({mark!r}, 'w'))",
        "().__class__.__base__.__subclasses__()",
    ]


COSTLY = [
    "9**9**9",
    "9**9**9**9",
    "10**10**8",
    "2**-1074",
    "'a' * 10**9",
    "[0] * 10**9",
    "(1,) * 10**9",
    "1 << 10**9",
    "9" * 60_000,
    "-" * 60_000 + "1",
    "1" + "+1" * 30_000,
    "1" + "*9" * 30_000,
    "(" * 60_000 + ")" * 30_000,
    "[" * 60_000,
    "{'a':" * 20_000,
    "'" * 60_000,
    "'\\" * 30_000,
    '"""' * 20_000,
    "f'" + "{" * 60_000,
    "not " * 20_000 + "1",
    "a." * 30_000 + "b",
    "a[" * 20_000 + "]" * 20_000,
    "lambda: " * 10_000 + "1",
    "x if y else " * 8_000 + "z",
    "1e999",
    "1j",
    "...",
    "b'x'",
    "\ud800",
    "\x00",
    "\uff11\uff12",
    "\uff41",
]
TEXTS = [
    "[" * LARGE,
    "]" * LARGE,
    "[]" * (LARGE // 2),
    "[f(" * (LARGE // 3),
    "[f(a=[" * (LARGE // 6),
    "f()," * (LARGE // 4),
    "[" + "f()," * (LARGE // 4 - 1) + "]",
    "[" + "turn_on_wifi()," * 6_000 + "]",
    "[" + "delete_message(message_id=1), " * 3_000 + "]",
    "{" * LARGE,
    '{"tool_calls": [' * 6_000,
    '[{"name": "f", "arguments": ' * 3_500,
    '{"content": null, "tool_calls": "x"}',
    '{"content": 3, "tool_calls": []}',
    "<tool_call>" * 9_000,
    "user: hi\n" * 11_000,
    "finish conversation",
    "conversation finish " * 5_000,
    "\n" * LARGE,
    " " * LARGE,
    "\u3000" * LARGE,
    "\uff08\uff09\u3010\u3011" * 25_000,
    "\ud83d",
    "\x00" * 1_000,
    "\u202e\u2066",
    "",
    "x" * (LARGE + 1),
    "[send_message(" + ",".join(f"a{at}=1" for at in range(9_000)) + ")]",
    "[f(a=1, a=2)]",
    "[f(**{'a': 1})]",
    "[f(*[1, 2])]",
    "[__import__('os').system('true')]",
    "[eval('1')]",
    "[turn_on_wifi.__globals__()]",
    "[message_api.world.copy()]",
    "[copy()]",
    "[__init__()]",
    "[load(state={})]",
    "[turn_on_wifi(self=1)]",
    "[print(turn_on_wifi())]",
    "import os; os.system('true')",
]


@contextmanager
def nothing_runs() -> Iterator[None]:
    """Make whatever a text could run fail the test, whatever becomes of the error."""
    used: list[str] = []

    def refuse(*args: object, **kwargs: object) -> None:
        used.append(f"{args!r:.200}")
        raise AssertionError("something was run")

    with pytest.MonkeyPatch.context() as patch:
        for place, name in ((os, "system"), (os, "popen"), (subprocess, "Popen")):
            patch.setattr(place, name, refuse)
        for name in ("eval", "exec", "input", "breakpoint"):
            patch.setattr(builtins, name, refuse)
        yield
    assert used == []


def env_of(task: str, rules: Any, decoding: Any, relaxed: bool = False) -> gymnasium.Env[Any, Any]:
    env: Any = ACEBenchEnv(tasks="mini", task=task, rules=rules, decoding=decoding)
    return RelaxedToolCalls(env) if relaxed else env


def step(env: gymnasium.Env[Any, Any], text: str) -> tuple[float, Any]:
    """Return the CPU seconds of one step of a fresh episode and what it gave, best of two."""
    taken = []
    for _ in range(2):
        env.reset(seed=0)
        with nothing_runs():
            begun = time.process_time()
            result = env.step(text)
            taken.append(time.process_time() - begun)
        if taken[0] < LIMIT / 2:
            break
    assert isinstance(result[0], str)
    json.dumps(result[4]["parse"])
    return min(taken), result


def texts_of(value: str, task: str) -> list[str]:
    names = [one["name"] for one in turns_of(task)[0].functions][:2]
    send = "send_message" if "send_message" in names or "agent" in task else names[0]
    return [
        f"[{send}(message={value})]",
        f"{send}(message={value})",
        f"[{names[0]}({value})]",
        f"[{names[0]}(a={value}), {names[-1]}(b={value})]",
        value,
        f"[{value}]",
    ]


@pytest.mark.parametrize(("rules", "decoding"), WAYS)
@pytest.mark.parametrize("task", KINDS)
def test_nothing_is_run(task: str, rules: str, decoding: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    env = env_of(task, rules, decoding)
    for value in values(str(mark)):
        for text in texts_of(value, task):
            _, (_, reward, *_) = step(env, text)
            assert reward == 0.0
            assert not mark.exists(), text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("rules", "decoding"), WAYS)
@pytest.mark.parametrize("task", KINDS)
def test_no_step_takes_long(task: str, rules: str, decoding: str) -> None:
    env = env_of(task, rules, decoding)
    slow = {}
    for value in COSTLY:
        for text in texts_of(value, task)[::2]:
            taken, _ = step(env, text)
            if taken > LIMIT:
                slow[text[:60]] = round(taken, 3)
    for text in TEXTS:
        taken, _ = step(env, text)
        if taken > LIMIT:
            slow[text[:60]] = round(taken, 3)
    assert slow == {}


@pytest.mark.parametrize("task", [SINGLE, SPECIAL, STEP, TURN])
def test_neither_through_the_relaxed_parser(task: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    env = env_of(task, "official", "native", relaxed=True)
    for value in (*values(str(mark)), *COSTLY):
        _, (_, reward, *_) = step(env, texts_of(value, task)[0])
        assert reward == 0.0
    assert list(tmp_path.iterdir()) == []


def test_the_observation_says_why() -> None:
    env = env_of(STEP, "official", "native")
    for text, why in (
        ("[send_message(message=open(file='x', mode='w'))]", "malformed"),
        ("[send_message(message=1 + f())]", "malformed"),
        ("[send_message(message=9**9**9)]", "malformed"),
    ):
        _, (_, _, _, _, info) = step(env, text)
        assert info["parse"]["status"] == why
        assert info["parse"]["reason"]
    env = env_of(STEP, "official", "official")
    _, (observation, *_) = step(env, "[turn_on_wifi(x=open(file='x', mode='w'))]")
    assert "name 'open' is not defined" in observation


def test_a_whole_episode_of_the_worst_messages_stays_small() -> None:
    env = env_of(STEP, "official", "official")
    env.reset(seed=0)
    message = "[" + "view_all_reminders(), " * 150 + "view_all_reminders()]"
    over, size = False, 0
    while not over:
        begun = time.process_time()
        observation, _, terminated, truncated, _ = env.step(message)
        assert time.process_time() - begun < 2 * LIMIT
        size += len(observation)
        over = terminated or truncated
    assert size < 5_000_000


@pytest.mark.parametrize("task", KINDS)
@given(text=st.text(max_size=60))
@settings(max_examples=25)
def test_no_text_raises(task: str, text: str) -> None:
    for rules in RULES:
        for decoding in ("native", "official"):
            step(env_of(task, rules, decoding), text)


@given(
    data=st.data(),
    task=st.sampled_from([name for name in task_ids("mini") if "special" not in name]),
)
@settings(max_examples=40)
def test_broken_answers_are_read_as_calls_only_where_they_are_calls(
    data: st.DataObject, task: str
) -> None:
    gold = gold_actions(task)[0]
    at = data.draw(st.integers(0, len(gold)))
    text = gold[:at] + data.draw(st.text(max_size=3)) + gold[at + data.draw(st.integers(0, 3)) :]
    step(env_of(task, "fixed", "official"), text)
    _, (*_, info) = step(env_of(task, "fixed", "native"), text)
    assert info["parse"]["status"] != "calls" or python_reads(text)


def python_reads(text: str) -> bool:
    """Whether Python's own parser finds a call, or a list of nothing but calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return False
    items = body.elts if isinstance(body, ast.List) else [body]
    return all(isinstance(item, ast.Call) for item in items)
