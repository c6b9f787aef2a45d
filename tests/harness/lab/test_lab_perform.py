from __future__ import annotations

from pathlib import Path

import pytest

from agentenvs.errors import RunError
from agentenvs.harness.lab.config import bundled
from agentenvs.harness.lab.folder import StudyFolder, write_json
from agentenvs.harness.lab.perform import _MODEL, _lay_down


def test_a_folder_taken_away_while_it_was_written_is_not_laid_down(tmp_path: Path) -> None:
    with StudyFolder(tmp_path / "s", bundled()) as study:
        study.begin(["base"], [0])
    part = study.path / "seed-0" / ".base.123.part"
    (part / _MODEL).mkdir(parents=True)
    with StudyFolder(tmp_path / "s", bundled()):
        assert not list(study.path.glob("seed-0/.*"))
        # What a worker does that has not noticed yet that its study was killed.
        write_json(part / "job.json", {"arm": "base"})
        with pytest.raises(RunError, match="took this folder away"):
            _lay_down(part, study.job("base", 0))
    assert not study.done("base", 0)
    assert not part.exists()


def test_a_whole_folder_gets_its_name(tmp_path: Path) -> None:
    part, final = tmp_path / ".base.1.part", tmp_path / "base"
    for place in (part, final):
        (place / _MODEL).mkdir(parents=True)
    (part / "new").write_text("")
    _lay_down(part, final)
    assert (final / "new").exists()
    assert not part.exists()
