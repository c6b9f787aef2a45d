from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.view.editor import Editor
from agentenvs.harness.view.keys import Keys


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"jG ?", ["j", "G", " ", "?"]),
        (b"\r\n\t\x7f", ["enter", "enter", "tab", "backspace"]),
        (b"\x1b[A\x1bOB\x1b[1;5C\x1b[D", ["up", "down", "right", "left"]),
        (b"\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1b[3~", ["pgup", "pgdn", "home", "end", "delete"]),
        (b"\x1b[200~x\x1b[99z", ["x"]),
        ("\u4f60".encode(), ["\u4f60"]),
        (b"\x1bq", ["esc", "q"]),
        (b"\x1b\x1b[A", ["esc", "up"]),
        (b"\xff", ["\ufffd"]),
    ],
)
def test_keys(sent: bytes, keys: list[str]) -> None:
    assert Keys().feed(sent) == keys
    piecewise = Keys()
    assert [key for at in sent for key in piecewise.feed(bytes([at]))] == keys


def test_an_escape_alone_is_a_key_when_nothing_follows() -> None:
    keys = Keys()
    assert keys.feed(b"\x1b") == []
    assert keys.waiting
    assert keys.flush() == ["esc"]
    assert not keys.waiting
    assert keys.flush() == []


@given(st.binary(max_size=40))
def test_any_bytes_are_taken(sent: bytes) -> None:
    keys = Keys()
    assert all(isinstance(key, str) for key in [*keys.feed(sent), *keys.flush()])


def typed(*keys: str, text: str = "") -> Editor:
    editor = Editor("text: ", text)
    for key in keys:
        editor.press(key)
    return editor


def test_a_line_is_edited() -> None:
    assert typed("a", "b", "left", "c").text == "acb"
    assert typed("backspace", "home", "delete", text="abc").text == "b"
    assert typed("ctrl-w", text="one two").text == "one "
    assert typed("left", "ctrl-u", text="one").text == "e"
    assert typed("up", "pgdn", "\x00", text="one").text == "one"


def test_an_edited_line_shows_its_end_and_fits() -> None:
    editor = typed(text="x" * 100 + "\u4f60" * 30)
    line = editor.line(40)
    assert line.cell_len <= 40
    assert line.plain.endswith("\u4f60 ")
    for _ in range(130):
        editor.press("left")
        assert editor.line(40).cell_len <= 40
    assert editor.line(40).plain.startswith("text: x")
