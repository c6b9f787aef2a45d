from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentenvs.harness.ablation.settings import ARMS
from agentenvs.harness.cli import main

ASKED = [
    "ablate",
    "BFCLv4",
    "--tasks",
    "mini_home_0,mini_home_1,mini_files_0,mini_desk_0",
    "--base",
    "scripted:wide",
    "--post",
    "scripted:narrow",
]


def test_four_arms_become_tables_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out, told = tmp_path / "runs", tmp_path / "found.json"
    asked = [*ASKED, "-n", "4", "--out", str(out), "--examples", "1", "--base-arg", "seed=5"]
    assert main([*asked, "--json", str(told)]) == 0
    shown = capsys.readouterr()
    assert "SCRIPTED POLICIES" in shown.out
    assert f"run folders: {out}" in shown.out
    assert "post-light (4 of 4)" in shown.err
    assert {path.name for path in out.iterdir()} == set(ARMS)
    assert json.loads((out / "base-light" / "run.json").read_text())["policy"]["seed"] == 5
    found = json.loads(told.read_text())
    assert found["K"] == 2
    assert list(found["arms"]) == list(ARMS)
    assert set(found["measures"]) == {"pass_at_1", "pass_at_K", "S"}
    assert found["measures"]["pass_at_1"]["harness"]["value"] == 0
    assert main(["ablate", "--out", str(out), "--json", "-", "-K", "4"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["K"], again["high_variance"]) == (4, True)
    assert again["arms"] == found["arms"]
    path = out / "post-none" / "outcomes.jsonl"
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(row for row in rows if "mini_home_0" not in row))
    asked = ["ablate", "--out", str(out)]
    assert main(asked) == 1
    assert "post-none lacks 4 of 16 rollouts" in (said := capsys.readouterr().err)
    assert "(--common)" in said
    assert main([*asked, "--common"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "compared on 12 of 16 rollouts and 3 of 4 tasks, those that all four arms have" in told


def test_arms_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert main([*ASKED, "-n", "2", "--out", str(first), "--quiet"]) == 0
    arms = ["--arm", f"base-none={first}/base-none", "--arm", f"base-light={first}/base-light"]
    asked = [*ASKED[:4], *ASKED[6:], *arms, "-n", "2", "--out", str(second)]
    assert main([*asked, "--quiet"]) == 0
    assert {path.name for path in second.iterdir()} == {"post-none", "post-light"}
    capsys.readouterr()
    assert main([*asked[:-2], "--out", str(tmp_path / "third"), "--seed", "3", "--quiet"]) == 1
    shown = capsys.readouterr()
    assert "seed: 0 in base-none and base-light, 3 in post-none and post-light" in shown.err
    assert "--anyway" in shown.err
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--arm", "base=x"], "expected ARM=RUN"),
        (["--arm", "base-none"], "expected ARM=RUN"),
        (["--k", "0"], "whole number of at least 1"),
        (["--confidence", "95"], "between 0 and 1"),
    ],
)
def test_wrong_usage_is_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*ASKED, *arguments])
    assert stop.value.code == 2
    assert told in capsys.readouterr().err


def test_an_arm_that_is_nowhere_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablate", "--out", str(tmp_path)]) == 2
    assert f"The arm base-none is not there in {tmp_path}" in capsys.readouterr().err
    assert main(["ablate", *[f"--arm={name}={tmp_path}/none" for name in ARMS]]) == 1
    assert "Traceback" not in capsys.readouterr().err
