from __future__ import annotations

from dataclasses import replace

import pytest

from agentenvs.errors import BadArgument, UnknownName
from agentenvs.harness.lab.arms import Arm, check, order, with_needs
from agentenvs.harness.lab.config import bundled

BASE = Arm("base", "base", "start", "pretrain", "demonstrations")
GRPO = Arm("grpo", "GRPO", "GRPO", "gradient", "outcomes", start="base")
OPD = Arm("opd", "OPD", "imitation", "distil", "outcomes", start="base", teacher="grpo")
HOT = replace(GRPO, name="hot", against="grpo", sampler={"kind": "PTGS"})


def test_needs_and_the_arm_beside_come_along() -> None:
    arms = (BASE, GRPO, OPD, HOT)
    assert with_needs(arms, ["opd"]) == ("base", "grpo", "opd")
    assert with_needs(arms, ["hot"]) == ("base", "grpo", "hot")
    assert with_needs(arms, []) == ()


def test_unknown_arms_are_named_with_the_closest() -> None:
    with pytest.raises(UnknownName, match=r"no arm 'gpro'.*'grpo'"):
        with_needs((BASE, GRPO), ["gpro"])


def test_arms_on_which_others_wait_begin_first() -> None:
    arms = (BASE, HOT, GRPO, OPD)
    assert order(arms, ["base", "hot", "grpo", "opd"]) == ("base", "grpo", "hot", "opd")


def test_needs_come_before_in_the_bundled_arms() -> None:
    arms = bundled().arms
    listed = order(arms, [arm.name for arm in arms])
    for arm in arms:
        assert all(listed.index(need) < listed.index(arm.name) for need in arm.needs)


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ((), "at least one arm"),
        ((BASE, BASE), "different names"),
        ((replace(BASE, name="Base!"),), "small letters"),
        ((replace(BASE, how="wish"),), "`how` to be one of"),
        ((replace(BASE, data="none"),), "`data` to be one of"),
        ((replace(BASE, start="base"),), "a start, for all but"),
        ((GRPO, BASE), "'base' among the arms before"),
        ((BASE, replace(OPD, teacher=None)), "a teacher"),
        ((BASE, GRPO, replace(OPD, sampler={"kind": "PTGS"})), "only policy gradients"),
        ((BASE, replace(GRPO, against="grpo")), "another of the arms"),
        ((BASE, replace(GRPO, against="ppo")), "another of the arms"),
    ],
)
def test_arms_that_cannot_be_trained_are_refused(arms: tuple[Arm, ...], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        check(arms)
