from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from agentenvs.harness.ptgs import figures, temperature


def test_the_four_figures_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    made = figures.draw(tmp_path / "new")
    assert [path.name for path in made] == [
        "map.png",
        "cold_start.png",
        "groups.png",
        "feedback.png",
    ]
    for path in made:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 20_000


def test_a_figure_shows_what_the_formula_gives() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `report`")
    before = dict(matplotlib.rcParams)
    (axes,) = figures.map_figure([(1.3, 0.4)], t_ref=0.8).axes
    p, heat = axes.lines[0].get_data()
    assert heat.tolist() == temperature(p, 1.3, 0.4, 0.8).tolist()
    assert 0.4 in p
    assert dict(matplotlib.rcParams) == before


def test_panels_for_curves_of_ones_own() -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    figure = figures.feedback_figure({"flat": lambda t: np.full_like(t, 0.3)}, n=4, visits=3)
    (axes,) = figure.axes
    level = axes.lines[0].get_ydata()[0]
    assert level == pytest.approx(1 - 0.3**4 - 0.7**4)
    for line in axes.lines:
        assert list(line.get_ydata()) == pytest.approx([level] * len(line.get_ydata()))


def test_a_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"agentenvs\[report\]"):
        figures.groups_figure()
