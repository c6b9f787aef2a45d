"""PTGS in TRL's GRPOTrainer: sampled at T, scored at T.

Names load when they are first used; torch and trl when a trainer is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import lazily

if TYPE_CHECKING:
    from agentenvs.harness.ptgs.trl.rows import Row, with_temperatures
    from agentenvs.harness.ptgs.trl.subject import Subject
    from agentenvs.harness.ptgs.trl.trainer import Tempered, tempered
    from agentenvs.harness.ptgs.trl.version import READ
    from agentenvs.harness.ptgs.trl.world import TextWorld

__all__ = ["READ", "Row", "Subject", "Tempered", "TextWorld", "tempered", "with_temperatures"]

_MODULES = {
    "rows": ("Row", "with_temperatures"),
    "subject": ("Subject",),
    "trainer": ("Tempered", "tempered"),
    "version": ("READ",),
    "world": ("TextWorld",),
}

__getattr__, __dir__ = lazily(__name__, _MODULES)
