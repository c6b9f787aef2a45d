from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.acebench.records import Records
from agentenvs.acebench.worlds import SERVICES, CallError, NoSuchFunction, World
from agentenvs.acebench.worlds.texts import TEXTS
from agentenvs.errors import BadArgument, UnknownName

Tiny = dict[str, dict[str, Any]]
PHONE = ("BaseApi", "MessageApi", "ReminderApi", "FoodPlatform")
NAMES = {"en": ("Ann", "Tea House", "green tea"), "zh": ("安", "茶馆", "绿茶")}


def play(tiny: Tiny, lang: str) -> World:
    """Return a world in which each phone service was used."""
    world = World.of(lang, tiny[lang], {}, PHONE)
    name, shop, tea = NAMES[lang]
    for function, arguments in (
        ("turn_on_wifi", {}),
        ("login_food_platform", {"username": name, "password": "one"}),
        (
            "add_food_delivery_order",
            {"username": name, "merchant_name": shop, "items": [{"product": tea}]},
        ),
        ("send_message", {"sender_name": name, "receiver_name": name, "message": "我"}),
        ("delete_message", {"message_id": 1}),
        ("add_reminder", {"title": "a", "description": "b", "time": "c"}),
    ):
        assert world.call(function, arguments)["status"] is True
    return world


def test_flags_reach_every_phone_service(tiny: Tiny) -> None:
    for config, flags in (
        ({}, (False, True)),
        ({"BaseApi": {"wifi": True, "logged_in": False}}, (True, False)),
        ({"Baspi": {"wifi": True, "logged_in": False}}, (False, True)),
    ):
        world = World.of("en", tiny["en"], config, PHONE)
        for service in world.services.values():
            assert (vars(service)["wifi"], vars(service)["logged_in"]) == flags


def test_a_shared_function_reaches_every_service(tiny: Tiny) -> None:
    world = World.of("zh", tiny["zh"], {}, PHONE)
    assert world.call("turn_on_wifi", {})["status"] is True
    assert all(vars(service)["wifi"] for service in world.services.values())


def test_the_scored_state_is_json_in_the_order_of_the_classes(tiny: Tiny) -> None:
    for lang in NAMES:
        state = play(tiny, lang).scored()
        assert [list(one) for one in state] == [[name] for name in PHONE]
        assert state == json.loads(json.dumps(state))
        assert list(state[0]["BaseApi"]) == ["wifi", "logged_in"]
        assert list(state[1]["MessageApi"]["inbox"]) == ["2", "3"]
        assert list(state[3]["FoodPlatform"]) == ["users", "logged_in_users", "orders"]


def test_nothing_that_is_shared_is_changed(tiny: Tiny) -> None:
    before = copy.deepcopy(tiny)
    for lang in NAMES:
        first, second = play(tiny, lang), play(tiny, lang)
        assert first.scored() == second.scored()
    assert tiny == before


@pytest.mark.parametrize("twin", [World.copy, copy.copy, copy.deepcopy])
def test_a_copy_and_its_original_never_touch(tiny: Tiny, twin: Any) -> None:
    world = World.of("en", tiny["en"], {}, PHONE)
    other = twin(world)
    first = world.scored()
    other.call("turn_on_wifi", {})
    other.call("login_food_platform", {"username": "Ann", "password": "one"})
    assert world.scored() == first
    second = other.scored()
    world.call("delete_message", {"message_id": 1})
    assert other.scored() == second


calls = st.sampled_from(
    [
        ("turn_on_wifi", {}),
        ("login_food_platform", {"username": "Ann", "password": "one"}),
        ("delete_message", {"message_id": 1}),
        ("delete_message", {"message_id": 3}),
        ("send_message", {"sender_name": "Ann", "receiver_name": "Bob", "message": "x"}),
        ("add_reminder", {"title": "a", "description": "b", "time": "c"}),
        ("delete_reminder", {"reminder_id": 1}),
        (
            "add_food_delivery_order",
            {
                "username": "Ann",
                "merchant_name": "Tea House",
                "items": [{"product": "green tea", "quantity": 2}],
            },
        ),
    ]
)


