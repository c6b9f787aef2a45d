"""Speed of the tool-call parser: texts a second, and time against length.

Run `python benchmarks/parser.py [--quick]`. Every number stands beside a floor measured in
the same run: `json.loads` and `ast.parse` with `ast.literal_eval` on the same number of
clean lists. With AGENTENVS_PARITY set, the recorded replies join the mixed corpus.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentenvs.core import Tool
from agentenvs.wrappers import Toolset, parse_tool_calls

NAMES = ("cd", "cat", "touch", "post_message", "book_flight", "get_stock", "list_files", "move")
KEYS = ("folder", "file_name", "content", "amount", "recursive", "tags")
WORDS = [
    "report",
    "final",
    "draft",
    "notes",
    "NVDA",
    "budget",
    "2024",
    "meeting",
    "urgent",
    "San",
    "Francisco",
]

HOSTILE = {
    "prose": "I moved the file (see above) and then [1] looked at {it}. ",
    "clean list": "ls(), ",
    "[[[[": "[",
    "[f(a=[": "[cd(folder=[",
    "open strings": "[cd(folder='",
    "<tool_call>": "<tool_call>",
    "half blocks": '<tool_call>{"name": "cd", "arguments": {"folder": "a',
    "<think>": "<think>",
    "stray </think>": "[cd('</think>",
    "quotes": "'",
    "backslashes": "\\",
    "escaped quotes": "[cd('\\'",
    "fences": "```",
    "blanks": " ",
    "newlines": "\n",
    "half parameters": "<function=cd><parameter=folder>",
    "Action:": "Action: cd\n",
    "braces": '{"a":',
}


def corpus(count: int, rng: random.Random) -> list[list[tuple[str, dict[str, Any]]]]:
    """Return lists of one to three calls of about 140 characters, like gold turns of BFCL."""
    made = []
    for _ in range(count):
        calls = []
        for _ in range(rng.randint(1, 3)):
            arguments: dict[str, Any] = {}
            for key in rng.sample(KEYS, rng.randint(1, 3)):
                value: Any = " ".join(rng.choices(WORDS, k=rng.randint(1, 4)))
                if key == "amount":
                    value = rng.randint(1, 9999)
                elif key == "recursive":
                    value = rng.random() < 0.5
                elif key == "tags":
                    value = rng.choices(WORDS, k=3)
                arguments[key] = value
            calls.append((rng.choice(NAMES), arguments))
        made.append(calls)
    return made


def pylist(calls: list[tuple[str, dict[str, Any]]]) -> str:
    inner = (f"{name}({', '.join(f'{k}={v!r}' for k, v in args.items())})" for name, args in calls)
    return f"[{', '.join(inner)}]"


def jsonlist(calls: list[tuple[str, dict[str, Any]]]) -> str:
    return json.dumps([{"name": name, "arguments": args} for name, args in calls])


def hermes(calls: list[tuple[str, dict[str, Any]]]) -> str:
    return "\n".join(
        f"<tool_call>\n{json.dumps({'name': n, 'arguments': a})}\n</tool_call>" for n, a in calls
    )


def coder(calls: list[tuple[str, dict[str, Any]]]) -> str:
    return "\n".join(
        f"<tool_call>\n<function={name}>\n"
        + "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in args.items())
        + "</function>\n</tool_call>"
        for name, args in calls
    )


def rate(work: Callable[[str], object], texts: Sequence[str], seconds: float) -> float:
    """Return texts a second of processor time, the best of three rounds."""
    best = 0.0
    for _ in range(3):
        done, start = 0, time.process_time()
        while True:
            for text in texts:
                work(text)
            done += len(texts)
            spent = time.process_time() - start
            if spent > seconds / 3:
                break
        best = max(best, done / spent)
    return best


def python_floor(text: str) -> object:
    body = ast.parse(text, mode="eval").body
    assert isinstance(body, ast.List)
    return [
        {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        for call in body.elts
        if isinstance(call, ast.Call)
    ]


def recorded() -> list[str]:
    folder = os.environ.get("AGENTENVS_PARITY")
    if not folder:
        return []
    with gzip.open(Path(folder) / "parser_cases.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [str(json.loads(line)["raw"]) for line in lines]
    return [text for text in texts if len(text) < 1000]


def speeds(tools: Toolset, seconds: float) -> None:
    calls = corpus(200, random.Random(0))
    lists = [pylist(item) for item in calls]
    objects = [jsonlist(item) for item in calls]
    replies = [f"<think>\nI should act.\n</think>\n\nLet me do it.\n{text}" for text in lists]
    words = ["I moved the report (the final one) into the folder you named [1]."] * 50
    mixed = lists + objects + [hermes(c) for c in calls] + [coder(c) for c in calls] + replies
    mixed += words + recorded() * 2
    random.Random(1).shuffle(mixed)

    def parse(text: str) -> object:
        return parse_tool_calls(text, tools)

    floors = {
        "json.loads, clean lists": rate(json.loads, objects, seconds),
        "ast + literal_eval, clean lists": rate(python_floor, lists, seconds),
    }
    print(f"{'':34}{'texts/s':>10}{'of ast':>9}{'of json':>9}")
    rows = dict(floors)
    for name, texts in (
        ("Python lists", lists),
        ("JSON lists", objects),
        ("thoughts, prose and a list", replies),
        ("Hermes blocks", [hermes(item) for item in calls]),
        ("Qwen3-Coder elements", [coder(item) for item in calls]),
        ("words", words),
        (f"mixed ({len(mixed)} texts)", mixed),
    ):
        rows[name] = rate(parse, texts, seconds)
    json_floor, ast_floor = floors.values()
    for name, value in rows.items():
        print(f"{name:34}{value:10,.0f}{value / ast_floor:9.2f}{value / json_floor:9.2f}")


def lengths(tools: Toolset, sizes: Sequence[int]) -> None:
    print("\nnanoseconds a character, by length of the text; flat is linear")
    print(f"{'':18}" + "".join(f"{size:>11,}" for size in sizes))
    for name, unit in HOSTILE.items():
        row = []
        for size in sizes:
            text = unit * (size // len(unit))
            if name == "clean list":
                text = f"[{text}ls()]"
            start = time.process_time()
            rounds = max(1, 20_000 // size)
            for _ in range(rounds):
                parse_tool_calls(text, tools)
            row.append((time.process_time() - start) / rounds / max(1, len(text)) * 1e9)
        print(f"{name:18}" + "".join(f"{value:11,.0f}" for value in row), flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter rounds and texts")
    quick = parser.parse_args().quick
    properties = {key: {"type": "string"} for key in KEYS}
    properties |= {"amount": {"type": "integer"}, "tags": {"type": "array"}}
    properties |= {"recursive": {"type": "boolean"}}
    schema = {"type": "object", "properties": properties}
    tools = Toolset([Tool(name, "", schema) for name in (*NAMES, "ls")])
    speeds(tools, 0.3 if quick else 1.5)
    lengths(tools, (1_000, 10_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000))


if __name__ == "__main__":
    main()
