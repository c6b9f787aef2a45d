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
