from __future__ import annotations

from functools import partial

import pytest

from agentenvs.harness.report import advice


@pytest.fixture
def few_pilots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Average over fewer pilots than the page does, which takes most of the time of `find`."""
    monkeypatch.setattr(advice, "pilot_protocol", partial(advice.pilot_protocol, splits=3))