@given(before=st.lists(calls, max_size=6), after=st.lists(calls, max_size=6))
def test_what_follows_a_copy_is_what_would_have_followed(
    tiny: Tiny, before: list[Any], after: list[Any]
) -> None:
    world = World.of("en", tiny["en"], {}, PHONE)
    for name, arguments in before:
        world.call(name, arguments)
    saved = world.copy()
    state = world.scored()
    said = [world.call(name, arguments) for name, arguments in after]
    assert saved.scored() == state
    assert [saved.call(name, arguments) for name, arguments in after] == said
    assert saved.scored() == world.scored()


def test_languages_interleave_in_threads(tiny: Tiny) -> None:
    expected = {lang: play(tiny, lang).scored() for lang in NAMES}
    langs = list(NAMES) * 60
    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(lambda lang: play(tiny, lang).scored(), langs))
    assert states == [expected[lang] for lang in langs]


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        (
            "send_message",
            {"message": "x"},
            "MessageApi.send_message() missing 2 required positional arguments: "
            "'sender_name' and 'receiver_name'",
        ),
        (
            "turn_on_wifi",
            {"on": True},
            "BaseApi.turn_on_wifi() got an unexpected keyword argument 'on'",
        ),
    ],
)
def test_wrong_arguments_are_told_as_python_does(
    tiny: Tiny, name: str, arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(CallError) as told:
        World.of("en", tiny["en"], {}, PHONE).call(name, arguments)
    assert str(told.value) == text


@pytest.mark.parametrize("name", ["load", "copy", "__init__", "_by_time", "names", "flights", ""])
def test_only_functions_can_be_called(tiny: Tiny, name: str) -> None:
    world = World.of("en", tiny["en"], {}, (*PHONE, "Travel"))
    assert not world.has(name)
    for ask in (lambda: world.call(name, {}), lambda: world.parameters(name)):
        with pytest.raises(NoSuchFunction):
            ask()


def test_offered_are_those_that_a_service_has(tiny: Tiny) -> None:
    world = World.of("en", tiny["en"], {}, ("BaseApi", "ReminderApi"))
    names = ["send_message", "search_reminders", "add_reminder", "login_device"]
    assert world.offered(names) == ("add_reminder", "login_device")
    assert world.parameters("add_reminder") == ("title", "description", "time")


def test_bad_worlds_are_refused(tiny: Tiny) -> None:
    with pytest.raises(UnknownName, match="'en' or 'zh', got 'fr'"):
        World.of("fr", tiny["en"], {}, PHONE)
    with pytest.raises(UnknownName, match="'BaseApi'"):
        World.of("en", tiny["en"], {}, ("BaseAPI",))
    broken = {"MessageApi": {"state": {"max_capacity": 1, "user_list": {}}}}
    with pytest.raises(BadArgument, match="'inbox'"):
        World.of("en", broken, {}, ("MessageApi",))


def test_both_languages_have_the_same_texts_and_fields() -> None:
    only_chinese = {
        "reminder_marked",
        "mark_no_login",
        "search_no_login",
        "no_reminder_found",
    }
    assert set(TEXTS["zh"]) - set(TEXTS["en"]) == only_chinese
    for key, text in TEXTS["en"].items():
        for field in ("{name}", "{id}", "{amount}", "{total}", "{title}", "{product}"):
            assert (field in text) == (field in TEXTS["zh"][key]), key


def test_functions_and_signatures_are_those_recorded(acebench_data: Path) -> None:
    recorded = json.loads((acebench_data / "world.json").read_text(encoding="utf-8"))
    for lang in NAMES:
        for name, about in recorded[lang].items():
            assert SERVICES[name].functions[lang] == set(about["methods"])
            world = World.of(lang, recorded[lang], {}, (name,))
            for function, parameters in about["methods"].items():
                expected = tuple(one["name"] for one in parameters)
                assert world.parameters(function) == expected


def test_every_agent_task_has_its_world(records: Records) -> None:
    for lang in ("en", "zh"):
        for category in ("agent_multi_step", "agent_multi_turn"):
            for task in records.category(lang, category).values():
                initial = records.world(lang)
                world = World.of(lang, initial, task.initial_config, task.involved_classes)
                assert [name for one in world.scored() for name in one] == list(
                    task.involved_classes
                )
