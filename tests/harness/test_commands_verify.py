from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.harness import run
from agentenvs.harness.cli import main


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    run("ToolLab", "scripted:narrow", tasks="mini", n=2, out=folder)
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "run")


def test_a_run_that_holds(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(copy)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("48 of 48 rollouts verified (")
    assert out.endswith("certificate.json written\n")
    assert "48/48 rollouts" in err
    assert main(["verify", str(copy), "--quick"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("48 of 48 rollouts as certified (")
    assert err == ""


def test_no_certificate_is_written_unasked(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(copy), "--no-write", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert "certificate" not in out + err
    assert not (copy / "certificate.json").exists()


def test_rows_that_do_not_hold_are_named(
    copy: Path, tamper: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(rows: list[dict[str, Any]]) -> None:
        for at, row in enumerate(rows[:25]):
            row["steps"] = 100 + at

    tamper.outcomes(copy, edit)
    assert main(["verify", str(copy), "--quiet"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("23 of 48 rollouts verified")
    assert "\nedited: 25 rollouts\n" in out
    assert "#0 on  outcomes.jsonl  steps: 1" in out
    assert out.count("steps: ") == 1
    assert not (copy / "certificate.json").exists()
    assert main(["verify", str(copy), "--quiet", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert len(found["findings"]) == 25
    assert (found["ok"], found["verified"], found["rows"]) == (False, 23, 48)
    assert set(found["findings"][0]) == {
        "kind",
        "task",
        "rollout",
        "file",
        "field",
        "recorded",
        "replayed",
        "told",
    }


def test_rows_that_came_since_are_uncertified_and_nothing_worse(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(copy), "--quiet"]) == 0
    run("ToolLab", "scripted:narrow", tasks="mini", n=3, out=copy)
    capsys.readouterr()
    assert main(["verify", str(copy), "--quick"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("48 of 72 rollouts as certified (")
    assert out.endswith(f"\n24 were added since: run `agentenvs verify {copy}`\n")
    assert main(["verify", str(copy), "--quick", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["verified"], found["uncertified"], found["rows"]) == (48, 24, 72)
    assert [finding["kind"] for finding in found["findings"]] == ["uncertified"]


def test_a_changed_setting_is_a_line_and_not_one_for_each_rollout(
    copy: Path, tamper: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(copy), "--quiet"]) == 0
    capsys.readouterr()
    tamper.settings(copy, lambda found: found["sampling"].update(temperature=0.7))
    assert main(["verify", str(copy), "--quiet"]) == 1
    out = capsys.readouterr().out
    assert "\nedited: 48 rollouts, 2 in run.json\n" in out
    assert "  edited  48 rollouts, from " in out
    assert "#0 on  outcomes.jsonl  temperature: 1.0 -> 0.7\n" in out
    assert "run.json  sampling: changed since the run began (it says {" in out
    assert "run.json  sampling: differs from certificate.json\n" in out
    assert "more" not in out


def test_open_rollouts_voids_and_stale_reasons_are_told(
    copy: Path, tamper: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(found: dict[str, Any]) -> None:
        found["data"] = "abcdefabcdef"
        found["n"] = found["history"][-1]["n"] = 3
        found["history"][-1].pop("settings")

    tamper.settings(copy, edit)
    void = {"task_id": "a", "rollout": 0, "attempt": 0, "reason": "timeout", "error": "slow"}
    (copy / "voids.jsonl").write_text(json.dumps({**void, "wall_s": 1.0}) + "\n")
    assert main(["verify", str(copy), "--quiet"]) == 1
    out = capsys.readouterr().out
    assert "24 rollouts of the plan have no outcome" in out
    assert "1 void tries (1 timeout)" in out
    assert '  stale  the run  run.json  data: "abcdefabcdef" -> ' in out
    assert "proves nothing:\n  data: " in out


def test_what_a_model_wrote_does_no_harm_to_a_terminal(
    copy: Path, tamper: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(rows: list[dict[str, Any]]) -> None:
        rows[0]["reason"] = "\x1b[2J[red]gone[/red]"

    tamper.outcomes(copy, edit)
    assert main(["verify", str(copy), "--quiet"]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "[red]gone[/red]" in out


def test_wrong_use_and_damage_are_told_without_a_trace(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(tmp_path / "nowhere")]) == 1
    assert "found none" in capsys.readouterr().err
    assert main(["verify", str(copy), "--env", "rules=fixed"]) == 2
    assert "all others are the run's own" in capsys.readouterr().err
    assert main(["verify", str(copy), "--quick"]) == 1
    assert "verify it once" in capsys.readouterr().err
