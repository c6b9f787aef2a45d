"""Models in coarse types, with end tokens, and with vocabularies that are not enumerated whole."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra `hf`")

import torch

from agentenvs.harness.ptgs.scoring import row_scores
from agentenvs.harness.ptgs.selftest import selftest


def cast(base: Any, kind: Any) -> Any:
    class Cast(base):
        def fresh_model(self) -> Any:
            model = super().fresh_model().to(kind)
            with torch.no_grad():
                model.head.weight.mul_(3)
            return model

    return Cast


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float64])
def test_coarse_and_fine_types(reference: ModuleType, kind: Any) -> None:
    report = selftest(cast(reference.Reference, kind))
    assert report.passed, str(report)
    assert ("bfloat16" if kind == torch.bfloat16 else "float32") in report["forward"].words


@pytest.mark.parametrize("name", ["ScoresAtOne", "EntropyAtOne", "OldAtOne", "SamplesAtOne"])
def test_coarse_types_hide_no_mistake(mutants: ModuleType, name: str) -> None:
    mutant = next(one for one in mutants.MUTANTS if one.build.__name__ == name)
    report = selftest(cast(mutant.build, torch.bfloat16))
    assert set(report.failed) == mutant.failed, str(report)


def inside(base: Any) -> Any:
    """Return a trainer whose model computes in a coarse type that its logits do not show."""

    class Inside(base):  # type: ignore[misc]
        def fresh_model(self) -> Any:
            model = super().fresh_model()
            model.embed.register_forward_hook(lambda *passed: passed[2].bfloat16().float())
            model.recur.register_forward_hook(
                lambda *passed: (passed[2][0].bfloat16().float(), passed[2][1])
            )
            return model

    return Inside


def test_coarse_types_inside_a_model(mutants: ModuleType) -> None:
    report = selftest(inside(mutants.Reference))
    assert report.passed, str(report)
    assert "(float32)" in report["forward"].words
    wrong = selftest(inside(mutants.ScoresAtTheMean))
    assert set(wrong.failed) == {"scores", "entropies", "identity", "loss"}, str(wrong)


def test_scores_in_a_coarse_type(reference: ModuleType) -> None:
    class Coarse(reference.Reference):
        def scored(self, z: Any, tokens: Any, t: Any) -> Any:
            logs = (z / t[:, None, None].to(z.dtype)).log_softmax(-1)
            right = row_scores(z, tokens, t)
            return logs.gather(-1, tokens[..., None])[..., 0], right.entropies

    report = selftest(cast(Coarse, torch.bfloat16))
    assert report.passed, str(report)


def test_the_likeliest_tokens_of_a_large_vocabulary(reference: ModuleType) -> None:
    class Large(reference.Reference):
        vocabulary = 400

    report = selftest(Large, tokens=64, without=["loss", "rows"])
    assert report["identity"].status == "passed"
    assert "over the 64 likeliest of 400 tokens" in report["identity"].words


def test_the_likeliest_tokens_show_a_wrong_temperature(mutants: ModuleType) -> None:
    class Large(mutants.ScoresAtOne):
        vocabulary = 400

    report = selftest(Large, tokens=64)
    assert report["identity"].status == "failed"
    assert report["identity"].numbers["rest/1/1.5"] == pytest.approx(
        report["identity"].numbers["at_one/1/1.5"], rel=1e-3
    )


def test_ids_that_are_not_to_be_used_stay_out(reference: ModuleType) -> None:
    fed: set[int] = set()

    class Ends(reference.Reference):
        tokens = (2, 3, 5, 7)

        def logits(self, ids: Any) -> Any:
            fed.update(ids[:, :4].flatten().tolist())
            return super().logits(ids)

    steps = ("temperatures", "rows", "loss", "told", "uniform", "resume")
    assert selftest(Ends, without=steps).passed
    assert fed == {2, 3, 5, 7}


def test_a_forward_pass_that_looks_ahead(reference: ModuleType) -> None:
    class Ahead(reference.Reference):
        def logits(self, ids: Any) -> Any:
            z = super().logits(ids)
            return z + z.mean(1, keepdim=True)

    assert "later tokens move" in selftest(Ahead)["forward"].words


def test_rows_that_move_one_another(reference: ModuleType) -> None:
    class Together(reference.Reference):
        def logits(self, ids: Any) -> Any:
            z = super().logits(ids)
            return z + z[:1]

    assert "other rows move" in selftest(Together)["forward"].words
