from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.config import LabConfig, bundled, from_dict
from agentenvs.harness.lab.folder import StudyFolder
from agentenvs.harness.lab.jobs import plan
from agentenvs.harness.lab.records import training_outcomes
from agentenvs.harness.lab.results import read_results
from agentenvs.harness.lab.study import run_study
from agentenvs.harness.lab.training import check, make_sampler
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.ptgs.baselines import Fixed, HeatMatched, Spread
from agentenvs.harness.tax import compare

ARMS = ["base", "instruct", "grpo", "grpo-ptgs-ref", "grpo-heat", "ppo-ptgs", "rft", "sft", "opd"]


def tiny() -> LabConfig:
    """Return settings that take a second or two an arm."""
    plain = bundled(smoke=True).to_dict()
    plain["name"] = "tiny"
    plain["model"] = {"layers": 2, "width": 32, "heads": 2, "inner": 64}
    quality = {"careless": 0.03, "perturb": 0.05, "known_boost": 1.0}
    plain["pretraining"] |= {"steps": 150, "batch": 32, "lr": 1e-2, "quality": quality}
    plain["gradient"] |= {"steps": 2, "tasks": 4, "group": 4}
    plain["imitation"] |= {"steps": 2, "rollouts": 400, "rounds": 2, "batch": 16}
    plain["imitation"] |= {"tasks": 4, "group": 4}
    plain["evaluation"] |= {"n": 4, "budgets": [2, 4], "checkpoint_every": 1, "checkpoint_n": 2}
    plain["evaluation"] |= {"temperatures": [1.0]}
    plain["probe"] |= {"n": 1}
    for arm in plain["arms"]:
        if arm["how"] == "demonstrations":
            arm["options"]["steps"] = 2
    return from_dict(plain)


@pytest.mark.parametrize(
    ("plain", "kind"),
    [
        (None, Fixed),
        ({"kind": "Fixed", "t": 1.2}, Fixed),
        ({"kind": "PTGS", "tau": 1.2, "ref_share": 0.5}, PTGS),
        ({"kind": "HeatMatched", "tau": 1.2}, HeatMatched),
        ({"kind": "Spread", "low": 0.5, "high": 2.0}, Spread),
        ({"kind": "PTGS", "target": {"start": 0.25, "end": 0.5, "total": 200}}, PTGS),
    ],
)
def test_samplers_by_their_settings(plain: Any, kind: type) -> None:
    assert isinstance(make_sampler(plain, 1), kind)


def test_a_ramp_goes_over_the_training_unless_it_says_otherwise() -> None:
    ramp = {"kind": "PTGS", "target": {"start": 0.25, "end": 0.5}}
    assert make_sampler(ramp, 0, steps=40).describe()["target"]["total"] == 40
    told = {"kind": "PTGS", "target": {"start": 0.25, "end": 0.5, "total": 7}}
    assert make_sampler(told, 0, steps=40).describe()["target"]["total"] == 7


@pytest.mark.parametrize(
    "plain", [{"kind": "Magic"}, {}, {"kind": "PTGS", "tua": 1}, {"kind": "Fixed", "t": -1}]
)
def test_samplers_that_are_none_are_refused(plain: dict[str, Any]) -> None:
    with pytest.raises(BadArgument):
        make_sampler(plain, 1)


def test_the_bundled_samplers_can_be_made() -> None:
    for arm in bundled().arms:
        assert make_sampler(arm.sampler, 0).temperatures(np.array([0, 1])).shape == (2,)


