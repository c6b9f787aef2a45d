from __future__ import annotations

import subprocess
import sys

import pytest

from agentenvs.errors import AgentEnvsError
from agentenvs.harness import lab


@pytest.mark.hf
def test_every_public_name_loads(torch):
    assert all(getattr(lab, name) is not None for name in lab.__all__)
    assert dir(lab) == sorted(lab.__all__)


def test_unknown_names_are_told():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lab.nothing


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "agentenvs.harness.lab.model", raising=False)
    with pytest.raises(AgentEnvsError, match=r"needs torch: pip install 'agentenvs\[lab\]'"):
        _ = lab.TinyLM


def test_importing_the_package_loads_no_torch():
    code = "import sys, agentenvs.harness.lab; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
