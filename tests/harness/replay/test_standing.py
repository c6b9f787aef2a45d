from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.harness import OutcomeWriter, run, verify
from agentenvs.harness.cli import main
from agentenvs.harness.replay.standing import standing, standings

SETTINGS: dict[str, Any] = {"tasks": ["0/order/shelf/three", "0/order/lamp/one"], "seed": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    run("ToolLab", "scripted:wide", n=4, out=folder, **SETTINGS)
    assert verify(folder).ok
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "run")


@pytest.fixture
def date(copy: Path) -> str:
    return str(json.loads((copy / "certificate.json").read_text())["certified"])[:10]


def flip(rows: list[dict[str, Any]]) -> None:
    rows[0]["success"] = not rows[0]["success"]


def test_nothing_is_told_without_a_certificate(copy: Path) -> None:
    (copy / "certificate.json").unlink()
    assert standings(copy, copy / "outcomes.jsonl", copy / "run.json", copy / "nowhere") == ()


def test_a_run_that_is_as_it_was_certified(copy: Path, date: str) -> None:
    assert standing(copy) == (True, f"{copy}: certified {date}, unchanged since")
    file = copy / "outcomes.jsonl"
    assert standing(file) == (True, f"{file}: certified {date}, unchanged since")


def test_a_run_that_grew_holds_and_says_so(copy: Path) -> None:
    run("ToolLab", "scripted:wide", n=5, out=copy, **SETTINGS)
    found = standing(copy)
    assert found is not None
    assert found.holds
    assert found.text.endswith("; 2 of 10 rollouts came later and are not certified")


def test_rows_and_settings_that_were_changed(copy: Path, tamper: ModuleType, date: str) -> None:
    how = f"from its certificate of {date}; `agentenvs verify {copy} --quick` names what"
    tamper.outcomes(copy, flip)
    assert standing(copy) == (False, f"{copy}: 1 rollout differs {how}")
    tamper.settings(copy, lambda found: found["sampling"].update(temperature=0.5))
    assert standing(copy) == (False, f"{copy}: 1 rollout and run.json differ {how}")


def test_a_large_run_that_was_changed_is_not_looked_through(
    copy: Path, tamper: ModuleType, date: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentenvs.harness.replay.standing._MOST", 7)
    assert standing(copy) == (True, f"{copy}: certified {date}, unchanged since")
    tamper.outcomes(copy, flip)
    found = standing(copy)
    assert found is not None
    assert not found.holds
    assert f": its files were changed since it was certified {date}; " in found.text


def test_what_cannot_be_compared_is_told_and_not_raised(copy: Path) -> None:
    pytest.importorskip("fcntl")
    with OutcomeWriter(copy):
        found = standing(copy)
    assert found is not None
    assert not found.holds
    assert "was not compared with its certificate.json: " in found.text
    (copy / "certificate.json").write_text("{")
    assert "expected a certificate" in str(standing(copy))


def test_tax_and_report_tell_it(
    copy: Path, made: Path, tamper: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*args: object) -> str:
        assert main([*map(str, args)]) == 0
        return " ".join(capsys.readouterr().out.split())

    tamper.outcomes(copy, flip)
    for verb in ("tax", "report"):
        shown = told(verb, made, copy)
        assert f"note: {made}: certified " in shown
        assert f"warning: {copy}: 1 rollout differs from its certificate of " in shown
    for verb in ("tax", "report"):
        found = json.loads(told(verb, made, copy, "--json"))
        assert "1 rollout differs from its certificate" in json.dumps(found)


def test_the_page_tells_it(copy: Path, made: Path, tamper: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    tamper.outcomes(copy, flip)
    page = tmp_path / "page.html"
    assert main(["report", str(made), str(copy), "-o", str(page)]) == 0
    shown = page.read_text()
    warnings = shown.index("id='warnings'")
    assert warnings < shown.index("1 rollout differs from its certificate of ")
    assert shown.index("id='settings'") < shown.index(f"{made}: certified ")
