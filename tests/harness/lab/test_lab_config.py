from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.config import LabConfig, bundled, from_dict, read


def changed(**changes: Any) -> dict[str, Any]:
    plain = bundled().to_dict()
    for key, value in changes.items():
        place = plain
        *way, last = key.split("__")
        for step in way:
            place = place[step]
        place[last] = value
    return plain


def test_the_committed_file_is_what_is_in_force(root: Path) -> None:
    plain = json.loads((root / "assets" / "lab" / "config.json").read_text())
    assert bundled() == from_dict(plain)
    settings = bundled().to_dict()
    for key, value in plain.items():
        if key != "arms":
            assert settings[key] == value
    for arm, told in zip(settings["arms"], plain["arms"], strict=True):
        assert {key: arm[key] for key in told} == told


def test_the_study_is_the_one_described() -> None:
    config = bundled()
    assert config.evaluation.n == 128
    assert config.reference == 1.0
    assert len(config.evaluation.temperatures) >= 4
    assert {"grpo", "grpo-ptgs", "ppo", "ppo-ptgs", "rft", "sft", "opd"} < set(config.core)
    assert {arm.how for arm in config.arms} == {
        *("pretrain", "gradient", "rejection", "sft", "distil", "demonstrations")
    }
    kinds = {arm.sampler["kind"] for arm in config.arms if arm.sampler}
    assert kinds == {"PTGS", "HeatMatched", "Spread"}


def test_the_quick_look_has_every_arm_of_the_study() -> None:
    study, quick = bundled(), bundled(smoke=True)
    assert [arm.name for arm in quick.arms] == [arm.name for arm in study.arms]
    assert quick.digest != study.digest
    assert quick.arm("instruct").options["steps"] < study.arm("instruct").options["steps"]
    assert quick.arm("grpo") == study.arm("grpo")


def test_settings_survive_json_and_keep_their_hash() -> None:
    config = bundled()
    again = from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert again.digest == config.digest
    assert from_dict(changed(gradient__lr=2e-3)).digest != config.digest


def test_a_file_changes_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"world": 3, "arms": {"grpo-kl": {"options": {"kl": 0.5}}}}))
    config = read(path)
    assert (config.name, config.world) == ("mine", 3)
    assert config.arm("grpo-kl").options == {"kl": 0.5}
    assert config.arm("grpo") == bundled().arm("grpo")
    assert config.evaluation == bundled().evaluation
    assert read(path, smoke=True).evaluation == bundled(smoke=True).evaluation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected a JSON file"),
        ("[1]", "expected a JSON object"),
        ('{"world": "x"}', "`world`: expected int"),
        ('{"wrld": 1}', "`wrld`: there is no such setting"),
        ('{"evaluation": {"m": 1}}', "`evaluation.m`: there is no such setting"),
        ('{"arms": {"gprpo": {}}}', "no such arm.*'grpo'"),
        ('{"arms": {"grpo": 3}}', "expected an object"),
        ('{"arms": [{"name": "base"}]}', r"`arms\[0\].label`: expected a value"),
    ],
)
def test_files_that_are_wrong_say_where(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(BadArgument, match=message):
        read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="none.json: expected a JSON file"):
        read(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"world": -1}, "`world` to be an int >= 0"),
        ({"world": True}, "`world`: expected int"),
        ({"evaluation__n": 1}, "at least 2"),
        ({"evaluation__budgets": [8, 64]}, "rise from at least 2 to n = 128"),
        ({"evaluation__budgets": [1, 128]}, "rise from at least 2"),
        ({"evaluation__temperatures": []}, "different numbers"),
        ({"evaluation__temperatures": [1.0, 1.0]}, "different numbers"),
        ({"evaluation__temperatures": [0.0]}, "above 0"),
        ({"evaluation__temperatures": ["hot"]}, r"`evaluation.temperatures`\[0\]: expected float"),
        ({"evaluation__checkpoint_n": 4}, "at least the first budget"),
        ({"probe__hot": 1.7}, "hold `hot`, 1.7"),
        ({"probe__temperatures": [1.5]}, "hold the reference, 1"),
        ({"probe__bins": [0.5, 0.2]}, "rise within 0 and 1"),
        ({"probe__bins": []}, "one to five"),
        ({"evaluation__temperatures": [1.0, 1.0000001]}, "different numbers"),
        ({"probe__temperatures": [1.0, 1.5, 1.5000001]}, "different numbers"),
        ({"model": 3}, "`model`: expected object, got 3"),
        ({"world": 10**19}, "`world` to be below"),
        ({"arms": 5}, "`arms`: expected a list, got 5"),
        ({"arms": None}, "`arms`: expected a list, got None"),
        ({"arms": ["grpo"]}, r"`arms\[0\]` to be an object"),
    ],
)
def test_settings_that_cannot_be_run_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        from_dict(changed(**change))


def test_numbers_may_be_written_without_a_point() -> None:
    config: LabConfig = from_dict(changed(evaluation__temperatures=[1, 2]))
    assert config.evaluation.temperatures == (1.0, 2.0)
