from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.bfcl.decoding import decode, official_calls
from agentenvs.bfcl.prompts import tools
from agentenvs.bfcl.tasks import SPLITS, task, task_ids
from agentenvs.core import Tool
from agentenvs.syntax import CallNode, UnreadableCall

TOOLS = {
    "move": Tool(
        "move",
        "",
        {"type": "object", "properties": {"source": {"type": "string"}, "target": {}}},
    ),
    "ls": Tool("ls"),
}


@pytest.mark.parametrize(
    ("reply", "calls"),
    [
        ("f('x')", ["f()"]),
        ("f('x', b=2)", ["f(b=2)"]),
        ("f(a=+5)", ["f(a=-5)"]),
        ("f(a=~5)", ["f(a=-5)"]),
        ("f(a=not True)", ["f(a=-1)"]),
        ("f(a=true, b=null)", ["f(a='true', b='null')"]),
        ("f(a={'k': {}})", ["f(a=k())"]),
        ("f(a={'k': {'z': 1}})", ["f(a=k(z=1))"]),
        ("f(**{'a':1})", ["f(None={'a': 1})"]),
        ("f(a=g(1))", ["f(a='g(1)')"]),
        ("f(a=g(b=1))", ["f(a=g(b=1))"]),
        ("f(a=x[0])", ["f(a='x[0]')"]),
        ("f(a={'k': 1, 'b': [2]})", ["f(a={'k': 1, 'b': [2]})"]),
        ("`[a.b(x=1), c()]`\n", ["a.b(x=1)", "c()"]),
        ("```\nf(a=1)\n```", ["f(a=1)"]),
        ("f(a=1), g()", ["f(a=1)", "g()"]),
        ("f()(a=1)", ["(a=1)"]),
        ("[]", []),
        ("", []),
    ],
)
def test_official_decoder_reads(reply: str, calls: list[str]) -> None:
    assert official_calls(reply) == calls


@pytest.mark.parametrize(
    "reply",
    [
        "f(a={})",
        "```python\n[f()]\n```",
        "f()\ng()",
        "f(); g()",
        "Sure: [f()]",
        "# first\n[f()]",
        "[[f()]]",
        "{f()}",
        "f(a=f'{x}')",
        "f(class=1)",
        "I am done.",
        "f(a=-'x')",
        "f(a=lambda: 0)",
        "f(a=[i for i in x])",
    ],
)
def test_official_decoder_fails(reply: str) -> None:
    with pytest.raises(UnreadableCall):
        official_calls(reply)


@pytest.mark.parametrize("reply", ["f(a=9**9**9)", "f(a=__import__('os').getpid()+0)", "f(a=1+2)"])
def test_operators_are_not_evaluated(reply: str) -> None:
    with pytest.raises(UnreadableCall, match="BinOp"):
        official_calls(reply)


LEAVES = str.split(
    """'s' 1 -2 +2.5 ~5 True true None ... x x.y x[0] y['a'] 1j b'q' -x -'a' --1 lambda:0
{1} 0x1f 1_000 'a''b' -None -(1) (1) x[1:2] x[-1] *a f'{1}' {} {'k':{}}"""
)


