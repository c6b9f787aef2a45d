from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from agentenvs import tasks as tasks_of
from agentenvs.core import ToolCall
from agentenvs.errors import BadArgument, RunDamaged, RunError
from agentenvs.harness import Completion, Light, Plain, Request, run, verify
from agentenvs.harness.policies import RandomPolicy
from agentenvs.harness.progress import Progress
from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.store.merge import merge_runs
from agentenvs.webshop.locate import open_catalog

LAB = tasks_of("ToolLab", "mini")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    run("ToolLab", "scripted:wide", tasks="mini", n=4, seed=3, out=folder, concurrency=7)
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "run")


def test_a_run_holds(copy: Path) -> None:
    found = verify(copy)
    assert found.ok
    assert found.findings == ()
    assert (found.rows, found.verified, found.open) == (96, 96, 0)
    assert found.played == "agentenvs/ToolLab-v0"
    assert (copy / "certificate.json").is_file()


def test_nothing_else_is_written(copy: Path) -> None:
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    assert verify(copy, write=False).ok
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before


@pytest.mark.parametrize("harness", ["none", "light"])
@pytest.mark.parametrize("env_id", ["BFCLv4", "WebShop", "ACEBench", "ToolLab"])
def test_every_world_replays(env_id: str, harness: str, tmp_path: Path) -> None:
    run(env_id, RandomPolicy(), tasks="mini", n=1, harness=harness, out=tmp_path, max_requests=6)
    found = verify(tmp_path)
    assert found.findings == ()
    assert found.verified == found.rows > 20


@pytest.mark.parametrize("parser", ["official", "native", "strict", "relaxed"])
def test_every_parser_replays(parser: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"tasks": "mini", "n": 1, "parser": parser, "prompt": "none"}
    run("BFCLv4", "scripted:narrow", out=tmp_path, **settings)
    assert verify(tmp_path).findings == ()


def test_calls_that_a_policy_gave_ready_made_replay(tmp_path: Path) -> None:
    class Calls(RandomPolicy):
        async def generate(self, request: Request) -> Completion:
            name = request.tools[request.where.step % len(request.tools)]["name"]
            calls = (ToolCall(name, {"text": "a\nUser: b"}),)
            return Completion("", tool_calls=calls, finish_reason="tool_calls")

    run("BFCLv4", Calls(), tasks="mini", n=1, out=tmp_path, max_requests=3)
    assert verify(tmp_path).findings == ()


def test_ends_by_the_harness_replay(ledger: ModuleType, tmp_path: Path) -> None:
    class Overflows(RandomPolicy):
        async def generate(self, request: Request) -> Completion:
            if request.where.rollout == 1 and request.where.step == 1:
                return Completion("too lo", finish_reason="context")
            return Completion("[deposit(amount=1)]", finish_reason="length")

    outcomes = run(ledger.ID, Overflows(), n=2, out=tmp_path, max_requests=3)
    assert {row["reason"] for row in outcomes} == {"max_requests", "context_overflow"}
    assert verify(tmp_path).verified == 24


def test_a_policy_that_played_the_user_is_not_needed(tmp_path: Path) -> None:
    turns: list[int] = []

    def user(messages: list[dict[str, str]]) -> str:
        turns.append(len(messages))
        return f"  words {len(turns)} to a list of {len(messages)}"

    for harness in ("none", "light"):
        settings: dict[str, Any] = {"tasks": "mini", "n": 1, "harness": harness, "max_requests": 5}
        run("ACEBench", RandomPolicy(words=0.7), user=user, out=tmp_path / harness, **settings)
        asked = len(turns)
        assert asked > 20
        assert verify(tmp_path / harness).findings == ()
        assert len(turns) == asked


def test_recorded_words_of_the_user_are_part_of_what_came_back(
    tamper: ModuleType, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"tasks": ["mini/agent_multi_turn_0"], "n": 1, "max_requests": 3}
    run("ACEBench", lambda prompt: "Yes?", user=lambda m: "Go on.", out=tmp_path, **settings)

    def edit(rows: list[dict[str, Any]]) -> None:
        row = tamper.row(rows, "mini/agent_multi_turn_0", 0)
        assert row["steps"][0][1] == [{"role": "user", "content": "Go on."}]
        row["steps"][0][1][0]["content"] = "Go off."

    tamper.transcripts(tmp_path, edit)
    (finding,) = verify(tmp_path).findings
    assert (finding.kind, finding.field) == ("edited", "sum")


