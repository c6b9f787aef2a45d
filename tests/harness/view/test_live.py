from __future__ import annotations

import os
import signal
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_keys_lead_through_lists_and_episodes(terminal: Callable[..., Any], run: Path) -> None:
    shown = terminal(run)
    assert "mini_0  0  success" in shown.shows("q quit", "desk_8")
    shown.press("\x1b[B\r")
    shown.shows("mini_0 #1", "step 1 of 2")
    shown.press("n")
    shown.shows("mended: fence, prose", "[look()]")
    shown.press("]]\x1b[D")
    shown.shows("desk_7 #0", "opening")
    shown.press(" ")
    # What models write is shown as pictures; the terminal itself refuses anything else.
    shown.shows("\u241b[2J\u241b]0;owned\u2407\ufffd31m\u240dsaid [red]this[/red]")
    shown.press("\x1b")
    shown.shows("rollouts")
    shown.press("/")
    shown.shows("text: ")
    shown.press("\u4f60\r")
    shown.shows("1 rollout of 1 task, out of 5", "\u25b6 desk_7")
    assert "\x1b[31m" in shown.raw
    shown.press("q")
    assert shown.left() == 0


def test_a_new_size_is_drawn_in(terminal: Callable[..., Any], run: Path) -> None:
    shown = terminal(run, columns=80, rows=24, NO_COLOR="1")
    shown.shows("q quit")
    assert "tokens" not in shown.text
    shown.resize(140, 40)
    wide = shown.shows("tokens", "q quit")
    assert len(wide.split("\n")) == 40
    assert "\x1b[31m" not in shown.raw
    shown.press("\x03")
    assert shown.left() == 130
    assert "interrupted" in shown.raw


def test_a_stop_gives_the_terminal_back_for_a_while(
    terminal: Callable[..., Any], run: Path
) -> None:
    shown = terminal(run)
    shown.shows("q quit")
    shown.press("\x1a")
    os.waitid(os.P_PID, shown.running.pid, os.WSTOPPED | os.WNOWAIT)
    assert termios.tcgetattr(shown.slave)[3] & termios.ECHO
    os.kill(shown.running.pid, signal.SIGCONT)
    shown.drawn_again()
    shown.press("j")
    shown.shows("\u25b6 mini_0  1", "q quit")
    assert not termios.tcgetattr(shown.slave)[3] & termios.ECHO
    os.kill(shown.running.pid, signal.SIGTERM)
    assert shown.left() == 128 + signal.SIGTERM


def test_an_error_gives_the_terminal_back(
    terminal: Callable[..., Any], run: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import agentenvs.harness.view.app as app\n"
        "def broken(self, key): raise RuntimeError('out of order')\n"
        "app.App.press = broken\n"
    )
    shown = terminal(run, PYTHONPATH=str(tmp_path))
    shown.shows("q quit")
    shown.press("j")
    assert shown.left() == 1
    assert "RuntimeError: out of order" in shown.raw


def test_a_terminal_that_cannot_be_drawn_on_gets_the_table(
    terminal: Callable[..., Any], run: Path
) -> None:
    shown = terminal(run, TERM="dumb")
    assert shown.left() == 0
    assert "5 rollouts of 4 tasks" in shown.raw
    assert "\x1b[?" not in shown.raw
