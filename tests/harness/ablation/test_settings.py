from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from agentenvs.harness.ablation.settings import ARMS, differences


def recorded() -> dict[str, dict[str, Any]]:
    """Return the settings of four arms that were asked alike."""
    arms = {}
    for name in ARMS:
        model, harness = name.split("-")
        light = harness == "light"
        arms[name] = {
            "format": 1,
            "env_id": "agentenvs/BFCLv4-v0",
            "env_kwargs": {"decoding": "native" if light else "official", "docs": "official"},
            "task_hash": name,
            "data": "23a8",
            "harness": harness,
            "prompt": {"name": harness, "examples": 2} if light else {"name": harness},
            "parser": "relaxed" if light else "official",
            "n": 4,
            "seed": 0,
            "sampling": {"temperature": 1.0, "top_p": 1.0, "max_tokens": 48},
            "max_requests": 8,
            "policy": {
                "name": model,
                "weights": f"{model}-weights",
                "form": "chat",
                "ignored_defaults": {"top_k": 64} if model == "post" else {},
            },
            "concurrency": 8 if light else 64,
            "transport": {"url": name},
            "history": [{"versions": {"agentenvs": "0.1.0", "python": "3.11.7"}}],
        }
    return arms


def changed(name: str, path: str, value: Any) -> dict[str, dict[str, Any]]:
    arms = deepcopy(recorded())
    *outer, last = path.split(".")
    place: dict[str, Any] = arms[name]
    for key in outer:
        place = place[key]
    place[last] = value
    return arms


def test_what_an_ablation_is_about_is_no_difference() -> None:
    assert differences(recorded()) == []


@pytest.mark.parametrize(
    ("arm", "path", "value", "told"),
    [
        ("post-none", "sampling.temperature", 0.7, "sampling.temperature: 1.0 in base-none and"),
        ("post-light", "seed", 1, "seed: 0 in base-none and base-light and post-none, 1 in post"),
        ("base-none", "env_kwargs.docs", "compact", "env_kwargs.docs"),
        ("base-light", "data", "ffff", "data"),
        ("base-light", "max_requests", None, "max_requests: 8 in"),
        ("post-light", "prompt.examples", 0, "prompt.examples"),
        ("post-light", "env_kwargs.decoding", "official", "env_kwargs.decoding"),
        ("post-none", "policy.weights", "others", "policy.weights"),
        ("base-none", "user", {"name": "scripted"}, "user.name"),
        ("base-none", "policy.top_k", 20, "policy.top_k"),
        ("post-none", "prompt.name", "light", 'prompt.name: expected "none" in post-none'),
        ("post-light", "parser", "strict", 'parser: expected "relaxed" in post-light'),
        (
            "post-none",
            "history",
            [{"versions": {"agentenvs": "0.1.0"}}, {"versions": {"agentenvs": "0.2.0"}}],
            'versions.agentenvs: "0.1.0" in base-none and base-light and post-light, '
            '"0.1.0, 0.2.0" in post-none',
        ),
    ],
)
def test_a_fault_is_named_with_its_arms(arm: str, path: str, value: Any, told: str) -> None:
    found = differences(changed(arm, path, value))
    assert any(one.fault and told in one.text for one in found), found


def test_a_model_s_own_sampling_defaults_are_no_matter_where_they_are_not_used() -> None:
    arms = recorded()
    for name in ARMS[2:]:
        arms[name]["policy"] |= {"pinned": {"top_k": 0, "min_p": 0.0}, "left_to_server": []}
    assert differences(arms) == []
    for name in ARMS[2:]:
        arms[name]["policy"]["left_to_server"] = ["top_k"]
    (found,) = differences(arms)
    assert found.fault
    assert found.text.startswith("policy.left_to_server: not set in base-none and base-light")


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [("policy.form", "completion", "policy.form"), ("n", 8, "n: 4 in")],
)
def test_what_spoils_nothing_is_told(path: str, value: Any, told: str) -> None:
    arms = recorded()
    for name in ARMS[2:]:
        arms[name] = changed(name, path, value)[name]
    (found,) = differences(arms)
    assert not found.fault
    assert found.text.startswith(told)


def test_other_versions_of_python_are_told() -> None:
    versions = [{"versions": {"agentenvs": "0.1.0", "python": "3.12.1"}}]
    (found,) = differences(changed("base-none", "history", versions))
    assert (found.fault, found.text[:16]) == (False, "versions.python:")


def test_a_tuple_is_what_a_folder_gives_back_as_a_list() -> None:
    arms = recorded()
    arms["base-none"]["env_kwargs"]["exclude"] = ("a", "b")
    for name in ARMS[1:]:
        arms[name]["env_kwargs"]["exclude"] = ["a", "b"]
    assert differences(arms) == []


def test_outcomes_of_unknown_making_are_a_fault() -> None:
    found = differences({**recorded(), "base-light": {}})
    assert [one.text for one in found] == [
        "base-light: nothing is known of how the outcomes were made"
    ]


def test_arms_to_be_played_are_compared_in_what_is_known_of_them() -> None:
    arms = recorded()
    planned = {name: {"env_id": arms[name]["env_id"], "seed": 1} for name in ARMS[2:]}
    found = differences({name: arms[name] for name in ARMS[:2]}, planned)
    assert [one.text[:5] for one in found] == ["seed:"]


@pytest.mark.parametrize("history", [None, 3, "text", [None], [{"versions": 3}], [{}]])
def test_a_history_that_is_none_says_nothing(history: Any) -> None:
    arms = {name: {**known, "history": history} for name, known in recorded().items()}
    assert differences(arms) == []
