"""Calls that lead from a world's initial state to a state that is wanted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentenvs.acebench.compare import difference
from agentenvs.acebench.worlds import CallError, World
from agentenvs.core import ToolCall

__all__ = ["NoPlan", "plan"]

State = Mapping[str, Mapping[str, Any]]
Steps = tuple[ToolCall, ...]

_PURSES = ("bank", "cash")
#: why a traveller cancels; the airline's own reason stands in `texts`
_CHANGE_OF_PLANS = {"en": "change of plans", "zh": "行程有变"}
#: how many ways to pay and to cancel are tried
_MAX_TRIES = 2_000


class NoPlan(Exception):
    """Raised inside the package when no plan of this planner leads to the state wanted."""


def plan(world: World, wanted: Sequence[State], allowed: Sequence[str] = ()) -> list[ToolCall]:
    """Return calls after which the world's scored state is the one wanted.

    It is worked out from what differs between the two: a log-in for each account that shall be
    logged in, an order for each order, and so on; deletions come before what needs their room.
    Passwords and the like are taken from the world.

    Args:
        world: where the plan starts; it is not changed.
        wanted: `{class: {attribute: value}}` one a class, as a reference has it; a class that
            is not in this world counts for nothing.
        allowed: the functions that may be called; empty: all.

    Raises:
        NoPlan: there is none; the text says what stays different.
    """
    goal = {name: part for one in wanted for name, part in one.items() if name in world.services}
    now = {name: part for one in world.scored() for name, part in one.items()}
    steps = [
        *_food(world, now, goal),
        *_reminders(now, goal),
        *_messages(world, now, goal),
    ]
    device = goal.get("BaseApi", {})
    problem = ""
    for tried, chosen in enumerate(_travels(world, now, goal)):
        if tried == _MAX_TRIES:
            break
        calls = _with_device(world, [*steps, *chosen], device)
        left = _left(world, calls, goal, allowed)
        if not left:
            return calls
        problem = problem or left
    raise NoPlan(problem)


def _left(world: World, calls: Sequence[ToolCall], goal: State, allowed: Sequence[str]) -> str:
    """Return what differs from the goal after the calls, or ""."""
    copy = world.copy()
    for call in calls:
        if allowed and call.name not in allowed:
            return f"{call.name} may not be called"
        try:
            copy.call(call.name, call.arguments)
        except CallError as problem:
            return f"{call.name} raises {problem}"
    done = {name: part for one in copy.scored() for name, part in one.items() if name in goal}
    return difference(done, dict(goal))


def _with_device(
    world: World, steps: Sequence[ToolCall], device: Mapping[str, Any]
) -> list[ToolCall]:
    """Put the log-in to the device and the Wi-Fi before the first step that needs them."""
    flags = {"logged_in": "login_device", "wifi": "turn_on_wifi"}
    needs = {
        "logged_in": {"send_message", "delete_message", "add_reminder", "delete_reminder"}
        | {"mark_as_notified"},
        "wifi": {"send_message", "login_food_platform"},
    }
    first = []
    for flag, name in flags.items():
        is_on = all(getattr(one, flag, True) for one in world.services.values())
        is_needed = any(step.name in needs[flag] for step in steps) or device.get(flag, False)
        if is_needed and not is_on:
            first.append(ToolCall(name, {}))
    return [*first, *steps]


def _food(world: World, now: State, goal: State) -> Iterator[ToolCall]:
    before, after = now.get("FoodPlatform", {}), goal.get("FoodPlatform", {})
    for name in after.get("logged_in_users", ()):
        if name not in before.get("logged_in_users", ()):
            password = before.get("users", {}).get(name, {}).get("password")
            yield ToolCall("login_food_platform", {"username": name, "password": password})
    for order in after.get("orders", ())[len(before.get("orders", ())) :]:
        yield ToolCall(
            "add_food_delivery_order",
            {
                "username": order["user_name"],
                "merchant_name": order["merchant_name"],
                "items": [
                    {"product": item["product"], "quantity": item["quantity"]}
                    for item in order["items"]
                ],
            },
        )


def _reminders(now: State, goal: State) -> Iterator[ToolCall]:
    before = now.get("ReminderApi", {}).get("reminder_list", {})
    after = goal.get("ReminderApi", {}).get("reminder_list", before)
    yield from _deletions("delete_reminder", "reminder_id", before, after)
    for key, entry in after.items():
        if key not in before:
            given = {name: entry[name] for name in ("title", "description", "time")}
            yield ToolCall("add_reminder", given)
    for key, entry in after.items():
        if entry["notified"] and not before.get(key, {}).get("notified", False):
            yield ToolCall("mark_as_notified", {"reminder_id": int(key)})


def _messages(world: World, now: State, goal: State) -> Iterator[ToolCall]:
    before = now.get("MessageApi", {}).get("inbox", {})
    after = goal.get("MessageApi", {}).get("inbox", before)
    yield from _deletions("delete_message", "message_id", before, after)
    people = getattr(world.services.get("MessageApi"), "user_list", {})
    names = {person["user_id"]: name for name, person in people.items()}
    for key, entry in after.items():
        if key not in before:
            yield ToolCall(
                "send_message",
                {
                    "sender_name": names.get(entry["sender_id"]),
                    "receiver_name": names.get(entry["receiver_id"]),
                    "message": entry["message"],
                },
            )


def _deletions(
    name: str, parameter: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[ToolCall]:
    for key in before:
        if key not in after:
            yield ToolCall(name, {parameter: int(key)})


def _travels(world: World, now: State, goal: State) -> Iterator[Steps]:
    """Yield ways to the reservations wanted: other payments, other cancellations."""
    before, after = now.get("Travel", {}), goal.get("Travel", {})
    held = before.get("reservations", [])
    wanted = after.get("reservations", held)
    users = before.get("users", {})
    bookings = tuple(_booking(entry, users) for entry in wanted[len(held) :])
    changes = [_changes(old, new) for old, new in zip(held, wanted, strict=False) if old != new]
    # refunds go to cash, and leave no other trace
    other_cash = {
        name
        for name, account in after.get("users", {}).items()
        if name in users and account["cash_balance"] != users[name]["cash_balance"]
    }
    cancelled = [_cancellations(world, entry) for entry in held if entry["user_id"] in other_cash]
    for count in range(len(cancelled) + 1):
        for some in itertools.combinations(cancelled, count):
            for ways in itertools.product(*some, *changes):
                yield (*itertools.chain.from_iterable(ways), *bookings)


def _booking(entry: Mapping[str, Any], users: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        "reserve_flight",
        {
            "user_id": entry["user_id"],
            "password": users.get(entry["user_id"], {}).get("password"),
            "flight_no": entry["flight_no"],
            "cabin": entry["cabin"],
            "payment_method": entry["payment_method"],
            "baggage_count": entry["baggage"],
        },
    )


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Steps]:
    """Return one call a way to pay: as the reservation was paid, or otherwise."""
    given = {"user_id": old["user_id"], "reservation_id": old["reservation_id"]}
    if new["flight_no"] != old["flight_no"]:
        given["new_flight_no"] = new["flight_no"]
    if new["cabin"] != old["cabin"]:
        given["new_cabin"] = new["cabin"]
    if new["baggage"] != old["baggage"]:
        given["add_baggage"] = new["baggage"] - old["baggage"]
    others = [name for name in _PURSES if name != old["payment_method"]]
    ways = [given, *({**given, "new_payment_method": name} for name in others)]
    return [(ToolCall("modify_flight", way),) for way in ways]


def _cancellations(world: World, entry: Mapping[str, Any]) -> list[Steps]:
    given = {"user_id": entry["user_id"], "reservation_id": entry["reservation_id"]}
    reasons = _CHANGE_OF_PLANS[world.lang], world.services["Travel"].texts["airline"]
    return [(ToolCall("cancel_reservation", {**given, "reason": reason}),) for reason in reasons]