def _value(rng: random.Random, depth: int = 0) -> str:
    roll = rng.random()
    if roll < 0.45 or depth > 3:
        return rng.choice(LEAVES)
    parts = [_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if roll < 0.6:
        return f"[{', '.join(parts)}]"
    if roll < 0.7:
        return f"({', '.join(parts)})"
    if roll < 0.85:
        keys = ["'k'", "1", "x", "-1", "None", "(1, 2)", "[1]", "'q'"]
        return "{" + ", ".join(f"{rng.choice(keys)}: {part}" for part in parts) + "}"
    return _call(rng, depth + 1)


def _call(rng: random.Random, depth: int = 0) -> str:
    heads = ["f", "g.h", "a.b.c", "f()", "f()()", "x[0]", "(f)", "'s'.join", "1"]
    keys = ["a=", "b=", "a=", "", "**", "class=", "x = "]
    given_ = [rng.choice(keys) + _value(rng, depth) for _ in range(rng.randint(0, 3))]
    return f"{rng.choice(heads)}({', '.join(given_)})"


def test_official_decoder_agrees_with_the_original(official: Any) -> None:
    rng = random.Random(4)
    frames = ["%s", "[%s]", "[%s", "%s]", "```%s```", "```python\n[%s]```", "`[%s]`", "([%s])"]
    frames += ["'[%s]'", "[[%s]]", "{%s}", "[%s];", " [%s] \n", "[%s][0]", "f(%s)", "[%s,]"]
    texts = []
    for _ in range(3_000):
        body = ", ".join(_call(rng) for _ in range(rng.randint(1, 3)))
        texts.append(rng.choice(frames).replace("%s", body))
    found: list[list[str] | None] = []
    for text in texts:
        try:
            found.append(official_calls(text))
        except UnreadableCall:
            found.append(None)
    answers = official([{"kind": "decode", "text": text} for text in texts])
    assert sum(answer is not None for answer in answers) > 300
    assert [
        (text, mine, theirs)
        for text, mine, theirs in zip(texts, found, answers, strict=True)
        if mine != theirs
    ] == []


@pytest.mark.parametrize(
    ("reply", "calls"),
    [
        ("[move('a', target='b'), ls()]", ["move source='a' target='b'", "ls"]),
        ("move('a', 'b')", ["move source='a' target='b'"]),
        ('[{"name": "move", "arguments": {"source": "a"}}]', ["move source='a'"]),
        ('{"content": "hm", "tool_calls": [{"name": "ls", "arguments": {}}]}', ["ls"]),
        ("[nothing('a')]", ["nothing 'a'"]),
        ("[move('a', 'b', 'c')]", ["move 'a' 'b' 'c'"]),
    ],
)
def test_native_binds_by_doc_order(reply: str, calls: list[str]) -> None:
    reading = decode(reply, "native", TOOLS)
    assert reading.status == "calls"
    shown = []
    for call in reading.calls:
        assert isinstance(call, CallNode)
        parts = [call.name, *map(repr, call.args)]
        shown.append(" ".join([*parts, *(f"{key}={value!r}" for key, value in call.kwargs)]))
    assert shown == calls


def test_doc_order_counts_where_the_signature_differs(official_bfcl: None) -> None:
    name = next(n for n in task_ids("base") if "TravelAPI" in task(n).classes)
    offer = tools(task(name), "official")
    reading = decode("[purchase_insurance('t', 'kind', 50.0, 'b', 'c')]", "native", offer)
    (call,) = reading.calls
    assert isinstance(call, CallNode)
    assert dict(call.kwargs)["insurance_cost"] == 50.0
    assert dict(call.kwargs)["booking_id"] == "b"


@pytest.mark.parametrize("decoding", ["native", "official"])
@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("", "words"),
        ("[]", "words"),
        ("I am done.", "words"),
        ("The function ls() lists files.", "words"),
        ("See [1] and (2).", "words"),
        ("ls() is what I called (twice).", "words"),
        ("[ls(a=)]", "malformed"),
        ("[ls(", "malformed"),
        ("[Note] call me (later).", "words"),
        ("ls(a=b c)", "malformed"),
        ("Sure!\n[ls()]", "malformed"),
        ("```python\nls()\n```", "malformed"),
        ('{"tool_calls": [{"name": 3}]}', "malformed"),
        ('[{"name": "ls", "arguments": {}', "malformed"),
        ("<tool_call>{}</tool_call>", "malformed"),
    ],
)
def test_attempts_are_told_from_words(decoding: Any, reply: str, status: str) -> None:
    reading = decode(reply, decoding, TOOLS)
    assert reading.status == status
    assert bool(reading.reason) == (status == "malformed")


@pytest.mark.parametrize("decoding", ["native", "official"])
@given(st.text(max_size=80) | st.text(alphabet="ls(move)[]{}='\",.: \n`x1"))
def test_any_text_is_read(decoding: Any, text: str) -> None:
    reading = decode(text, decoding, TOOLS)
    assert (reading.status == "calls") == bool(reading.calls)


def test_ground_truths_as_text(official_bfcl: None) -> None:
    from agentenvs.bfcl import verdict
    from agentenvs.syntax import call_text

    valid = {"native": 0, "official": 0}
    for name in [name for split in SPLITS for name in task_ids(split)]:
        offer = tools(task(name), "official")
        for decoding in ("native", "official"):
            turns: list[list[list[str]]] = []
            for calls in task(name).gold:
                reading = decode(f"[{', '.join(calls)}]", decoding, offer)  # type: ignore[arg-type]
                step = [
                    call if isinstance(call, str) else call_text(call.name, dict(call.kwargs))
                    for call in reading.calls
                ]
                turns.append([step] if step else [])
            valid[decoding] += verdict(name, turns).valid
    assert valid == {"native": 800, "official": 704}
