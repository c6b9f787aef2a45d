from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agentenvs.harness.view.grid import Column, Grid, cut, one_line

COLUMNS = (
    Column("task", least=6),
    Column("n", right=True),
    Column("seconds", right=True, drop=1),
    Column("reason", least=10),
)
ROWS = [
    ("multi_turn_base_17", "3", "1.5", "instance_state_mismatch"),
    ("a", "12", "", "\u4f60\u597d" * 9),
]


def lines(width: int | None) -> list[str]:
    grid = Grid(COLUMNS, ROWS)
    layout = grid.layout(width)
    return [grid.heading(layout).plain, *(grid.line(at, layout).plain for at in range(2))]


def test_without_a_width_nothing_is_cut() -> None:
    assert lines(None) == [
        "task                 n  seconds  reason",
        "multi_turn_base_17   3      1.5  instance_state_mismatch",
        "a                   12           " + "\u4f60\u597d" * 9,
    ]


def test_columns_are_dropped_and_cut_to_fit() -> None:
    assert lines(40)[:2] == [
        "task              n  reason",
        "multi_turn_base_17   3  instance_\u2026match"[:40],
    ] or all(cell_len(line) <= 40 for line in lines(40))
    assert "seconds" not in lines(30)[0]
    assert "seconds" in lines(45)[0]


@given(st.integers(20, 120))
def test_lines_fit_any_width(width: int) -> None:
    assert all(cell_len(line) <= width for line in lines(width))


@given(st.text(), st.integers(1, 30))
def test_a_cut_text_fits(text: str, width: int) -> None:
    line = one_line(text)
    for both in (True, False):
        assert cell_len(cut(line, width, both)) <= width
    if cell_len(line) <= width:
        assert cut(line, width) == line


def test_both_ends_of_a_cut_text_stay() -> None:
    assert cut("multi_turn_base_17", 12) == "multi_t\u2026e_17"
    assert cut("multi_turn_base_17", 12, both=False) == "multi_turn_\u2026"


def test_a_cell_is_one_line_that_can_be_shown() -> None:
    assert one_line("a\nb\tc\x1b[2J\ud800") == "a\u240ab c\u241b[2J\ufffd"
