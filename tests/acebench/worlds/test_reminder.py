from __future__ import annotations

from typing import Any

import pytest

from agentenvs.acebench.worlds import CallError, NoSuchFunction, World

Tiny = dict[str, dict[str, Any]]


def device(tiny: Tiny, lang: str = "en", logged_in: bool = True) -> World:
    flags = {"BaseApi": {"logged_in": logged_in}}
    return World.of(lang, tiny[lang], flags, ("ReminderApi",))


def listed(world: World) -> Any:
    return world.scored()[0]["ReminderApi"]["reminder_list"]


ADD = {"title": "t", "description": "d", "time": "soon"}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_reminder_takes_the_next_number(tiny: Tiny, lang: str) -> None:
    world = device(tiny, lang)
    assert world.call("add_reminder", ADD)["status"] is True
    assert listed(world)["2"] == {"reminder_id": 2, **ADD, "notified": False}
    assert world.call("add_reminder", ADD)["status"] is False
    assert len(listed(world)) == 2


def test_a_deleted_number_is_not_given_again(tiny: Tiny) -> None:
    world = device(tiny)
    assert world.call("delete_reminder", {"reminder_id": 1})["status"] is True
    assert world.call("delete_reminder", {"reminder_id": 100})["status"] is False
    world.call("add_reminder", ADD)
    assert list(listed(world)) == ["2"]


def test_all_but_the_whole_list_need_login(tiny: Tiny) -> None:
    world = device(tiny, "zh", logged_in=False)
    assert len(world.call("view_all_reminders", {})["reminders"]) == 1
    for name, given in (
        ("add_reminder", ADD),
        ("view_reminder_by_title", {"title": "Walk"}),
        ("delete_reminder", {"reminder_id": 1}),
        ("mark_as_notified", {"reminder_id": 1}),
        ("search_reminders", {"keyword": "dog"}),
    ):
        assert world.call(name, given)["status"] is False
    assert listed(world) == listed(device(tiny, "zh"))


def test_a_title_must_be_the_same(tiny: Tiny) -> None:
    world = device(tiny)
    found = world.call("view_reminder_by_title", {"title": "Walk"})
    assert found["reminder"]["reminder_id"] == 100
    assert world.call("view_reminder_by_title", {"title": "walk"})["status"] is False


def test_an_empty_list_is_told(tiny: Tiny) -> None:
    world = device(tiny)
    world.call("delete_reminder", {"reminder_id": 1})
    assert world.call("view_all_reminders", {})["status"] is False


def test_marking_is_chinese_alone(tiny: Tiny) -> None:
    world = device(tiny, "zh")
    assert world.call("mark_as_notified", {"reminder_id": 1})["status"] is True
    assert world.call("mark_as_notified", {"reminder_id": 9})["status"] is False
    assert listed(world)["1"]["notified"] is True
    with pytest.raises(NoSuchFunction, match="mark_as_notified"):
        device(tiny).call("mark_as_notified", {"reminder_id": 1})


def test_a_search_raises_where_it_finds_something(tiny: Tiny) -> None:
    world = device(tiny, "zh")
    assert world.call("search_reminders", {"keyword": "cat"})["status"] is False
    for keyword in ("DOG", "walk"):
        with pytest.raises(CallError, match="'dict' object"):
            world.call("search_reminders", {"keyword": keyword})
    with pytest.raises(NoSuchFunction):
        device(tiny).call("search_reminders", {"keyword": "cat"})