def test_a_catalog_that_lies_elsewhere_now(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    shutil.copytree(open_catalog("mini", None).folder, here)
    settings: dict[str, Any] = {"env_kwargs": {"catalog": str(here)}, "max_requests": 3}
    tasks = ["mini/synthetic/0", "mini/synthetic/7"]
    run("WebShop", RandomPolicy(), tasks=tasks, n=2, out=tmp_path / "run", **settings)
    assert verify(tmp_path / "run").ok
    here.rename(there)
    with pytest.raises(Exception, match="here"):
        verify(tmp_path / "run")
    assert verify(tmp_path / "run", env_kwargs={"catalog": str(there)}).ok


def test_another_world_of_the_lab(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"env_kwargs": {"world": 4, "manual": True}, "n": 1}
    run("ToolLab", "scripted:wide", tasks=["4/order/lamp/one"], out=tmp_path, **settings)
    assert verify(tmp_path).ok
    with pytest.raises(BadArgument, match="all others are the run's own"):
        verify(tmp_path, env_kwargs={"manual": False})


def test_a_browser_gives_way_to_the_same_text(tamper: ModuleType, tmp_path: Path) -> None:
    run("WebShop", RandomPolicy(), tasks="mini", n=1, out=tmp_path, max_requests=4)

    def edit(found: dict[str, Any]) -> None:
        found["env_id"] = "agentenvs/WebShopBrowser-v0"
        found["env_kwargs"] |= {"browser": None, "window": [1280, 800]}

    tamper.settings(tmp_path, edit, history=False)
    found = verify(tmp_path)
    assert found.findings == ()
    assert found.played == "agentenvs/WebShop-v0"
    assert "shows and judges the same" in found.notes[0]


def test_an_environment_that_is_not_of_this_package(ledger: ModuleType, tmp_path: Path) -> None:
    run(ledger.ID, RandomPolicy(), n=2, out=tmp_path / "run")
    assert verify(tmp_path / "run").ok


def test_an_environment_that_is_not_to_be_had(
    ledger: ModuleType, tamper: ModuleType, tmp_path: Path
) -> None:
    run(ledger.ID, RandomPolicy(), n=1, out=tmp_path)
    tamper.settings(tmp_path, lambda found: found.update(env_id="tests/Gone-v0"))
    with pytest.raises(RunError, match=r"tests/Gone-v0.* not registered .*--id MODULE:tests/Gone"):
        verify(tmp_path)
    tamper.settings(tmp_path, lambda found: found.update(env_id="os:tests/Gone-v0"))
    with pytest.raises(RunDamaged, match="env_id"):
        verify(tmp_path)


def test_a_prompt_of_ones_own_is_asked_for(ledger: ModuleType, tmp_path: Path) -> None:
    class Mine(Plain):
        name = "mine"

        def news(self, observation: str, info: Any) -> list[Any]:
            return [{"role": "user", "content": f"Result: {observation}"}]

    run(ledger.ID, RandomPolicy(), n=1, prompt=Mine(), out=tmp_path)
    assert verify(tmp_path, prompt=Mine()).ok
    found = verify(tmp_path)
    assert [(f.kind, f.file, f.field) for f in found.findings] == [("stale", "run.json", "prompt")]
    assert found.verified == found.rows
    with pytest.raises(BadArgument, match="'mine'"):
        verify(tmp_path, prompt=Light())


def test_the_number_of_processes_changes_nothing(
    copy: Path, tamper: ModuleType, tmp_path: Path
) -> None:
    def edit(rows: list[dict[str, Any]]) -> None:
        for row in rows[::7]:
            row["success"] = not row["success"]

    tamper.outcomes(copy, edit)
    # Every opening differs, so that there is more to tell than a line between processes holds.
    tamper.settings(copy, lambda found: found["prompt"].update(examples=4), history=False)
    one, two = verify(copy), verify(copy, jobs=2)
    assert len(one.findings) == 14 + 96 + 1
    assert one.findings == two.findings
    assert one.verified == two.verified == 0


def test_an_error_in_another_process_is_told(ledger: ModuleType, tmp_path: Path) -> None:
    run(ledger.ID, RandomPolicy(), n=1, out=tmp_path)
    with pytest.raises(RunError, match="not registered"):
        verify(tmp_path, jobs=2)


def test_a_sampler_sets_temperatures_that_are_held_against_the_transcripts(
    tamper: ModuleType, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"tasks": "mini", "n": 4, "group": 2, "sampler": PTGS(tau=1.5)}
    with pytest.warns(UserWarning, match="function of the conversation alone"):
        run("BFCLv4", lambda text: "No.", out=tmp_path, **settings)
    assert verify(tmp_path, write=False).ok

    def edit(rows: list[dict[str, Any]]) -> None:
        rows[5]["temperature"] = 0.123

    tamper.outcomes(tmp_path, edit)
    (finding,) = verify(tmp_path).findings
    assert (finding.kind, finding.field, finding.replayed) == ("edited", "temperature", 0.123)


def test_temperatures_that_were_changed_in_both_files_are_not_what_the_sampler_gives(
    tamper: ModuleType, tmp_path: Path
) -> None:
    tasks = ["mini_files_8", "mini_files_9"]
    with pytest.warns(UserWarning, match="function of the conversation alone"):
        run("BFCLv4", lambda _: "No.", n=4, group=2, tasks=tasks, sampler=PTGS(), out=tmp_path)

    def edit(rows: list[dict[str, Any]]) -> None:
        tamper.row(rows, tasks[0], 3)["temperature"] = 0.123
        if "sum" in tamper.row(rows, tasks[0], 3):
            tamper.resealed(tamper.row(rows, tasks[0], 3))

    tamper.transcripts(tmp_path, edit)
    tamper.outcomes(tmp_path, edit)
    (finding,) = verify(tmp_path).findings
    assert (finding.file, finding.field) == ("outcomes.jsonl", "temperature")
    assert "rollout 3 was played at temperature 0.123" in finding.told


def test_a_sampler_that_had_learned_is_given(sampling: ModuleType, tmp_path: Path) -> None:
    tasks = ["mini_files_8", "mini_files_9"]

    def learned() -> PTGS:
        sampler = PTGS(tau=1.5)
        for _ in range(3):
            sampler.temperatures(tasks)
            sampler.update(tasks, np.array([0, 4]), np.array([4, 4]))
        return sampler

    with pytest.warns(UserWarning, match="function of the conversation alone"):
        run("BFCLv4", lambda _: "No.", n=4, tasks=tasks, sampler=learned(), out=tmp_path)
    (finding,) = verify(tmp_path).findings
    assert "unless it had learned before" in finding.told
    assert verify(tmp_path, sampler=learned()).ok


def test_shards_and_separate_runs_that_were_merged(tamper: ModuleType, tmp_path: Path) -> None:
    how: dict[str, Any] = {"n": 2, "seed": 1}
    run("ToolLab", "scripted:wide", tasks=LAB[:3], out=tmp_path / "a", **how)
    run("ToolLab", "scripted:wide", tasks=LAB[3:5], out=tmp_path / "b", **how)
    run("ToolLab", "scripted:wide", tasks=LAB[:3], out=tmp_path / "c", n=3, seed=2)
    merge_runs(tmp_path / "ab", [tmp_path / "a", tmp_path / "b"])
    found = verify(tmp_path / "ab")
    assert found.findings == ()
    assert (found.verified, found.open) == (10, 0)
    merge_runs(tmp_path / "ac", [tmp_path / "a", tmp_path / "c"], renumber=True)
    found = verify(tmp_path / "ac")
    assert found.findings == ()
    assert (found.verified, found.open) == (15, 0)
    tamper.outcomes(tmp_path / "ac", lambda rows: rows[-1].update(seed=3))
    assert {finding.field for finding in verify(tmp_path / "ac").findings} == {"row", "seed"}


def test_progress_is_told(copy: Path) -> None:
    seen: list[tuple[int, int]] = []

    def note(state: Progress) -> None:
        seen.append((state.done, state.total))

    verify(copy, progress=note)
    assert seen == [(at, 96) for at in range(1, 97)]


def test_open_rollouts_and_voids_are_told_and_no_finding(copy: Path, tamper: ModuleType) -> None:
    void = {"task_id": "a", "rollout": 0, "attempt": 0, "reason": "timeout", "error": "slow"}
    (copy / "voids.jsonl").write_text(json.dumps({**void, "wall_s": 1.0}) + "\n")

    def edit(found: dict[str, Any]) -> None:
        found["n"] = 5
        found["history"][-1]["n"] = 5

    tamper.settings(copy, edit)
    found = verify(copy)
    assert found.ok
    assert found.open == 24
    assert [row["reason"] for row in found.voids] == ["timeout"]
    assert found.as_dict()["facts"]["voids"] == 1


def test_rollouts_that_were_tried_again_replay(faulty: ModuleType, tmp_path: Path) -> None:
    policy = faulty.Flaky(RandomPolicy(), seed=4, share=0.1)
    run("ToolLab", policy, tasks="mini", n=2, out=tmp_path, retries=20)
    found = verify(tmp_path)
    assert found.findings == ()
    assert len(found.voids) == len(policy.faults) > 0


def test_a_run_that_was_killed_holds_as_far_as_it_came(copy: Path) -> None:
    import gzip

    (segment,) = copy.glob("transcripts-*.gz")
    plain = segment.with_suffix("")
    plain.write_bytes(gzip.decompress(segment.read_bytes()))
    segment.unlink()
    rows = (copy / "outcomes.jsonl").read_bytes().splitlines(keepends=True)
    # The last transcript was written, and half of its outcome.
    (copy / "outcomes.jsonl").write_bytes(b"".join(rows[:-1]) + rows[-1][:40])
    found = verify(copy)
    assert found.ok
    assert (found.verified, found.open) == (95, 1)
    assert len(found.notes) == 2
    # The transcript of the one before was not the last.
    (copy / "outcomes.jsonl").write_bytes(b"".join(rows[:-2]))
    found = verify(copy)
    assert {(finding.kind, finding.field) for finding in found.findings} == {
        ("missing", "outcome"),
        ("missing", "row"),
    }


def test_a_run_under_way_is_left_alone(copy: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with (copy / "outcomes.jsonl").open("rb") as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        with pytest.raises(RunError, match="another run is writing"):
            verify(copy)
    assert verify(copy).ok


def test_folders_with_nothing_to_replay(tmp_path: Path) -> None:
    with pytest.raises(RunDamaged, match=r"found none"):
        verify(tmp_path)
    run("ToolLab", "scripted:wide", tasks="mini", n=1, out=tmp_path, transcripts=False)
    with pytest.raises(RunError, match="no transcripts"):
        verify(tmp_path)


@pytest.mark.parametrize("jobs", [0, True, 1.5])
def test_jobs_are_a_number(copy: Path, jobs: Any) -> None:
    with pytest.raises(BadArgument, match="jobs"):
        verify(copy, jobs=jobs)


class _Moody:
    """Gives other receipts in every process that is asked for them."""

    calls = 0


def test_an_environment_that_does_not_repeat_itself_is_told_apart(
    ledger: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = ledger.Ledger._act

    def moody(self: Any, action: str) -> Any:
        transition = original(self, action)
        _Moody.calls += 1
        transition.messages = [{"role": "user", "content": f"{_Moody.calls}"}]
        return transition

    monkeypatch.setattr(ledger.Ledger, "_act", moody)
    run(ledger.ID, RandomPolicy(), n=1, out=tmp_path)
    found = verify(tmp_path)
    assert {finding.kind for finding in found.findings} == {"unsteady"}


def test_an_environment_that_raises_is_a_finding(
    ledger: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(ledger.ID, RandomPolicy(), n=1, out=tmp_path)

    def raises(self: Any, action: str) -> Any:
        raise OSError("no ledger")

    monkeypatch.setattr(ledger.Ledger, "_act", raises)
    found = verify(tmp_path)
    assert len(found.findings) == found.rows
    assert found.findings[0].told == "OSError: no ledger"
