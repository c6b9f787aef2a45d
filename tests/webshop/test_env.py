from __future__ import annotations

import copy
import gc
import json
import math
import re
import tracemalloc
from collections import Counter
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import agentenvs
from agentenvs.errors import BadArgument, UnknownName
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.env import MAX_STEPS, OBSERVATIONS, WebShopEnv
from agentenvs.webshop.plans import gold_actions

SHIRT = "odd/synthetic/0"
WALK = ["search[mugs]", "click[next >]", "click[c000000012]", "click[features]", "click[< prev]"]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def played(env: Any, actions: list[str]) -> tuple[Any, ...]:
    """Carry out actions and return the last answer."""
    answer: tuple[Any, ...] = ()
    for action in actions:
        answer = env.step(action)
    return answer


def lamp_goal(**more: Any) -> dict[str, Any]:
    goal = {
        "asin": "B0NOTSOLD0",
        "category": "garden",
        "query": "mugs",
        "name": "Tall mug number 3",
        "product_category": "Home \u203a Kitchen \u203a Mugs",
        "instruction_text": "i want a tall mug",
        "attributes": ["easy clean"],
        "price_upper": 20.0,
        "goal_options": [],
    }
    return {**goal, **more}


def test_reset_says_what_there_is_and_not_what_is_wanted(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop)
    observation, info = env.reset(options={"task": SHIRT})
    assert info["task"] == SHIRT
    assert info["messages"] == [{"role": "user", "content": observation}]
    assert [tool["name"] for tool in info["tools"]] == ["search", "click"]
    assert "search[" in info["system"]
    assert "search[" not in info["policy"]
    assert info["data_version"] == odd_shop.version
    assert info["catalog"] == {
        "name": "odd",
        "digest": odd_shop.digest,
        "goals": "synthetic",
        "rules": "official",
    }
    assert info["page"] == "search"
    assert info["invalid_action"] == ""
    told = json.dumps({key: value for key, value in info.items() if key != "messages"})
    assert "B000000001" not in told
    assert "easy clean" not in told
    info["tools"][0]["parameters"].clear()
    assert env.reset()[1]["tools"][0]["parameters"]


def test_native_actions_are_answered_by_the_page(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop)
    env.reset(options={"task": SHIRT})
    observation, reward, terminated, truncated, info = env.step("search[mugs]")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["messages"] == [{"role": "user", "content": observation}]
    assert info["page"] == "results"
    assert info["available"]["clickables"][:3] == ["back to search", "next >", "c000000000"]
    assert info["parse"] == {"status": "calls", "reason": ""}


def test_json_calls_are_carried_out_in_order_as_a_step_each(odd_shop: Catalog) -> None:
    one, many = WebShopEnv(catalog=odd_shop), WebShopEnv(catalog=odd_shop)
    one.reset(options={"task": SHIRT})
    many.reset(options={"task": SHIRT})
    pages = [one.step(action)[0] for action in WALK[:3]]
    calls = [call("search", query="mugs"), call("click", element="Next >")]
    calls.append(call("click", element="c000000012"))
    observation, _, _, _, info = many.step(json.dumps({"content": "look", "tool_calls": calls}))
    assert observation == "\n".join(pages)
    assert info["messages"] == [
        {"role": "tool", "name": item["name"], "content": page}
        for item, page in zip(calls, pages, strict=True)
    ]
    assert many._parts() == one._parts()
    assert many._parts().steps == 3


@pytest.mark.parametrize("observation", ["text", "text_rich", "url"])
@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_fixed_rules_show_why_an_action_was_invalid(
    odd_shop: Catalog, rules: Any, observation: Any
) -> None:
    env = WebShopEnv(catalog=odd_shop, rules=rules, observation=observation)
    page, _ = env.reset(seed=0)
    shown, *_, info = env.step("click[nothing]")
    told = rules == "fixed" and observation != "url"
    assert shown == (f"Invalid action: {info['invalid_action']}\n{page}" if told else page)
    assert info["messages"][0]["content"] == shown


def test_calls_stop_at_an_invalid_one(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop)
    env.reset(options={"task": SHIRT})
    calls = [call("search", query="mugs"), call("click", element="nothing"), call("fly")]
    _, _, _, _, info = env.step(json.dumps(calls))
    assert len(info["messages"]) == 2
    assert info["messages"][0]["content"] == info["messages"][1]["content"]
    assert "'nothing'" in info["invalid_action"]
    assert env._parts().steps == 2
    assert "'fly'" in env.step(json.dumps([call("fly")]))[4]["invalid_action"]


