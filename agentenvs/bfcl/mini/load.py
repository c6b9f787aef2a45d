"""The bundled tasks and gold plans, read from the package's assets and checked."""

from __future__ import annotations

import copy
import functools
import importlib.resources
import json
import re
from typing import Any

from agentenvs.bfcl.mini.desk import TicketDesk
from agentenvs.bfcl.mini.files import Files
from agentenvs.bfcl.mini.home import Home
from agentenvs.bfcl.mini.tool import ToolWorld, docs_of
from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.syntax import UnreadableCall, parse_call_list

__all__ = ["answers", "docs", "rows", "system_prompt", "worlds"]

MAX_TURNS = 8
_KEYS = ("id", "level", "question", "initial_config", "involved_classes")


def worlds() -> dict[str, type[ToolWorld]]:
    """Return the tool worlds by class name."""
    return {"Files": Files, "TicketDesk": TicketDesk, "Home": Home}


def docs(class_name: str) -> list[dict[str, Any]]:
    """Return the function docs of a world in BFCL's form, derived from its code.

    Raises:
        UnknownName: there is no such world.
    """
    known = worlds()
    if class_name not in known:
        raise UnknownName(f"There is no world {class_name!r}.{did_you_mean(class_name, known)}")
    return copy.deepcopy(list(_docs(class_name)))


def rows() -> list[dict[str, Any]]:
    """Return the tasks in BFCL's row form, plus `level` from 1 (easy) to 4; fresh copies.

    Raises:
        BadArgument: a bundled file is damaged; the text names the file and the entry.
    """
    return copy.deepcopy([row for row, _ in _bundled()])


def answers() -> dict[str, list[list[str]]]:
    """Return the gold calls of every task by id: a list of call strings a turn; fresh copies.

    Raises:
        BadArgument: a bundled file is damaged; the text names the file and the entry.
    """
    return {row["id"]: copy.deepcopy(gold) for row, gold in _bundled()}


def system_prompt() -> str:
    """Return the set's own system prompt; `{functions}` in it stands for the function docs."""
    return _text("system_prompt.txt").strip()


@functools.cache
def _docs(class_name: str) -> tuple[dict[str, Any], ...]:
    return tuple(docs_of(worlds()[class_name]))


@functools.cache
def _bundled() -> tuple[tuple[dict[str, Any], list[list[str]]], ...]:
    return tuple(read(_text("tasks.jsonl"), _text("gold.jsonl")))


def _text(name: str) -> str:
    place = importlib.resources.files("agentenvs.assets") / "mini" / name
    return place.read_text(encoding="utf-8")


def read(tasks: str, gold: str) -> list[tuple[dict[str, Any], list[list[str]]]]:
    """Read tasks and gold plans from JSON lines and check that they fit together.

    Args:
        tasks: one row a line.
        gold: one `{"id", "ground_truth"}` a line, in the same order.

    Raises:
        BadArgument: something is missing, of another form, or names what does not exist.
    """
    task_rows = _lines("tasks.jsonl", tasks)
    gold_rows = _lines("gold.jsonl", gold)
    if [row.get("id") for row in task_rows] != [row.get("id") for row in gold_rows]:
        raise BadArgument("Expected gold.jsonl to have the ids of tasks.jsonl in the same order.")
    pairs = []
    seen: set[str] = set()
    for row, answer in zip(task_rows, gold_rows, strict=True):
        where = f"the task {row.get('id')!r} of tasks.jsonl"
        _check_row(where, row)
        if row["id"] in seen:
            raise BadArgument(f"Expected {where} to occur once.")
        seen.add(row["id"])
        pairs.append((row, _gold(f"{row['id']!r} of gold.jsonl", row, answer)))
    return pairs


def _lines(name: str, text: str) -> list[dict[str, Any]]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
        except ValueError as problem:
            raise BadArgument(f"Expected line {number} of {name} to be JSON: {problem}.") from None
        if not isinstance(entry, dict):
            raise BadArgument(f"Expected line {number} of {name} to be an object.")
        found.append(entry)
    return found


