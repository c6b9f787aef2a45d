from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs import registry
from agentenvs.errors import BadArgument, RunDamaged, RunError, SettingsDiffer
from agentenvs.harness import Outcomes, OutcomeWriter, read_transcripts, run, verify
from agentenvs.harness.policies import RandomPolicy
from agentenvs.harness.store.folder import RunFolder, differences, versions


def settings(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return found


def test_run_json_holds_every_setting(ledger: ModuleType, tmp_path: Path) -> None:
    run(ledger.ID, RandomPolicy(), n=2, seed=3, examples=1, top_p=0.9, out=tmp_path)
    found = settings(tmp_path)
    assert found["env_id"] == ledger.ID
    assert found["task_ids"] == list(ledger.TASKS)
    assert (found["harness"], found["parser"], found["n"], found["seed"]) == (
        "light",
        "relaxed",
        2,
        3,
    )
    assert found["prompt"]["examples"] == 1
    assert found["sampling"] == {"temperature": 1.0, "top_p": 0.9, "max_tokens": 512}
    assert found["policy"]["name"] == "random"
    assert found["policy"]["scripted"] is False
    assert versions().items() <= found["history"][0]["versions"].items()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": 1}, "seed: 0 -> 1"),
        ({"temperature": 0.5}, "sampling.temperature: 1.0 -> 0.5"),
        ({"harness": "none"}, 'parser: "relaxed" -> "official"'),
        ({"examples": 2}, "prompt.examples: 0 -> 2"),
        ({"tasks": ["ledger_1"]}, "task_ids"),
        ({"env_kwargs": {"max_steps": 5}}, "env_kwargs.max_steps: 20 -> 5"),
        ({"policy": RandomPolicy(words=0.5)}, "policy.words: 0.2 -> 0.5"),
        ({"n": 1}, "n: 2 -> 1"),
    ],
)
def test_other_settings_are_refused_with_the_difference(
    ledger: ModuleType, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    call = {"policy": RandomPolicy(), "n": 2}
    run(ledger.ID, out=tmp_path, **call)
    before = settings(tmp_path)
    with pytest.raises(SettingsDiffer) as refusal:
        run(ledger.ID, out=tmp_path, **{**call, **change})
    assert told in str(refusal.value)
    assert settings(tmp_path) == before


@pytest.mark.parametrize(
    "change", [{"n": "2"}, {"n": None}, {"history": 5}, {"history": [{"versions": 3}]}]
)
def test_a_run_json_that_was_edited_wrongly_is_damaged(
    ledger: ModuleType, tmp_path: Path, change: dict[str, Any]
) -> None:
    run(ledger.ID, RandomPolicy(), out=tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({**settings(tmp_path), **change}))
    with pytest.raises(RunDamaged, match="run.json"):
        run(ledger.ID, RandomPolicy(), out=tmp_path)


@pytest.mark.parametrize("room", [3_000, 20_000])
def test_a_full_disk_stops_a_run_that_later_goes_on(
    ledger: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    left = room
    write = os.write

    def full(fd: int, data: bytes) -> int:
        nonlocal left
        if left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(fd, data[:left])
        left -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(RunError, match="No space left|could be written"):
            run(ledger.ID, RandomPolicy(), n=9, out=tmp_path)
    kept = Outcomes.load(tmp_path)
    assert len(list(read_transcripts(tmp_path))) == len(kept) < 108
    run(ledger.ID, RandomPolicy(), n=9, out=tmp_path)
    assert len(list(read_transcripts(tmp_path))) == len(Outcomes.load(tmp_path)) == 108


def test_concurrency_may_differ(ledger: ModuleType, tmp_path: Path) -> None:
    run(ledger.ID, RandomPolicy(), out=tmp_path, concurrency=3)
    assert len(run(ledger.ID, RandomPolicy(), out=tmp_path, concurrency=9)) == 12


def test_how_replies_are_fetched_may_differ(ledger: ModuleType, tmp_path: Path) -> None:
    class Far(RandomPolicy):
        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

        def transport(self) -> dict[str, Any]:
            return {"url": self.url}

    run(ledger.ID, Far("http://one"), out=tmp_path)
    assert settings(tmp_path)["transport"] == {"url": "http://one"}
    assert (settings(tmp_path)["retries"], settings(tmp_path)["engine"]) == (2, "local")
    run(ledger.ID, Far("http://two"), out=tmp_path, retries=0)
    assert settings(tmp_path)["transport"] == {"url": "http://two"}
    assert settings(tmp_path)["retries"] == 0
    run(ledger.ID, RandomPolicy(), out=tmp_path)
    assert settings(tmp_path)["transport"] == {}


def test_more_rollouts_extend_a_run(ledger: ModuleType, tmp_path: Path) -> None:
    first = run(ledger.ID, RandomPolicy(), n=2, out=tmp_path)
    longer = run(ledger.ID, RandomPolicy(), n=3, out=tmp_path)
    assert first.keys() < longer.keys()
    assert len(longer) == 36
    assert [entry["n"] for entry in settings(tmp_path)["history"]] == [2, 3]


def test_a_complete_run_is_not_played_again(ledger: ModuleType, tmp_path: Path) -> None:
    first = run(ledger.ID, RandomPolicy(), out=tmp_path)
    seen: list[int] = []
    again = run(
        ledger.ID, RandomPolicy(), out=tmp_path, progress=lambda state: seen.append(state.done)
    )
    assert list(again) == list(first)
    assert seen == []


def test_other_versions_are_told_and_recorded(
    ledger: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(ledger.ID, RandomPolicy(), out=tmp_path)
    newer = {**versions(), "numpy": "99.0"}
    monkeypatch.setattr("agentenvs.harness.store.folder.versions", lambda: newer)
    with pytest.warns(UserWarning, match=r"numpy \S+ -> 99\.0"):
        run(ledger.ID, RandomPolicy(), out=tmp_path)
    assert settings(tmp_path)["history"][1]["versions"]["numpy"] == "99.0"


def test_one_process_writes_at_a_time(ledger: ModuleType, tmp_path: Path) -> None:
    run(ledger.ID, RandomPolicy(), out=tmp_path)
    with (
        OutcomeWriter(tmp_path),
        pytest.raises(RunError, match="another run"),
    ):
        run(ledger.ID, RandomPolicy(), n=2, out=tmp_path)


def test_outcomes_without_settings_are_not_taken_over(tmp_path: Path) -> None:
    with OutcomeWriter(tmp_path) as writer:
        writer.write("a", 0, True)
    with pytest.raises(RunError, match=r"no run\.json"):
        RunFolder(tmp_path, {"n": 1})
    assert len(Outcomes((), None)) == 0
    assert not (tmp_path / "run.json").exists()


def test_settings_that_are_no_json_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="JSON"):
        RunFolder(tmp_path / "new", {"n": 1, "odd": object()})
    assert not (tmp_path / "new").exists()


def test_differences_are_told_setting_by_setting() -> None:
    old = {"seed": 1, "sampling": {"top_p": 1.0, "max_tokens": 5}, "gone": [1], "n": 3}
    new = {"seed": 1, "sampling": {"top_p": 0.5, "max_tokens": 5}, "come": {}, "n": 4}
    assert differences(old, new) == [
        "sampling.top_p: 1.0 -> 0.5",
        "gone: [1] -> null",
        "come: null -> {}",
    ]


def test_transcripts_may_be_left_out(ledger: ModuleType, tmp_path: Path) -> None:
    run(ledger.ID, RandomPolicy(), out=tmp_path, transcripts=False)
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", "outcomes.jsonl"}


def test_a_function_is_known_by_its_source_whatever_path_led_to_it(
    ledger: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text("def act(prompt):\n    return 'No.'\n")
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "run"
    run(ledger.ID, "callable:mine.py:act", n=1, out=out)
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    run(ledger.ID, "callable:../mine.py:act", n=2, out=out)
    assert settings(out)["policy"]["name"] == "callable:mine.py:act"
    assert verify(out).ok
    (tmp_path / "mine.py").write_text("def act(prompt):\n    return 'Yes.'\n")
    with pytest.raises(SettingsDiffer, match="policy.source"):
        run(ledger.ID, "callable:../mine.py:act", n=3, out=out)


def test_a_function_that_plays_the_user_is_known_by_its_source_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text("def speak(messages):\n    return 'Yes.'\n")
    out, tasks = tmp_path / "run", registry.tasks("ACEBench", "mini")[:1]
    monkeypatch.chdir(tmp_path)
    run("ACEBench", RandomPolicy(), tasks=tasks, user="callable:mine.py:speak", out=out)
    again = f"callable:{tmp_path}/mine.py:speak"
    run("ACEBench", RandomPolicy(), tasks=tasks, user=again, n=2, out=out)
    found = settings(out)
    assert found["user"]["name"] == found["env_kwargs"]["user"] == "callable:mine.py:speak"
    (tmp_path / "mine.py").write_text("def speak(messages):\n    return 'No.'\n")
    with pytest.raises(SettingsDiffer, match=r"user.source: .*\n"):
        run("ACEBench", RandomPolicy(), tasks=tasks, user=again, n=3, out=out)


def test_versions_of_what_a_run_uses_besides_are_kept_and_compared(tmp_path: Path) -> None:
    told = {"env_id": "none/None-v0", "n": 1, "transport": {"server_version": "b1"}}
    RunFolder(tmp_path, told).close()
    assert settings(tmp_path)["history"][0]["versions"]["server"] == "b1"
    with pytest.warns(UserWarning, match="begun with other versions: server b1 -> b2"):
        RunFolder(tmp_path, {**told, "transport": {"server_version": "b2"}}).close()