def test_calls_stop_at_the_purchase_and_at_the_limit(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop)
    env.reset(options={"task": SHIRT})
    buy = [call("search", query="mugs"), call("click", element="c000000000")]
    buy += [call("click", element="buy now"), call("search", query="more")]
    _, _, terminated, _, info = env.step(json.dumps(buy))
    assert terminated
    assert len(info["messages"]) == 3
    short = WebShopEnv(catalog=odd_shop, max_steps=2)
    short.reset(options={"task": SHIRT})
    _, _, terminated, truncated, info = short.step(json.dumps(buy))
    assert (terminated, truncated, info["reason"]) == (False, True, "not_bought")
    assert len(info["messages"]) == 2


@pytest.mark.parametrize(
    ("action", "status", "role"),
    [
        ("hello", "words", "user"),
        ("", "words", "user"),
        ('{"content": "hi", "tool_calls": []}', "words", "user"),
        ("think[hm]", "malformed", "user"),
        ('[{"name": 3}]', "malformed", "tool"),
        ('[{"name": "search",', "malformed", "tool"),
        ("x" * 100_001, "malformed", "tool"),
    ],
)
def test_what_is_no_action_shows_the_page_again(
    odd_shop: Catalog, action: str, status: str, role: str
) -> None:
    env = WebShopEnv(catalog=odd_shop)
    page, _ = env.reset(options={"task": SHIRT})
    observation, reward, terminated, truncated, info = env.step(action)
    assert (observation, reward, terminated, truncated) == (page, 0.0, False, False)
    assert info["parse"]["status"] == status
    assert info["parse"]["reason"]
    assert info["invalid_action"]
    assert info["messages"] == [{"role": role, "content": page}]
    assert env._parts().steps == 1


@pytest.mark.parametrize("reward", ["success", "score"])
def test_a_purchase_ends_with_its_verdict(odd_shop: Catalog, reward: Any) -> None:
    env = WebShopEnv(catalog=odd_shop, reward=reward)
    task = "odd/human/0"
    env.reset(options={"task": task})
    _, value, terminated, _, info = played(env, gold_actions(task, catalog=odd_shop))
    assert (terminated, value, info["success"], info["score"], info["reason"]) == (
        *(True, 1.0, True, 1.0),
        "",
    )
    assert info["page"] == "done"
    assert info["available"] == {"has_search_bar": False, "clickables": []}
    env.reset(options={"task": SHIRT})
    wrong = ["search[mugs]", "click[c000000000]", "click[buy now]"]
    _, value, terminated, _, info = played(env, wrong)
    assert not info["success"]
    assert value == (info["score"] if reward == "score" else 0.0)
    assert list(info["score_parts"])[:2] == ["r_type", "r_att"]
    assert info["reason"] == "type, options"
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("search[more]")


def test_the_step_limit_is_the_authors_own_and_can_go(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop)
    env.reset(options={"task": SHIRT})
    answers = [env.step("wait") for _ in range(MAX_STEPS)]
    assert [answer[3] for answer in answers] == [False] * (MAX_STEPS - 1) + [True]
    assert answers[-1][4]["reason"] == "not_bought"
    env = WebShopEnv(catalog=odd_shop, max_steps=None)
    env.reset(options={"task": SHIRT})
    assert not any(env.step("wait")[3] for _ in range(2 * MAX_STEPS))
    env = WebShopEnv(catalog=odd_shop, max_steps=3)
    env.reset(options={"task": SHIRT})
    answer = played(env, ["search[mugs]", "click[c000000000]", "click[buy now]"])
    assert answer[2:4] == (True, False)


def test_a_given_goal_is_played_under_a_name_of_its_own(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop, observation="url", task=SHIRT)
    observation, info = env.reset(seed=1, options={"goal": lamp_goal(), "session": "me.1"})
    assert observation == "http://127.0.0.1:3000/me.1"
    assert info["task"] == "odd/given/B0NOTSOLD0"
    assert info["catalog"]["goals"] == "given"
    buy = ["search[mugs]", "click[c000000007]", "click[buy now]"]
    answer = played(env, buy)
    assert answer[4]["task"] == "odd/given/B0NOTSOLD0"
    assert answer[4]["success"]
    assert env.reset()[1]["task"] == SHIRT


def test_a_given_goal_draws_no_task(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop)
    env.reset(seed=5)
    second = env.reset()[1]["task"]
    env.reset(seed=5)
    env.reset(options={"goal": lamp_goal()})
    assert env.reset()[1]["task"] == second


