from __future__ import annotations

import copy
import gzip
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest

from agentenvs.acebench.executor import MESSAGE_TEXT, NOT_A_CALL, Executor
from agentenvs.acebench.records import Records
from agentenvs.acebench.worlds import World
from agentenvs.core import ToolCall
from agentenvs.errors import BadArgument

Tiny = dict[str, dict[str, Any]]
Mode = Literal["multi_step", "multi_turn"]
PHONE = ("BaseApi", "MessageApi", "ReminderApi", "FoodPlatform")
OFFERED = ("login_device", "turn_on_wifi", "send_message", "login_food_platform", "add_reminder")
CHARACTERS = list("Error during execution: {str(e)}")
UNBOUND = (
    "Error during execution: cannot access local variable 'func_call_result' where it is not "
    "associated with a value"
)


def executor(
    tiny: Tiny,
    mode: Mode = "multi_step",
    rules: Literal["official", "fixed"] = "official",
    classes: tuple[str, ...] = PHONE,
    lang: str = "en",
) -> Executor:
    return Executor(World.of(lang, tiny[lang], {}, classes), mode, OFFERED, rules)


@pytest.mark.parametrize("mode", ["multi_step", "multi_turn"])
def test_calls_are_carried_out_in_order(tiny: Tiny, mode: Mode) -> None:
    ours = executor(tiny, mode)
    reply = ours.run("[turn_on_wifi(), login_food_platform(username='Ann', password='one')]")
    assert [one["status"] for one in reply.results] == [True, True]
    assert reply.text == str(reply.results)
    assert [call.name for call in reply.calls] == ["turn_on_wifi", "login_food_platform"]
    assert reply.executed
    assert not reply.to_user
    assert ours.state() == ours.world.scored()


def test_words_are_answered_or_go_to_the_user(tiny: Tiny) -> None:
    step, turn = executor(tiny), executor(tiny, "multi_turn")
    for text in ("Hello", "Sure! [login_device()]", "[login_device()] ", "I found [3] flights"):
        reply = step.run(text)
        assert (reply.text, reply.results, reply.executed) == (NOT_A_CALL, NOT_A_CALL, False)
        reply = turn.run(text)
        assert (reply.text, reply.results, reply.executed) == ("", None, False)
        assert reply.to_user
        assert reply.reason
    assert step.state() == turn.state() == []


def test_brackets_may_lack_in_multi_step_alone(tiny: Tiny) -> None:
    assert executor(tiny).run("login_device()").executed
    assert executor(tiny, "multi_turn").run("login_device()").to_user
    assert (
        executor(tiny, "multi_turn").run("add_reminder(title=[], description=1)").executed is False
    )


def test_an_error_stands_for_its_call_in_multi_step(tiny: Tiny) -> None:
    ours = executor(tiny)
    reply = ours.run("[turn_on_wifi(on=True), login_device()]")
    assert reply.results[0] == (
        "Error during execution: BaseApi.turn_on_wifi() got an unexpected keyword argument 'on'"
    )
    assert reply.results[1]["status"] is True
    assert ours.counted


def test_an_error_ends_the_message_in_multi_turn(tiny: Tiny) -> None:
    ours = executor(tiny, "multi_turn")
    reply = ours.run("[turn_on_wifi(), add_reminder(), login_device()]")
    assert reply.results == CHARACTERS
    assert not reply.executed
    assert ours.state() == []
    ours.run("[login_device()]")
    assert ours.state()[0] == {"BaseApi": {"wifi": True, "logged_in": True}}


def test_an_unknown_function_repeats_the_result_before(tiny: Tiny) -> None:
    step, turn = executor(tiny), executor(tiny, "multi_turn")
    assert step.run("[fly(), login_device(), fly()]").results == [
        UNBOUND,
        *step.run("[login_device(), fly()]").results,
    ]
    assert len(set(map(str, turn.run("[login_device(), fly(a=1)]").results))) == 1
    assert turn.run("[fly(), login_device()]").results == CHARACTERS


def test_an_error_is_not_repeated(tiny: Tiny) -> None:
    results = executor(tiny).run("[login_device(), turn_on_wifi(1, a=2), fly()]").results
    assert results[2] == results[0] != results[1]


def test_results_pass_through_json(tiny: Tiny) -> None:
    ours = executor(tiny)
    assert ours.run("[check_balance(user_name='Bob')]").results == [5.0]
    assert ours.run("[get_all_message_times_with_ids()]").results == [
        {"1": "2024-02-01", "2": "2024-01-01"}
    ]
    listed = ours.run("[get_products(merchant_name='Tea House')]").results[0]
    assert listed.startswith("[{'product': 'green tea'")


