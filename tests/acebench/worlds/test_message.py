from __future__ import annotations

from typing import Any

import pytest

from agentenvs.acebench.worlds import CallError, World

Tiny = dict[str, dict[str, Any]]


def device(tiny: Tiny, lang: str = "en", wifi: bool = True, logged_in: bool = True) -> World:
    flags = {"BaseApi": {"wifi": wifi, "logged_in": logged_in}}
    return World.of(lang, tiny[lang], flags, ("BaseApi", "MessageApi"))


def send(world: World, text: Any = "x") -> Any:
    people = list(vars(world.services["MessageApi"])["user_list"])
    given = {"sender_name": people[0], "receiver_name": people[1], "message": text}
    return world.call("send_message", given)


def inbox(world: World) -> Any:
    return world.scored()[1]["MessageApi"]["inbox"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_message_takes_the_next_number_and_has_no_time(tiny: Tiny, lang: str) -> None:
    world = device(tiny, lang)
    assert send(world, "你好")["status"] is True
    assert inbox(world)["3"] == {"sender_id": "P1", "receiver_id": "P2", "message": "你好"}


def test_sending_asks_for_login_then_wifi_then_room(tiny: Tiny) -> None:
    world = device(tiny, wifi=False, logged_in=False)
    assert "not logged in" in send(world)["message"]
    world.call("login_device", {})
    assert "Wi-Fi" in send(world)["message"]
    world.call("turn_on_wifi", {})
    assert send(world)["status"] is True
    assert "capacity" in send(world)["message"]
    assert len(inbox(world)) == 3


def test_a_deleted_number_is_not_given_again(tiny: Tiny) -> None:
    world = device(tiny)
    send(world)
    assert world.call("delete_message", {"message_id": 3})["status"] is True
    send(world)
    assert list(inbox(world)) == ["1", "2", "4"]


@pytest.mark.parametrize("number", ["1", 9, None])
def test_an_unknown_number_is_not_deleted(tiny: Tiny, number: Any) -> None:
    world = device(tiny)
    assert world.call("delete_message", {"message_id": number})["status"] is False
    assert len(inbox(world)) == 2


def test_a_number_that_cannot_be_looked_up_raises(tiny: Tiny) -> None:
    with pytest.raises(CallError, match="unhashable type: 'list'"):
        device(tiny).call("delete_message", {"message_id": [1]})


def test_latest_and_earliest_go_by_time(tiny: Tiny) -> None:
    world = device(tiny)
    assert world.call("get_latest_message_id", {})["message_id"] == 1
    assert world.call("get_earliest_message_id", {})["message_id"] == 2
    times = world.call("get_all_message_times_with_ids", {})
    assert times == {1: "2024-02-01", 2: "2024-01-01"}


@pytest.mark.parametrize(
    "name",
    ["get_latest_message_id", "get_earliest_message_id", "get_all_message_times_with_ids"],
)
def test_times_raise_once_a_message_was_sent(tiny: Tiny, name: str) -> None:
    world = device(tiny)
    send(world)
    with pytest.raises(CallError, match="^'time'$"):
        world.call(name, {})


def test_only_search_needs_no_login(tiny: Tiny) -> None:
    world = device(tiny, logged_in=False)
    found = world.call("search_messages", {"user_name": "Ann", "keyword": "hi"})
    assert [one["id"] for one in found["messages"]] == [1]
    between = {"sender_name": "Ann", "receiver_name": "Bob"}
    for name, given in (
        ("view_messages_between_users", between),
        ("get_latest_message_id", {}),
        ("get_earliest_message_id", {}),
        ("get_all_message_times_with_ids", {}),
        ("delete_message", {"message_id": 1}),
    ):
        assert world.call(name, given)["status"] is False


def test_messages_between_two_people_have_a_direction(tiny: Tiny) -> None:
    world = device(tiny, "zh")
    given = {"sender_name": "波", "receiver_name": "安"}
    assert world.call("view_messages_between_users", given) == {
        "status": True,
        "messages": [{"id": 2, "sender": "波", "receiver": "安", "message": "Lo"}],
    }
    world.call("delete_message", {"message_id": 2})
    assert world.call("view_messages_between_users", given)["status"] is False


def test_an_empty_inbox_has_no_latest_message(tiny: Tiny) -> None:
    world = device(tiny)
    for number in (1, 2):
        world.call("delete_message", {"message_id": number})
    assert world.call("get_latest_message_id", {})["status"] is False


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_unknown_people_are_told(tiny: Tiny, lang: str) -> None:
    world = device(tiny, lang)
    for name, given in (
        ("send_message", {"sender_name": "Ann", "receiver_name": "Zoe", "message": "x"}),
        ("view_messages_between_users", {"sender_name": "Zoe", "receiver_name": "Ann"}),
        ("search_messages", {"user_name": "Zoe", "keyword": "x"}),
    ):
        assert world.call(name, given)["status"] is False
