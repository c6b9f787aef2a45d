from __future__ import annotations

from agentenvs.harness.wide_tables import side_by_side


def test_columns_that_fit_stay_together() -> None:
    assert side_by_side([8, 5, 5], 24, 3) == [[0, 1, 2]]


def test_every_part_of_a_wide_table_has_the_first_column() -> None:
    assert side_by_side([8, 5, 5, 5], 24, 3) == [[0, 1, 2], [0, 3]]


def test_a_column_wider_than_the_terminal_still_stands_somewhere() -> None:
    assert side_by_side([8, 90, 5], 24, 3) == [[0, 1], [0, 2]]
