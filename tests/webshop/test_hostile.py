"""Texts and records that try to hang the shop, to grow without bound or to make it raise."""

from __future__ import annotations

import json
import time
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.env import WebShopEnv

#: seconds of CPU: far above what a step may take, far below what a hang would
PATIENCE = 1.0
RULES = ("official", "fixed")
OBSERVATIONS = ("text", "text_rich", "url")
QUERIES = [
    "a " * 49_000,
    "a" * 99_000,
    "mug " * 24_000,
    " ".join(f"w{at}" for at in range(15_000)),
    "\u0301" * 50_000,
    "\U0001f600" * 50_000,
    "'" * 90_000,
    "a'" * 45_000,
    "a.b" * 30_000,
    "\x00\x01\x1b[31m\x7f",
    "\ud800",
    "\ud83d \ude00",
    "\u2028\u2029\x85",
    "\u0130\u0131\u1e9e\ufb03",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "%s {0} {} \\N{BULLET}",
    "<r> <r>",
    "<q>",
    "<q> ",
    "<c> ",
    "<a>",
    "search_results item_page item_sub_page done",
    "",
    "   ",
    "]",
    "[",
    "a]b[c",
]
ACTIONS = [
    "[" * 100_000,
    "]" * 100_000,
    "a[" * 50_000,
    "search[" * 14_000,
    "search[]" * 12_000,
    "search[" + "[a]" * 33_000,
    "{" * 100_000,
    '{"tool_calls": [' * 6_000,
    '[{"name": "search", "arguments": ' * 3_000,
    " " * 100_000,
    "\n" * 100_000,
    "click[" + "\n" * 90_000 + "]",
    "click[" + "x" * 90_000 + "]",
    "search[x]" * 200_000,
    "\x00",
    "\ud800",
    "click[\ud800]",
    '[{"name": "click", "arguments": {"element": "\\ud800"}}]',
    '[{"name": "\\u0000", "arguments": {}}]',
    json.dumps([{"name": "click", "arguments": {"element": {"a": [1] * 1_000}}}]),
    json.dumps([{"name": "search", "arguments": {"query": "mugs"}}] * 256),
    json.dumps([{"name": "search", "arguments": {"query": "mugs"}}] * 257),
    "click[" + "\u0130" * 50_000 + "]",
]


def tried(env: WebShopEnv, action: str) -> dict[str, Any]:
    """Step, within patience; begin again when the episode is over."""
    before = time.thread_time()
    observation, _, terminated, truncated, info = env.step(action)
    assert time.thread_time() - before < PATIENCE, action[:80]
    assert env.observation_space.contains(observation)
    assert isinstance(info["invalid_action"], str)
    assert len(info["invalid_action"]) < 400
    assert info["available"]["clickables"] or terminated
    if terminated or truncated:
        env.reset(options={"task": "odd/synthetic/0"})
    return info


@pytest.mark.parametrize(
    ("rules", "observation"),
    [*((rules, kind) for rules in RULES for kind in OBSERVATIONS), ("official", "html")],
)
def test_hostile_texts_are_answered_in_time(
    odd_shop: Catalog, rules: Any, observation: Any
) -> None:
    env = WebShopEnv(catalog=odd_shop, rules=rules, observation=observation)
    env.reset(options={"task": "odd/synthetic/0"})
    for action in ACTIONS:
        tried(env, action)
    for query in QUERIES:
        for wrapped in (
            f"search[{query}]",
            json.dumps([{"name": "search", "arguments": {"query": query}}]),
        ):
            if len(wrapped) > 100_000:
                continue
            tried(env, wrapped)
            for then in ("click[next >]", "click[< prev]", "click[c000000000]", "click[features]"):
                tried(env, then)
            tried(env, "click[< prev]")
            tried(env, "click[back to search]")
    env.restore(env.snapshot())


@lru_cache(maxsize=8)
def environment(folder: str, rules: Any, observation: Any) -> WebShopEnv:
    return WebShopEnv(catalog=folder, rules=rules, observation=observation, max_steps=None)


TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=st.characters(codec=None)),
    st.builds("{}[{}]".format, st.sampled_from(["search", "click"]), st.text()),
    st.builds(
        lambda name, key, value: json.dumps([{"name": name, "arguments": {key: value}}]),
        st.sampled_from(["search", "click", "buy"]),
        st.sampled_from(["query", "element", ""]),
        st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text())),
    ),
    st.sampled_from(
        ["search[mugs]", "search[shirt]", "click[b000000001]", "click[c000000003]"]
        + [f"click[{label}]" for label in ("next >", "< prev", "features", "red", "buy now")]
    ),
)


@given(st.lists(TEXTS, max_size=12), st.sampled_from(RULES), st.sampled_from(OBSERVATIONS))
@settings(max_examples=150)
def test_no_text_makes_a_step_raise(
    odd_shop: Catalog, actions: list[str], rules: str, observation: str
) -> None:
    env = environment(str(odd_shop.folder), rules, observation)
    env.reset(options={"task": "odd/synthetic/0"})
    for action in actions:
        tried(env, action)


@pytest.mark.parametrize("rules", RULES)
def test_every_offered_label_can_be_clicked_by_json(odd_shop: Catalog, rules: Any) -> None:
    env = WebShopEnv(catalog=odd_shop, rules=rules, show_attrs=True)
    env.reset(options={"task": "odd/synthetic/0"})
    tried(env, "search[shirt]")
    offered = tried(env, "click[b000000001]")["available"]["clickables"]
    for label in offered:
        # The original lists an empty value, which its grammar has no word for.
        if label in ("back to search", "buy now", ""):
            continue
        info = tried(env, json.dumps([{"name": "click", "arguments": {"element": label}}]))
        assert info["invalid_action"] == ""
        if info["page"] == "sub":
            tried(env, "click[< prev]")
        elif info["page"] == "results":
            tried(env, "click[b000000001]")


def test_fixed_labels_can_be_clicked_natively(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop, rules="fixed")
    env.reset(options={"task": "odd/synthetic/0"})
    tried(env, "search[shirt]")
    for label in tried(env, "click[b000000001]")["available"]["clickables"][6:]:
        assert tried(env, f"click[{label}]")["invalid_action"] == ""
    assert dict(env._parts().state.options).keys() == {"color", "size"}


def test_goals_of_any_texts_are_played(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop, observation="text_rich")
    for text in ("", " ", "\x00", "\ud800", "a" * 50_000, "<b>", " [SEP] ", "\n"):
        goal = {
            **dict.fromkeys(("asin", "category", "query", "name", "product_category"), text),
            "instruction_text": text,
            "attributes": [text],
            "goal_options": {text: text},
            "price_upper": 10.0,
        }
        env.reset(options={"goal": goal})
        for action in ("search[mugs]", "click[c000000000]"):
            tried(env, action)
        _, _, terminated, _, info = env.step("click[buy now]")
        assert terminated
        assert 0.0 <= info["score"] <= 1.0
