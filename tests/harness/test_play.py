from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from rich.console import Console

from agentenvs.harness.play import play_episode


class Typist(Console):
    """A console whose player types given lines."""

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__(record=True, width=120, quiet=False)
        self._lines = iter(lines)

    def input(self, *args: Any, **kwargs: Any) -> str:
        try:
            return next(self._lines)
        except StopIteration:
            raise EOFError from None


def play(*lines: str, task: str = "mini_home_0", **more: Any) -> tuple[int, str]:
    console = Typist(lines)
    code = play_episode("BFCLv4", console=console, tasks="mini", task=task, **more)
    return code, console.export_text()


def test_a_task_is_solved() -> None:
    code, shown = play("[turn_on(device='kitchen lamp')]", "It is on.")
    assert code == 0
    assert "Turn on the kitchen lamp." in shown
    assert "read as calls" in shown
    assert "solved (score 1)" in shown


def test_a_task_is_missed() -> None:
    code, shown = play("I would rather not.")
    assert code == 0
    assert "not solved: " in shown


@pytest.mark.parametrize("lines", [(), ("/quit",)])
def test_leaving_before_the_end(lines: tuple[str, ...]) -> None:
    code, shown = play(*lines)
    assert code == 1
    assert "left before the end" in shown


def test_commands() -> None:
    _, shown = play("", "/tools", "/system", "/nonsense", "/quit")
    assert "def turn_on(device: str" in shown
    assert "How to reply:" in shown
    assert "unknown command /nonsense" in shown


def test_the_help_names_the_form_that_is_read() -> None:
    assert "[look(at=" in play("/quit")[1]
    assert "the form that /system tells" in play("/quit", harness="none")[1]


def test_undo_takes_the_last_reply_back() -> None:
    code, shown = play(
        "/undo",
        "[turn_off(device='fan')]",
        "/undo",
        "[turn_on(device='kitchen lamp')]",
        "Done.",
    )
    assert code == 0
    assert "nothing to take back" in shown
    assert "solved (score 1)" in shown


def test_a_line_goes_on_after_a_backslash() -> None:
    code, shown = play("[turn_on(\\", "device='kitchen lamp')]", "Done.")
    assert code == 0
    assert "solved (score 1)" in shown
