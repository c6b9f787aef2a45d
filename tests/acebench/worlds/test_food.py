from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.acebench.worlds import CallError, World

Tiny = dict[str, dict[str, Any]]
NAMES = {"en": ("Ann", "Tea House", "green tea"), "zh": ("安", "茶馆", "绿茶")}


def platform(tiny: Tiny, lang: str = "en", login: bool = True) -> World:
    world = World.of(lang, tiny[lang], {"BaseApi": {"wifi": True}}, ("FoodPlatform",))
    if login:
        name = NAMES[lang][0]
        world.call("login_food_platform", {"username": name, "password": "one"})
    return world


def order(world: World, items: Sequence[Any], **more: Any) -> Any:
    name, shop, _ = NAMES[world.lang]
    arguments = {"username": name, "merchant_name": shop, "items": items, **more}
    return world.call("add_food_delivery_order", arguments)


def scored(world: World) -> Any:
    return world.scored()[0]["FoodPlatform"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_order_is_paid_from_the_balance(tiny: Tiny, lang: str) -> None:
    world = platform(tiny, lang)
    name, shop, tea = NAMES[lang]
    assert "12.0" in order(world, [{"product": tea, "quantity": 3}])["message"]
    state = scored(world)
    assert state["users"][name]["balance"] == 8.0
    assert state["orders"] == [
        {
            "user_name": name,
            "merchant_name": shop,
            "items": [{"product": tea, "quantity": 3, "price_per_unit": 4.0}],
            "total_price": 12.0,
        }
    ]


def test_login_needs_wifi_and_the_password_and_happens_once(tiny: Tiny) -> None:
    world = World.of("en", tiny["en"], {"BaseApi": {"logged_in": False}}, ("FoodPlatform",))
    account = {"username": "Ann", "password": "one"}
    assert "Wi-Fi" in world.call("login_food_platform", account)["message"]
    world.call("turn_on_wifi", {})
    wrong = world.call("login_food_platform", {**account, "password": "two"})
    assert wrong["status"] is False
    assert world.call("login_food_platform", {**account, "username": "Zoe"})["status"] is False
    assert world.call("login_food_platform", account)["status"] is True
    assert "already" in world.call("login_food_platform", account)["message"]
    assert scored(world)["logged_in_users"] == ["Ann"]


def test_an_order_needs_login(tiny: Tiny) -> None:
    assert "not logged in" in order(platform(tiny, login=False), [])["message"]


@pytest.mark.parametrize("quantity", ["2", 0, -1, 1.0, None])
def test_a_quantity_is_a_whole_number_above_zero(tiny: Tiny, quantity: Any) -> None:
    world = platform(tiny)
    bought = order(world, [{"product": "green tea", "quantity": quantity}])
    assert bought["message"].startswith("Invalid quantity")
    assert scored(world)["orders"] == []


def test_true_counts_as_one_and_none_given_as_one(tiny: Tiny) -> None:
    world = platform(tiny)
    order(world, [{"product": "green tea"}, {"product": "green tea", "quantity": True}])
    assert [item["quantity"] for item in scored(world)["orders"][0]["items"]] == [1, True]
    assert scored(world)["users"]["Ann"]["balance"] == 12.0


@pytest.mark.parametrize(("lang", "goes"), [("en", True), ("zh", False)])
def test_an_order_for_the_whole_balance(tiny: Tiny, lang: str, goes: bool) -> None:
    world = platform(tiny, lang)
    item = {"product": NAMES[lang][2], "quantity": 5}
    assert order(world, [item])["status"] is goes
    assert order(platform(tiny, lang), [{**item, "quantity": 6}])["status"] is False


def test_unknown_merchants_and_products_are_told(tiny: Tiny) -> None:
    world = platform(tiny)
    assert "'Pub'" in order(world, [], merchant_name="Pub")["message"]
    assert "Product ale" in order(world, [{"product": "ale"}])["message"]
    assert "Product None" in order(world, [{"dict": {"product": "green tea"}}])["message"]
    assert world.call("get_products", {"merchant_name": "Pub"})["status"] is False


def test_items_that_are_no_dicts_raise(tiny: Tiny) -> None:
    with pytest.raises(CallError, match="'str' object has no attribute 'get'"):
        order(platform(tiny), ["green tea"])


def test_the_balance_is_a_bare_number(tiny: Tiny) -> None:
    world = platform(tiny, login=False)
    assert world.call("check_balance", {"user_name": "Bob"}) == 5.0
    assert world.call("check_balance", {"user_name": "Zoe"})["status"] is False


def test_lists_of_orders_and_people(tiny: Tiny) -> None:
    world = platform(tiny, login=False)
    assert world.call("view_logged_in_users", {})["status"] is False
    assert world.call("view_orders", {"user_name": "Ann"})["status"] is False
    world = platform(tiny)
    order(world, [{"product": "green tea"}])
    assert world.call("view_logged_in_users", {})["logged_in_users"] == ["Ann"]
    assert len(world.call("view_orders", {"user_name": "Ann"})["orders"]) == 1
    assert world.call("view_orders", {"user_name": "Bob"})["status"] is False


def test_a_search_sees_products_in_english_and_raises_in_chinese(tiny: Tiny) -> None:
    for lang in ("en", "zh"):
        world = platform(tiny, lang)
        assert world.call("search_orders", {"keyword": "x"})["status"] is False
        order(world, [{"product": NAMES[lang][2]}])
        found = world.call("search_orders", {"keyword": NAMES[lang][1]})
        assert len(found["orders"]) == 1
    english, chinese = platform(tiny, "en"), platform(tiny, "zh")
    order(english, [{"product": "green tea"}])
    order(chinese, [{"product": "绿茶"}])
    assert english.call("search_orders", {"keyword": "GREEN"})["status"] is True
    assert english.call("search_orders", {"keyword": "x"})["status"] is False
    with pytest.raises(CallError, match="^'dict' object has no attribute 'lower'$"):
        chinese.call("search_orders", {"keyword": "x"})


items = st.lists(
    st.fixed_dictionaries(
        {"product": st.sampled_from(["green tea", "black tea", "ale"])},
        optional={"quantity": st.one_of(st.integers(-2, 4), st.none(), st.text(max_size=2))},
    ),
    max_size=4,
)


@given(baskets=st.lists(st.tuples(st.sampled_from(["Ann", "Bob", "Zoe"]), items), max_size=8))
def test_money_is_neither_made_nor_lost(tiny: Tiny, baskets: list[Any]) -> None:
    world = platform(tiny)
    world.call("login_food_platform", {"username": "Bob", "password": "two"})
    for name, basket in baskets:
        order(world, basket, username=name)
    state = scored(world)
    held = sum(user["balance"] for user in state["users"].values())
    spent = sum(one["total_price"] for one in state["orders"])
    assert held + spent == 25.0
    assert all(user["balance"] >= 0 for user in state["users"].values())
    for one in state["orders"]:
        priced = sum(item["quantity"] * item["price_per_unit"] for item in one["items"])
        assert priced == one["total_price"]
