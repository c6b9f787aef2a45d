from __future__ import annotations

from pathlib import Path

import pytest

from agentenvs.errors import RunDamaged
from agentenvs.harness import Outcomes, OutcomeWriter, verify
from agentenvs.harness.cli import main
from agentenvs.harness.outcomes import write_settings
from agentenvs.harness.store.merge import merge_runs
from agentenvs.harness.store.no_run import no_run


@pytest.fixture
def arms(tmp_path: Path) -> Path:
    folder = tmp_path / "ablation"
    for arm in ("base-none", "base-light", "post-none", "post-light"):
        write_settings(folder / arm, {"policy": "p"})
        OutcomeWriter(folder / arm).close()
    (folder / "plans").mkdir()
    return folder


def test_the_runs_in_a_folder_of_several_are_named(arms: Path) -> None:
    told = f"It holds 4 runs: {arms}/base-light, {arms}/base-none, {arms}/post-light, "
    for call in (verify, Outcomes.load, lambda folder: merge_runs(f"{folder}.all", [folder])):
        with pytest.raises(RunDamaged, match="found none") as error:
            call(arms)
        assert told in str(error.value)


@pytest.mark.parametrize("verb", ["verify", "view"])
def test_verbs_name_them(arms: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, str(arms)]) == 1
    assert f"{arms}/post-none." in capsys.readouterr().err


def test_a_folder_of_none_or_of_very_many_takes_a_line(tmp_path: Path) -> None:
    assert str(no_run(tmp_path)).endswith("found none.")
    assert str(no_run(tmp_path / "nowhere")).endswith("found none.")
    for number in range(10):
        write_settings(tmp_path / str(number), {})
    assert str(no_run(tmp_path)).endswith(f"{tmp_path}/7 and 2 more.")
