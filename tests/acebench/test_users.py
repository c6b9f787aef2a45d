# ruff: noqa: RUF001 - Chinese punctuation is meant

from __future__ import annotations

import copy
import importlib.util
import pickle
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.acebench import mini
from agentenvs.acebench.conversation import END, Conversation
from agentenvs.acebench.dialogue import DialogueEnv
from agentenvs.acebench.env import ACEBenchEnv
from agentenvs.acebench.goals import count_of, days_of
from agentenvs.acebench.hearing import hear
from agentenvs.acebench.one_side import OneSide
from agentenvs.acebench.records import Records
from agentenvs.acebench.slots import Table, scripted_tasks, table, words
from agentenvs.acebench.users import (
    CallableUser,
    ReplayUser,
    ScriptedUser,
    as_user,
    user_messages,
)
from agentenvs.errors import BadArgument, SourceMismatch, UnknownName

SEEDS = range(20)
#: the reference books fewer bags than the instruction names: no user can be content
UNCONTENT = "agent_multi_turn_28"


def _load() -> ModuleType:
    path = Path(__file__).with_name("talking.py")
    spec = importlib.util.spec_from_file_location("agentenvs_tests_talking", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


talking = _load()


def mini_talk(number: int, lang: Any = "en") -> Conversation:
    return Conversation(mini.tasks()[f"mini/agent_multi_turn_{number}"], mini.world(lang))


def names(table_: Table) -> dict[str, re.Pattern[str]]:
    """Return a pattern for each slot's value that finds it as a word of its own."""
    found = {}
    for slot in table_.slots.values():
        if slot.value:
            ends = [r"(?<![^\W_])" if slot.value[0].isascii() else ""]
            ends.append(r"(?![^\W_])" if slot.value[-1].isascii() else "")
            found[slot.name] = re.compile(re.escape(slot.value).join(ends), re.IGNORECASE)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_gold_plans_succeed_with_the_scripted_user(
    seed: int, records: Records, parity: Path
) -> None:
    plans = list(talking.gold_plans(parity))
    assert len(plans) == 60
    for lang, name, plan in plans:
        task = records.task(lang, name)
        talk = Conversation(task, records.world(lang))
        user = ScriptedUser(task, seed)
        messages = talking.chatter(lang, plan, list(user.table.slots))
        left = talking.converse(talk, user, messages)
        assert talk.verdict().valid, (lang, name)
        assert not left, (lang, name)
        assert user.told == set(user.table.slots), (lang, name)
        assert talk.ended == ("" if name == UNCONTENT else "user"), (lang, name)


def test_a_user_is_content_when_the_mended_reference_is_met(records: Records, parity: Path) -> None:
    for lang, name, plan in talking.gold_plans(parity):
        if name == UNCONTENT:
            task = records.task(lang, name)
            talk = Conversation(task, records.world(lang), "fixed")
            plan = [call.replace("baggage_count=3", "baggage_count=4") for call in plan]
            user = ScriptedUser(task)
            assert not talking.converse(talk, user, talking.chatter(lang, plan, []))
            assert talk.verdict().valid
            assert talk.ended == "user"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_reply_tells_what_was_not_asked(seed: int, records: Records) -> None:
    for lang in ("en", "zh"):
        for name in sorted(scripted_tasks(lang)):
            if name.startswith("mini/"):
                task, world = mini.tasks()[name], mini.world(lang)
            else:
                task, world = records[name], records.world(lang)
            for asked in table(task).slots:
                talk = Conversation(task, world)
                user = ScriptedUser(task, seed)
                opening = user.open(talk.world)
                reply = user.reply(talking.QUESTIONS[lang][asked], talk.world)
                assert user.told == {asked}, (name, asked, reply)
                told = user.table.slots[asked].value.casefold()
                for slot, pattern in names(user.table).items():
                    assert not pattern.search(opening), (name, slot, opening)
                    value = user.table.slots[slot].value.casefold()
                    if slot != asked and value not in told:
                        assert not pattern.search(reply), (name, asked, slot, reply)


@pytest.mark.parametrize("text", ["", " ", "...", "嗯", "\ud800", "x" * 200_000, "[]", "{}"])
def test_a_silent_agent_ends_by_patience(text: str) -> None:
    for number, lang in ((0, "en"), (8, "zh")):
        talk = mini_talk(number, lang)
        talking.converse(talk, as_user("scripted", talk.task), [text] * 30)
        assert talk.ended == "user"
        assert len(talk.messages) == 7
        assert not talk.verdict().valid


def test_patience_is_adjustable() -> None:
    talk = mini_talk(0)
    talking.converse(talk, ScriptedUser(talk.task, patience=1), ["..."] * 30)
    assert len(talk.messages) == 3


def test_an_agent_that_asks_forever_ends_too() -> None:
    talk = mini_talk(0)
    talking.converse(talk, ScriptedUser(talk.task), ["May I have your name?"] * 30)
    assert talk.ended == "user"


def test_a_user_never_believes_the_agent() -> None:
    talk = mini_talk(0)
    user = ScriptedUser(talk.task)
    talking.converse(talk, user, ["Your message has been sent successfully. Anything else?"])
    assert END not in talk.messages[-1].text
    assert user.table.goals[0].say[0] in talk.messages[-1].text


def test_without_a_world_it_has_to() -> None:
    user = ScriptedUser(mini_talk(0).task)
    user.open()
    assert END not in user.reply("May I have your name?")
    assert END in user.reply("Your message has been sent.")


def test_a_user_does_not_linger() -> None:
    talk = mini_talk(0)
    user = ScriptedUser(talk.task)
    values = user.table.values
    sent = (
        f"[delete_message(message_id={min(talk.world.services['MessageApi'].inbox)}),"  # type: ignore[attr-defined]
        f" turn_on_wifi(), send_message(sender_name={values['name']!r}, "
        f"receiver_name={values['recipient']!r}, message={values['text']!r})]"
    )
    talking.converse(talk, user, [sent, "What else do you want to tell me?"])
    assert talk.ended == "user"
    assert END in talk.messages[-1].text


def test_the_next_wish_comes_when_the_first_is_fulfilled_or_asked_for() -> None:
    talk = mini_talk(3)
    user = ScriptedUser(talk.task)
    assert user.open(talk.world) == user.table.goals[0].say[0]
    second = user.table.goals[1].say[0]
    assert second not in user.reply("What is your password?", talk.world)
    assert second in user.reply("Do you have any other wishes?", talk.world)


def test_a_wrong_value_is_corrected_and_a_right_one_agreed_to(records: Records) -> None:
    task = records.task("en", "agent_multi_turn_20")
    user = ScriptedUser(task)
    right = user.table.slots["cabin"].value
    assert user.reply(f"Shall I book {right}?") == words("en").say["yes"][0]
    assert right.casefold() in user.reply("Shall I book business class?").casefold()
    assert "July 15" in user.reply("I found one on July 16. Is this date right?")
    assert user.reply("It leaves on 2024-07-15. Is this date right?") == words("en").say["yes"][0]


def test_a_list_after_a_colon_is_asked_for() -> None:
    talk = mini_talk(4)
    heard = hear("Please provide the following:\n1. User ID\n2. Password", table(talk.task))
    assert heard.asked == ("user_id", "password")
    assert not hear("I have noted your user ID and password.", table(talk.task)).asked


EVERYTHING = ("user_id", "password", "origin", "destination", "date", "cabin", "payment", "bags")


@pytest.mark.parametrize(
    ("number", "text", "asked"),
    [
        (
            20,
            "Sure! Could you please provide me with your user ID, password, departure city, "
            "destination, travel date, preferred cabin class, payment method, and number of bags?",
            EVERYTHING,
        ),
        (
            20,
            "I found these flights:\n- X1: Economy 1200, Business 3000\nWould you like to book "
            "one? Please confirm your cabin class and payment method.",
            ("cabin", "payment"),
        ),
        (20, "Do you want to pay from the bank or in cash?", ("payment",)),
        (20, "Economy or business?", ("cabin",)),
        (0, "May I know the recipient and the content of the message?", ("recipient", "text")),
        (0, "The inbox is full. I need to remove one message. Which one?", ()),
        (8, "What's your username and password?", ("username", "password")),
        (20, "I have booked the flight with your user ID.", ()),
    ],
)
def test_agents_ask_in_many_ways(
    records: Records, number: int, text: str, asked: tuple[str, ...]
) -> None:
    known = table(records.task("en", f"agent_multi_turn_{number}"))
    assert hear(text, known).asked == asked


def test_a_numbered_list_is_heard_in_chinese(records: Records) -> None:
    known = table(records.task("zh", "agent_multi_turn_20"))
    wanted = ("用户ID", "密码", "出发地和目的地", "出发日期", "舱位", "支付方式", "行李数量")
    items = [f"{at}. {item}" for at, item in enumerate(wanted, 1)]
    text = "\n".join(["好的，请提供以下信息：", *items])
    assert hear(text, known).asked == EVERYTHING


@pytest.mark.parametrize(
    ("text", "occasion"),
    [
        ("Would you like me to delete the oldest message?", "yes"),
        ("I have to turn on the Wi-Fi first. Is that okay?", "yes"),
        ("The message has been sent.", "nudge"),
        ("If there is anything else you need, feel free to ask.", "nudge"),
        ("Hm.", "go_on"),
    ],
)
def test_a_user_answers_what_asks_for_nothing(records: Records, text: str, occasion: str) -> None:
    talk = Conversation(records.task("en", "agent_multi_turn_0"), records.world("en"))
    user = ScriptedUser(talk.task)
    user.open(talk.world)
    assert user.reply(text, talk.world).startswith(words("en").say[occasion][0])


def test_an_agent_that_offers_help_hears_the_wish_again(records: Records) -> None:
    user = ScriptedUser(records.task("en", "agent_multi_turn_0"))
    assert user.reply("What can I help you with?") == user.open()


def test_seed_0_is_canonical_and_seeds_paraphrase() -> None:
    task = mini_talk(0).task
    question = "May I have your name? To whom shall it go? What shall it say?"

    def replies(seed: int) -> tuple[str, ...]:
        user = ScriptedUser(task, seed)
        return user.open(), user.reply(question), user.reply("...")

    canonical = replies(0)
    assert canonical[0] == table(task).goals[0].say[0]
    assert len({replies(seed) for seed in SEEDS}) > 10
    assert all(replies(seed) == replies(seed) for seed in SEEDS)


def test_every_wording_has_three_forms() -> None:
    for lang in ("en", "zh"):
        for slot, (_, say) in words(lang).slots.items():
            assert len(set(say)) >= 3, slot
        for occasion, say in words(lang).say.items():
            assert len(set(say)) >= 3, occasion


def test_a_copy_goes_on_alone() -> None:
    user = ScriptedUser(mini_talk(0).task, 5)
    user.open()
    for twin in (user.copy(), copy.copy(user), copy.deepcopy(user)):
        twin.reply("May I have your name?")
        assert not user.told
        assert twin.told == {"name"}


def test_a_question_that_the_table_was_not_written_for_is_an_error() -> None:
    import dataclasses

    task = mini_talk(0).task
    with pytest.raises(SourceMismatch, match="question"):
        ScriptedUser(dataclasses.replace(task, question="You are somebody else."))
    with pytest.raises(UnknownName, match="no table"):
        ScriptedUser(dataclasses.replace(task, id="agent_multi_turn_999"))


@pytest.mark.parametrize("settings", [{"patience": 0}, {"patience": True}, {"seed": "1"}])
def test_wrong_settings_are_errors(settings: Mapping[str, Any]) -> None:
    with pytest.raises(BadArgument):
        ScriptedUser(mini_talk(0).task, **settings)


def test_a_function_sees_the_agents_words_alone_with_roles_flipped() -> None:
    talk = mini_talk(0)
    seen: list[Any] = []

    def user(messages: list[Any]) -> str:
        seen[:] = messages
        return f"turn {len(messages)}"

    talking.converse(talk, as_user(user, talk.task), ["Hello?", "[turn_on_wifi()]", "Which?"])
    assert [message["role"] for message in seen] == [
        "system", "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert [message["content"] for message in seen[2:]] == ["turn 2", "Hello?", "turn 4", "Which?"]
    assert talk.task.question in seen[0]["content"]
    assert END in seen[0]["content"]
    assert user_messages(talk)[-1] == {"role": "assistant", "content": "turn 6"}


def test_a_function_has_to_answer_with_text() -> None:
    talk = mini_talk(0)
    with pytest.raises(BadArgument, match="str"):
        CallableUser(lambda messages: 3).speak(talk)  # type: ignore[arg-type,return-value]


def test_recorded_turns_are_replayed_and_then_it_ends() -> None:
    talk = mini_talk(0)
    talking.converse(talk, as_user(["one", "two"], talk.task), ["a", "b", "c"])
    assert [said.text for said in talk.messages if said.who == "user"] == ["one", "two", END]
    with pytest.raises(BadArgument, match="texts"):
        ReplayUser(["one", 2])  # type: ignore[list-item]


@pytest.mark.parametrize("spec", ["model", 3, None, ScriptedUser])
def test_nothing_else_plays_a_user(spec: Any) -> None:
    task = mini_talk(0).task
    if spec is ScriptedUser:
        assert isinstance(as_user(spec, task), CallableUser)
        return
    with pytest.raises(BadArgument, match="user"):
        as_user(spec, task)


@pytest.mark.parametrize("spec", ["model", 3, None, ["one", 2]])
def test_who_cannot_play_a_user_is_refused_before_an_episode(spec: Any) -> None:
    with pytest.raises(BadArgument):
        ACEBenchEnv(tasks="mini", user=spec)
    with pytest.raises(BadArgument):
        OneSide(DialogueEnv(tasks="mini"), spec)


def test_a_user_of_ones_own_is_copied() -> None:
    task = mini_talk(0).task
    own = ScriptedUser(task, 3)
    assert as_user(own, task) is not own


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("July 15th", {(7, 15)}),
        ("July 16th to 18th", {(7, 16), (7, 17), (7, 18)}),
        ("between July 16th and 17th", {(7, 16), (7, 17)}),
        ("7月15号", {(7, 15)}),
        ("7月16日到17日", {(7, 16), (7, 17)}),
        ("on 19 July 2024", {(7, 19)}),
        ("the 3rd of May", {(5, 3)}),
        ("may 12 people", {(5, 12)}),
        ("on 2024-07-16 at 20:00", {(7, 16)}),
        ("flight 12, seat 3", set()),
        ("", set()),
    ],
)
def test_days_are_read(text: str, days: set[tuple[int, int]]) -> None:
    assert days_of(text) == days


@pytest.mark.parametrize(
    ("text", "count"),
    [("4 bags", 4), ("four pieces", 4), ("两件", 2), ("1件", 1), ("no bags", 0), ("bags", None)],
)
def test_numbers_are_read(text: str, count: int | None) -> None:
    assert count_of(text) == count


def test_hearing_is_fast_on_hostile_text() -> None:
    import time

    known = table(mini_talk(4).task)
    for text in (
        "? " * 50_000,
        "who " * 20_000,
        "which flight " * 9_000,
        "1" * 90_000,
        "July " * 9_000,
    ):
        began = time.process_time()
        hear(text, known)
        assert time.process_time() - began < 0.5


def test_tables_survive_copies() -> None:
    known = table(mini_talk(0).task)
    assert copy.deepcopy(known) is known
    with pytest.raises(TypeError):
        pickle.dumps(known)
