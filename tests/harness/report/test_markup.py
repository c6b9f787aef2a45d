from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.report.markup import Cell, cut, folded, plain, section, table, text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.data = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.data += data


def _read(html: str) -> _Tags:
    reader = _Tags()
    reader.feed(html)
    reader.close()
    return reader


@given(st.text())
def test_text_is_inert_and_reads_as_it_was(value: str) -> None:
    read = _read(f"<p title='{text(value)}'>{text(value)}</p>")
    assert read.tags == ["p"]
    assert read.data == plain(value)


@given(st.text(st.characters(codec=None)))
def test_text_can_always_be_written(value: str) -> None:
    shown = text(value)
    shown.encode()
    assert not any(ord(letter) < 32 and letter not in "\n\t" for letter in shown)


@pytest.mark.parametrize(
    ("odd", "shown"),
    [
        ("\x00", "\u2400"),
        ("\x1b[31m", "\u241b[31m"),
        ("\x7f", "\u2421"),
        ("\x85", "\ufffd"),
        ("\ud800", "\ufffd"),
        ("\u202e", "\ufffd"),
        ("\uffff", "\ufffd"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\t\u00e9\U0001f600", "\t\u00e9\U0001f600"),
    ],
)
def test_odd_characters_are_shown(odd: str, shown: str) -> None:
    assert plain(odd) == shown


@given(st.text(max_size=50), st.integers(0, 60))
def test_cut_keeps_both_ends_and_counts_the_rest(value: str, most: int) -> None:
    head, tail, left_out = cut(value, most)
    assert len(head) + len(tail) + left_out == len(value)
    assert len(head) + len(tail) == min(most, len(value))
    assert value.startswith(head)
    assert value.endswith(tail)


def test_a_section_without_content_is_left_out() -> None:
    assert section("Title", ["", ""], "name") == ""
    assert "<h2>A &lt;b&gt;</h2>" in section("A <b>", ["x"], "name")


def test_a_table_heads_columns_and_rows() -> None:
    made = table(["a", "b"], [["<i>", Cell("1", "0 to 2", "words")]])
    assert "<th scope='row'>&lt;i&gt;</th>" in made
    assert "<td class='words'>1<small>0 to 2</small></td>" in made
    assert "<th scope='col' class='words'>b</th>" in made
    assert "Scroll sideways" not in made


def test_folded_names_what_it_hides() -> None:
    assert folded("<x>", "body") == "<details><summary>&lt;x&gt;</summary>body</details>"