def _check_row(where: str, row: dict[str, Any]) -> None:
    missing = [key for key in _KEYS if key not in row]
    if missing:
        raise BadArgument(f"Expected {where} to have {missing}.")
    if not isinstance(row["id"], str) or not re.fullmatch(r"mini_[a-z]+_\d+", row["id"]):
        raise BadArgument(f"Expected the id of {where} to be mini_<family>_<number>.")
    if row["level"] not in (1, 2, 3, 4):
        raise BadArgument(f"Expected `level` of {where} to be 1 to 4, got {row['level']!r}.")
    names = row["involved_classes"]
    known = worlds()
    if not isinstance(names, list) or not names or not set(names) <= set(known):
        raise BadArgument(f"Expected `involved_classes` of {where} to be some of {list(known)}.")
    config = row["initial_config"]
    if not isinstance(config, dict) or not set(config) <= set(names):
        raise BadArgument(f"Expected `initial_config` of {where} to be by involved class.")
    for name, scenario in config.items():
        try:
            known[name]()._load_scenario(scenario)
        except BadArgument as problem:
            raise BadArgument(f"In {where}: {problem}") from None
    _check_turns(where, row, {doc["name"] for name in names for doc in _docs(name)})


def _check_turns(where: str, row: dict[str, Any], functions: set[str]) -> None:
    turns = row["question"]
    if not isinstance(turns, list) or not 1 <= len(turns) <= MAX_TURNS:
        raise BadArgument(f"Expected `question` of {where} to be 1 to {MAX_TURNS} turns.")
    withheld = row.get("missed_function", {})
    if not isinstance(withheld, dict):
        raise BadArgument(f"Expected `missed_function` of {where} to be a dict.")
    for index, names in withheld.items():
        if index not in {str(turn) for turn in range(1, len(turns))}:
            raise BadArgument(f"Expected a later turn of {where} to hand over, got {index!r}.")
        if not isinstance(names, list) or not names or not set(names) <= functions:
            raise BadArgument(f"Expected `missed_function` of {where} to name known functions.")
    for index, turn in enumerate(turns):
        if str(index) in withheld:
            good = turn == []
        else:
            good = isinstance(turn, list) and len(turn) == 1 and _is_message(turn[0])
        if not good:
            raise BadArgument(
                f"Expected turn {index} of {where} to be one user message, or [] where a "
                "withheld function is handed over."
            )


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and set(message) == {"role", "content"}
        and message["role"] == "user"
        and isinstance(message["content"], str)
        and bool(message["content"].strip())
    )


def _gold(where: str, row: dict[str, Any], answer: dict[str, Any]) -> list[list[str]]:
    plan = answer.get("ground_truth")
    if not isinstance(plan, list) or len(plan) != len(row["question"]):
        raise BadArgument(f"Expected `ground_truth` of {where} to have a list for each turn.")
    offered = {
        doc["name"]: doc["parameters"] for name in row["involved_classes"] for doc in _docs(name)
    }
    for turn, calls in enumerate(plan):
        if not isinstance(calls, list):
            raise BadArgument(f"Expected turn {turn} of {where} to be a list.")
        for text in calls:
            _check_call(f"{text!r} in {where}", text, offered)
    return plan


def _check_call(where: str, text: Any, offered: dict[str, dict[str, Any]]) -> None:
    try:
        nodes = parse_call_list(text if isinstance(text, str) else "")
    except UnreadableCall as problem:
        raise BadArgument(f"Expected {where} to be a call: {problem}.") from None
    if len(nodes) != 1 or nodes[0].args or nodes[0].name not in offered:
        raise BadArgument(f"Expected {where} to be one call of a known function, by keyword.")
    parameters = offered[nodes[0].name]
    given = {key for key, _ in nodes[0].kwargs}
    if not set(parameters["required"]) <= given <= set(parameters["properties"]):
        raise BadArgument(f"Expected {where} to give the function's arguments.")
