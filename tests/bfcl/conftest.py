from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def official(official_bfcl: None) -> Callable[[list[dict[str, Any]]], list[Any]]:
    """Return a function that runs jobs through the official code, or skip."""
    from agentenvs import sources

    place = sources.open_source("bfcl").path

    def run(jobs: list[dict[str, Any]]) -> list[Any]:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("official_side.py")), str(place)],
            input=json.dumps(jobs),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answers: list[Any] = json.loads(done.stdout)
        return answers

    try:
        run([])
    except AssertionError as problem:
        if "No module named 'bfcl_eval.eval_checker" in str(problem):
            pytest.skip("this copy of the wheel has the needed files alone")
        raise
    return run


@pytest.fixture(scope="session")
def rows(official_bfcl: None) -> dict[str, dict[str, Any]]:
    """Return the official rows by id."""
    from agentenvs import sources

    tree = sources.open_source("bfcl")
    found = {}
    for path in tree.files:
        if path.startswith("bfcl_eval/data/BFCL_v4_multi_turn"):
            for line in tree.read(path).decode().splitlines():
                row = json.loads(line)
                found[row["id"]] = row
    return found
