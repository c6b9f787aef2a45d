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


def test_on_a_terminal_work_of_several_kinds_has_a_bar_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with sources.console_progress("share") as progress:
        progress(0, 0, "Compiling [/oops]")
        progress(0, 0, "Compiling [/oops]")
        progress(1, 4, "reading [/b]")
        progress(3, 4, "indexing")
        progress(2, 4, "reading [/b]")
    shown = terminal.getvalue()
    assert shown.count("Compiling [/oops]") == 1
    assert "reading [/b]" in shown
    assert "50%" in shown
    assert "75%" in shown


def test_messages_that_take_turns_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    with sources.console_progress("share") as progress:
        for done in range(1000):
            progress(done, 1000, f"reading {done % 2}")
            progress(done, 1000, f"never the same {done}")
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("reading")] == ["reading 0", "reading 1"]
    assert len(lines) == 200


def test_long_work_is_told_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    with sources.console_progress() as progress:
        for done in range(8):
            progress(done, 8, "reading")
    assert capsys.readouterr().err == "reading\nreading: 37 %\nreading: 75 %\n"
