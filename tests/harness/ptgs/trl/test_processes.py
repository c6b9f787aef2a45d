from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentenvs.harness.ptgs import PTGS

pytest.importorskip("trl", reason="needs the extra `trl`")

SCRIPT = Path(__file__).with_name("processes.py")


@pytest.mark.slow
@pytest.mark.parametrize("turns", ["one", "many"])
def test_two_processes_share_groups_and_know_the_same(tmp_path: Path, turns: str) -> None:
    run = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", "2", str(SCRIPT), str(tmp_path), turns),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1", "TRL_EXPERIMENTAL_SILENCE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    one, two = (json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in (0, 1))
    assert one == two
    assert one["wrapped"] == "DistributedDataParallel"
    events = one["whole"]["events"]
    # Two groups of four a generation; each is split over the processes.
    assert [row["n"] for row in events] == [4] * 4
    again = PTGS(seed=3)
    for step in (1, 2):
        now = [row for row in events if row["step"] == step]
        tasks = [row["task"] for row in now]
        assert again.temperatures(tasks).tolist() == [row["temperature"] for row in now]
        again.update(tasks, [row["s"] for row in now], 4)
    for step in (1, 2, 3):
        resumed = one[f"again{step}"]
        assert resumed["weights"] == one["whole"]["weights"]
        assert resumed["header"] == one["whole"]["header"]
