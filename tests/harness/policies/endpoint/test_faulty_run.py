"""A run over a server that fails now and then comes out as over one that never does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.harness import run
from agentenvs.harness.policies.endpoint import EndpointPolicy
from agentenvs.harness.store.transcripts import read_transcripts

KEY = "sk-very-secret-4567"
Connect = Callable[..., EndpointPolicy]


def told(outcomes: Any) -> dict[Any, Any]:
    """Return all of an outcome that has nothing to do with time."""
    return {
        (row["task_id"], row["rollout"]): {k: v for k, v in row.items() if k not in _OF_TIME}
        for row in outcomes
    }


_OF_TIME = ("wall_s", "attempt")


def said(folder: Path) -> dict[Any, Any]:
    """Return what was said in each rollout."""
    return {
        (row["task_id"], row["rollout"]): json.dumps(
            [row[key] for key in sorted(row) if key in _SAID]
        )
        for row in read_transcripts(folder)
    }


_SAID = ("opening", "steps")


@pytest.mark.parametrize("stream", [False, True])
def test_outcomes_are_those_of_a_run_without_faults(
    server: Any,
    fake: ModuleType,
    ledger: ModuleType,
    connect: Connect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stream: bool,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    results = {}
    for share in (0.0, 0.2):
        server.answer = faulty = fake.Faulty(fake.ledger_model, share, stream)
        outcomes = run(
            ledger.ID,
            # Lost connections are waited out by the clock, the other faults are counted.
            connect(stream=stream, read_timeout=0.25, retries=12, outage=600.0),
            n=4,
            seed=3,
            parser="native",
            out=tmp_path / str(share),
        )
        results[share] = told(outcomes)
        assert outcomes.voids == []
    assert set(faulty.faults) == set(faulty.KINDS)
    assert sum(faulty.faults.values()) > 0.15 * sum(faulty.tries.values())
    assert results[0.2] == results[0.0]
    assert said(tmp_path / "0.2") == said(tmp_path / "0.0")
    wins = sum(row["success"] for row in results[0.0].values())
    assert 0 < wins < len(results[0.0]) == 48
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or KEY.encode() not in file.read_bytes()


def test_without_retries_of_its_own_the_runner_plays_void_rollouts_again(
    server: Any, fake: ModuleType, ledger: ModuleType, connect: Connect, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"n": 2, "seed": 3, "parser": "native", "tasks": ledger.TASKS[:8]}
    server.answer = fake.Faulty(fake.ledger_model, 0.0)
    sound = run(ledger.ID, connect(), **settings)
    server.answer = faulty = fake.Faulty(fake.ledger_model, 0.2)
    policy = connect(retries=0, read_timeout=0.25)
    outcomes = run(ledger.ID, policy, **settings, retries=50, out=tmp_path / "run")
    assert told(outcomes) == told(sound)
    assert outcomes.open == []
    assert len(outcomes.voids) >= sum(faulty.faults.values()) > 5
    assert {void["reason"] for void in outcomes.voids} <= {
        "timeout",
        "http_429",
        "http_500",
        "cut_reply",
        "garbled_reply",
        "connection",
    }
    assert outcomes.kinds()["void"] == 0
    assert sum(outcomes.counts().n) == 16


def test_what_stays_open_is_played_by_the_next_call(
    server: Any, fake: ModuleType, ledger: ModuleType, connect: Connect, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"n": 2, "seed": 3, "parser": "native", "tasks": ledger.TASKS[:4]}
    out = tmp_path / "run"
    server.answer = fake.Faulty(fake.ledger_model, 0.5)
    first = run(ledger.ID, connect(retries=0, read_timeout=0.25), **settings, retries=0, out=out)
    assert 0 < len(first.open) < 8
    assert sum(first.counts().n) == 8 - len(first.open)
    server.answer = fake.Faulty(fake.ledger_model, 0.0)
    sound = run(ledger.ID, connect(), **settings)
    # How the server is reached may differ from call to call.
    assert told(run(ledger.ID, connect(concurrency=3), **settings, out=out)) == told(sound)


def test_the_forms_of_mini_tasks(
    server: Any, fake: ModuleType, connect: Connect, tmp_path: Path
) -> None:
    server.answer = fake.Faulty(lambda seen: "I would rather not.", 0.2)
    outcomes = run(
        "BFCLv4", connect(retries=12, read_timeout=0.25), tasks="mini_home_0", n=4, out=tmp_path
    )
    assert sum(outcomes.counts().n) == 4
    told = json.loads((tmp_path / "run.json").read_text())
    assert told["transport"]["url"] == server.url
    assert told["policy"]["model"] == fake.MODEL
    assert "url" not in told["policy"]
