from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from agentenvs.harness import Ablation, Outcomes, ablate
from agentenvs.harness.ablation.settings import ARMS
from agentenvs.harness.ablation.words import words

N = 8
BASE_NONE = [0, 1, 0, 2, 1, 0, 3, 0, 1, 0, 2, 0]
BASE_LIGHT = [4, 5, 3, 7, 4, 2, 6, 3, 5, 4, 6, 2]
POST_NONE = [8, 7, 8, 0, 8, 6, 8, 0, 7, 8, 8, 0]
POST_LIGHT = [8, 6, 8, 0, 8, 5, 7, 0, 7, 8, 7, 0]


def arm(name: str, counts: list[int], **settings: Any) -> Outcomes:
    """Return rollouts of an arm as a run would record them."""
    model, harness = name.split("-")
    light = harness == "light"
    rows = [
        {
            "task_id": f"task_{task}",
            "rollout": rollout,
            "success": rollout < count,
            "reason": "" if rollout < count else f"wrong [{(task + rollout) % 3}]",
            "parse": {"calls": 2, "words": 1, "malformed": 0, "rescued": int(light)}
            # A run of the none arms counted no cut replies yet.
            | ({"cut": int(rollout == 0 and task < 3)} if light else {}),
        }
        for task, count in enumerate(counts)
        for rollout in range(N)
    ]
    known = {
        "env_id": "elsewhere/Env-v0",
        "harness": harness,
        "prompt": {"name": harness},
        "parser": "relaxed" if light else "official",
        "seed": 0,
        "policy": {"name": f"the {model} model"},
    }
    return Outcomes(rows, {**known, **settings})


def ablation(counts: list[list[int]], K: int | None = None, **settings: Any) -> Ablation:  # noqa: N803
    arms = {name: arm(name, c, **settings) for name, c in zip(ARMS, counts, strict=True)}
    return ablate(arms=arms, K=K)


def shown(found: Ablation, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    found.render(console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


@pytest.fixture(scope="module")
def found() -> Ablation:
    return ablation([BASE_NONE, BASE_LIGHT, POST_NONE, POST_LIGHT])


@pytest.mark.parametrize("width", [80, 120])
def test_no_number_is_torn(found: Ablation, width: int) -> None:
    text = shown(found, width)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert max(map(len, text.splitlines())) <= width
    assert "base: the base model" in lines
    cells = [line for line in lines if line.startswith("post - base")]
    assert len(cells) == 3
    assert all(line.count("..") == 3 for line in cells)
    effects = [line for line in lines if line.startswith(("model pass", "harness pass"))]
    assert len(effects) == 2
    assert all(len(line.split()) >= 6 for line in effects)
    assert "base light 51/96 288 96 33 % 0 192 67 % 96 50 % 3 1 %" in lines
    assert "base none 10/96 288 96 33 % 0 192 67 % 0 ?" in lines
    assert "Tax_S, the other way round: base - post; above 0 post has lost." in lines
    assert "void: no verdict, not counted 0 0 0 0" in lines
    assert any(line.startswith("wrong [0]") and line.count("%") == 4 for line in lines)


def test_the_words_say_whom_the_harness_helps_more(found: Ablation) -> None:
    told = words(found)
    assert len(told) == 4
    assert told[0].startswith(
        "pass@1: the harness helps base (+0.427) more than post (-0.042) by 0."
    )
    assert told[0].endswith(").")
    assert told[3].startswith("Tax_S(4), base minus post: ")
    turned = ablation([POST_NONE, POST_LIGHT, BASE_NONE, BASE_LIGHT])
    assert words(turned)[0].startswith("pass@1: the harness helps post (+0.427) more than base")


def test_the_words_say_whom_the_harness_holds_back_more() -> None:
    worse = [max(count - 1, 0) for count in BASE_NONE]
    found = ablation([BASE_LIGHT, BASE_NONE, BASE_NONE, worse])
    told = "pass@1: the harness holds base (-0.427) back more than post (-0.062) by 0.365"
    assert words(found)[0].startswith(told)
    turned = ablation([BASE_NONE, worse, BASE_LIGHT, BASE_NONE])
    assert "holds post (-0.427) back more than base (-0.062) by 0.365" in words(turned)[0]


def test_the_words_say_where_the_data_do_not_decide() -> None:
    light = [count + (task % 2) for task, count in enumerate(BASE_NONE)]
    other = [count + (task % 3 == 0) for task, count in enumerate(POST_LIGHT[3:9] * 2)]
    found = ablation([BASE_NONE, light, POST_LIGHT[3:9] * 2, [min(c, N) for c in other]])
    assert words(found)[0].startswith("pass@1: which model the harness helps more is not decided")


def test_nothing_solved_is_said_and_no_number_made_of_it() -> None:
    none = [0] * len(BASE_NONE)
    found = ablation([none, BASE_LIGHT, none, POST_LIGHT])
    text = shown(found, 120)
    assert "S(4): no interval: nothing was solved in base-none and post-none." in text
    assert "-: no standard error, so that no effect is tested." in text
    assert "nan" not in text
    assert "undefined" not in text


def test_four_arms_that_solve_nothing_say_nothing() -> None:
    (told,) = words(ablation([[0] * 5] * 4))
    assert told.startswith("No arm solved anything in up to 40 rollouts")


def test_an_arm_that_never_failed_leaves_s_undefined() -> None:
    found = ablation([BASE_NONE, BASE_LIGHT, POST_NONE, [N] * len(BASE_NONE)])
    assert (
        words(found)[2] == "S(4): undefined in an arm, so that nothing can be said of the harness."
    )
    assert "undefined" in shown(found, 80)
    assert "undefined with light" in words(found)[3]


def test_one_try_shows_no_s(found: Ablation) -> None:
    text = shown(ablation([BASE_NONE, BASE_LIGHT, POST_NONE, POST_LIGHT], K=1), 80)
    assert "pass@1" in text
    assert "S(" not in text
    assert "Tax" not in text


def test_a_budget_near_n_is_marked() -> None:
    text = shown(ablation([BASE_NONE, BASE_LIGHT, POST_NONE, POST_LIGHT], K=N), 80)
    assert "pass@8 *" in text
    assert "* high variance" in text


def test_many_reasons_are_summed() -> None:
    arms = {name: arm(name, BASE_LIGHT) for name in ARMS}
    rows = [
        {**row, "reason": f"reason {at % 8} {at // 8 % 3}"}
        for at, row in enumerate(arms["base-none"])
    ]
    arms["base-none"] = Outcomes(rows, arms["base-none"].settings)
    text = shown(ablate(arms=arms), 100)
    assert "7 other reasons" in text


def test_scripts_come_with_their_mark() -> None:
    policy = {"name": "scripted:wide", "scripted": True}
    text = shown(ablation([BASE_NONE, BASE_LIGHT, POST_NONE, POST_LIGHT], policy=policy), 80)
    assert text.startswith("SCRIPTED POLICIES: no model was measured")
    assert "second - first" in text
    assert "post" not in text
