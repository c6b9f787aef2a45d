from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from agentenvs.bfcl import Verdict, gold, task_ids, verdict
from agentenvs.bfcl.checker import EMPTY_TURN, FORCED, RESULTS_DIFFER, STATE_DIFFERS
from agentenvs.bfcl.tasks import SPLITS, task
from agentenvs.errors import BadArgument, UnknownName


@pytest.mark.parametrize("split", [*SPLITS, "mini"])
def test_ground_truths_are_valid_in_any_grouping(
    request: pytest.FixtureRequest, split: str
) -> None:
    if split != "mini":
        request.getfixturevalue("official_bfcl")
    failed = []
    for name in task_ids(split):
        whole = gold(name)
        single = [[[call] for step in turn for call in step] for turn in whole]
        if not (verdict(name, whole).valid and verdict(name, single).valid):
            failed.append(name)
    assert failed == []


def test_recorded_verdicts_agree(parity: Path, official_bfcl: None) -> None:
    with gzip.open(parity / "bfcl_verdicts.jsonl.gz", "rt") as lines:
        recorded = [json.loads(line) for line in lines]
    assert len(recorded) >= 600
    differ = []
    for row in recorded:
        wanted = row["official"]
        expected = Verdict(wanted["valid"], wanted["error_type"] or "", wanted["turn"])
        found = verdict(row["task_id"], row["turns"])
        if found != expected:
            differ.append((row["task_id"], row["kind"], found, expected))
    assert differ == []


def test_official_checker_agrees_on_mutated_trajectories(
    official: Any, rows: dict[str, dict[str, Any]]
) -> None:
    jobs, found = [], []
    for index, name in enumerate(list(rows)[::3]):
        calls = [list(turn) for turn in task(name).gold]
        turn = index % len(calls)
        if index % 4 == 0 and calls[turn]:
            calls[turn].pop(index % len(calls[turn]))
        elif index % 4 == 1:
            calls[turn].append(calls[0][0] if calls[0] else "pwd()")
        elif index % 4 == 2:
            calls[turn].reverse()
        else:
            calls[turn] = [call.replace("'", "'x", 1) for call in calls[turn]]
        turns = [[list(step)] if step else [] for step in calls]
        jobs.append({"kind": "verdict", "row": rows[name], "turns": turns, "gold": task(name).gold})
        result = verdict(name, turns)
        found.append([result.valid, result.error_type])
    assert found == official(jobs)


def test_what_fails_and_how() -> None:
    name = "mini_home_0"
    plan = gold(name)
    assert verdict(name, plan) == (True, "", None)
    assert verdict(name, []) == (False, FORCED, None)
    assert verdict(name, [*plan, []]) == (False, FORCED, None)
    assert verdict(name, [[] for _ in plan]) == (False, EMPTY_TURN, 0)
    assert verdict(name, [[[]] for _ in plan]) == (False, EMPTY_TURN, 0)
    assert verdict(name, [[["list_rooms()"]]]) == (False, STATE_DIFFERS, 0)
    assert verdict(name, [[["list_rooms()"], *plan[0], ["list_rooms()"]]]).valid


def test_missing_results_fail_where_the_state_agrees() -> None:
    name, turn = next(
        (name, turn)
        for name in task_ids("mini")
        for turn, calls in enumerate(task(name).gold)
        if calls and _changes_nothing(name, turn)
    )
    turns = gold(name)
    turns[turn] = [["nothing_of_the_kind()"]]
    assert verdict(name, turns) == (False, RESULTS_DIFFER, turn)


def _changes_nothing(name: str, turn: int) -> bool:
    """Whether a turn's ground truth only reads, judged by the turns before it."""
    world = task(name).world("official")
    for calls in task(name).gold[:turn]:
        world.run(calls)
    before = world.copy()
    world.run(task(name).gold[turn])
    return all(vars(world.instances[key]) == vars(before.instances[key]) for key in world.classes)


def test_arguments_are_checked() -> None:
    with pytest.raises(UnknownName):
        verdict("mini_home_999", [])
    with pytest.raises(BadArgument, match="rules"):
        verdict("mini_home_0", [], rules="loose")  # type: ignore[arg-type]
    for wrong in ("ls()", [["ls()"]], [[[1]]], ["ls()"], [None], None):
        with pytest.raises(BadArgument, match="Expected"):
            verdict("mini_home_0", wrong)  # type: ignore[arg-type]


def test_fixed_fails_a_stop_in_the_last_turn() -> None:
    name = "mini_home_0"
    plan = gold(name)
    turn = [["list_rooms()"]] * 20 + plan[-1]
    assert verdict(name, [*plan[:-1], turn]).valid
    assert verdict(name, [*plan[:-1], turn], rules="fixed") == (False, FORCED, len(plan) - 1)
    assert verdict(name, [*plan[:-1], turn[1:]], rules="fixed").valid


def test_fixed_judges_turns_with_an_empty_ground_truth(official_bfcl: None) -> None:
    name = "multi_turn_base_167"
    turns = gold(name)
    assert turns[-1] == []
    token = task(name).world("official").instances["TravelAPI"].access_token
    act = f"set_budget_limit(access_token={token!r}, budget_limit=1.5)"
    acted = [*turns[:-1], [[act]]]
    read = [*turns[:-1], [["list_all_airports()"]]]
    assert verdict(name, acted).valid
    assert verdict(name, acted, rules="fixed") == (False, STATE_DIFFERS, len(turns) - 1)
    assert verdict(name, read, rules="fixed").valid


def test_fixed_offers_functions_only_once_handed_over(official_bfcl: None) -> None:
    unsolvable = []
    for name in task_ids("miss_func"):
        assert verdict(name, gold(name)).valid
        if not verdict(name, gold(name), rules="fixed").valid:
            unsolvable.append(name)
    assert unsolvable == ["multi_turn_miss_func_49"]


def test_cards_of_long_context_are_not_shared(official_bfcl: None) -> None:
    item = task("multi_turn_long_context_150")
    one, two = item.world("official"), item.world("official")
    before = one.run(["get_all_credit_cards()"])
    travel = one.instances["TravelAPI"]
    booking = next(iter(travel.booking_record))
    for card in list(travel.credit_card_list):
        bought = one.run(
            [
                f"purchase_insurance(access_token={travel.access_token!r}, insurance_type='x', "
                f"booking_id={booking!r}, insurance_cost=5.0, card_id={card!r})"
            ]
        )
        assert '"insurance_status": true' in bought[0]
    assert one.run(["get_all_credit_cards()"]) != before
    assert two.run(["get_all_credit_cards()"]) == before
    assert item.world("official").run(["get_all_credit_cards()"]) == before


def test_mentions_do_not_leak_into_later_episodes(official_bfcl: None) -> None:
    name = next(name for name in task_ids("base") if "TwitterAPI" in task(name).classes)
    world = task(name).world("official")
    user = vars(world.instances["TwitterAPI"])
    login = f"authenticate_twitter(username={user['username']!r}, password={user['password']!r})"
    number = user["tweet_counter"]
    posted = [login, "post_tweet(content='hello')"]
    first = world.run(posted)
    world.run([f"mention(tweet_id={number}, mentioned_usernames=['@a'])"])
    assert json.loads(world.run(["post_tweet(content='hello')"])[0])["mentions"] == []
    assert task(name).world("official").run(posted) == first
