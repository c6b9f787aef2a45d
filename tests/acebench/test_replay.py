from __future__ import annotations

from typing import Any

import pytest

from agentenvs.acebench.records import Task
from agentenvs.acebench.replay import END, MAX_TURNS, replay


def task(category: str = "agent_multi_step", **more: Any) -> Task:
    functions = [
        {"name": name} for name in ("turn_on_wifi", "login_device", "get_latest_message_id")
    ]
    return Task(
        f"{category}_18",
        "en",
        category,
        18,
        None,
        "?",
        functions,
        involved_classes=("BaseApi", "MessageApi"),
        initial_config={"BaseApi": {"wifi": False, "logged_in": True}},
        **more,
    )


def flags(state: list[dict[str, Any]]) -> Any:
    return state[0]["BaseApi"] if state else None


def test_every_replay_starts_afresh(tiny: Any) -> None:
    first = replay(task(), ["[turn_on_wifi()]"], tiny["en"])
    second = replay(task(), ["[get_latest_message_id()]"], tiny["en"])
    assert flags(first.final_state) == {"wifi": True, "logged_in": True}
    assert flags(second.final_state) == {"wifi": False, "logged_in": True}


def test_the_end_phrase_ends_but_not_in_the_first_message(tiny: Any) -> None:
    done = replay(task(), [END, f"I say {END}.", "[turn_on_wifi()]"], tiny["en"])
    assert done.process == [END]
    assert len(done.observations) == 1
    assert done.final_state == []


def test_the_limit_of_messages(tiny: Any) -> None:
    looks = ["[get_latest_message_id()]"] * MAX_TURNS
    late = replay(task(), [*looks, "[turn_on_wifi()]"], tiny["en"])
    assert len(late.process) == MAX_TURNS
    assert flags(late.final_state)["wifi"] is False
    early = replay(task(), [*looks[1:], "[turn_on_wifi()]"], tiny["en"])
    assert flags(early.final_state)["wifi"] is True


def test_words_count_as_process_only_without_a_user(tiny: Any) -> None:
    messages = ["Hello?", "[turn_on_wifi()]"]
    assert replay(task(), messages, tiny["en"]).process == messages
    done = replay(task("agent_multi_turn"), messages, tiny["en"])
    assert done.process == messages[1:]
    assert done.observations[0] is None


@pytest.mark.parametrize(("rules", "wifi"), [("official", None), ("fixed", True)])
def test_an_error_in_a_message_of_a_dialogue(tiny: Any, rules: Any, wifi: Any) -> None:
    messages = ["[turn_on_wifi(), login_device(x=1)]"]
    state = replay(task("agent_multi_turn"), messages, tiny["en"], rules).final_state
    assert flags(state) == (wifi and {"wifi": True, "logged_in": True})
