from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from agentenvs.harness.report import advice
from agentenvs.harness.report.study.report import StudyReport, study_report

# Rollouts of a made-up study.
_N = 32


@pytest.fixture
def few_pilots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Average over fewer pilots than the page does, which takes most of the time of `find`."""
    monkeypatch.setattr(advice, "pilot_protocol", partial(advice.pilot_protocol, splits=3))


def _write(folder: Path, name: str, c: Sequence[int], n: int = _N, prefix: str = "t") -> None:
    path = folder / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ({"task_id": f"{prefix}{at}", "c": int(hits), "n": n} for at, hits in enumerate(c))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _toml(folder: Path, pairs: Sequence[str], arms: Sequence[str], top: str = "") -> Path:
    names = [f"p{at}" for at in range(len(pairs))]
    text = (
        f'title = "Made up"\nbenchmarks = ["one", "two"]\narms = {json.dumps(list(arms))}\n'
        'runs = "{pair}/{benchmark}/{arm}.jsonl"\n' + top
    )
    for name, more in zip(names, pairs, strict=True):
        text += f'\n[[pairs]]\nname = "{name}"\n{more}\n'
    path = folder / "study.toml"
    path.write_text(text)
    return path


def _made(
    folder: Path, pairs: int = 3, arms: Sequence[str] = ("base", "post"), tasks: int = 24
) -> Path:
    """Write a study in which training speeds tasks up and loses some of them."""
    rng = np.random.default_rng(5)
    for at in range(pairs):
        for benchmark in ("one", "two"):
            p = rng.beta(0.4, 1.5, tasks)
            _write(folder, f"p{at}/{benchmark}/{arms[0]}", rng.binomial(_N, p))
            for arm in arms[1:]:
                q = np.where(rng.random(tasks) < 0.1 * (at + 1), 0, 1 - (1 - p) ** 3)
                _write(folder, f"p{at}/{benchmark}/{arm}", rng.binomial(_N, q))
    more = [f'size = {at + 1}e9\nfamily = "f{at % 2}"' for at in range(pairs)]
    return _toml(folder, more, arms)


@pytest.fixture(scope="session")
def write() -> Callable[..., None]:
    """Write the outcomes of a made-up run: folder, name and each task's successes."""
    return _write


@pytest.fixture(scope="session")
def toml() -> Callable[..., Path]:
    """Write a study's file: folder, what is told of each pair, and arms."""
    return _toml


@pytest.fixture(scope="session")
def made() -> Callable[..., Path]:
    """Write a made-up study in a folder, and return its file."""
    return _made


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> StudyReport:
    return study_report(_made(tmp_path_factory.mktemp("study")))
