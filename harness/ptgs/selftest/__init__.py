"""Does a trainer sample at T and score at T? A self-test for any trainer.

>>> from agentenvs.harness.ptgs.selftest import Played
>>> Played(task="a", temperature=1.5, tokens=(3, 1), success=True).task
'a'

Names load when they are first used; `selftest` needs torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agentenvs.errors import AgentEnvsError

if TYPE_CHECKING:
    from agentenvs.harness.ptgs.selftest.protocol import Played, Trace, Trained, Trainer
    from agentenvs.harness.ptgs.selftest.recorder import Recorder
    from agentenvs.harness.ptgs.selftest.report import Check, Report
    from agentenvs.harness.ptgs.selftest.suite import selftest

__all__ = ["Check", "Played", "Recorder", "Report", "Trace", "Trained", "Trainer", "selftest"]

_HOMES = {
    "Check": "report",
    "Played": "protocol",
    "Recorder": "recorder",
    "Report": "report",
    "Trace": "protocol",
    "Trained": "protocol",
    "Trainer": "protocol",
    "selftest": "suite",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'agentenvs.harness.ptgs.selftest' has no attribute {name!r}")
    home = f"agentenvs.harness.ptgs.selftest.{_HOMES[name]}"
    try:
        return getattr(importlib.import_module(home), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise AgentEnvsError("The self-test needs torch: pip install 'agentenvs[hf]'") from error


def __dir__() -> list[str]:
    return sorted(__all__)