def test_functions_not_on_offer_run_under_official_alone(tiny: Tiny) -> None:
    text = "[delete_reminder(reminder_id=1), view_all_reminders()]"
    ours = executor(tiny)
    assert [one["status"] for one in ours.run(text).results] == [True, False]
    ours = executor(tiny, rules="fixed")
    for one in ours.run(text).results:
        assert one["status"] is False
        assert "There is no function" in one["message"]
    assert len(ours.world.scored()[2]["ReminderApi"]["reminder_list"]) == 1


def test_a_call_inside_a_call_is_an_error(tiny: Tiny) -> None:
    ours = executor(tiny)
    text = "[add_reminder(title=login_device(), description='b', time='c')]"
    assert ours.run(text).results == ["Error during execution: name 'login_device' is not defined"]
    reply = ours.run("[add_reminder(title=dict(a=1), description='b', time='c')]")
    assert reply.results[0]["status"] is True
    assert ours.state()[2]["ReminderApi"]["reminder_list"]["2"]["title"] == {"a": 1}


def test_a_qualified_name_is_an_error(tiny: Tiny) -> None:
    assert executor(tiny).run("[x.y.login_device()]").results == [
        "Error during execution: name 'x' is not defined"
    ]
    assert executor(tiny).run("[x.fly()]").results == [UNBOUND]


@pytest.mark.parametrize("mode", ["multi_step", "multi_turn"])
def test_fixed_gives_each_call_its_own_result(tiny: Tiny, mode: Mode) -> None:
    ours = executor(tiny, mode, "fixed", ("BaseApi", "FoodPlatform"))
    reply = ours.run(
        " [fly(), send_message(sender_name='Ann'), turn_on_wifi(1),\n"
        "  login_food_platform('Ann', username='Bob'), login_food_platform(username='Ann'),\n"
        "  turn_on_wifi(), login_food_platform('Ann', 'one')]\n"
    )
    texts = [one["message"] for one in reply.results]
    assert [one["status"] for one in reply.results] == [False] * 5 + [True] * 2
    assert texts[0] == "There is no function 'fly'."
    assert texts[1] == "The function 'send_message' is not available in this task."
    assert texts[2] == "turn_on_wifi takes at most 0 arguments"
    assert texts[3] == "login_food_platform got username twice"
    assert texts[4].startswith("TypeError: FoodPlatform.login_food_platform() missing 1")
    assert json.loads(reply.text) == reply.results
    assert ours.state()[1]["FoodPlatform"]["logged_in_users"] == ["Ann"]


@pytest.mark.parametrize("text", ["Hello", "login_device()", "[]", "[login_device()", "Ok [f()]"])
def test_fixed_takes_all_else_for_words(tiny: Tiny, text: str) -> None:
    assert executor(tiny, "multi_turn", "fixed").run(text).to_user
    assert executor(tiny, "multi_step", "fixed").run(text).text == NOT_A_CALL


def test_calls_that_were_read_elsewhere(tiny: Tiny) -> None:
    calls = [ToolCall("add_reminder", {"title": "我", "description": ["b"], "time": None})]
    for rules in ("official", "fixed"):
        ours = executor(tiny, "multi_turn", rules)  # type: ignore[arg-type]
        assert ours.carry_out(calls).results[0]["status"] is True
        assert ours.state()[2]["ReminderApi"]["reminder_list"]["2"]["title"] == "我"
        assert ours.carry_out([ToolCall("add_reminder", {"title": 10**5000})]).results is None


def test_a_copy_goes_its_own_way(tiny: Tiny) -> None:
    ours = executor(tiny)
    ours.run("[login_device()]")
    for twin in (ours.copy(), copy.copy(ours), copy.deepcopy(ours)):
        before = ours.state()
        assert twin.state() == before
        twin.run("[turn_on_wifi()]")
        assert twin.state() != before
        assert ours.state() == before


def test_bad_modes_and_rules_are_refused(tiny: Tiny) -> None:
    for more in ({"mode": "step"}, {"rules": "strict"}):
        with pytest.raises(BadArgument, match="Expected"):
            Executor(executor(tiny).world, **more)  # type: ignore[arg-type]