def test_sessions_default_to_the_task(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop, observation="url")
    assert env.reset(options={"task": "odd/human/0"})[0].endswith("/odd-human-0")
    given, _ = env.reset(options={"goal": lamp_goal(asin="\u00e9/ [x]")})
    assert given.endswith("/odd-given-x-")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal": lamp_goal(), "task": SHIRT}, "either"),
        ({"goal": [1]}, "dict"),
        ({"goal": {"asin": "B0"}}, "category"),
        ({"goal": lamp_goal(goal_options=3)}, "goal_options"),
        ({"session": ""}, "session"),
        ({"session": "a/b"}, "session"),
        ({"session": "a" * 101}, "session"),
        ({"session": 3}, "session"),
        ({"sesion": "a"}, "sesion"),
        ({"task": 3}, "task"),
    ],
)
def test_wrong_reset_options_are_refused(
    odd_shop: Catalog, options: dict[str, Any], message: str
) -> None:
    env = WebShopEnv(catalog=odd_shop)
    env.reset()
    with pytest.raises(BadArgument, match=message):
        env.reset(options=options)
    with pytest.raises(UnknownName, match="no task"):
        env.reset(options={"task": "odd/synthetic/99"})
    env.reset()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"observation": "image"}, "'text_rich', 'url', 'html'"),
        ({"show_attrs": 1}, "show_attrs"),
        ({"draw": "best"}, "draw"),
        ({"draw": "weighted", "tasks": ["odd/synthetic/0"]}, "all goals of one kind"),
        ({"draw": "weighted", "exclude": ["odd/synthetic/0"]}, "all goals of one kind"),
        ({"max_steps": 0}, "at least 1"),
        ({"max_steps": 2.0}, "max_steps"),
        ({"max_steps": True}, "max_steps"),
        ({"exclude": "odd/synthetic/0"}, "exclude"),
        ({"exclude": [f"odd/synthetic/{at}" for at in range(17)]}, "at least one task"),
        ({"prices": [1]}, "prices"),
        ({"prices": {1: 2.0}}, "asins"),
        ({"prices": {"B": -1.0}}, "0 or more"),
        ({"prices": {"B": math.nan}}, "0 or more"),
        ({"prices": {"B": math.inf}}, "0 or more"),
        ({"prices": {"B": True}}, "0 or more"),
        ({"prices": {"B": "3"}}, "0 or more"),
        ({"rules": "strict"}, "rules"),
        ({"reward": "money"}, "reward"),
        ({"tasks": "paper"}, "500"),
        ({"task": 3}, "str"),
    ],
)
def test_wrong_arguments_are_refused(
    odd_shop: Catalog, kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadArgument, match=re.escape(message)):
        WebShopEnv(catalog=odd_shop, **kwargs)


def test_tasks_of_other_catalogs_are_unknown(odd_shop: Catalog) -> None:
    for kwargs in ({"tasks": ["1k/synthetic/0"]}, {"tasks": "tests"}, {"task": "odd/synthetic/17"}):
        with pytest.raises(UnknownName):
            WebShopEnv(catalog=odd_shop, **kwargs)  # type: ignore[arg-type]


def test_a_task_set_is_no_task(odd_shop: Catalog) -> None:
    with pytest.raises(UnknownName, match="it is a task set, and goes into `tasks=`"):
        WebShopEnv(catalog=odd_shop, task="paper")


def test_an_unknown_task_is_told_how_many_there_are() -> None:
    env = WebShopEnv(tasks="mini")
    with pytest.raises(UnknownName, match="no task 'zzz'") as told:
        env.reset(options={"task": "zzz"})
    assert f"({1830 + 54} in all)" in str(told.value)


def test_bare_resets_draw_from_the_tasks(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop, exclude=["odd/synthetic/3"])
    drawn = [env.reset(seed=0)[1]["task"], *(env.reset()[1]["task"] for _ in range(300))]
    assert set(drawn) == {f"odd/synthetic/{at}" for at in range(17) if at != 3}
    twin = WebShopEnv(catalog=odd_shop, exclude=["odd/synthetic/3"])
    again = [twin.reset(seed=0)[1]["task"], *(twin.reset()[1]["task"] for _ in range(300))]
    assert again == drawn


def test_w1_weighted_draws_are_off_by_one_under_official(odd_shop: Catalog) -> None:
    goals = odd_shop.goals("synthetic")
    weights = np.array([goals.goal(at).weight for at in range(len(goals))])
    wanted = {"fixed": weights, "official": np.append([0.0], weights[:-1])}
    wanted["official"][-1] += weights[-1]
    assert len(set(weights.tolist())) > 1
    for rules, expected in wanted.items():
        env = WebShopEnv(catalog=odd_shop, rules=rules, draw="weighted")  # type: ignore[arg-type]
        env.reset(seed=0)
        seen = Counter(int(env.reset()[1]["task"].rsplit("/")[2]) for _ in range(4_000))
        shares = np.array([seen[at] for at in range(len(goals))]) / 4_000
        assert np.abs(shares - expected / expected.sum()).max() < 0.03
    assert seen[0] == 0


def test_weighted_draws_work_for_human_goals(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop, tasks="human", draw="weighted")
    assert env.reset()[1]["task"] == "odd/human/0"


