"""What a trainer raises or returns amiss is its failure, in words; our own faults are raised."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra `hf`")

import torch

from agentenvs.harness.ptgs.selftest import Played, Trace, Trained, selftest, suite

PLAYED = Played("a", 1.0, [1], True)


@pytest.mark.parametrize(
    ("method", "answer", "check", "words"),
    [
        ("logits", lambda ids: torch.zeros(len(ids), 3), "forward", "`logits` gave shape"),
        ("logits", lambda ids: None, "forward", "gave NoneType, expected a tensor"),
        ("sample", lambda p, t, n: torch.zeros(len(p), n), "samples", "expected whole numbers"),
        ("sample", lambda p, t, n: torch.full((len(p), n), -1), "samples", "ids from -1"),
        ("sample", lambda p, t, n: [[1]] * len(p), "samples", "gave list, expected a tensor"),
        ("score", lambda p, c, t: c.float(), "scores", "expected (log_probs, entropies)"),
        ("score", lambda p, c, t: (c[:, :1].float(), None), "scores", "`score` gave shape"),
        ("score", lambda p, c, t: (c / 0.0, c / 0.0), "scores", "not finite"),
        ("parameters", lambda: [1.0], "forward", "no tensor"),
        ("parameters", lambda: [torch.zeros(2)], "forward", "requires a gradient"),
        ("step", lambda: None, "rows", "gave NoneType, expected a Trace"),
        ("step", lambda: Trace([], []), "rows", "no rollouts"),
        ("step", lambda: Trace([("a", 1.0)], []), "rows", "has a tuple, no Played"),
        ("step", lambda: Trace([PLAYED], None), "rows", "`Trace.trained` is a NoneType"),
        ("step", lambda: Trace((1 // 0 for _ in "a"), []), "rows", "`step` raised ZeroDivision"),
        ("step", lambda: Trace([Played(["a"], 1.0, [1], True)], []), "rows", "`task` is ['a']"),
        ("step", lambda: Trace([Played("a", 1.0, [1e999], True)], []), "rows", "cannot be read"),
        (
            "logits",
            lambda ids: torch.zeros(*ids.shape, 10, dtype=int),
            "forward",
            "expected floats",
        ),
        ("step", lambda: Trace([Played("a", 1.0, ["x"], True)], []), "rows", "cannot be read"),
        ("save", lambda folder: 1 / 0, "resume", "`save` raised ZeroDivisionError"),
    ],
)
def test_answers_of_another_shape(
    reference: ModuleType, method: str, answer: Any, check: str, words: str
) -> None:
    class Odd(reference.Reference):
        pass

    setattr(Odd, method, lambda self, *asked: answer(*asked))
    report = selftest(Odd)
    assert report[check].status == "failed"
    assert words in report[check].words


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("vocabulary", 1, "`vocabulary` is 1"),
        ("vocabulary", "10", "`vocabulary` is '10'"),
        ("tokens", [3], "2 ids or more"),
        ("tokens", [3, 10], "below 10"),
        ("tokens", ["a", "b"], "`tokens` is ['a', 'b'], expected ids"),
        ("tokens", 5, "`tokens` is 5, expected ids"),
    ],
)
def test_attributes_that_make_no_sense(
    reference: ModuleType, name: str, value: Any, words: str
) -> None:
    class Odd(reference.Reference):
        pass

    def build(sampler: Any) -> Any:
        trainer = Odd(sampler)
        setattr(trainer, name, value)
        return trainer

    assert words in selftest(build)["forward"].words


@pytest.mark.parametrize("error", [RuntimeError, AttributeError])
def test_a_property_that_raises(reference: ModuleType, error: type[Exception]) -> None:
    class Odd(reference.Reference):
        @property
        def tokens(self) -> Any:
            raise error("no tokenizer")

    assert f"`tokens` raised {error.__name__}: no tokenizer" in selftest(Odd)["forward"].words


def test_a_trainer_that_cannot_be_built() -> None:
    def build(sampler: Any) -> Any:
        raise OSError("no such model")

    report = selftest(build)
    assert "`build` raised OSError: no such model" in report["forward"].words
    assert isinstance(report["rows"].error, OSError)
    assert {check.status for check in report} == {"failed", "not run"}


def test_what_a_trainer_raises_is_kept(reference: ModuleType) -> None:
    class Breaks(reference.Reference):
        def score(self, *asked: Any) -> Any:
            raise RuntimeError("out\nof memory")

    report = selftest(Breaks)
    assert "`score` raised RuntimeError: out of memory" in report["scores"].words
    assert isinstance(report["scores"].error, RuntimeError)


def test_a_graph_that_is_broken_is_the_trainers(reference: ModuleType) -> None:
    class Breaks(reference.Reference):
        def score(self, *asked: Any) -> Any:
            logs, entropies = super().score(*asked)
            kept = logs.exp()
            logs = kept.log()
            with torch.no_grad():
                kept.zero_()
            return logs, entropies

    assert "`score, backwards` raised RuntimeError" in selftest(Breaks)["identity"].words


def test_our_own_faults_are_raised(reference: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*asked: Any) -> Any:
        raise RuntimeError("a fault of the self-test")

    monkeypatch.setattr(suite, "scores", broken)
    with pytest.raises(RuntimeError, match="a fault of the self-test"):
        selftest(reference.Reference)


def test_rows_may_be_tensors(reference: ModuleType) -> None:
    class Tensors(reference.Reference):
        def step(self) -> Trace:
            shown = super().step()
            return Trace(
                [
                    Played(
                        one.task,
                        torch.tensor(one.temperature),  # type: ignore[arg-type]
                        torch.tensor(one.tokens),
                        torch.tensor(one.success),  # type: ignore[arg-type]
                    )
                    for one in shown.played
                ],
                [
                    Trained(
                        torch.tensor(row.tokens),
                        torch.tensor(row.temperature),  # type: ignore[arg-type]
                        torch.tensor(row.log_probs),
                        torch.tensor(row.old_log_probs),
                        torch.tensor(row.positions),
                        row.update,
                    )
                    for row in shown.trained
                ],
            )

    assert selftest(Tensors).passed


@pytest.mark.parametrize(
    "broken",
    [{"positions": [0, 2, 3]}, {"positions": [4, 3, 2]}, {"positions": [2]}, {"log_probs": []}],
)
def test_positions_that_do_not_fit(reference: ModuleType, broken: dict[str, Any]) -> None:
    class Odd(reference.Reference):
        def learn(self, *played: Any) -> Any:
            return [type(row)(**{**vars(row), **broken}) for row in super().learn(*played)]

    assert "one number a scored token" in selftest(Odd)["loss"].words


def test_generators_of_torch_are_left_as_they_were(reference: ModuleType) -> None:
    before = torch.random.get_rng_state()
    one = selftest(reference.Reference)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert one.as_dict() == selftest(reference.Reference).as_dict()
