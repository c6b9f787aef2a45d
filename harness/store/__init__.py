"""Run folders: outcomes, transcripts, void tries, settings; they survive kills and full disks.

Names load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.harness.store.folder import Memory, RunFolder
    from agentenvs.harness.store.merge import merge_runs
    from agentenvs.harness.store.transcripts import TranscriptWriter, conversation, read_transcripts
    from agentenvs.harness.store.voids import VoidWriter, read_voids

__all__ = [
    "Memory",
    "RunFolder",
    "TranscriptWriter",
    "VoidWriter",
    "conversation",
    "merge_runs",
    "read_transcripts",
    "read_voids",
]

_MODULES = {
    "folder": ("Memory", "RunFolder"),
    "merge": ("merge_runs",),
    "transcripts": ("TranscriptWriter", "conversation", "read_transcripts"),
    "voids": ("VoidWriter", "read_voids"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"agentenvs.harness.store.{_HOME[name]}"), name)
    raise AttributeError(f"module 'agentenvs.harness.store' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