def test_price_tables_move_price_and_cap(odd_shop: Catalog) -> None:
    lamp = next(at for at in range(17) if odd_shop.goals("synthetic").goal(at).asin == "B000000002")
    options = {"task": f"odd/synthetic/{lamp}"}
    caps = []
    for price in (6.0, 500.0):
        env = WebShopEnv(catalog=odd_shop, prices={"B000000002": price})
        observation, _ = env.reset(options=options)
        found = re.search(r"price lower than ([0-9.]+) dollars", observation)
        assert found is not None
        caps.append(float(found[1]))
        buy = ["search[<q> lamps]", "click[b000000002]", "click[buy now]"]
        assert played(env, buy)[4]["score_parts"]["r_price"]
    assert caps[0] < 100 < 500 < caps[1]


@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_check_env_is_clean(odd_shop: Catalog, observation: Any) -> None:
    env = gymnasium.make("agentenvs/WebShop-v0", catalog=odd_shop, observation=observation)
    check_env(env.unwrapped)


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_snapshots_restore_exactly(odd_shop: Catalog, rules: Any) -> None:
    actions = [*WALK, "click[buy now]"]
    env = WebShopEnv(catalog=odd_shop, rules=rules)
    env.reset(seed=0, options={"task": SHIRT})
    for at, action in enumerate(actions):
        snapshot = env.snapshot()
        expected = env.step(action)
        after = [env.step(later) for later in actions[at + 1 :]]
        for target in (env, WebShopEnv(catalog=odd_shop, rules=rules)):
            target.reset(seed=9)
            target.restore(snapshot)
            assert target.step(action) == expected
            assert [target.step(later) for later in actions[at + 1 :]] == after
        env.restore(snapshot)
        env.step(action)


def test_snapshots_of_another_catalog_are_refused(odd_shop: Catalog) -> None:
    env, other = WebShopEnv(tasks="mini"), WebShopEnv(catalog=odd_shop)
    _, info = other.reset(seed=0)
    env.reset(seed=0)
    with pytest.raises(BadArgument, match=f"'odd' .*got one of 'mini/.*{env.catalog.digest}"):
        other.restore(env.snapshot())
    assert other.step("nothing")[-1]["task"] == info["task"]


def test_random_results_follow_the_generator(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop, rules="fixed")
    env.reset(seed=3, options={"task": SHIRT})
    snapshot = env.snapshot()
    twin = copy.deepcopy(env)
    first = env.step("search[<r>]")[0]
    assert twin.step("search[<r>]")[0] == first
    env.restore(snapshot)
    assert env.step("search[<r>]")[0] == first


def test_forks_are_independent(odd_shop: Catalog) -> None:
    env = gymnasium.make("agentenvs/WebShop-v0", catalog=odd_shop, tasks=[SHIRT])
    env.reset(seed=0)
    env.step("search[shirt]")
    twin = agentenvs.fork(env)
    page = env.step("click[b000000001]")[0]
    assert twin.step("click[b000000001]")[0] == page
    twin.step("click[red]")
    state = env.unwrapped._parts().state  # type: ignore[attr-defined]
    assert state.options == {}


def test_render_shows_the_conversation(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop, render_mode="ansi")
    env.reset(options={"task": SHIRT})
    env.step("search[mugs]")
    text = env.render()
    assert text is not None
    assert text.startswith(f"task {SHIRT}\n[user] WebShop [SEP] Instruction:")
    assert "\n[assistant] search[mugs]\n[user] Instruction: [SEP]" in text


def test_a_thousand_environments_share_one_catalog(odd_shop: Catalog) -> None:
    first = WebShopEnv(catalog=str(odd_shop.folder))
    first.reset(seed=0)
    gc.collect()
    tracemalloc.start()
    try:
        envs = [WebShopEnv(catalog=str(odd_shop.folder)) for _ in range(1_000)]
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert {id(env.catalog) for env in envs} == {id(first.catalog)}
    assert copy.deepcopy(first).catalog is first.catalog
    assert size < 20_000_000


@pytest.mark.slow
def test_ten_thousand_resets_do_not_grow_memory(shop_catalog: Catalog) -> None:
    env = WebShopEnv(catalog=shop_catalog)
    tasks = list(env.task_ids[:250])

    def rounds(count: int) -> int:
        for task in tasks * count:
            page, _ = env.reset(options={"task": task})
            told = page.split(" [SEP] ")[2]
            _, _, _, _, info = env.step(f"search[{told}]")
            env.step(f"click[{info['available']['clickables'][-1]}]")
            assert env.step("click[buy now]")[2]
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = rounds(4)
        after = rounds(36)
    finally:
        tracemalloc.stop()
    assert after - before < 50_000
