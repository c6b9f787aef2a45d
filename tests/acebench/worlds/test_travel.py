from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.acebench.worlds import CallError, World

Tiny = dict[str, dict[str, Any]]
ECONOMY, BUSINESS = "Economy Class", "Business Class"


def desk(tiny: Tiny, lang: str = "en") -> World:
    return World.of(lang, tiny[lang], {}, ("Travel",))


def state(world: World) -> Any:
    return world.scored()[0]["Travel"]


def money(world: World, user: str = "u1") -> tuple[float, float]:
    account = state(world)["users"][user]
    return account["cash_balance"], account["bank_balance"]


def reserve(world: World, **more: Any) -> Any:
    arguments = {
        "user_id": "u1",
        "password": "one",
        "flight_no": "T1",
        "cabin": ECONOMY if world.lang == "en" else "经济舱",
        "payment_method": "bank",
        "baggage_count": 1,
        **more,
    }
    return world.call("reserve_flight", arguments)


def modify(world: World, reservation: str = "res_1", **more: Any) -> Any:
    given = {"user_id": "u1", "reservation_id": reservation, **more}
    return world.call("modify_flight", given)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_booking_is_paid_and_listed_without_its_route(tiny: Tiny, lang: str) -> None:
    world = desk(tiny, lang)
    assert "res_4" in reserve(world, baggage_count=3)
    assert money(world) == (500.0, 800.0)
    assert state(world)["reservations"][-1] == {
        "reservation_id": "res_4",
        "user_id": "u1",
        "flight_no": "T1",
        "payment_method": "bank",
        "cabin": ECONOMY if lang == "en" else "经济舱",
        "baggage": 3,
    }


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"password": "two"}, "Incorrect user ID or password"),
        ({"user_id": "u9"}, "Incorrect user ID or password"),
        ({"flight_no": "T9"}, "Flight information is invalid"),
        ({"cabin": "First"}, "Invalid cabin class: First"),
        ({"baggage_count": "1"}, "unsupported operand"),
    ],
)
def test_a_booking_that_makes_no_sense_raises(tiny: Tiny, more: dict[str, Any], error: str) -> None:
    world = desk(tiny)
    with pytest.raises(CallError, match=error):
        reserve(world, **more)
    assert state(world) == state(desk(tiny))


def test_a_booking_that_cannot_be_paid_is_refused(tiny: Tiny) -> None:
    world = desk(tiny)
    assert "bank balance is insufficient" in reserve(world, **{"user_id": "u2", "password": "two"})
    assert "cash balance is insufficient" in reserve(world, payment_method="cash", baggage_count=10)
    assert "Invalid payment" in reserve(world, payment_method="visa")
    assert state(world) == state(desk(tiny))


@pytest.mark.parametrize(
    ("level", "cabin", "free"),
    [
        ("regular", ECONOMY, 1),
        ("regular", BUSINESS, 2),
        ("silver", ECONOMY, 2),
        ("silver", BUSINESS, 3),
        ("gold", ECONOMY, 3),
        ("gold", BUSINESS, 3),
    ],
)
def test_bags_over_the_allowance_cost_fifty_each(
    tiny: Tiny, level: str, cabin: str, free: int
) -> None:
    world = desk(tiny)
    given = {"membership_level": level, "cabin_class": cabin}
    assert world.call("get_baggage_allowance", given) == free
    for count, fee in ((0, 0), (free, 0), (free + 2, 100)):
        assert world.call("calculate_baggage_fee", {**given, "baggage_count": count}) == fee


def test_another_flight_is_free_and_must_go_the_same_way(tiny: Tiny) -> None:
    world = desk(tiny)
    assert modify(world, new_flight_no="T2").startswith("Flight change failed")
    assert modify(world, new_flight_no="T4") == "Flight number has been changed."
    assert modify(world, new_flight_no="T4") == modify(world)
    assert money(world) == (500.0, 1000.0)
    assert state(world)["reservations"][0]["flight_no"] == "T4"


def test_another_cabin_is_priced_by_the_flight_held_before(tiny: Tiny) -> None:
    world = desk(tiny)
    said = modify(world, new_flight_no="T4", new_cabin=BUSINESS)
    assert said == (
        "Flight number has been changed. Cabin change successful. Price difference paid: 200."
    )
    assert money(world) == (500.0, 800.0)
    assert "refunded: 300" in modify(world, new_cabin=ECONOMY, new_payment_method="cash")
    assert money(world) == (800.0, 800.0)
    assert state(world)["reservations"][0]["payment_method"] == "bank"


