from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from agentenvs.harness import Outcomes, run
from agentenvs.harness.cli import main
from agentenvs.harness.policies import RandomPolicy
from agentenvs.harness.records import Void
from agentenvs.harness.store.voids import VoidWriter


@pytest.fixture
def runs(ledger: ModuleType, tmp_path: Path) -> list[Path]:
    folders = [tmp_path / "a", tmp_path / "b"]
    for number, folder in enumerate(folders):
        tasks = [f"ledger_{number}"]
        run(ledger.ID, RandomPolicy(), n=2 - number, tasks=tasks, out=folder)
    return folders


def test_merge_tells_what_there_is(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = VoidWriter(runs[0])
    writer.write(Void("ledger_0", 1, 0, "timeout", "TimeoutError: late", 3.0))
    writer.close()
    assert main(["merge", str(tmp_path / "all"), *map(str, runs)]) == 0
    told = capsys.readouterr().out
    assert "3 rollouts of 2 tasks from 2 runs, 1 void tries, 1 rollouts still open" in told
    assert len(Outcomes.load(tmp_path / "all")) == 3


def test_merge_again_says_what_is_in_the_way(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["merge", str(tmp_path / "all"), *map(str, runs)]
    assert main(command) == 0
    assert main(command) == 2
    assert "new folder" in capsys.readouterr().err


def test_merge_with_renumber(
    ledger: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / str(seed) for seed in range(2)]
    for seed, folder in enumerate(folders):
        run(ledger.ID, RandomPolicy(), tasks=["ledger_1"], seed=seed, out=folder)
    command = ["merge", str(tmp_path / "all"), *map(str, folders)]
    assert main(command) == 1
    assert "seed: 0 -> 1" in capsys.readouterr().err
    assert main([*command, "--renumber"]) == 0
    assert Outcomes.load(tmp_path / "all").counts().n.tolist() == [2]


def test_export(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra `parquet`")
    out = str(tmp_path / "run.parquet")
    for more, told in (([], "2 rollouts"), (["--voids"], "0 void tries"), (["--transcripts"], "s")):
        assert main(["export", str(runs[0]), "-o", out, *more]) == 0
        assert told in capsys.readouterr().out
        assert Path(out).read_bytes()[:4] == b"PAR1"


def test_export_of_transcripts_needs_a_folder(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = str(runs[0] / "outcomes.jsonl")
    out = str(tmp_path / "run.parquet")
    assert main(["export", rows, "--transcripts", "-o", out]) == 2
    assert "run folder" in capsys.readouterr().err
