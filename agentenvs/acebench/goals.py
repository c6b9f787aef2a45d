"""Whether what a user wants has come about: seen in the world, never taken from the agent."""

# ruff: noqa: RUF001 - Chinese punctuation is meant

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agentenvs.acebench.compare import plain
from agentenvs.acebench.worlds import World

__all__ = ["count_of", "days_of", "holds"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*"
_TH = r"(?!\d)(?:st|nd|rd|th)?"
_DAYS = re.compile(
    rf"\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}}){_TH}"
    rf"(?:\s*(?:to|and|until|through|-|–)\s*(?:{_MONTH} )?(?P<last>\d{{1,2}})(?:st|nd|rd|th)\b)?"
    rf"|\b(?P<uk_day>\d{{1,2}}){_TH} (?:of )?(?P<uk_month>{_MONTH})\b"
    r"|(?P<zh_month>\d{1,2})\s*月\s*(?P<zh_day>\d{1,2})\s*[日号]?"
    r"(?:\s*[到至和-]\s*(?:\d{1,2}\s*月\s*)?(?P<zh_last>\d{1,2})\s*[日号])?"
    r"|\d{4}-(?P<iso_month>\d{2})-(?P<iso_day>\d{2})",
    re.IGNORECASE,
)
_SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {
    **{word: at for at, word in enumerate(_SMALL)},
    **{sign: at for at, sign in enumerate("零一二三四五六七八九十")},
    **{"no": 0, "两": 2},
}
_FIRST_COUNT = re.compile(r"\d{1,6}|[a-z]+|[零一二两三四五六七八九十]", re.IGNORECASE)
_BLANK = re.compile(r"\(\s*\)|（\s*）")
_QUOTED = re.compile(r"[\"“]([^\"“”]+)[\"”]")
#: parts of a day, by the hours of departure
_HOURS = {
    "morning": range(12),
    "早上": range(12),
    "上午": range(12),
    "afternoon": range(12, 18),
    "下午": range(12, 18),
    "evening": range(17, 24),
    "晚上": range(17, 24),
}
_LATEST = frozenset({"latest", "last", "最晚"})
_EARLIEST = frozenset({"earliest", "first", "最早"})
#: days after the flight that is held
_LATER = {"same": 0, "当天": 0, "next": 1, "following": 1, "第二天": 1}

Values = Mapping[str, str]


def holds(condition: Mapping[str, Any], values: Values, world: World, begin: World) -> bool:
    """Return whether a condition holds.

    A condition is one of

    - "sent": a message `from` one person, `to` another, with a `text` (with "()" where a
      number goes); or with the text quoted in what `read_in` names;
    - "ordered": an order `by` an account; where `read_in` is given, of nothing but what stands
      there;
    - "reminded": a reminder with a `title`, a `time`, and as its description a message that
      `read_in` names;
    - "reserved": a reservation of a `user`, `from` a city, `to` another, on a `day` or in a
      span of days, where given in a `part` of it, in one of the `cabin`s, with a `payment` and
      `bags`;
    - "changed": the reservation that a `user` had `from` a city `to` another, moved to a `part`
      of `which` day after the flight held; where given, to one of the `cabin`s and by `bags`
      more, and otherwise as before;
    - "cancelled": something was paid back to a `user`'s cash balance, which is all that a
      cancellation leaves behind.

    The entries name values.

    Args:
        condition: one condition, `{kind: {entry: name of a value}}`.
        values: what was read from the instruction.
        world: the world as it stands.
        begin: the world as it was at the beginning.
    """
    ((kind, what),) = condition.items()
    return _KINDS[kind](what, values, world, begin)


def days_of(text: str) -> frozenset[tuple[int, int]]:
    """Return the days named in a text as (month, day), spans with all their days."""
    found: set[tuple[int, int]] = set()
    for match in _DAYS.finditer(text):
        name = match["month"] or match["uk_month"]
        if name:
            month = _MONTHS.index(name.casefold()[:3]) + 1
            day, last = match["day"] or match["uk_day"], match["last"]
        elif match["zh_month"]:
            month, day, last = int(match["zh_month"]), match["zh_day"], match["zh_last"]
        else:
            month, day, last = int(match["iso_month"]), match["iso_day"], None
        found.update((month, at) for at in range(int(day), int(last or day) + 1))
    return frozenset(found)


def count_of(text: str) -> int | None:
    """Return the first number in a text, written in digits or as a word, or None."""
    for match in _FIRST_COUNT.finditer(text):
        word = match[0].casefold()
        if word.isdigit():
            return int(word)
        if word in _COUNTS:
            return _COUNTS[word]
    return None


def _service(world: World, name: str) -> Any:
    return world.services.get(name)


def _letters(where: Mapping[str, Any], values: Values, world: World) -> list[str]:
    """Return the texts that `read_in` names: messages from one to another, or a reminder."""
    if "messages" in where:
        sender, receiver = (values[name] for name in where["messages"])
        post = _service(world, "MessageApi")
        return [entry["message"] for entry in _between(post, sender, receiver)]
    title = plain(values[where["reminder"]])
    notes = _service(world, "ReminderApi")
    return [
        entry["description"]
        for entry in notes.reminder_list.values()
        if plain(entry["title"]) == title
    ]


def _between(post: Any, sender: str, receiver: str | None) -> Iterable[Mapping[str, Any]]:
    if post is None or sender not in post.user_list:
        return
    first = post.user_list[sender]["user_id"]
    second = post.user_list.get(receiver, {}).get("user_id")
    for entry in post.inbox.values():
        if entry["sender_id"] == first and (receiver is None or entry["receiver_id"] == second):
            yield entry


def _sent(what: Mapping[str, Any], values: Values, world: World, begin: World) -> bool:
    if "read_in" in what:
        letters = _letters(what["read_in"], values, begin)
        texts = [part for letter in letters for part in _QUOTED.findall(letter)]
        texts = [text for text in texts if _BLANK.search(text)]
        to = None
    else:
        texts, to = [values[what["text"]]], values[what["to"]]
    post = _service(world, "MessageApi")
    new = [
        plain(str(entry["message"]))
        for number, entry in (() if post is None else post.inbox.items())
        if entry in list(_between(post, values[what["from"]], to))
        and _service(begin, "MessageApi").inbox.get(number) != entry
    ]
    return any(_filled_in(text).fullmatch(message) for text in texts for message in new)


def _filled_in(text: str) -> re.Pattern[str]:
    """Return a pattern of a text, in plain writing, with a number in each blank."""
    return re.compile(r" ?\d[\d.]*".join(re.escape(plain(part)) for part in _BLANK.split(text)))


def _ordered(what: Mapping[str, Any], values: Values, world: World, begin: World) -> bool:
    food = _service(world, "FoodPlatform")
    if food is None:
        return False
    letters = _letters(what["read_in"], values, begin) if "read_in" in what else None
    for order in food.orders:
        if order["user_name"] != values[what["by"]]:
            continue
        named = [order["merchant_name"], *(item["product"] for item in order["items"])]
        if letters is None or any(
            all(plain(name) in plain(letter) for name in named) for letter in letters
        ):
            return True
    return False


def _reminded(what: Mapping[str, Any], values: Values, world: World, begin: World) -> bool:
    notes = _service(world, "ReminderApi")
    if notes is None:
        return False
    letters = {plain(text) for text in _letters(what["read_in"], values, begin)}
    return any(
        plain(str(entry["title"])) == plain(values[what["title"]])
        and plain(str(entry["time"])) == plain(values[what["time"]])
        and plain(str(entry["description"])) in letters
        for entry in notes.reminder_list.values()
    )


def _reserved(what: Mapping[str, Any], values: Values, world: World, begin: World) -> bool:
    desk = _service(world, "Travel")
    if desk is None:
        return False
    had = len(_service(begin, "Travel").reservations)
    fit = _flights(desk.flights, what, values)
    return any(
        entry["flight_no"] in fit and _fits(entry, what, values)
        for entry in desk.reservations[had:]
    )


def _fits(entry: Mapping[str, Any], what: Mapping[str, Any], values: Values) -> bool:
    cabins = [values[name].casefold() for name in what["cabin"]]
    return (
        entry["user_id"] == values[what["user"]]
        and str(entry["payment_method"]).casefold() == values[what["payment"]].casefold()
        and entry["baggage"] == count_of(values[what["bags"]])
        and any(str(entry["cabin"]).casefold().startswith(cabin) for cabin in cabins)
    )


def _flights(
    flights: Sequence[Mapping[str, Any]],
    what: Mapping[str, Any],
    values: Values,
) -> set[str]:
    """Return the numbers of the flights that go where and when they should."""
    route = values[what["from"]], values[what["to"]]
    part = values[what["part"]].casefold() if "part" in what else ""
    days = days_of(values[what["day"]])
    fit = [
        flight
        for flight in flights
        if (flight["origin"], flight["destination"]) == route
        and _day(flight) in days
        and _hour(flight) in _HOURS.get(part, range(24))
    ]
    if fit and part in _LATEST | _EARLIEST:
        pick = max if part in _LATEST else min
        best = pick(flight["depart_time"] for flight in fit)
        fit = [flight for flight in fit if flight["depart_time"] == best]
    return {flight["flight_no"] for flight in fit}


def _day(flight: Mapping[str, Any]) -> tuple[int, int]:
    return int(flight["depart_time"][5:7]), int(flight["depart_time"][8:10])


def _hour(flight: Mapping[str, Any]) -> int:
    return int(flight["depart_time"][11:13])


def _changed(what: Mapping[str, Any], values: Values, world: World, begin: World) -> bool:
    desk, before = _service(world, "Travel"), _service(begin, "Travel")
    if desk is None:
        return False
    route = values[what["from"]], values[what["to"]]
    for old, new in zip(before.reservations, desk.reservations, strict=False):
        mine = old["user_id"] == values[what["user"]]
        if not mine or (old.get("origin"), old.get("destination")) != route:
            continue
        held = next((f for f in before.flights if f["flight_no"] == old["flight_no"]), None)
        flown = [f for f in desk.flights if f["flight_no"] == new["flight_no"]]
        if held is None:
            continue
        month, day = _day(held)
        wanted = month, day + _LATER[values[what["which"]].casefold()]
        hours = _HOURS[values[what["part"]].casefold()]
        moved = any(_day(f) == wanted and _hour(f) in hours for f in flown)
        more = count_of(values[what["bags"]]) or 0 if "bags" in what else 0
        cabins = [values[name].casefold() for name in what.get("cabin", ())]
        cabins = cabins or [str(old["cabin"]).casefold()]
        return (
            moved
            and new["baggage"] == old["baggage"] + more
            and new["payment_method"] == old["payment_method"]
            and any(str(new["cabin"]).casefold().startswith(cabin) for cabin in cabins)
        )
    return False


def _cancelled(what: Mapping[str, Any], values: Values, world: World, begin: World) -> bool:
    desk, before = _service(world, "Travel"), _service(begin, "Travel")
    user = values[what["user"]]
    if desk is None or user not in before.users:
        return False
    paid_back = desk.users[user]["cash_balance"] > before.users[user]["cash_balance"]
    return bool(paid_back)


_KINDS: Mapping[str, Callable[[Mapping[str, Any], Values, World, World], bool]] = MappingProxyType(
    {
        "sent": _sent,
        "ordered": _ordered,
        "reminded": _reminded,
        "reserved": _reserved,
        "changed": _changed,
        "cancelled": _cancelled,
    }
)
