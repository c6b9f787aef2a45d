"""The study of samplers runs, goes on where it was stopped, and reports what there is."""

from __future__ import annotations

import functools
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra `hf`")
pytest.importorskip("safetensors", reason="needs the extra `hf`")
pytest.importorskip("matplotlib", reason="needs the extra `report`")

from agentenvs.errors import AgentEnvsError, BadArgument, RunError, SettingsDiffer

FOLDER = Path(__file__).resolve().parents[1] / "examples"
PLAIN: dict[str, Any] = {
    "seeds": [0, 1],
    "training": {"steps": 2, "tasks": 2, "group": 4},
    "evaluation": {"n": 2, "budgets": [2], "probe": [1.5]},
    "worlds": {"ToolLab": {"fixed": "fixed:t=1", "ptgs": "ptgs:tau=1.5,gamma=0.95,target=0.5"}},
    "pairs": [["ptgs", "fixed"]],
}


@pytest.fixture(scope="module")
def modules() -> Iterator[tuple[ModuleType, ModuleType]]:
    names = ("grpo", "study", "study_report")
    before = {name: sys.modules.pop(name, None) for name in names}
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("study"), importlib.import_module("study_report")
    finally:
        sys.path.remove(str(FOLDER))
        for name in names:
            sys.modules.pop(name, None)
            if (old := before[name]) is not None:
                sys.modules[name] = old


@pytest.fixture(scope="module")
def study(modules: tuple[ModuleType, ModuleType]) -> ModuleType:
    return modules[0]


@pytest.fixture(scope="module")
def report(modules: tuple[ModuleType, ModuleType]) -> ModuleType:
    return modules[1]


