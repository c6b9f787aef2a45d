from __future__ import annotations

import pytest

from agentenvs.errors import PolicyError, UnknownName
from agentenvs.harness import make_policy, run

pytestmark = pytest.mark.hf
SETTINGS = {"tasks": "mini", "n": 2, "max_tokens": 6}


@pytest.fixture(autouse=True, scope="module")
def needs_transformers() -> None:
    pytest.importorskip("transformers", reason="needs the extra `hf`")


def test_both_models_play_and_training_shows() -> None:
    solved = {}
    for name in ("base", "grpo"):
        outcomes = run("ToolLab", f"lab:{name}", harness="none", **SETTINGS)
        assert outcomes.policy == f"lab:{name}"
        assert not outcomes.scripted
        solved[name] = sum(outcomes.column("success"))
    assert 0 < solved["base"] < solved["grpo"]


@pytest.mark.parametrize("settings", [{"harness": "light"}, {"env_kwargs": {"manual": True}}])
def test_a_prompt_in_other_words_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match="words of ToolLab alone"):
        run("ToolLab", "lab:base", **{"harness": "none", **SETTINGS, **settings})


def test_there_are_no_others() -> None:
    with pytest.raises(UnknownName, match="no bundled model 'ppo'"):
        make_policy("lab:ppo")


def lake(**settings: object) -> object:
    given = {"harness": "none", "env_kwargs": {"manual": False}, **SETTINGS, **settings}
    return run("FrozenLakeText", "lab:lake", **given)


def test_the_lakes_model_plays() -> None:
    outcomes = lake(n=4)
    assert outcomes.policy == "lab:lake"
    assert 0.1 < sum(outcomes.column("success")) / (24 * 4) < 0.6


@pytest.mark.parametrize("settings", [{"harness": "light"}, {"env_kwargs": {"manual": True}}])
def test_the_lakes_model_refuses_other_words(settings: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match="words of FrozenLakeText alone"):
        lake(**settings)


def test_the_lakes_model_refuses_another_world() -> None:
    with pytest.raises(PolicyError, match='play "FrozenLakeText"'):
        run("ToolLab", "lab:lake", harness="none", **SETTINGS)


def test_replies_that_leave_no_room_for_a_prompt_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"`max_tokens` below 128.*--max-tokens 6"):
        lake(max_tokens=128)
