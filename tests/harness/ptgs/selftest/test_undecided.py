"""What cannot be decided is not run, and never passes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra `hf`")

import torch

from agentenvs.errors import BadArgument, UnknownName
from agentenvs.harness.ptgs.selftest import Trace, selftest, suite


def status(report: Any) -> dict[str, str]:
    return {check.name: check.status for check in report}


def test_a_model_without_a_preference_decides_nothing_about_temperatures(
    reference: ModuleType,
) -> None:
    class Even(reference.Reference):
        def fresh_model(self) -> Any:
            model = super().fresh_model()
            with torch.no_grad():
                for p in model.head.parameters():
                    p.zero_()
            return model

    report = selftest(Even, draws=1024)
    assert not report.passed
    assert not report.failed
    for name in ("samples", "scores", "entropies", "identity"):
        assert report[name].status == "not run"
    assert "too much alike" in report["samples"].words
    assert "would be the same if they were those at T = 1" in report["scores"].words


@pytest.mark.parametrize("gain", [0.1, 0.5, 5.0, 30.0])
def test_flat_and_sharp_models_are_probed_where_temperatures_show(
    reference: ModuleType, gain: float
) -> None:
    class Scaled(reference.Reference):
        def fresh_model(self) -> Any:
            model = super().fresh_model()
            with torch.no_grad():
                for p in model.head.parameters():
                    p.mul_(gain)
            return model

    report = selftest(Scaled)
    assert not report.failed
    assert {report[n].status for n in ("samples", "scores", "entropies", "identity")} == {"passed"}


def test_too_few_draws_are_not_drawn(
    reference: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "PAIRS", ((0.9, 1.1),))

    class Counts(reference.Reference):
        drawn = 0

        def sample(self, prompts: Any, temperatures: Any, length: int) -> Any:
            Counts.drawn += (length == 1) * len(prompts)
            return super().sample(prompts, temperatures, length)

    report = selftest(Counts, draws=256)
    assert report["samples"].status == "not run"
    assert Counts.drawn == 0


def test_a_trainer_without_entropies(reference: ModuleType) -> None:
    class Without(reference.Reference):
        def score(self, *asked: Any) -> Any:
            return super().score(*asked)[0], None

    report = selftest(Without)
    assert report["entropies"].status == "not run"
    assert not report.passed
    assert selftest(Without, without=["entropies"]).passed


def test_what_a_trainer_cannot_do_is_not_run(reference: ModuleType) -> None:
    class Cannot(reference.Reference):
        def step(self) -> Trace:
            raise NotImplementedError("no steps yet")

        def sample(self, prompts: Any, temperatures: Any, length: int) -> Any:
            raise NotImplementedError

    found = status(selftest(Cannot))
    idle = ("samples", "temperatures", "spread", "rows", "loss", "told", "uniform", "resume")
    assert {found[name] for name in idle} == {"not run"}
    assert "no steps yet" in selftest(Cannot)["rows"].words
    assert found["scores"] == "passed"


def test_groups_that_are_all_mixed_say_nothing_about_filters(reference: ModuleType) -> None:
    class Mixed(reference.Reference):
        def outcomes(self, completions: Any, secret: Any) -> Any:
            return torch.arange(len(completions)) % 2 == 0

    found = status(selftest(Mixed, most_steps=3))
    assert found.pop("uniform") == "not run"
    assert set(found.values()) == {"passed"}


def test_groups_without_contrast_alone_leave_nothing_in_the_loss(reference: ModuleType) -> None:
    class Alike(reference.Reference):
        def outcomes(self, completions: Any, secret: Any) -> Any:
            return torch.zeros(len(completions), dtype=torch.bool)

    found = status(selftest(Alike, most_steps=3))
    assert (found["rows"], found["loss"], found["uniform"]) == ("not run", "not run", "passed")


def test_the_loss_is_looked_at_in_the_first_step_that_has_one(reference: ModuleType) -> None:
    class Late(reference.Reference):
        steps = 0

        def outcomes(self, completions: Any, secret: Any) -> Any:
            self.steps += 1
            right = super().outcomes(completions, secret)
            return right if self.steps > 2 else torch.zeros_like(right)

    assert selftest(Late).passed


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ({"log_probs": None}, "say nothing"),
        ({"old_log_probs": None}, "say nothing"),
        ({"positions": None}, "without `Trained.positions`"),
    ],
)
def test_a_trace_that_says_little_of_the_loss(
    reference: ModuleType, missing: dict[str, None], words: str
) -> None:
    class Terse(reference.Reference):
        def learn(self, *played: Any) -> Any:
            return [type(row)(**{**vars(row), **missing}) for row in super().learn(*played)]

    report = selftest(Terse)
    assert report["loss"].status == "not run"
    assert words in report["loss"].words


def masking(base: Any, masked: Any) -> Any:
    """Return a trainer that masks some of the rows of its loss as a whole."""

    class Masks(base):  # type: ignore[misc]
        def learn(self, *played: Any) -> Any:
            nothing = {"log_probs": [], "old_log_probs": [], "positions": []}
            return [
                type(row)(**{**vars(row), **nothing}) if masked(at) else row
                for at, row in enumerate(super().learn(*played))
            ]

    return Masks


def test_rows_without_a_scored_token_are_passed_over(mutants: ModuleType) -> None:
    report = selftest(masking(mutants.Reference, lambda at: at % 2 == 0))
    assert report.passed, str(report)
    wrong = selftest(masking(mutants.LossAtOne, lambda at: at % 2 == 0))
    assert wrong.failed == ("loss",)


def test_rows_without_a_scored_token_alone_say_nothing_of_the_loss(reference: ModuleType) -> None:
    report = selftest(masking(reference.Reference, lambda at: True), most_steps=3)
    assert not report.failed
    assert report["loss"].status == "not run"
    assert "no row with a scored token" in report["loss"].words


def test_one_temperature_a_group_says_nothing_about_rows_inside_it(reference: ModuleType) -> None:
    class AsksForGroups(reference.Reference):
        def temperatures_of(self, names: list[str]) -> Any:
            alike = torch.from_numpy(self.sampler.temperatures(names))[:, None]
            return alike.repeat(1, 8).float()

    report = selftest(AsksForGroups)
    assert not report.failed
    assert [check.name for check in report if check.status == "not run"] == ["spread"]
    assert "UNDECIDED: 12 passed, 1 not run" in str(report)
    assert '`without=["spread"]` or `--without spread`' in report["spread"].words
    assert selftest(AsksForGroups, without=["spread"]).passed


def test_old_log_probabilities_from_elsewhere_show_without_positions(mutants: ModuleType) -> None:
    class Terse(mutants.OldAtOne):
        def learn(self, *played: Any) -> Any:
            return [type(row)(**{**vars(row), "positions": None}) for row in super().learn(*played)]

    report = selftest(Terse)
    assert report.failed == ("loss",)
    assert "not taken at the same temperature" in report["loss"].words


def test_checks_can_be_left_out_by_name(mutants: ModuleType) -> None:
    report = selftest(mutants.EntropyAtOne, without={"entropies"})
    assert report["entropies"].status == "left out"
    assert report.passed
    steps = ("temperatures", "spread", "rows", "loss", "told", "uniform", "resume")
    assert status(selftest(mutants.TellsFailures, without=steps))["told"] == "left out"
    with pytest.raises(UnknownName, match="Did you mean 'entropies'"):
        selftest(mutants.EntropyAtOne, without=["entropy"])
    with pytest.raises(BadArgument, match="names of checks"):
        selftest(mutants.EntropyAtOne, without="entropies")


@pytest.mark.parametrize(
    "asked", [{"seed": -1}, {"draws": 10}, {"steps": 0}, {"most_steps": 1}, {"tokens": 1}]
)
def test_arguments_out_of_range(reference: ModuleType, asked: dict[str, int]) -> None:
    with pytest.raises(BadArgument):
        selftest(reference.Reference, **asked)


def test_something_that_builds_nothing() -> None:
    with pytest.raises(BadArgument, match="callable"):
        selftest("trainer")  # type: ignore[arg-type]