def test_a_change_stays_where_its_payment_fails(tiny: Tiny) -> None:
    world = desk(tiny)
    said = modify(world, new_cabin=BUSINESS, add_baggage=30, new_payment_method="visa")
    assert "paid: 200" in said
    assert "1450" in said
    assert money(world) == (500.0, 1000.0)
    entry = state(world)["reservations"][0]
    assert (entry["cabin"], entry["baggage"]) == (BUSINESS, 31)
    world = desk(tiny)
    assert "Insufficient" in modify(world, add_baggage=30)
    assert money(world) == (500.0, 1000.0)
    assert state(world)["reservations"][0]["baggage"] == 31


def test_a_cabin_that_cannot_be_paid_is_changed_all_the_same(tiny: Tiny) -> None:
    world = desk(tiny)
    for count in range(8):
        reserve(world, baggage_count=1, payment_method=("bank", "cash")[count % 2])
    reserve(world, baggage_count=11)
    assert money(world) == (100.0, 0.0)
    assert "Insufficient" in modify(world, new_cabin=BUSINESS)
    assert state(world)["reservations"][0]["cabin"] == BUSINESS
    assert "refunded: 200" in modify(world, new_cabin=ECONOMY, new_payment_method="visa")
    assert money(world) == (100.0, 0.0)


def test_a_cabin_of_the_same_price_costs_nothing(tiny: Tiny) -> None:
    initial = copy.deepcopy(tiny["en"])
    initial["Travel"]["state"]["flights"][0]["business_price"] = 100
    world = World.of("en", initial, {}, ("Travel",))
    assert modify(world, new_cabin=BUSINESS) == "Cabin change successful."
    assert money(world) == (500.0, 1000.0)


def test_the_bag_fee_is_for_all_that_are_over(tiny: Tiny) -> None:
    world = desk(tiny)
    assert "fee to be paid: 50" in modify(world, add_baggage=1)
    assert "fee to be paid: 100" in modify(world, add_baggage=1)
    assert money(world) == (500.0, 850.0)
    assert modify(desk(tiny), "res_3", add_baggage=0) == modify(desk(tiny))


def test_a_reservation_of_someone_else_is_not_touched(tiny: Tiny) -> None:
    for lang in ("en", "zh"):
        world = desk(tiny, lang)
        given = {"user_id": "u2", "reservation_id": "res_1"}
        said = world.call("modify_flight", {**given, "add_baggage": 1})
        assert said == world.call("cancel_reservation", {**given, "reason": "x"})
        assert said == world.call("modify_flight", {"user_id": "u1", "reservation_id": "res_9"})
        assert state(world) == state(desk(tiny, lang))


def test_a_reservation_made_here_can_be_changed(tiny: Tiny) -> None:
    world = desk(tiny)
    reserve(world)
    assert modify(world, "res_4", new_flight_no="T4") == "Flight number has been changed."
    assert modify(world, "res_4", new_flight_no="T2").startswith("Flight change failed")


@pytest.mark.parametrize(
    ("lang", "airline"),
    [("en", "The airline has canceled the flight."), ("zh", "航空公司取消航班")],
)
def test_a_cancellation_refunds_to_cash_and_stays(tiny: Tiny, lang: str, airline: str) -> None:
    texts = []
    for reservation, reason, refund in (
        ("res_1", "other", 100),
        ("res_1", airline, 100),
        ("res_2", airline, 500),
        ("res_2", "other", 450),
    ):
        world = desk(tiny, lang)
        given = {"user_id": "u1", "reservation_id": reservation, "reason": reason}
        texts.append(world.call("cancel_reservation", given))
        assert money(world) == (500.0 + refund, 1000.0)
        assert state(world)["reservations"] == state(desk(tiny, lang))["reservations"]
    assert len(set(texts)) == 4


def test_a_reservation_of_no_known_flight(tiny: Tiny) -> None:
    world = desk(tiny)
    given = {"user_id": "u1", "reservation_id": "res_3", "reason": "other"}
    assert world.call("cancel_reservation", given) == "Flight information is invalid."
    assert modify(world, "res_3", new_cabin=BUSINESS) == "Flight information is invalid."
    listed = world.call("get_reservation_details", {"reservation_id": "res_3"})
    assert listed[0]["flight_info"] == {}


def test_flights_are_found_by_route(tiny: Tiny) -> None:
    world = desk(tiny)
    assert len(world.call("get_flight_details", {})) == 4
    found = world.call("get_flight_details", {"origin": "Rome", "destination": "Riga"})
    assert [flight["flight_no"] for flight in found] == ["T2", "T3"]
    assert isinstance(world.call("get_flight_details", {"origin": "Riga"}), str)