HOSTILE = (
    "[open(file='{mark}', mode='w')]",
    "[send_message(sender_name='Ann', receiver_name=open(file='{mark}', mode='w'), message='x')]",
    "[add_reminder(title=1+__import__('os').mkdir('{mark}'), description='', time='')]",
    "[add_reminder(title=[open(file='{mark}', mode='w')], description='', time='')]",
    "[(lambda: open('{mark}', 'w'))()]",
    "[login_device() for i in [open('{mark}', 'w')]]",
    "[().__class__.__bases__[0].__subclasses__()]",
    "[login_device.__globals__()]",
    "[__init__(lang='en')]",
    "[load(state=1)]",
    "[login_device(self=1)]",
    "[login_device(**{'a': 1})]",
    "[add_reminder(title='{0.__class__}', description='{title}', time='%s')]",
    "[add_reminder(title=9**9**9, description='', time='')]",
    "[add_reminder(title='a'*10**9, description='', time='')]",
    "[add_reminder(title=1<<10**9, description='', time='')]",
    "[add_reminder(title=1e999, description=b'x', time=1j)]",
    "[add_reminder(title='\\ud800', description='\0', time='\ud800')]",
    "[add_reminder(title=0x" + "f" * 9_000 + ", description='', time='')]",
    "[add_reminder(title=" + "9" * 9_000 + ", description='', time='')]",
    "[" + ", ".join(["login_device()"] * 900) + "]",
    "[" + ", ".join(["get_flight_details()"] * 900) + "]",
    "[" + ", ".join(["cancel_reservation(user_id='u1', reservation_id='res_1', reason='')"] * 600),
    "[" + ", ".join(["search_messages(user_name='Ann', keyword='aaaaaaab')"] * 800) + "]",
    "[f(a=" + "[" * 20_000 + "]" * 20_000 + ")]",
    "[f(a=" + "dict(a=" * 60 + "1" + ")" * 60 + ")]",
    "[f(a=" + "1+" * 24_000 + "1)]",
    "[f(a=f'" + "{1}" * 15_000 + "')]",
    "[f(a=[" + "1," * 20_000 + "])]",
    "(" * 25_000 + ")" * 25_000,
    "[" * 50_000,
    "'" * 50_000,
    " " * 50_000,
    "login_device()\n" * 3_000,
    "word " * 10_000,
    "x" * 1_000_000,
)


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_text_runs_nothing_and_takes_no_time(
    tiny: Tiny, tmp_path: Path, number: int
) -> None:
    mark = tmp_path / "mark"
    text = HOSTILE[number].replace("{mark}", str(mark))
    for rules in ("official", "fixed"):
        for mode in ("multi_step", "multi_turn"):
            for classes in (PHONE, ("Travel",)):
                ours = executor(tiny, mode, rules, classes)  # type: ignore[arg-type]
                spent = []
                for _ in range(3):
                    begun = time.thread_time()
                    ours.run(text)
                    spent.append(time.thread_time() - begun)
                assert min(spent) < 1.0
                json.dumps(ours.state())
    assert not mark.exists()


def test_work_is_bounded_over_an_episode(tiny: Tiny) -> None:
    """Free orders pile up; what later messages may do shrinks accordingly."""
    order = "add_food_delivery_order(username='Ann', merchant_name='Tea House', items=[])"
    look = "view_orders(user_name='Ann')"
    ours = executor(tiny)
    ours.run("[turn_on_wifi(), login_food_platform(username='Ann', password='one')]")
    sizes = []
    for _ in range(12):
        results = ours.run("[" + ", ".join([order, look] * 80) + "]").results
        sizes.append(sum("too much" not in str(one) for one in results))
    assert sizes[0] > 50
    assert sizes[:8] == sorted(sizes[:8], reverse=True)
    assert ours.run("[login_device()]" + " " * MESSAGE_TEXT).results == NOT_A_CALL
    assert ours.run(f"[{', '.join([order] * 300)}]").results == NOT_A_CALL


def fresh(records: Records, row: dict[str, Any]) -> Executor:
    task = records.task(row["lang"], row["id"])
    initial = records.world(task.lang)
    world = World.of(task.lang, initial, task.initial_config, task.involved_classes)
    mode: Mode = "multi_step" if task.category == "agent_multi_step" else "multi_turn"
    return Executor(world, mode, [one["name"] for one in task.functions])


@pytest.fixture(scope="module")
def recorded(parity: Path) -> list[dict[str, Any]]:
    with gzip.open(parity / "acebench_verdicts.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if row.get("agent_messages") is not None]


@pytest.fixture(scope="module")
def gold(parity: Path) -> list[dict[str, Any]]:
    text = (parity / "acebench_gold_plans.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_recorded_reply_and_state_is_ours(
    records: Records, recorded: list[dict[str, Any]]
) -> None:
    """The recorder's own refusal of qualified names stands for an error of another text."""
    for row in recorded:
        ours = fresh(records, row)
        for message, expected in zip(row["agent_messages"], row["observations"], strict=False):
            results = ours.run(message).results
            if "refused to evaluate" in str(expected):
                assert all(one.startswith("Error during execution: name") for one in results)
            else:
                assert results == expected, row["key"]
        assert json.dumps(ours.state()) == json.dumps(row["final_state"]), row["key"]
    assert len(recorded) > 200


def test_every_gold_plan_reaches_its_state(records: Records, gold: list[dict[str, Any]]) -> None:
    def play(row: dict[str, Any]) -> str:
        ours = fresh(records, row)
        for message in row["agent_messages"]:
            ours.run(message)
        return json.dumps(ours.state())

    with ThreadPoolExecutor(4) as pool:
        states = list(pool.map(play, gold))
    assert states == [json.dumps(row["final_state"]) for row in gold]
    assert len(gold) == 100
