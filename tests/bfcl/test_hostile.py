"""Texts that try to run code, to hang, to grow without bound or to raise."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from agentenvs.bfcl import verdict
from agentenvs.bfcl.env import BFCLEnv
from agentenvs.bfcl.tasks import task, task_ids

#: seconds of CPU: far above what a step may take, far below what a hang would
PATIENCE = 2.0


def task_with(*classes: str, split: str = "base") -> str:
    return next(name for name in task_ids(split) if set(classes) <= set(task(name).classes))


def calls(*items: tuple[str, dict[str, Any]]) -> str:
    return json.dumps([{"name": name, "arguments": given} for name, given in items])


def survive(name: str, actions: list[str], **kwargs: Any) -> list[str]:
    """Play actions, starting again when the episode is over; return all tool results."""
    env = BFCLEnv(task=name, **kwargs)
    env.reset(seed=0)
    results: list[str] = []
    for action in actions:
        before = time.thread_time()
        _, _, terminated, truncated, info = env.step(action)
        assert time.thread_time() - before < PATIENCE, action[:100]
        results += [m["content"] for m in info["messages"] if m["role"] == "tool"]
        if terminated or truncated:
            env.reset(seed=0)
    env.restore(env.snapshot())
    return results


MARK = "agentenvs_was_here"
CODE = [
    "__import__('os').system('touch {mark}')",
    "[ls(a=__import__('os').system('touch {mark}'))]",
    "[ls(a=open('{mark}', 'w'))]",
    "ls(a=__import__('os').system('touch {mark}')+0)",
    "[exec(\"open('{mark}','w')\")]",
    "[eval(\"open('{mark}','w')\")]",
    "[ls(a=[x for x in [open('{mark}','w')]])]",
    "[ls(a=f\"{{open('{mark}','w')}}\")]",
    "[ls(a=(lambda: open('{mark}','w'))())]",
    "[ls.__globals__['__builtins__']['open']('{mark}','w')]",
    "[cd.__func__.__globals__['subprocess'].run(['touch','{mark}'])]",
    "[subprocess.run(args=['touch', '{mark}'])]",
    "[_load_scenario(scenario={{}})]",
    '[{{"name": "os.system", "arguments": {{"command": "touch {mark}"}}}}]',
    '[{{"name": "__import__", "arguments": {{"name": "os"}}}}]',
]
HANGS = ["[input()]", "[breakpoint()]", "[ls(a=9**9**9)]", "ls(a=9**9**9)", "[ls(a='x'*10**9)]"]
SHAPES = [
    "",
    "\0",
    "\ud800",
    "[ls(a='\ud800')]",
    "[\ud800()]",
    "[" * 100_000,
    "(" * 50_000 + ")" * 50_000,
    "[ls(" * 20_000,
    "'" * 99_999,
    "\\" * 99_999,
    "'\\" * 49_000,
    " " * 100_000,
    "\n" * 100_000,
    "`" * 100_000,
    "ls(" + " " * 90_000 + "a",
    "[ls" + ".b" * 40_000 + "()]",
    "[ls(a=" + "-" * 90_000 + "1)]",
    "[ls(a=" + "not " * 20_000 + "1)]",
    "[ls(a=" + "1+" * 45_000 + "1)]",
    "[ls(a=" + "1 if 1 else " * 8_000 + "1)]",
    "[ls(a=" + "x[0]" * 20_000 + ")]",
    "[ls(a=f'" + "{1}" * 30_000 + "')]",
    "[ls(a=f'" + "{1}" * 600 + "')]",
    "[ls(" + ",".join(f"a{i}=1" for i in range(9_000)) + ")]",
    "[ls(a=[" + "1," * 45_000 + "])]",
    "[ls(a={" + "1:1," * 24_000 + "})]",
    "[ls(a='" + "\\x41" * 20_000 + "')]",
    "[ls(a=0x" + "f" * 90_000 + ")]",
    "[ls(a=" + "9" * 90_000 + ")]",
    "[" + "ls()," * 19_000 + "]",
    "[" + "a" * 90_000 + "()]",
    '{"tool_calls":' + "[" * 5_000,
    '[{"name": "ls", "arguments": {"a": ' + "9" * 5_000 + "}}]",
    '[{"name": "ls", "arguments": {"a": 1e999, "b": -1e999}}]',
    '[{"name": "ls", "arguments": {"a": ' + "[" * 50 + "]" * 50 + "}}]",
    '[{"name": "' + "a" * 90_000 + '", "arguments": {}}]',
    '[{"name": "ls", "arguments": {"' + "a" * 90_000 + '": 1}}]',
    '[{"name": "ls", "arguments": {"self": 1}}]',
    '[{"name": "ls", "arguments": {"": 1, "a b": 2, "class": 3}}]',
    json.dumps([{"name": "ls", "arguments": {"a": "ls (" * 20_000}}]),
    json.dumps([{"name": "ls", "arguments": {"a": [1] * 30_000}}]),
    "ls()\n" * 19_000,
    *[
        f"[ls(a=g({before * count}x{after * count}))]"
        for count in (150, 300, 500, 800, 1_200)
        for before, after in [
            ("", "+1"),
            ("", "[0]"),
            ("", ".y"),
            ("", "()"),
            ("not ", ""),
            ("x if y else ", ""),
            ("lambda: ", ""),
            ("await ", ""),
        ]
    ],
]


@pytest.mark.parametrize("rules", ["official", "fixed"])
@pytest.mark.parametrize("decoding", ["native", "official"])
@pytest.mark.parametrize("source", ["mini", "official"])
def test_no_text_runs_hangs_or_raises(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    decoding: str,
    rules: str,
) -> None:
    name = "mini_files_0"
    if source == "official":
        request.getfixturevalue("official_bfcl")
        name = task_with("GorillaFileSystem", "MathAPI")
    monkeypatch.chdir(tmp_path)
    texts = [text.format(mark=MARK) for text in CODE] + HANGS + SHAPES
    survive(name, texts, decoding=decoding, rules=rules)
    verdict(name, [[[text]] for text in texts[:1]])
    world = task(name).world("official")
    for text in texts:
        before = time.thread_time()
        assert all(isinstance(result, str) for result in world.run([text]))
        assert time.thread_time() - before < PATIENCE, text[:100]
    assert list(tmp_path.iterdir()) == []


def listed(text: str, count: int) -> str:
    return "[" + ", ".join([text] * count) + "]"


def test_arithmetic_is_bounded(official_bfcl: None) -> None:
    results = survive(
        task_with("MathAPI"),
        [
            "[power(base=9, exponent=999999999)]",
            "[power(base=-3, exponent=-10000000000)]",
            "[logarithm(value=2, base=3, precision=100000000)]",
            "[logarithm(value='1e99999999', base=3, precision=10)]",
            "[square_root(number=2, precision=99999999)]",
            "[round_number(number=5, decimal_places=-999999999)]",
        ],
    )
    assert len(results) == 6
    assert all(result.startswith("Error during execution: ") for result in results)
    many = ["logarithm(value=2.5, base=7, precision=1000)", "square_root(number=2, precision=1000)"]
    survive(task_with("MathAPI"), [listed(call, 250) for call in many])
    assert survive(
        task_with("MathAPI"), ["[power(base=2, exponent=100), power(base=2.0, exponent=3)]"]
    ) == ['{"result": 1267650600228229401496703205376}', '{"result": 8.0}']


def test_nested_calls_cannot_grow_without_bound(official_bfcl: None) -> None:
    files = task("multi_turn_base_15").world("official")
    depth = 28
    text = "echo(content=" + "str(echo(content=" * depth + "'\\'\"\\\\'" + "))" * depth + ")"
    posts = task(task_with("TwitterAPI")).world("official")
    posts.instances["TwitterAPI"].authenticated = True
    number = posts.instances["TwitterAPI"].tweet_counter
    double = (
        f"mention(tweet_id={number}, mentioned_usernames=get_tweet(tweet_id={number})['mentions'])"
    )
    maths = task(task_with("MathAPI")).world("official")
    nested = "power(base=9, exponent=power(base=9, exponent=9)['result'])"
    for world, batch in [
        (files, [text]),
        (posts, ["post_tweet(content='x', mentions=['@a', '@b'])"]),
        *[(posts, [double] * 60)] * 4,
        (posts, [f"get_tweet(tweet_id={number})"] * 100),
        (maths, [nested]),
    ]:
        before = time.thread_time()
        world.run(batch)
        assert time.thread_time() - before < PATIENCE


def test_trees_with_cycles_and_shared_parts(official_bfcl: None) -> None:
    name = task_with("GorillaFileSystem", "MathAPI")
    grow = [
        f"mkdir('d{k + 1}'), cp('d{k}', 'd{k + 1}'), mv('d{k}', 'e{k}'), cp('e{k}', 'd{k + 1}'), "
        f"rm('e{k}')"
        for k in range(36)
    ]
    results = survive(
        name,
        [
            "[mkdir('d0')]",
            *[f"[{a}, {b}]" for a, b in zip(grow[::2], grow[1::2], strict=True)],
            "[find()]",
        ],
    )
    assert "too much" in results[-1]
    survive(name, ["[mkdir('a'), cp('a', 'a'), find(), du(), pwd(), ls()]"])
    results = survive(name, ["[mkdir('a'), cp('a', 'a')]", "[find()]", "[cd('a'), cd('a'), ls()]"])
    assert "maximum recursion depth exceeded" in results[2]
    survive(name, [listed("mkdir('a'), cd('a')", 120)] * 6 + ["[pwd(), find('/'), du()]"])
    survive(
        name,
        [f"[mkdir('m{j}')]" for j in range(3)] + [listed("mv('m0', 'm1'), mv('m1', 'm0')", 120)],
    )


def test_long_contents(official_bfcl: None) -> None:
    name = task_with("GorillaFileSystem", "MathAPI")
    for content in ("b\na\n" * 15_000, "\n" * 45_000, "é" * 14_000):
        touched = calls(
            ("touch", {"file_name": "a"}), ("echo", {"content": content, "file_name": "a"})
        )
        reads = [
            "sort('a')",
            "wc('a', 'w')",
            "cat('a')",
            "grep('a', 'a')",
            "diff('a', 'a')",
            "tail('a', 9999)",
        ]
        survive(name, [touched, *[listed(read, 250) for read in reads]])
    long = "x" * 90_000
    survive(
        name,
        [
            calls(("mkdir", {"dir_name": long}), ("cd", {"folder": long})),
            "[mkdir('y'), cd('y'), mkdir('k'), find('.'), pwd()]",
            listed("pwd()", 250),
            listed("find('/')", 250),
            calls(("find", {"path": "./" * 45_000})),
        ],
    )


def test_an_episode_writes_a_bounded_text(official_bfcl: None) -> None:
    name = task_with("GorillaFileSystem", "MathAPI")
    results = survive(name, [calls(("echo", {"content": "x" * 80_000}))] * 5)
    assert [len(result) > 80_000 for result in results] == [True, True, True, False, False]
    assert results[-1] == (
        "Error during execution: the calls of this episode have over 300000 characters"
    )


def test_many_records(official_bfcl: None) -> None:
    log_in = "[trading_login(username='a', password='b')]"
    survive(
        task_with("TradingBot"),
        [log_in, *[listed("fund_account(1)", 250)] * 15, listed("get_transaction_history()", 250)],
    )
    survive(
        task_with("TradingBot", split="long_context"),
        [log_in, *[listed(f"{f}", 250) for f in ("get_transaction_history()", "get_watchlist()")]],
    )
    survive(
        task_with("MessageAPI"),
        [
            "[message_login('USR001')]",
            *[calls(*[("send_message", {"receiver_id": "USR002", "message": "m" * 300})] * 200)]
            * 4,
            listed("search_messages('zzz')", 250),
            listed("view_messages_sent()", 250),
        ],
    )


def test_ordinary_work_is_never_refused(official_bfcl: None) -> None:
    world = task(task_with("GorillaFileSystem", split="long_context")).world("official")
    steps = [["ls(a=True)", "find()", "du()", "pwd()"] * 5 for _ in range(21 * 5)]
    for step in steps:
        assert not [
            result for result in world.run(step) if "too much" in result or "over" in result
        ]
