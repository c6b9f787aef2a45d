"""An agent that asks before it acts, for the tests of users."""

# ruff: noqa: RUF001 - Chinese punctuation is meant

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentenvs.acebench.conversation import Conversation
from agentenvs.acebench.records import Task
from agentenvs.acebench.users import User

#: a question for each slot
QUESTIONS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "name": "May I have your name?",
        "recipient": "To whom should the message go?",
        "text": "What should the message say?",
        "delete": "Which message should I delete?",
        "sender": "Who sent you the message?",
        "in_message": "Which product would you like, and from which merchant?",
        "in_reminder": "What should I order, and from which merchant?",
        "title": "What is the title of the reminder?",
        "description": "What should the description be?",
        "time": "At what time should it remind you?",
        "username": "What is the username of the account?",
        "password": "What is your password?",
        "user_id": "What is your user ID?",
        "origin": "What is the origin of the flight?",
        "destination": "What is your destination?",
        "date": "On which date would you like to leave?",
        "back": "And when would you like to return?",
        "cabin": "Which cabin class do you prefer?",
        "payment": "How would you like to pay?",
        "bags": "How many pieces of luggage do you have?",
        "trip": "Is it one way or a round trip?",
        "transfer": "There is no direct flight. Would a connection do?",
        "flight": "Which reservation is it about?",
        "reason": "What is the reason?",
    },
    "zh": {
        "name": "请问您叫什么名字？",
        "recipient": "请问发给谁？",
        "text": "请问内容写什么？",
        "delete": "请问删除哪一条？",
        "sender": "请问短信是谁发来的？",
        "in_message": "请问要点哪家的什么商品？",
        "in_reminder": "请问要点哪家的什么商品？",
        "title": "请问提醒的标题是什么？",
        "description": "请问描述写什么？",
        "time": "请问提醒时间是几点？",
        "username": "请问账号是什么？",
        "password": "请问密码是多少？",
        "user_id": "请问您的用户id是多少？",
        "origin": "请问出发地是哪里？",
        "destination": "请问目的地是哪里？",
        "date": "请问哪一天出发？",
        "back": "请问哪一天返程？",
        "cabin": "请问坐什么舱位？",
        "payment": "请问怎么支付？",
        "bags": "请问有几件行李？",
        "trip": "请问单程还是往返？",
        "transfer": "没有直达航班，可以中转吗？",
        "flight": "请问是哪个预订？",
        "reason": "请问原因是什么？",
    },
}
REPORT = {"en": "That is done. Is there anything else?", "zh": "已经办好了，还有其他需要吗？"}
CONFIRM = {"en": "Shall I go ahead?", "zh": "请问确认办理吗？"}
#: calls after which a polite agent reports
_WRITES = ("send_message", "add_food", "add_reminder", "reserve", "modify", "cancel")


def gold_plans(parity: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield language, id and messages of the recorded plans of `agent_multi_turn`."""
    for line in (parity / "acebench_gold_plans.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["category"] == "agent_multi_turn":
            yield row["lang"], row["id"], row["agent_messages"][:-1]


def chatter(lang: str, plan: Sequence[str], slots: Sequence[str]) -> list[str]:
    """Return a plan with all questions before it and a report after each write."""
    said = [QUESTIONS[lang][slot] for slot in slots] + [CONFIRM[lang]]
    for call in plan:
        said.append(call)
        if any(name in call for name in _WRITES):
            said.append(REPORT[lang])
    return said


def converse(talk: Conversation, user: User, messages: Sequence[str]) -> list[str]:
    """Let a user and these messages of an agent talk; return the messages that are left."""
    left = list(messages)
    while not talk.over:
        if talk.turn == "user":
            talk.user(user.speak(talk))
        elif left:
            talk.agent(left.pop(0))
        else:
            break
    return left


def tiny_task(lang: str = "en", **changes: Any) -> Task:
    """Return an invented task in the world of the fixture `tiny`."""
    names = ("Ann", "Bob") if lang == "en" else ("安", "波")
    fields: dict[str, Any] = {
        "id": "agent_multi_turn_0",
        "lang": lang,
        "category": "agent_multi_turn",
        "number": 0,
        "turn": None,
        "question": f"{names[0]} writes to {names[1]}.",
        "functions": [
            {"name": name, "parameters": {}}
            for name in ("turn_on_wifi", "login_device", "send_message", "delete_message")
        ],
        "initial_config": {"BaseApi": {"wifi": True, "logged_in": True}},
        "involved_classes": ("BaseApi", "MessageApi"),
        "answer": [{"BaseApi": {"wifi": True, "logged_in": True}}],
    }
    return Task(**{**fields, **changes})
