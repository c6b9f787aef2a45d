from __future__ import annotations

import io
import sys

import pytest

from agentenvs.harness import terminal


def test_what_an_encoding_lacks_becomes_an_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    ascii_alone = io.TextIOWrapper(written, encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", ascii_alone)
    terminal.console().print("5\u00a0% \u2212 \u05d0", markup=False)
    assert written.getvalue() == b"5\\xa0% \\u2212 \\u05d0\n"


def test_control_characters_are_shown_and_not_sent(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.table import Table

    table = Table("a\x1b]0;title\x07")
    table.add_row("\u202eb\ud800\x9b31m")
    terminal.console().print("\x1b[2Jc\r\x00\x7f", markup=False)
    terminal.console().print(table)
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x07\x00\r\x7f\x9b\u202e\ud800")
    assert "\u241b[2Jc" in shown
    assert "\ufffdb\ufffd\ufffd31m" in shown


def test_styles_still_reach_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    raw = io.StringIO()
    monkeypatch.setattr(sys, "stdout", raw)
    terminal.console().print("red", style="bold red")
    assert raw.getvalue().startswith("\x1b[")
