"""The recorded official verdicts, and the table of references that the official checker accepts."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentenvs.acebench import verdict
from agentenvs.acebench.conversation import Conversation
from agentenvs.acebench.expected import plain_name
from agentenvs.acebench.judge import judge_answer
from agentenvs.acebench.overlay import overlay
from agentenvs.acebench.records import AGENT, CATEGORIES, LANGS, NORMAL, Records, Task
from agentenvs.acebench.replay import replay


@pytest.fixture(scope="module")
def rows(parity: Path) -> list[dict[str, Any]]:
    with gzip.open(parity / "acebench_verdicts.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def told(error: Any) -> str:
    """Return a recorded error text as one line."""
    if isinstance(error, str):
        return error
    return "; ".join(str(part[0]) if isinstance(part, list) else str(part) for part in error)


def test_recorded_answers(rows: list[dict[str, Any]], records: Records) -> None:
    wrong = []
    answers = [row for row in rows if "output" in row]
    for row in answers:
        found = verdict(row["category"], row["lang"], row["id"], row["output"], records=records)
        if (found.valid, found.error_type) != (row["valid"], row["error_type"]):
            wrong.append((row["key"], row["error_type"], found))
        assert found.process_accuracy is None
        assert found.detail == told(row["error"])
    assert wrong == []
    assert len(answers) == 459


def test_recorded_states(rows: list[dict[str, Any]], records: Records) -> None:
    wrong = []
    episodes = [row for row in rows if "process" in row]
    for row in episodes:
        found = verdict(
            row["category"],
            row["lang"],
            row["id"],
            final_state=row["final_state"],
            process=row["process"],
            records=records,
        )
        expected = row["valid"], row["error_type"], row["process_accuracy"], row["final_state"]
        if found[:4] != expected or found.detail != told(row["error"]):
            wrong.append((row["key"], found[:3]))
    assert wrong == []
    assert len(episodes) == 312


def test_recorded_episodes(rows: list[dict[str, Any]], records: Records) -> None:
    wrong = []
    episodes = [row for row in rows if "agent_messages" in row]
    for row in episodes:
        found = verdict(
            row["category"],
            row["lang"],
            row["id"],
            agent_messages=row["agent_messages"],
            final_state=[],
            records=records,
        )
        expected = row["valid"], row["error_type"], row["process_accuracy"], row["final_state"]
        if found[:4] != expected:
            wrong.append((row["key"], found[:3]))
        task = records.task(row["lang"], row["id"])
        done = replay(task, row["agent_messages"], records.world(row["lang"]))
        assert done.process == row["process"]
        # The recorder put a text of its own in one place: it names its own instances there.
        if row["mutation"] != "qualified":
            assert done.observations == row["observations"]
    assert wrong == []
    assert len(episodes) == 219


def as_output(task: Task, answer: Any) -> str:
    """Return a reference as a model would say it."""
    if task.category == "special_irrelevant":
        return str(answer)
    if task.category == "special_incomplete":
        sentences = [
            f"Missing necessary parameters ({', '.join(words)}) for the api ({name})"
            for name, words in answer.items()
        ]
        return json.dumps(sentences, ensure_ascii=False)
    if task.category == "special_error_param":
        sentences = [
            f"There is incorrect value ({', '.join(words)}) for the parameters ({name})"
            for name, words in answer.items()
        ]
        return json.dumps(sentences, ensure_ascii=False)
    return calls_text(
        {
            plain_name(name) + "\0" * n: arguments
            for n, (name, arguments) in enumerate(answer.items())
        }
    )


def calls_text(calls: Mapping[str, Mapping[str, Any]]) -> str:
    texts = [
        f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
        for name, arguments in calls.items()
    ]
    return f"[{', '.join(texts)}]".replace("\0", "")


def test_recorded_episodes_played_as_conversations(
    rows: list[dict[str, Any]], records: Records
) -> None:
    for row in rows:
        if "agent_messages" not in row:
            continue
        lang = row["lang"]
        task = records.task(lang, row["id"])
        talk = Conversation(task, records.world(lang))
        left = iter(row["agent_messages"])
        while not talk.over:
            if talk.turn == "user":
                talk.user("Go on.")
            elif (message := next(left, None)) is not None:
                talk.agent(message)
            else:
                break
        found = talk.verdict()
        assert (found.valid, found.error_type) == (row["valid"], row["error_type"]), row["key"]
        assert found.process_accuracy == row["process_accuracy"], row["key"]
        assert found.final_state == row["final_state"], row["key"]
        assert talk.process == row["process"], row["key"]


def test_accepted_references(
    records: Records, official_counts: Mapping[str, tuple[int, int]]
) -> None:
    accepted: Counter[tuple[str, str]] = Counter()
    refused = set()
    for task in records.values():
        if task.category in AGENT:
            alternatives = (
                task.milestones if isinstance(task.milestones[0], list) else [task.milestones]
            )
            valid = any(
                verdict(
                    task.category,
                    task.lang,
                    task.id,
                    agent_messages=[*steps, "finish conversation"],
                    records=records,
                ).valid
                for steps in alternatives
            )
        else:
            several = isinstance(task.answer, list)
            answer = task.answer[0] if several else task.answer
            valid = judge_answer(task, as_output(task, answer)).valid
            if not valid:
                refused.add(task.name)
        accepted[task.category, task.lang] += valid
    table = {category: tuple(accepted[category, lang] for lang in LANGS) for category in CATEGORIES}
    assert table == official_counts
    assert tuple(map(sum, zip(*table.values(), strict=True))) == (972, 999)
    assert refused == overlay().unreachable
    assert all(records[name].category in NORMAL for name in refused)


@pytest.mark.parametrize(
    ("rules", "refused"), [("official", set()), ("fixed", {"agent_multi_turn_28"})]
)
def test_gold_plans(parity: Path, records: Records, rules: Any, refused: set[str]) -> None:
    """The plans follow the references; where those contradict the instruction, so do they."""
    lines = (parity / "acebench_gold_plans.jsonl").read_text("utf-8").splitlines()
    failed = []
    for plan in map(json.loads, lines):
        found = verdict(
            plan["category"],
            plan["lang"],
            plan["id"],
            agent_messages=plan["agent_messages"],
            rules=rules,
            records=records,
        )
        if not found.valid:
            failed.append(plan["id"])
    assert len(lines) == 100
    assert set(failed) == refused


@pytest.mark.parametrize(
    ("rules", "passed"),
    [("official", ["en/agent_multi_turn_7", "zh/agent_multi_turn_7"]), ("fixed", [])],
)
def test_an_agent_that_only_looks(records: Records, rules: Any, passed: list[str]) -> None:
    messages = ["[get_latest_message_id()]", "[get_flight_details()]", "finish conversation"]
    valid = [
        task.name
        for lang in LANGS
        for category in AGENT
        for task in records.category(lang, category).values()
        if verdict(
            category, lang, task.id, agent_messages=messages, rules=rules, records=records
        ).valid
    ]
    assert valid == passed
