from __future__ import annotations

import copy
import gzip
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.acebench.conversation import END, MAX_MESSAGES, Conversation, Said
from agentenvs.acebench.executor import NOT_A_CALL
from agentenvs.acebench.records import Records
from agentenvs.acebench.replay import replay
from agentenvs.core import ToolCall
from agentenvs.errors import AgentEnvsError, BadArgument

Tiny = dict[str, dict[str, Any]]
WIFI = "[turn_on_wifi()]"


def _load() -> ModuleType:
    path = Path(__file__).with_name("talking.py")
    spec = importlib.util.spec_from_file_location("agentenvs_tests_talking", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


talking = _load()


def start(tiny: Tiny, lang: str = "en", **settings: Any) -> Conversation:
    return Conversation(talking.tiny_task(lang), tiny[lang], **settings)


def alone(tiny: Tiny, **settings: Any) -> Conversation:
    task = talking.tiny_task(id="agent_multi_step_0", category="agent_multi_step")
    return Conversation(task, tiny["en"], **settings)


def test_words_go_to_the_user_and_calls_to_execution(tiny: Tiny) -> None:
    talk = start(tiny)
    assert talk.turn == "user"
    talk.user("Hello.")
    assert talk.turn == "agent"
    reply = talk.agent("What do you want?")
    assert reply is not None
    assert reply.to_user
    assert talk.turn == "user"
    talk.user("A message.")
    reply = talk.agent(WIFI)
    assert reply is not None
    assert talk.turn == "agent"
    assert talk.messages[-1] == Said("execution", reply.text)
    assert talk.process == [WIFI]
    assert not talk.over


@pytest.mark.parametrize("calls", [(ToolCall("turn_on_wifi", {}),), ()])
def test_calls_that_were_read_elsewhere_go_before_the_text(
    tiny: Tiny, calls: tuple[ToolCall, ...]
) -> None:
    talk = start(tiny)
    talk.user("Hello.")
    reply = talk.agent(WIFI if not calls else "words", calls)
    assert reply is not None
    assert reply.to_user is not bool(calls)


def test_either_side_ends_it_with_the_phrase(tiny: Tiny) -> None:
    talk = start(tiny)
    talk.user("Hello.")
    talk.agent("Yes?")
    talk.user(f"Never mind, {END}.")
    assert (talk.over, talk.ended, talk.truncated) == (True, "user", False)
    talk = start(tiny)
    talk.user("Hello.")
    talk.agent("Yes?")
    talk.user("Wait.")
    assert talk.agent(f"[turn_on_wifi()] {END}") is None
    assert talk.ended == "agent"
    assert talk.process == []


def test_the_phrase_does_not_end_it_in_a_first_message(tiny: Tiny) -> None:
    talk = start(tiny)
    talk.user(END)
    talk.agent(END)
    assert not talk.over
    lone = alone(tiny)
    assert lone.agent(END) is not None
    assert lone.agent(END) is None


def test_the_limit_counts_every_message_and_a_last_call_is_carried_out(tiny: Tiny) -> None:
    talk = start(tiny, max_messages=4)
    talk.user("Hello.")
    talk.agent(WIFI)
    reply = talk.agent("[delete_message(message_id=1)]")
    assert reply is not None
    assert (talk.ended, talk.truncated, talk.turn) == ("limit", True, "")
    assert talk.messages[-1] == ("execution", reply.text)
    assert talk.process == [WIFI, "[delete_message(message_id=1)]"]
    assert "1" not in talk.world.scored()[1]["MessageApi"]["inbox"]


def test_last_words_at_the_limit_are_not_answered(tiny: Tiny) -> None:
    talk = start(tiny, max_messages=2)
    talk.user("Hello.")
    reply = talk.agent("What else?")
    assert reply is not None
    assert reply.to_user
    assert (talk.ended, talk.turn, len(talk.messages)) == ("limit", "", 2)


def test_alone_an_agent_has_half_of_the_messages(tiny: Tiny) -> None:
    talk = alone(tiny)
    turns = 0
    while not talk.over:
        reply = talk.agent("words")
        assert reply is not None
        assert reply.text == NOT_A_CALL
        turns += 1
    assert turns == MAX_MESSAGES // 2
    assert len(talk.process) == turns


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_out_of_turn_is_an_error(tiny: Tiny, lang: str) -> None:
    talk = start(tiny, lang)
    with pytest.raises(AgentEnvsError, match="agent's turn"):
        talk.agent("Hello.")
    talk.user("Hello.")
    with pytest.raises(AgentEnvsError, match="user's turn"):
        talk.user("Hello.")
    talk.agent("a")
    talk.user(END)
    with pytest.raises(AgentEnvsError, match="over"):
        talk.agent("a")


@pytest.mark.parametrize("copied", [Conversation.copy, copy.copy, copy.deepcopy])
def test_copies_never_touch(tiny: Tiny, copied: Any) -> None:
    talk = start(tiny)
    talk.user("Hello.")
    twin = copied(talk)
    twin.agent("[delete_message(message_id=1)]")
    assert len(talk.messages) == 1
    assert talk.world.scored() != twin.world.scored()
    talk.agent("[delete_message(message_id=1)]")
    assert talk.world.scored() == twin.world.scored()
    assert talk.messages == twin.messages


def test_other_tasks_and_limits_are_errors(tiny: Tiny) -> None:
    task = talking.tiny_task(id="normal_atom_bool_0", category="normal_atom_bool")
    with pytest.raises(BadArgument, match="agent_multi_turn"):
        Conversation(task, tiny["en"])
    for limit in (0, True, "40"):
        with pytest.raises(BadArgument, match="max_messages"):
            start(tiny, max_messages=limit)


def test_recorded_episodes_come_out_as_in_the_original(records: Records, parity: Path) -> None:
    with gzip.open(parity / "acebench_verdicts.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row.get("agent_messages") is not None]
    assert rows
    for row in rows:
        task = records.task(row["lang"], row["id"])
        talk = Conversation(task, records.world(task.lang), max_messages=10_000)
        done = replay(task, row["agent_messages"], records.world(task.lang))
        for message in row["agent_messages"][:20]:
            if talk.turn == "user":
                talk.user("Go on.")
            if talk.turn == "agent":
                talk.agent(message)
        verdict = talk.verdict()
        assert talk.process == done.process
        assert verdict.final_state == row["final_state"]
        assert verdict.valid == row["valid"]
        assert verdict.error_type == row["error_type"]
