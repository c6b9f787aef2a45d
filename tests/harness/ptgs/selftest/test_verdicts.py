"""Rollouts without a verdict, as after an outage, count in no group."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra `hf`")

from agentenvs.harness.ptgs.selftest import Trace, selftest

WITHOUT = ("samples", "scores", "entropies", "identity", "missing", "resume")


def outages(base: Any, counted: bool) -> Any:
    """Return a trainer whose first task and whose first rollouts of all others have no verdict."""

    class Outages(base):  # type: ignore[misc]
        def tell(self, names: list[str], won: Any) -> None:
            n = np.full(len(names), won.shape[1] - 1)
            if counted:
                n += 1
            self.sampler.update(names[1:], won[1:, 1:].sum(1).numpy(), n[1:])

        def step(self) -> Trace:
            shown = super().step()
            first, size = shown.played[0].task, won_size(shown)
            return replace(
                shown,
                played=[
                    replace(one, success=None) if one.task == first or not at % size else one
                    for at, one in enumerate(shown.played)
                ],
            )

    return Outages


def won_size(shown: Trace) -> int:
    return sum(one.task == shown.played[0].task for one in shown.played)


def test_what_has_no_verdict_is_not_told(reference: ModuleType) -> None:
    report = selftest(outages(reference.Reference, counted=False), without=WITHOUT)
    assert report.passed, str(report)


def test_what_has_no_verdict_is_told_as_a_failure(reference: ModuleType) -> None:
    report = selftest(outages(reference.Reference, counted=True), without=WITHOUT)
    assert report.failed == ("told",)
    assert "of 7 with a verdict and 1 without" in report["told"].words


def test_a_group_without_any_verdict_is_told(reference: ModuleType) -> None:
    class Blind(reference.Reference):
        def step(self) -> Trace:
            shown = super().step()
            return replace(shown, played=[replace(one, success=None) for one in shown.played])

    report = selftest(Blind, without=WITHOUT, most_steps=2)
    assert report.failed == ("told",)
    assert "played were 0 of 0 with a verdict and 8 without" in report["told"].words
    assert report["uniform"].status == "not run"


def test_a_verdict_that_is_no_number(reference: ModuleType) -> None:
    class Odd(reference.Reference):
        def step(self) -> Trace:
            shown = super().step()
            odd: Any = float("nan")
            return replace(shown, played=[replace(shown.played[0], success=odd)])

    assert "None where there is no verdict" in selftest(Odd, without=WITHOUT)["told"].words
