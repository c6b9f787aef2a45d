"""What a polite agent asks its user before it acts."""

# ruff: noqa: RUF001 - Chinese punctuation is meant

from __future__ import annotations

from agentenvs.core import ToolCall

__all__ = ["questions"]

_ACCOUNT = {
    "en": "Could you tell me your user ID and your password?",
    "zh": "请告诉我您的用户ID和密码。",
}
_CONFIRM = {
    "en": "Shall I go ahead? Please confirm.",
    "zh": "请问确认办理吗？",
}
_QUESTIONS: dict[str, tuple[dict[str, str], ...]] = {
    "login_food_platform": (
        {
            "en": "What are the username and password of your food delivery account?",
            "zh": "请告诉我您外卖平台的账号和密码。",
        },
    ),
    "send_message": (
        {
            "en": "Who shall the message go to, and what shall it say?",
            "zh": "请问短信发给谁，内容是什么？",
        },
    ),
    "delete_message": (
        {
            "en": "The inbox is full. Which message shall I delete?",
            "zh": "短信容量已满，请问删除哪一条短信？",
        },
    ),
    "add_reminder": (
        {
            "en": "What are the title, the content and the time of the reminder?",
            "zh": "请问提醒的标题、内容和时间是什么？",
        },
    ),
    "reserve_flight": (
        _ACCOUNT,
        {
            "en": "From where to where would you like to fly, and on which date?",
            "zh": "请问您从哪里飞往哪里，哪一天出发？",
        },
        {
            "en": "Which cabin, which payment method, and how many pieces of baggage?",
            "zh": "请问您要什么舱位，用什么支付方式，有几件行李？",
        },
        _CONFIRM,
    ),
    "modify_flight": (
        _ACCOUNT,
        {
            "en": "Which flight would you like to change, and what shall be changed?",
            "zh": "请问您要更改哪个航班，改成什么？",
        },
        _CONFIRM,
    ),
    "cancel_reservation": (
        _ACCOUNT,
        {
            "en": "Which reservation would you like to cancel, and for what reason?",
            "zh": "请问您要取消哪个预订，原因是什么？",
        },
        _CONFIRM,
    ),
}


def questions(lang: str, call: ToolCall) -> list[str]:
    """Return what to ask the user before a call is made, in order.

    Args:
        lang: "en" or "zh".
        call: the call; most need no question.
    """
    return [texts[lang] for texts in _QUESTIONS.get(call.name, ())]
