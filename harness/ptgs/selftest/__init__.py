"""Does a trainer sample at T and score at T? A self-test for any trainer.

>>> from agentenvs.harness.ptgs.selftest import Played
>>> Played(task="a", temperature=1.5, tokens=(3, 1), success=True).task
'a'

Names load when they are first used; `selftest` needs torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import Extra, lazily

if TYPE_CHECKING:
    from agentenvs.harness.ptgs.selftest.protocol import Played, Trace, Trained, Trainer
    from agentenvs.harness.ptgs.selftest.recorder import Recorder
    from agentenvs.harness.ptgs.selftest.report import Check, Report
    from agentenvs.harness.ptgs.selftest.suite import selftest

__all__ = ["Check", "Played", "Recorder", "Report", "Trace", "Trained", "Trainer", "selftest"]

_MODULES = {
    "protocol": ("Played", "Trace", "Trained", "Trainer"),
    "recorder": ("Recorder",),
    "report": ("Check", "Report"),
    "suite": ("selftest",),
}

__getattr__, __dir__ = lazily(__name__, _MODULES, Extra("The self-test", "hf", ("torch",)))