def test_a_connection_leaves_after_the_arrival(tiny: Tiny) -> None:
    world = desk(tiny)
    given = {"origin_city": "Oslo", "transfer_city": "Rome", "destination_city": "Riga"}
    found = world.call("find_transfer_flights", given)
    legs = [(one["first_leg"]["flight_no"], one["second_leg"]["flight_no"]) for one in found]
    assert legs == [("T1", "T3"), ("T4", "T2"), ("T4", "T3")]
    nowhere = world.call("find_transfer_flights", {**given, "origin_city": "Riga"})
    assert isinstance(nowhere, str)


def test_reservations_are_found_by_id_or_user(tiny: Tiny) -> None:
    world = desk(tiny)
    assert len(world.call("get_reservation_details", {"user_id": "u1"})) == 3
    found = world.call("get_reservation_details", {"reservation_id": "res_1"})
    assert found[0]["flight_info"]["flight_no"] == "T1"
    for wanted in ({}, {"user_id": "u2"}):
        assert isinstance(world.call("get_reservation_details", wanted), str)


def test_an_account_is_shown_without_its_password(tiny: Tiny) -> None:
    world = desk(tiny)
    shown = world.call("get_user_details", {"user_id": "u2", "password": "two"})
    assert shown["user_name"] == "Bob"
    assert "password" not in shown
    wrong = world.call("get_user_details", {"user_id": "u2", "password": "one"})
    assert wrong["status"] is False


def test_functions_on_accounts_change_only_what_they_are_given(tiny: Tiny) -> None:
    world = desk(tiny)
    account = world.call("authenticate_user", {"user_id": "u1", "password": "one"})
    world.call("process_refund", {"user": account, "amount": 7})
    world.call("update_balance", {"user": account, "payment_method": "bank", "amount": -10})
    assert (account["cash_balance"], account["bank_balance"]) == (507.0, 990.0)
    poor = world.call("update_balance", {"user": account, "payment_method": "cash", "amount": -1e6})
    assert "insufficient" in poor
    odd = world.call("update_balance", {"user": account, "payment_method": "visa", "amount": 1})
    assert odd == "Invalid payment method"
    flight = world.call("get_flight_details", {})[0]
    given = {"flight": flight, "old_cabin": BUSINESS, "new_cabin": ECONOMY}
    assert world.call("calculate_price_difference", given) == -200
    assert state(world) == state(desk(tiny))


steps = st.one_of(
    st.tuples(
        st.just("reserve_flight"),
        st.fixed_dictionaries(
            {
                "user_id": st.sampled_from(["u1", "u2"]),
                "password": st.sampled_from(["one", "two"]),
                "flight_no": st.sampled_from(["T1", "T2", "T3", "T9"]),
                "cabin": st.sampled_from([ECONOMY, BUSINESS]),
                "payment_method": st.sampled_from(["cash", "bank", "visa"]),
                "baggage_count": st.integers(0, 5),
            }
        ),
    ),
    st.tuples(
        st.just("modify_flight"),
        st.fixed_dictionaries(
            {
                "user_id": st.sampled_from(["u1", "u2"]),
                "reservation_id": st.sampled_from(["res_1", "res_2", "res_4"]),
            },
            optional={
                "new_flight_no": st.sampled_from(["T1", "T4", "T9"]),
                "new_cabin": st.sampled_from([ECONOMY, BUSINESS]),
                "add_baggage": st.integers(0, 3),
                "new_payment_method": st.sampled_from(["cash", "bank", "visa"]),
            },
        ),
    ),
)


@given(plan=st.lists(steps, max_size=10))
def test_what_is_said_to_be_paid_is_what_a_balance_lacks(tiny: Tiny, plan: list[Any]) -> None:
    world = desk(tiny)
    for name, arguments in plan:
        before = sum(money(world, "u1") + money(world, "u2"))
        count = len(state(world)["reservations"])
        try:
            said = world.call(name, arguments)
        except CallError:
            said = ""
        lost = before - sum(money(world, "u1") + money(world, "u2"))
        assert min(money(world, "u1") + money(world, "u2")) >= 0
        booked = len(state(world)["reservations"]) - count
        if name == "reserve_flight":
            assert booked == ("Total cost" in said) == (lost > 0)
            assert f"Total cost: {lost:.0f} yuan" in said or lost == 0
        else:
            assert booked == 0
            assert f"{abs(lost):.0f}" in said or lost == 0 or said.count(":") > 1
