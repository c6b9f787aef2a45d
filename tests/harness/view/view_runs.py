"""Runs made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentenvs.harness.episode import Step
from agentenvs.harness.outcomes import OutcomeWriter, write_settings
from agentenvs.harness.records import Played
from agentenvs.harness.store.transcripts import TranscriptWriter

HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\rsaid [red]this[/red] \u202e\ud800"


def step(
    text: str, came: str = "ok", status: str = "calls", repairs: Sequence[str] = (), **more: Any
) -> Step:
    parse = {
        "status": status,
        "reason": "bad_syntax: no end" if status == "malformed" else "",
        "repairs": list(repairs),
        "strict": not repairs,
        "format": "pylist" if status == "calls" else status,
        "calls": int(status == "calls"),
        "mode": "relaxed",
    }
    news = ({"role": "tool", "content": came},) if came else ()
    return Step(text, news, {**parse, **more}, "stop", 0.0)


def played(task: str, rollout: int, steps: Sequence[Step], reason: str = "") -> Played:
    said = [step.parse["status"] for step in steps]
    mended = sum(bool(step.parse["repairs"]) for step in steps)
    fields = {
        "score": float(not reason),
        "reason": reason,
        "seed": 1,
        "temperature": 1.0,
        "steps": len(steps),
        "parse": {
            **{kind: said.count(kind) for kind in ("calls", "words", "malformed")},
            "repaired": mended,
            "rescued": mended,
        },
        "wall_s": 2.0,
        "new_tokens": 10 * rollout,
    }
    opening = (
        {"role": "system", "content": "You call tools."},
        {"role": "user", "content": f"Do {task}."},
    )
    return Played(task, rollout, 1, not reason, reason, opening, steps, fields)


def write_run(
    folder: Path,
    rollouts: Sequence[Played],
    *,
    close: bool = True,
    transcripts: bool = True,
    voids: Sequence[dict[str, Any]] = (),
    segment_bytes: int = 4 * 2**20,
    **settings: Any,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_settings(folder, {"policy": {"name": "hf:small"}, **settings})
    writer = TranscriptWriter(folder, segment_bytes=segment_bytes) if transcripts else None
    with OutcomeWriter(folder) as outcomes:
        for one in rollouts:
            if writer is not None:
                writer.write(one, 1.0)
            outcomes.write(one.task, one.rollout, one.success, **one.fields)
    if writer is not None and close:
        writer.close()
    if voids:
        (folder / "voids.jsonl").write_text("".join(json.dumps(row) + "\n" for row in voids))
    return folder


def some_rollouts() -> list[Played]:
    return [
        played("mini_0", 0, [step("[look()]"), step("Done.", "", "words")]),
        played(
            "mini_0",
            1,
            [step("first"), step("```\n[look()]\n```", "Seen.", repairs=["fence", "prose"])],
            "wrong_state",
        ),
        played("mini_1", 0, [step("[look(", "", "malformed")], "context_overflow"),
        played("desk_7", 0, [step(HOSTILE, HOSTILE), step("Fin \u4f60\u597d.")], "max_requests"),
    ]


TIMEOUT = {"task_id": "desk_8", "rollout": 0, "reason": "timeout", "wall_s": 9.5}
