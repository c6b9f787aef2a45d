from __future__ import annotations

import pytest

from agentenvs.harness.report.paint_axes import drawn, shorten, tint, tries_axis
from agentenvs.harness.report.paint_theme import COST, GAIN
from agentenvs.harness.tax import Estimate


def test_a_long_name_is_cut_in_its_middle() -> None:
    short = shorten("Qwen2.5-7B-Instruct-trained-with-a-recipe-step-200", 20)
    assert short == "Qwen2.5-7B\u2026-step-200"
    assert shorten("short", 20) == "short"


def test_a_name_is_one_line() -> None:
    assert shorten("a\n b\t c") == "a b c"


def test_a_drawn_name_starts_no_formula_and_stays_in_legends() -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    assert drawn("a$b$") == r"a\$b\$"
    assert not drawn("_a_b").startswith("_")
    assert drawn("_a_b").endswith("_a_b")
    assert drawn("\u57fa") == "\ufffd"


def test_costs_and_gains_have_their_colours_and_the_unsure_are_paler() -> None:
    cost = tint(Estimate(0.2, 0.01, 0.1, 0.3), 0.2)
    gain = tint(Estimate(-0.2, 0.2, -0.6, 0.2), 0.2)
    assert (cost[0], gain[0]) == (COST, GAIN)
    assert cost[1] > gain[1] > 0
    assert tint(Estimate(float("nan"), 0, 0, 0), 0.2)[1] == 0
    assert tint(Estimate(0.0, 0, 0, 0), 0.0)[1] == 0


@pytest.mark.parametrize(
    ("low", "top", "named"),
    [
        (1, 8, ["1", "2", "4", "8"]),
        (1, 1, ["1"]),
        (3, 3, ["3"]),
        (1, 100, ["1", "2", "4", "8", "16", "32", "64", "100"]),
        (1, 10_000, ["2", "8", "32", "128", "512", "2048", "8192"]),
    ],
)
def test_budgets_are_named_at_powers_of_two(low: int, top: int, named: list[str]) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    tries_axis(axes, top, low=low)
    assert [label.get_text() for label in axes.get_xticklabels()] == named
    left, right = axes.get_xlim()
    assert left < low <= top < right
