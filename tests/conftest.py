from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How fast a machine draws examples says nothing of the code.
settings.register_profile("agentenvs", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("agentenvs")

# A shell's background jobs ignore interrupts, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Leave files with the operating system: no test outlives a crash of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def parity() -> Path:
    """Return the folder of recorded official verdicts, or skip."""
    folder = os.environ.get("AGENTENVS_PARITY")
    if not folder:
        pytest.skip("AGENTENVS_PARITY does not name the folder of recorded verdicts")
    return Path(folder)


@pytest.fixture(scope="session")
def official_bfcl() -> None:
    """Skip where the official BFCL files are neither installed, cached nor to be had."""
    from agentenvs import sources
    from agentenvs.errors import SourceMissing

    try:
        sources.open_source("bfcl")
    except SourceMissing as problem:
        pytest.skip(f"official BFCL files: {str(problem).splitlines()[0]}")
