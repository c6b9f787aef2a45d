"""The self-test passes on tempered trainers and fails on those that temper half of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.ptgs.trl import Subject, TextWorld
from agentenvs.harness.ptgs.trl.sampled import by_transformers

torch = pytest.importorskip("torch", reason="needs the extra `hf`")
trl = pytest.importorskip("trl", reason="needs the extra `trl`")

from agentenvs.harness.ptgs.selftest import selftest  # noqa: E402


class Ignores(trl.GRPOTrainer):  # type: ignore[misc]
    """Asks and tells a sampler as it should, and plays and scores at the one temperature."""

    sampler: Any = None
    row_temperatures: Any = None

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        self.tasks = list(dict.fromkeys(row["task_id"] for row in inputs))
        given = dict(zip(self.tasks, self.sampler.temperatures(self.tasks), strict=True))
        self.row_temperatures = torch.tensor([given[row["task_id"]] for row in inputs])
        return super()._generate_and_score_completions(inputs)

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        rewards = super()._calculate_rewards(*args, **kwargs)
        won = (rewards[:, 0] > 0.5).reshape(len(self.tasks), -1).numpy()
        self.sampler.record(self.tasks, won)
        return rewards


class SamplesAlone(Ignores):
    """Plays each row at its own temperature, and scores all at the one."""

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        heat = np.asarray(self.row_temperatures)[: len(prompt_ids)].tolist()
        with by_transformers(self.model, self.generation_config, heat):
            return super()._generate_single_turn(prompt_ids, *args, **kwargs)


def failed(report: Any) -> set[str]:
    return {check.name for check in report.checks if check.status == "failed"}


def test_a_tempered_trainer_passes_whole(make: Callable[..., Any]) -> None:
    world = TextWorld("ToolLab", max_tokens=8)

    def build(sampler: Any) -> Subject:
        settings = {"max_completion_length": 64}
        return Subject(make(world=world, given={"sampler": sampler}, **settings))

    report = selftest(build, draws=4096)
    assert report.passed, str(report)
    world.close()


def test_a_tempered_trainer_passes_with_plain_prompts_and_rollouts_used_twice(
    make: Callable[..., Any],
) -> None:
    settings = {"steps_per_generation": 2, "num_iterations": 2, "beta": 0.1}
    report = selftest(
        lambda sampler: Subject(
            make(given={"sampler": sampler}, per_device_train_batch_size=4, **settings)
        ),
        draws=4096,
    )
    assert report.passed, str(report)


WITHOUT_STEPS = ("temperatures", "spread", "rows", "loss", "told", "uniform", "resume")


@pytest.mark.parametrize("cast", [False, True])
def test_a_tempered_trainer_passes_in_mixed_precision(make: Callable[..., Any], cast: bool) -> None:
    settings = {"bf16": True, "cast_lm_head_to_fp32": cast}
    report = selftest(
        lambda sampler: Subject(make(given={"sampler": sampler}, **settings)),
        draws=8192,
        without=WITHOUT_STEPS,
    )
    assert report.passed, str(report)
    assert ("(float32)" if cast else "(bfloat16)") in report["forward"].words


def test_the_temperature_of_a_trainer_is_not_that_of_its_rows(make: Callable[..., Any]) -> None:
    report = selftest(
        lambda sampler: Subject(make(given={"sampler": sampler}, temperature=0.5)),
        draws=4096,
        without=WITHOUT_STEPS,
    )
    assert report.passed, str(report)


@pytest.mark.parametrize("cls", [None, Ignores])
def test_rollouts_without_a_verdict_are_played_without_success(
    make: Callable[..., Any], cls: Any
) -> None:
    def some(completions: list[str], **_: Any) -> list[float | None]:
        return [None if at == 0 else float(at % 2) for at, _ in enumerate(completions)]

    sampler = PTGS()
    trainer = make(cls, reward=some, given={} if cls else {"sampler": sampler})
    trainer.sampler = sampler
    played = Subject(trainer).step().played
    assert [one.success for one in played] == [None, True, *[False, True] * 3]


def test_what_was_told_leaves_out_rollouts_without_a_verdict(make: Callable[..., Any]) -> None:
    def some(completions: list[str], **_: Any) -> list[float | None]:
        lengths = [sum(map(len, text.split())) for text in completions]
        return [None if at == 0 else float(n % 2) for at, n in enumerate(lengths)]

    report = selftest(
        lambda sampler: Subject(make(given={"sampler": sampler}, reward=some)),
        without=["samples", "scores", "entropies", "identity", "missing", "resume"],
    )
    assert report.passed, str(report)


def plain(make: Callable[..., Any], cls: Any) -> Any:
    def build(sampler: Any) -> Subject:
        trainer = make(cls)
        trainer.sampler = sampler
        return Subject(trainer)

    return selftest(build, draws=4096, most_steps=3)


def test_a_trainer_that_ignores_temperatures_fails(make: Callable[..., Any]) -> None:
    report = plain(make, Ignores)
    assert not report.passed
    assert failed(report) == {
        "samples",
        "scores",
        "entropies",
        "identity",
        "missing",
        "temperatures",
        "resume",
    }


def test_a_trainer_that_samples_at_them_and_scores_at_one_fails(make: Callable[..., Any]) -> None:
    report = plain(make, SamplesAlone)
    assert not report.passed
    assert failed(report) == {"scores", "entropies", "identity", "missing", "rows", "resume"}


def test_a_checkpoint_before_the_first_step_is_refused(
    make: Callable[..., Any], tmp_path: Path
) -> None:
    with pytest.raises(BadArgument, match="a step before the first checkpoint"):
        Subject(make()).save(str(tmp_path / "none"))


def test_data_that_is_too_small_is_named(make: Callable[..., Any]) -> None:
    subject = Subject(make(steps_per_generation=8))
    with pytest.raises(BadArgument, match="to step 8, got an end at 0: the data has too few"):
        subject.step()


@pytest.mark.parametrize("kind", [{"use_vllm": True}, {"processes": 2}])
def test_what_cannot_be_watched_is_refused(kind: dict[str, Any]) -> None:
    trainer = SimpleNamespace(
        use_vllm=kind.get("use_vllm", False),
        accelerator=SimpleNamespace(num_processes=kind.get("processes", 1)),
    )
    with pytest.raises(BadArgument, match="one process that generates by transformers"):
        Subject(trainer)
