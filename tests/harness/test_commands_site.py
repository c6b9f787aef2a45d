from __future__ import annotations

import os
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest

from agentenvs.harness.cli import main
from agentenvs.webshop.site import Site

COMMAND = [sys.executable, "-m", "agentenvs.harness", "site", "--tasks", "mini", "--port"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_the_site_tells_its_address_serves_and_ends(end: signal.Signals) -> None:
    running = subprocess.Popen(
        [*COMMAND, "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout is not None
        first, goals = running.stdout.readline(), running.stdout.readline()
        address = first.split()[-1]
        assert "100 goals" in first
        assert "fixed_0" in goals
        with urlopen(address, timeout=10) as page:  # noqa: S310
            assert b"WebShop" in page.read()
        os.kill(running.pid, end)
        out, err = running.communicate(timeout=20)
        assert running.returncode == 0
        assert out.endswith("closed\n")
        assert err == ""
    finally:
        running.kill()
        running.communicate()


def test_a_taken_port_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with Site("mini") as site:
        assert main(["site", "--port", str(site.port)]) == 2
    assert f"Port {site.port} is taken" in capsys.readouterr().err


def test_an_unknown_set_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["site", "--tasks", "mimi"]) == 2
    assert "Did you mean 'mini'?" in capsys.readouterr().err


def test_site_helps(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["site", "--help"])
    assert stop.value.code == 0
    assert "--details" in capsys.readouterr().out
