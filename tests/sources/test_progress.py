import io

import pytest

from agentenvs import sources


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_off_a_terminal_each_message_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with sources.console_progress() as progress:
        progress(0, 100, "Fetching")
        progress(50, 100, "Fetching")
        progress(100, 100, "Done [/oops]")
    assert capsys.readouterr() == ("", "Fetching\nDone [/oops]\n")


def test_on_a_terminal_there_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with sources.console_progress() as progress:
        progress(0, 0, "Waiting [/oops]")
        progress(1_000_000, 2_000_000, "Fetching")
    shown = terminal.getvalue()
    assert "Waiting [/oops]" in shown
    assert shown.count("Fetching") == 1
    assert "1.0/2.0 MB" in shown


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO(), None])
def test_nothing_is_shown_when_nothing_is_reported(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    with sources.console_progress():
        pass
    assert stream is None or stream.getvalue() == ""
