"""Run folders: outcomes, transcripts, void tries, settings; they survive kills and full disks.

Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import lazily

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

__getattr__, __dir__ = lazily(__name__, _MODULES)