@pytest.fixture(scope="module")
def done(study: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    out = tmp_path_factory.mktemp("study") / "out"
    settings = settled(study, out)
    with pytest.MonkeyPatch.context() as patch:
        # Curves of two steps take longer than all the rest.
        patch.setattr(study.grpo, "draw", lambda *_: None)
        for job in settings.jobs():
            study.perform(str(out), settings, job, lambda *_: None)
    return out, settings


def settled(study: ModuleType, out: Path, **changes: Any) -> Any:
    path = out.with_suffix(".json")
    path.write_text(json.dumps({**PLAIN, **changes}))
    settings, plain = study.read_study(path)
    study.settle(out, plain)
    return settings


def test_the_committed_settings_can_be_run(study: ModuleType) -> None:
    settings, _ = study.read_study(FOLDER / "study.json")
    assert len(settings.seeds) >= 3
    assert set(settings.worlds) == {"FrozenLakeText", "ToolLab"}
    assert len(settings.jobs()) == len(settings.seeds) * 2 * 4
    for name, tau in (("FrozenLakeText", "1.2"), ("ToolLab", "1.5")):
        assert settings.worlds[name]["ptgs"] == f"ptgs:tau={tau},gamma=0.95,target=0.25:0.5:200"
        assert settings.worlds[name]["fixed"] == "fixed:t=1"


def test_arms_of_a_seed_differ_in_the_sampler_alone(study: ModuleType) -> None:
    settings, _ = study.read_study(FOLDER / "study.json")
    for seed in settings.seeds:
        for world in settings.worlds:
            jobs = [j for j in settings.jobs() if j.seed == seed and j.arm.startswith(world)]
            args = [
                study.replace(study.arguments(settings, job, Path()), sampler="")
                for job in jobs
                if not job.arm.endswith("base")
            ]
            assert len(set(args)) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seeds": []}, "seeds"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"training": {"speed": 1}}, "speed"),
        ({"training": {"steps": -1}}, "`steps`"),
        ({"evaluation": {"n": 1, "budgets": [2], "probe": []}}, "evaluation.n"),
        ({"evaluation": {"n": 4, "budgets": [8], "probe": []}}, "budgets"),
        ({"evaluation": {"n": 4, "budgets": [2], "probe": [1.0]}}, "probe"),
        ({"evaluation": {"n": 4}}, "other keys"),
        ({"worlds": {"Chess": {}}}, "'Chess'"),
        ({"worlds": {"ToolLab": {"base": "fixed"}}}, "'base'"),
        ({"worlds": {"ToolLab": {"fixed": "fixed:t=0", "ptgs": "ptgs:tau=1.5"}}}, "`t`"),
        ({"pairs": [["ptgs", "other"]]}, "pairs"),
        ({"pairs": 5}, "settings of a study"),
    ],
)
def test_what_cannot_be_run_is_refused(
    study: ModuleType, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(AgentEnvsError, match=said):
        settled(study, tmp_path / "out", **changes)
    assert not (tmp_path / "out").exists()


def test_a_folder_has_one_study(study: ModuleType, tmp_path: Path) -> None:
    out = tmp_path / "out"
    settled(study, out)
    settled(study, out, seeds=[0, 1, 2])
    with pytest.raises(SettingsDiffer, match="lr"):
        settled(study, out, training={**PLAIN["training"], "lr": 0.1})
    with pytest.raises(BadArgument, match="other things"):
        settled(study, tmp_path)


def test_it_reports_every_model(
    study: ModuleType, report: ModuleType, done: tuple[Path, Any]
) -> None:
    out, settings = done
    text = report.write_report(out, settings).read_text()
    told = json.loads((out / "summary.json").read_text())["ToolLab"]
    assert told["seeds"] == {"base": [0, 1], "fixed": [0, 1], "ptgs": [0, 1]}
    base, fixed, ptgs = (told["arms"][arm] for arm in ("base", "fixed", "ptgs"))
    assert base["tax_2"]["values"] == [None, None]
    assert fixed["mean_T"]["values"] == [1.0, 1.0]
    assert ptgs["mean_T"]["values"] != [1.0, 1.0]
    # Two steps leave the model about where it was.
    assert abs(fixed["train_1"]["mean"] - base["train_1"]["mean"]) < 0.1
    (pair,) = told["pairs"]
    assert (pair["arm"], pair["against"], pair["seeds"]) == ("ptgs", "fixed", [0, 1])
    for key in ("train_1", "tax_2"):
        gaps = [a - b for a, b in zip(ptgs[key]["values"], fixed[key]["values"], strict=True)]
        assert pair["differences"][key]["values"] == pytest.approx(gaps)
    hot = [row for row in told["temperatures"]["base"] if row["tasks"] == "below 0.5"]
    assert [row["T"] for row in hot] == [1.5]
    assert hot[0]["change"]["mean"] < 0
    assert "| ptgs - fixed |" in text
    assert all(seconds > 0 for arm in told["cpu_s"].values() for seconds in arm)
    for name in ("curves", "differences", "temperatures"):
        assert (out / f"{name}.png").stat().st_size


def test_it_says_that_the_base_is_one_model(report: ModuleType, done: tuple[Path, Any]) -> None:
    out, settings = done
    models = report.read(out, settings)
    trained = {key: one for key, one in models.items() if key[1] != "base"}
    for found, said in ((models, 2), (trained, 0)):
        text = report.words(settings, report.summarise(settings, found))
        assert text.count("same weights") == said


def test_the_name_of_hard_tasks_is_that_of_their_target(
    report: ModuleType, done: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, settings = done
    at = functools.partial(report.heating_premise, target=0.4)
    monkeypatch.setattr(report, "heating_premise", at)
    found = [report.read(out, settings)["ToolLab", "base", 0]]
    assert report.by_temperature(settings, found)[0]["tasks"] == "below 0.4"


def test_arms_of_a_seed_meet_the_same_start_in_evaluation(
    report: ModuleType, done: tuple[Path, Any]
) -> None:
    models = report.read(*done)
    one, other = (models["ToolLab", "base", seed].counts["train", 1.0] for seed in (0, 1))
    assert list(one.task_ids) == list(other.task_ids)
    assert (one.c != other.c).any()


def test_it_goes_on_where_it_was_stopped(
    study: ModuleType, report: ModuleType, done: tuple[Path, Any], tmp_path: Path
) -> None:
    out, settings = done
    job = next(job for job in settings.jobs() if job.arm.endswith("ptgs"))
    folder, whole = study.place(out, job), report.read(out, settings)
    played = study.evaluated(folder, settings, study.arguments(settings, job, folder), "train", 1.5)
    kept = played.stat().st_mtime_ns, (folder / "heldout-t1-n2-step2.jsonl").stat().st_mtime_ns
    (folder / study.RESULT).unlink()
    played.unlink()
    assert (*job.arm.split(), job.seed) not in report.read(out, settings)
    study.perform(str(out), settings, job, lambda *_: None)
    assert played.stat().st_mtime_ns > kept[0]
    assert (folder / "heldout-t1-n2-step2.jsonl").stat().st_mtime_ns == kept[1]
    again = report.read(out, settings)
    assert again.keys() == whole.keys()
    key = (*job.arm.split(), job.seed)
    assert again[key].stats == whole[key].stats
    assert all((again[key].counts[c].c == whole[key].counts[c].c).all() for c in settings.cells())


def test_seconds_add_up_over_stretches(
    study: ModuleType, report: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, out = [0.0], tmp_path / "out"

    def dying(args: Any) -> Path:
        clock[0] += 10.0
        if args.eval_n and deaths:
            raise deaths.pop()
        return trained(args)

    trained, deaths = study.grpo.train, [KeyboardInterrupt()]
    monkeypatch.setattr(study.grpo, "draw", lambda *_: None)
    monkeypatch.setattr(study.grpo, "train", dying)
    monkeypatch.setattr(study.time, "process_time", lambda: clock[0])
    settings = settled(study, out, evaluation={"n": 2, "budgets": [2], "probe": []}, seeds=[0])
    job = next(job for job in settings.jobs() if job.arm.endswith("fixed"))
    with pytest.raises(KeyboardInterrupt):
        study.perform(str(out), settings, job, lambda *_: None)
    study.perform(str(out), settings, job, lambda *_: None)
    # Training once; then another look at it, and two evaluations.
    (found,) = report.read(out, settings).values()
    assert found.cpu_s == 10.0 + 30.0

    folder = study.place(out, job)
    (folder / study.RESULT).unlink()
    (folder / study.SPENT).unlink()
    study.perform(str(out), settings, job, lambda *_: None)
    assert json.loads((folder / study.RESULT).read_text())["cpu_s"] is None
    report.write_report(out, settings)
    assert json.loads((out / "summary.json").read_text())["ToolLab"]["cpu_s"] == {"fixed": [None]}


def test_a_part_can_be_reported(
    study: ModuleType, report: ModuleType, done: tuple[Path, Any], tmp_path: Path
) -> None:
    out, settings = done
    less = study.replace(settings, seeds=(1,))
    told = report.summarise(less, report.read(out, less))["ToolLab"]
    assert told["pairs"][0]["seeds"] == [1]
    assert "±" not in report.words(less, {"ToolLab": told}).split("Mean over seeds ±")[1]
    with pytest.raises(BadArgument, match="nothing is finished"):
        report.write_report(tmp_path, settings)


def test_jobs_that_fail_are_named(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doing(todo: Any, call: functools.partial[None], jobs: int) -> Iterator[Any]:
        from agentenvs.harness.lab.workers import Event

        assert jobs == 3
        yield Event("failed", todo[0], text="no ice")

    monkeypatch.setattr(study, "work", doing)
    settings = settled(study, tmp_path / "out")
    with pytest.raises(RunError, match="no ice"):
        study.run(tmp_path / "out", settings, 3, quiet=True)


@pytest.mark.slow
def test_the_command_runs_it_all(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps({**PLAIN, "seeds": [0]}))
    command = [sys.executable, str(FOLDER / "study.py"), "--config", str(path)]
    for more in ([], ["--report"]):
        ran = subprocess.run(
            [*command, "--out", str(tmp_path / "out"), *more],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.strip().endswith("table.md")
