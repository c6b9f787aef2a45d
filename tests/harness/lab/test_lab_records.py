from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agentenvs.errors import RunDamaged
from agentenvs.harness.lab.records import Recorder, training_outcomes, write_counts, write_run
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.tax import compare

IDS = ["0/order/lamp/seven", "0/order/lamp/two"]


def flags(seed: int, n: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).random((2, n)) < 0.5


def test_a_run_folder_is_one_of_ours(tmp_path: Path) -> None:
    settings = {"tasks": "train", "policy": {"name": "grpo, seed 0"}}
    write_run(tmp_path / "r", IDS, flags(1), settings)
    found = Outcomes.load(tmp_path / "r")
    assert found.policy == "grpo, seed 0"
    assert found.pass_flags() == dict(zip(IDS, flags(1).tolist(), strict=True))
    assert found.settings["env_id"] == "agentenvs/ToolLab-v0"


def test_two_arms_compare_without_a_warning(tmp_path: Path) -> None:
    for arm in ("base", "grpo"):
        settings = {"sampling": {"temperature": 1.0}, "policy": {"name": arm, "arm": arm}}
        write_run(tmp_path / arm, IDS, flags(len(arm)), settings)
    found = compare(*(Outcomes.load(tmp_path / arm) for arm in ("base", "grpo")))
    assert found.warnings == ()
    assert found.policies == ("base", "grpo")


def test_counts_load_as_outcomes(tmp_path: Path) -> None:
    write_counts(tmp_path / "deep" / "c.jsonl", IDS, np.array([3, 0]), 8)
    counts = Outcomes.load(tmp_path / "deep" / "c.jsonl").counts()
    assert (list(counts.task_ids), counts.c.tolist(), counts.n.tolist()) == (IDS, [3, 0], [8, 8])


def test_a_recorder_keeps_groups_and_lets_the_sampler_learn(tmp_path: Path) -> None:
    plain, inner = (PTGS(seed=3, ref_share=0.5) for _ in range(2))
    recorder = Recorder(inner)
    for step in range(3):
        ids = np.array([0, 1])
        heat = recorder.rollout_temperatures(ids, 8)
        assert (heat == plain.rollout_temperatures(ids, 8)).all()
        for sampler in (plain, recorder):
            sampler.record(ids, flags(step))
    assert recorder.rollouts == 48
    assert (inner.estimates([0, 1]) == plain.estimates([0, 1])).all()
    recorder.write(tmp_path / "training.jsonl", IDS)
    found = training_outcomes(tmp_path / "training.jsonl")
    assert len(found) == 48
    assert found.pass_flags()[IDS[0]] == [one for step in range(3) for one in flags(step)[0]]
    first = [row["temperature"] for row in found if row["task_id"] == IDS[0]][:4]
    assert first == [1.0] * 4
    assert {row["round"] for row in found} == {1, 2, 3}


def test_groups_at_one_temperature_are_written_short(tmp_path: Path) -> None:
    recorder = Recorder(PTGS())
    recorder.record(np.array([1]), flags(0)[:1])
    recorder.write(tmp_path / "t.jsonl", IDS)
    (line,) = (tmp_path / "t.jsonl").read_text().splitlines()
    assert '"temperature":[' not in line
    assert '"visit":0' in line


@pytest.mark.parametrize("text", ["{", '{"task_id": "a"}', '{"task_id": "a", "pass_flags": 3}'])
def test_groups_that_are_none_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.jsonl").write_text(text + "\n")
    with pytest.raises(RunDamaged, match=r"t\.jsonl:1: expected a group"):
        training_outcomes(tmp_path / "t.jsonl")
    with pytest.raises(RunDamaged, match="No such file"):
        training_outcomes(tmp_path / "none.jsonl")