@pytest.fixture(scope="module")
def study(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """Return a study of most kinds of arms, trained in this process."""
    return trained(tmp_path_factory.mktemp("study") / "s", ARMS)


def trained(path: Path, arms: list[str]) -> StudyFolder:
    from agentenvs.harness.lab.perform import perform

    config = tiny()
    with StudyFolder(path, config) as folder:
        folder.begin(arms, [0])
        for job in plan(config, arms, [0]):
            perform(path, job, lambda share, text: None)
    return folder


@pytest.mark.hf
def test_every_kind_of_arm_leaves_a_whole_folder(study: StudyFolder) -> None:
    results = read_results(study)
    assert results.arms() == [arm.name for arm in study.config.arms if arm.name in ARMS]
    for arm in ARMS:
        found = results.found[arm, 0]
        assert len(results.counts(arm, 0).c) == 200
        assert len(results.counts(arm, 0, "heldout").c) == 120
        assert set(found.probe) == {1.0, 1.5}
        assert set(found.along) == ({1} if arm != "base" else set())
        assert set(found.job["cpu_s"]) == {"training", "measuring"}
        assert found.job["versions"]["torch"]


@pytest.mark.hf
def test_rollouts_are_counted(study: StudyFolder) -> None:
    found = read_results(study).found
    told = {arm: found[arm, 0].job["rollouts"] for arm in ARMS}
    assert told == {
        **dict.fromkeys(("base", "instruct"), 0),
        **dict.fromkeys(("grpo", "grpo-ptgs-ref", "grpo-heat", "ppo-ptgs", "opd"), 32),
        **dict.fromkeys(("rft", "sft"), 400),
    }


@pytest.mark.hf
def test_training_rollouts_and_events_are_there(study: StudyFolder) -> None:
    job = study.job("grpo-ptgs-ref", 0)
    outcomes = training_outcomes(job / "training.jsonl")
    assert len(outcomes) == 32
    rows = [json.loads(line) for line in (job / "events.jsonl").read_text().splitlines()]
    assert len(rows) == 8
    assert sum(row["n"] for row in rows) == 32
    heats = outcomes.column("temperature")
    assert all(1 / 1.5 - 1e-6 <= heat <= 1.5 + 1e-6 for heat in heats)
    # Half of each group at the reference.
    assert heats.count(1.0) >= 16


@pytest.mark.hf
def test_run_folders_compare_as_any_two_runs(study: StudyFolder) -> None:
    base, post = (
        Outcomes.load(study.job(arm, 0) / "runs" / "train-T1") for arm in ("base", "grpo")
    )
    found = compare(base, post)
    assert found.warnings == ()
    assert found.policies == ("base, seed 0", "grpo, seed 0")
    assert not found.scripted


@pytest.mark.hf
def test_models_load_in_the_lab_and_in_transformers(study: StudyFolder) -> None:
    import transformers

    from agentenvs.harness.lab.model import load

    folder = study.job("grpo", 0) / "model"
    assert load(folder).shape.layers == 2
    assert transformers.AutoModelForCausalLM.from_pretrained(folder).config.hidden_size == 32
    assert transformers.AutoTokenizer.from_pretrained(folder).eos_token_id == 2


@pytest.mark.hf
def test_the_same_job_gives_the_same_again(study: StudyFolder, tmp_path: Path) -> None:
    again = trained(tmp_path / "s", ["base", "grpo-heat"])
    for arm in ("base", "grpo-heat"):
        one, two = study.job(arm, 0), again.job(arm, 0)
        for name in ("model/model.safetensors", "runs/train-T1/outcomes.jsonl", "history.json"):
            assert (one / name).read_bytes() == (two / name).read_bytes(), (arm, name)


@pytest.mark.hf
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gradient": {"steps": "many"}}, "Arm grpo: Expected `steps` to be an int"),
        ({"gradient": {"warp": 9}}, "Arm grpo: .*'warp'"),
        ({"imitation": {"lr": -1}}, "Arm instruct: Expected `lr`"),
        ({"pretraining": {"warp": 9}}, "Arm base: pretrain: there is no setting 'warp'"),
        ({"pretraining": {"seed": 9}}, "Arm base: pretrain: there is no setting 'seed'"),
        ({"pretraining": {"steps": "many"}}, "Arm base: Expected `steps` to be an int"),
        ({"pretraining": {"quality": {"careless": 2}}}, "Arm base: Expected `careless`"),
        ({"model": {"layers": -1}}, "Arm base: .*layers"),
        ({"model": {"width": "x"}}, "Arm base: .*width"),
        ({"model": {"warp": 9}}, "Arm base: model: .*'warp'"),
        ({"grpo": {"sampler": {"kind": "PTS"}}}, "Arm grpo: Expected a sampler of Fixed"),
        ({"grpo": {"sampler": {"kind": "PTGS", "target": {"from": 1}}}}, "Arm grpo: Sampler PTGS"),
        ({"instruct": {"options": {"demonstrators": 5}}}, "Arm instruct: Expected `demonstrators`"),
        ({"instruct": {"options": {"demonstrators": [[1, {"x": 1}]]}}}, "Arm instruct: Quality"),
    ],
)
def test_a_study_that_could_not_be_trained_is_not_begun(
    torch: Any, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    plain = tiny().to_dict()
    for key, value in change.items():
        under = next((arm for arm in plain["arms"] if arm["name"] == key), None)
        if under is None:
            plain[key] |= value
        else:
            under |= value
    with pytest.raises(BadArgument, match=message):
        run_study(tmp_path / "s", from_dict(plain), ARMS, quiet=True)
    assert not (tmp_path / "s").exists()


@pytest.mark.hf
def test_the_settings_of_the_study_can_be_trained(torch: Any) -> None:
    for smoke in (False, True):
        check(bundled(smoke), [arm.name for arm in bundled().arms])


@pytest.mark.hf
def test_options_that_a_trainer_does_not_take_are_told(torch: Any, tmp_path: Path) -> None:
    from agentenvs.harness.lab.training import train
    from agentenvs.harness.lab.world import TensorWorld
    from agentenvs.toollab.design import Design

    config = tiny()
    world = TensorWorld(Design.of(0))
    for name in ("grpo", "rft", "base"):
        arm = dataclasses.replace(config.arm(name), options={"warp": 9})
        with pytest.raises(BadArgument, match="warp"):
            train(config, arm, 0, lambda _: None, world, lambda *_: None)


@pytest.mark.hf
@pytest.mark.slow
def test_training_on_outcomes_gains_the_first_try_and_loses_coverage(
    torch: Any, tmp_path: Path
) -> None:
    from agentenvs.harness.lab.effects import measures

    found = read_results(run_study(tmp_path / "s", bundled(), ["grpo"], 1, quiet=True))
    before, after = (measures(found, arm, 0) for arm in ("base", "grpo"))
    assert after["pass_1"] > before["pass_1"] + 0.1
    assert after["pass_n"] < before["pass_n"] - 0.03
    assert after["tax_8"] > 0
