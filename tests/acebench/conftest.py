from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentenvs.acebench.records import Records, read_folder


@pytest.fixture(scope="session")
def acebench_data() -> Path:
    """Return the folder of ACEBench's files, or skip."""
    folder = os.environ.get("AGENTENVS_DATA")
    if not folder:
        pytest.skip("AGENTENVS_DATA does not name the folder of official files")
    place = Path(folder) / "acebench"
    if not (place / "data_en").is_dir():
        pytest.skip(f"there are no ACEBench files in {place}")
    return place


@pytest.fixture(scope="session")
def records(acebench_data: Path) -> Records:
    """Return the official records."""
    return read_folder(acebench_data)
