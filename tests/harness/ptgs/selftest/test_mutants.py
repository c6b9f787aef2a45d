"""The right trainer passes every check; each wrong one fails those that are meant, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch", reason="needs the extra `hf`")

from agentenvs.harness.ptgs.selftest import selftest
from agentenvs.harness.ptgs.selftest.suite import CHECKS

# Names are read, not imported: what is collected must not load the trainers.
NAMES = re.findall(r"^    Mutant\((\w+)", Path(__file__).with_name("mutants.py").read_text(), re.M)


@pytest.mark.parametrize("seed", range(3))
def test_the_right_trainer_passes(reference: ModuleType, seed: int) -> None:
    report = selftest(lambda sampler: reference.Reference(sampler, seed=seed), seed=seed)
    assert report.passed, str(report)
    assert [check.name for check in report] == list(CHECKS)
    assert "the rollouts were the same too" in report["resume"].words


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_trainer_fails(mutants: ModuleType, name: str) -> None:
    (mutant,) = [one for one in mutants.MUTANTS if one.build.__name__ == name]
    report = selftest(mutant.build)
    assert not report.passed
    assert set(report.failed) == mutant.failed, str(report)
    assert mutant.words in report[mutant.check].words


def test_every_check_is_failed_by_some_trainer_for_itself(mutants: ModuleType) -> None:
    alone = {next(iter(one.failed)) for one in mutants.MUTANTS if len(one.failed) == 1}
    assert set(CHECKS) - alone == {"scores", "identity"}  # those see the same mistakes


@pytest.mark.slow
def test_chance_decides_nothing(reference: ModuleType, mutants: ModuleType) -> None:
    kinds = [one for one in mutants.MUTANTS if one.check in ("samples", "rows", "told", "uniform")]
    for seed in range(100):
        report = selftest(lambda sampler, s=seed: reference.Reference(sampler, seed=s), seed=seed)
        assert report.passed, str(report)
        mutant = kinds[seed % len(kinds)]
        wrong = selftest(lambda sampler, m=mutant, s=seed: m.build(sampler, seed=s), seed=seed)
        assert set(wrong.failed) == mutant.failed, str(wrong)
        assert mutant.words in wrong[mutant.check].words
