"""What a polite agent asks its user before it acts."""

# ruff: noqa: RUF001 - Chinese punctuation is meant

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from agentenvs.core import ToolCall

__all__ = ["questions"]

_TEXTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "en": MappingProxyType(
            {
                "name": "May I have your name?",
                "sender": "Whose message to you is it about?",
                "reminder": "Which reminder do you mean? Please tell me its title.",
                "food": "What are the username and password of your food delivery account?",
                "order": "What shall I order, and from which merchant?",
                "send": "To whom shall the message go, and what shall it say?",
                "delete": "The inbox is full. Which message shall I delete?",
                "note": "What are the title, the content and the time of the reminder?",
                "forget": "Which reminder shall I take off the list?",
                "traveller": "Could you tell me your user ID and your password?",
                "route": "Where would you like to fly from, and where to?",
                "trip": "Is it one way or a round trip, and on which dates do you travel?",
                "stop": "If there is no direct flight, would a connection do?",
                "seat": "Which cabin would you like, and how would you like to pay?",
                "bags": "How many bags do you have?",
                "change": "Which flight would you like to change, and to what?",
                "cancel": "Which flight would you like to cancel, and for what reason?",
                "confirm": "I have what I need. Shall I go ahead?",
            }
        ),
        "zh": MappingProxyType(
            {
                "name": "请问您叫什么名字？",
                "sender": "请问是谁发给您的短信？",
                "reminder": "请问是哪条提醒，标题是什么？",
                "food": "请告诉我您外卖平台的账号和密码。",
                "order": "请问点什么，在哪家商家？",
                "send": "请问短信发给谁，内容是什么？",
                "delete": "短信容量已满，请问删除哪一条短信？",
                "note": "请问提醒的标题、内容和时间是什么？",
                "forget": "请问要去掉哪条提醒？",
                "traveller": "请告诉我您的用户id和密码。",
                "route": "请问您从哪里出发，到哪里去？",
                "trip": "请问是单程还是往返，出发日期和返程日期是哪天？",
                "stop": "如果没有直达航班，可以中转吗？",
                "seat": "请问您要什么舱位，用什么支付方式？",
                "bags": "请问您有几件行李？",
                "change": "请问您要更改哪个航班，改成什么？",
                "cancel": "请问您要取消哪个航班，原因是什么？",
                "confirm": "信息齐了，请问确认办理吗？",
            }
        ),
    }
)


def questions(lang: str, call: ToolCall, classes: Collection[str]) -> list[str]:
    """Return what to ask the user before a call is made, in order.

    Args:
        lang: "en" or "zh".
        call: the call; some need no question.
        classes: the services of the task: with messages at hand an order or a reminder may
            rest on one.
    """
    return [_TEXTS[lang][key] for key in _keys(call.name, classes)]


def _keys(name: str, classes: Collection[str]) -> Iterator[str]:
    match name:
        case "login_food_platform":
            yield "name"
            if "ReminderApi" in classes:
                yield "reminder"
            elif "MessageApi" in classes:
                yield "sender"
            yield "food"
        case "add_food_delivery_order":
            yield "order"
        case "send_message":
            yield "name"
            yield "send"
        case "delete_message":
            yield "delete"
        case "add_reminder":
            if "MessageApi" in classes:
                yield "name"
                yield "sender"
            yield "note"
        case "delete_reminder" | "mark_as_notified":
            yield "forget"
        case "reserve_flight":
            yield from ("traveller", "route", "trip", "stop", "seat", "bags", "confirm")
        case "modify_flight":
            yield from ("traveller", "change", "seat", "bags", "confirm")
        case "cancel_reservation":
            yield from ("traveller", "cancel", "confirm")
