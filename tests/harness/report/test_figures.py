from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.report import figures
from agentenvs.harness.report.paint import Picture, draw, save
from agentenvs.harness.report.paint_theme import INK, TONES
from agentenvs.harness.tax import Counts, Estimate, curve, sharpening_tax
from agentenvs.harness.tax.bands import curve_bands, tax_bands
from agentenvs.harness.tax.consistency import hat_curve
from agentenvs.harness.tax.crossing import crossover_set
from agentenvs.harness.tax.decomposition import decompose
from agentenvs.harness.tax.decomposition import flow as flow_shares
from agentenvs.harness.tax.rank import spearman

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `report`")

Arms = tuple[tuple[list[int], int], tuple[list[int], int]]
LABELS = ("base", "post")
MIXED: Arms = (([0, 1, 3, 5, 8, 2, 7, 4], 8), ([0, 0, 8, 8, 8, 0, 8, 1], 8))
AWKWARD: dict[str, Arms] = {
    "one rollout": (([0, 1, 1, 0], 1), ([1, 1, 0, 0], 1)),
    "two rollouts": (([0, 1, 2, 1], 2), ([1, 2, 0, 0], 2)),
    "one task": (([3], 8), ([7], 8)),
    "the same arms": (([3, 0, 8], 8), ([3, 0, 8], 8)),
    "nothing solved": (([0, 0, 0], 8), ([0, 0, 0], 8)),
    "all solved": (([8, 8], 8), ([8, 8], 8)),
    "many rollouts": (([0, 3, 999], 1000), ([0, 900, 1000], 1000)),
}
SURE, UNSURE = Estimate(0.1, 0.01, 0.08, 0.12), Estimate(-0.02, 0.02, -0.06, 0.02)
UNKNOWN = Estimate(math.nan, math.nan, math.nan, math.nan)


def _curves(arms: Arms, labels: tuple[str, str] = LABELS) -> Picture:
    found = crossover_set(*arms, min(arm[1] for arm in arms), draws=50)
    return figures.curves(curve_bands(*arms, draws=50), found, labels)


def _pictures(arms: Arms, labels: tuple[str, str] = LABELS) -> list[Picture]:
    n = min(arm[1] for arm in arms)
    parts = decompose(*arms, max(n // 2, 1))
    made = [
        _curves(arms, labels),
        figures.histograms(*arms, labels),
        figures.flow(flow_shares(*arms), parts, labels),
        figures.tax_contributions(parts, labels),
        figures.consistency(*arms, labels),
    ]
    if n > 1:
        made.append(figures.tax_over_k(tax_bands(*arms, draws=50), labels, n))
    return made


def _axes(picture: Picture) -> Any:
    """Paint a picture again and return its axes, to look at what stands in them."""
    from matplotlib.figure import Figure

    figure = Figure()
    assert picture.paint is not None
    picture.paint(figure)
    (axes,) = figure.axes
    return axes


def _texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


@pytest.fixture(scope="module")
def made() -> list[Picture]:
    return _pictures(MIXED)


def test_a_picture_takes_the_size_and_the_colours_of_its_page(made: list[Picture]) -> None:
    for picture in made:
        root = ElementTree.fromstring(picture.svg)  # noqa: S314
        assert root.get("role") == "img"
        assert root.get("width") is None
        assert root.get("viewBox") == "0 0 316.8 230.4"
        assert root[0].text == picture.title
        assert f"var(--ink, {INK})" in picture.svg
        bare = re.sub(r"var\(--[a-z]+, #[0-9a-f]{6}\)", "", picture.svg)
        assert re.findall(r"#[0-9a-f]{6}\b", bare) == []


def test_pictures_of_one_page_share_no_ids(made: list[Picture]) -> None:
    ids = [found for picture in made for found in re.findall(r' id="([^"]+)"', picture.svg)]
    assert len(ids) == len(set(ids))


def test_every_reference_is_defined_in_its_picture(made: list[Picture]) -> None:
    for picture in made:
        ids = set(re.findall(r' id="([^"]+)"', picture.svg))
        wanted = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', picture.svg)
        assert {one or two for one, two in wanted} <= ids


def test_no_style_of_a_picture_reaches_the_page(made: list[Picture]) -> None:
    assert not any("<style" in picture.svg for picture in made)


def test_pictures_are_small(made: list[Picture]) -> None:
    assert max(len(picture.svg) for picture in made) < 80_000


def test_the_same_outcomes_give_the_same_bytes(made: list[Picture], tmp_path: Path) -> None:
    again = _pictures(MIXED)
    assert [picture.svg for picture in again] == [picture.svg for picture in made]
    first, second = save(made[:1], tmp_path / "a"), save(again[:1], tmp_path / "b")
    assert [one.read_bytes() for one in first] == [one.read_bytes() for one in second]


def test_settings_of_matplotlib_stay_as_they_were() -> None:
    before = dict(matplotlib.rcParams)
    _curves(MIXED)
    assert dict(matplotlib.rcParams) == before


def test_saved_files_stand_alone_in_light_colours(made: list[Picture], tmp_path: Path) -> None:
    paths = save(made, tmp_path / "new" / "folder")
    assert [path.name for path in paths[:2]] == ["curves.svg", "curves.png"]
    for path in paths:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
            continue
        text = path.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)  # noqa: S314
        assert (root.get("width"), root.get("height")) == ("4.4in", "3.2in")
        assert "var(" not in text
        assert INK in text


def test_pictures_of_one_name_are_refused(made: list[Picture], tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="different names, got curves, curves"):
        save([made[0], made[0]], tmp_path)


def test_a_picture_without_a_painter_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="'bare' has none"):
        save([Picture("bare", "t", "c", "<svg />", 1, 1)], tmp_path)


def test_a_name_must_do_for_files_and_ids() -> None:
    with pytest.raises(BadArgument, match="'a/b'"):
        draw("a/b", "t", "c", lambda figure: None)


def test_a_colour_without_a_variable_is_refused() -> None:
    with pytest.raises(ValueError, match="#123456"):
        draw("odd", "t", "c", lambda figure: figure.text(0.5, 0.5, "x", color="#123456"))


def test_a_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"agentenvs\[report\]"):
        figures.histograms(*MIXED, LABELS)


def test_the_dark_page_has_every_colour() -> None:
    assert all(tone.variable in figures.theme() for tone in TONES.values())


@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_outcomes_can_be_drawn(case: str) -> None:
    for picture in _pictures(AWKWARD[case]):
        assert picture.caption
        assert "nan" not in picture.svg.replace("nan=", "").lower()


def test_names_of_any_letters_can_be_drawn() -> None:
    labels = ("_a $hard$ name_", "\u57fa\u5ea7\u6a21\u578b " + "long " * 20)
    for picture in _pictures(MIXED, labels):
        assert "_a $hard$ name_" in picture.caption


def test_curves_show_what_the_measures_say() -> None:
    axes = _axes(_curves(MIXED))
    # A thick line for each arm; those of the bands are thin.
    base, post = [line for line in axes.lines if line.get_linewidth() == 1.8]
    for line, (c, n) in zip((base, post), MIXED, strict=True):
        assert line.get_ydata() == pytest.approx(curve(c, n, range(1, 9)))
    assert base.get_linestyle() != post.get_linestyle()


def test_a_crossing_is_marked_where_it_is() -> None:
    arms: Arms = (([2, 2, 2, 2] * 20, 16), ([16, 0, 0, 0] * 20, 16))
    found = crossover_set(*arms, 16)
    picture = figures.curves(curve_bands(*arms), found, LABELS)
    (text,) = _texts(_axes(picture))
    assert found.k == 3
    assert text.startswith("k* = 3")
    assert "From k* = 3 tries on" in picture.caption


def test_an_arm_that_is_ahead_from_the_first_try_crosses_nowhere() -> None:
    arms: Arms = (([9, 8, 10] * 20, 16), ([1, 0, 2] * 20, 16))
    bands = curve_bands(*arms, draws=50)
    picture = figures.curves(bands, crossover_set(*arms, 16, draws=50), ("the one", "the other"))
    assert ". The one is ahead, or level, from the first try on (k* = 1)" in picture.caption
    assert "surer than the overlap suggests" in picture.caption
    assert not [line for line in _axes(picture).lines if line.get_marker() == "o"]


def test_a_crossing_beyond_the_budgets_is_told() -> None:
    arms: Arms = (([1, 0, 2] * 20, 16), ([9, 8, 10] * 20, 16))
    (text,) = _texts(_axes(_curves(arms)))
    assert text == "k* > 16"


def test_an_open_crossing_is_called_undecided() -> None:
    picture = _curves((([3, 1, 0, 4], 8), ([2, 2, 4, 0], 8)))
    assert "do not decide" in picture.caption
    assert "undecided" in _texts(_axes(picture))[0]


def test_the_same_curves_do_not_cross() -> None:
    picture = _curves(AWKWARD["the same arms"])
    assert _texts(_axes(picture)) == ["the same curve"]


def test_the_tax_is_drawn_over_every_budget() -> None:
    bands = tax_bands(*MIXED, draws=50)
    axes = _axes(figures.tax_over_k(bands, LABELS, 8))
    (tax,) = [line for line in axes.lines if line.get_linewidth() == 2.2]
    wanted = [sharpening_tax(*MIXED, K=k).tax_S for k in range(2, 9)]
    assert tax.get_ydata() == pytest.approx(wanted)
    assert "K > n/2" in _texts(axes)


def test_budgets_up_to_half_of_the_rollouts_are_not_hatched() -> None:
    bands = tax_bands(*MIXED, ks=[2, 3, 4], draws=50)
    picture = figures.tax_over_k(bands, LABELS, 8)
    assert "K > n/2" not in _texts(_axes(picture))
    assert "Hatched" not in picture.caption


def test_an_undefined_tax_says_so() -> None:
    bands = tax_bands(*AWKWARD["all solved"], draws=50)
    assert any("undefined" in text for text in _texts(_axes(figures.tax_over_k(bands, LABELS, 8))))


def test_histograms_hold_every_task() -> None:
    axes = _axes(figures.histograms(*MIXED, LABELS))
    heights = [sum(bar.get_height() for bar in bars) for bars in axes.containers]
    assert heights == pytest.approx([1, 1])
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["never", "1", "2", "3", "4", "5", "6", "7", "always"]


def test_histograms_of_many_rollouts_are_cut_into_ten() -> None:
    rng = np.random.default_rng(0)
    c = rng.integers(0, 129, 200)
    picture = figures.histograms((c, 128), (c, 128), LABELS)
    axes = _axes(picture)
    inside = (c > 0) & (c < 128)
    counted = [np.mean(inside & (c * 10 // 128 == part)) for part in range(10)]
    bars = sorted(axes.containers[0], key=lambda bar: bar.get_x())
    assert [bar.get_height() for bar in bars[1:-1]] == pytest.approx(counted)
    assert [label.get_text() for label in axes.get_xticklabels()][1:-1] == [
        "20 %",
        "40 %",
        "60 %",
        "80 %",
    ]


def test_histograms_take_tasks_of_different_rollouts() -> None:
    ids = ["a", "b"]
    first = Counts(ids, np.array([1, 9]), np.array([4, 9]))
    second = Counts(ids[::-1], np.array([9, 2]), np.array([9, 4]))
    axes = _axes(figures.histograms(first, second, LABELS))
    assert axes.get_xlabel() == "share of a task's tries that succeed"


def test_a_flow_says_the_shares() -> None:
    parts = decompose(*MIXED, 4)
    texts = _texts(_axes(figures.flow(flow_shares(*MIXED), parts, LABELS)))
    assert "never\n12\u00a0%" in texts
    assert "never\n38\u00a0%" in texts
    assert "always\n50\u00a0%" in texts


@pytest.mark.parametrize(
    ("shares", "match"),
    [(np.ones((2, 2)) / 4, r"shape \(3, 3\)"), (np.ones((3, 3)), "sum 1")],
)
def test_shares_that_are_none_are_refused(shares: Any, match: str) -> None:
    with pytest.raises(BadArgument, match=match):
        figures.flow(shares, decompose(*MIXED, 4), LABELS)


def test_contributions_are_written_into_their_cells() -> None:
    parts = decompose(*MIXED, 4)
    picture = figures.tax_contributions(parts, LABELS)
    total = sharpening_tax(*MIXED, K=4).tax_A
    assert f"Tax_A(4) = +{total:.2f} tries" in picture.caption
    lost = f"+{parts.tax_A[1, 0]:.2f}"
    assert lost in _texts(_axes(picture))


def test_consistency_shows_both_curves_of_both_arms() -> None:
    axes = _axes(figures.consistency(*MIXED, LABELS, K=6))
    shown = [line.get_ydata() for line in axes.lines]
    ks = range(1, 7)
    wanted = [one(c, n, ks) for c, n in MIXED for one in (curve, hat_curve)]
    assert len(shown) == 4
    for line, values in zip(shown, wanted, strict=True):
        assert line == pytest.approx(values)


def test_a_grid_marks_the_sure_cells_and_shows_the_missing() -> None:
    taxes = {("a", "x"): SURE, ("a", "y"): UNSURE, ("b", "x"): UNKNOWN}
    picture = figures.tax_grid(["a", "b"], ["x", "y"], taxes, 8)
    assert _texts(_axes(picture)) == ["+0.100 *", "\u22120.020", "?", "\u2013"]


def test_grids_from_one_cell_to_a_whole_study() -> None:
    one = figures.tax_grid(["p"], ["b"], {("p", "b"): SURE}, 8)
    pairs, benchmarks = [f"a model of some size {at}" for at in range(14)], ["x", "y", "z"]
    taxes = {(pair, name): UNSURE for pair in pairs for name in benchmarks}
    all_of_it = figures.tax_grid(pairs, benchmarks, taxes, 128)
    assert one.width == all_of_it.width == 4.4
    assert one.height < all_of_it.height < 5
    assert len(all_of_it.svg) < 90_000


@pytest.mark.parametrize(
    "call",
    [
        lambda: figures.tax_grid([], ["b"], {}, 8),
        lambda: figures.tax_grid(["p"], ["b"], {("q", "b"): SURE}, 8),
        lambda: figures.tax_by_size({}, 8),
        lambda: figures.tax_by_size({"a": [(math.nan, SURE)]}, 8),
        lambda: figures.scatter({"a": []}, ("x", "y")),
    ],
)
def test_nothing_to_draw_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(BadArgument, match="Expected"):
        call()


def test_sizes_are_named_on_their_axis() -> None:
    groups = {"one": [(2.7e8, SURE), (1.35e8, UNSURE)], "two": [(3.1e10, UNKNOWN)]}
    axes = _axes(figures.tax_by_size(groups, 8))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["135M", "270M", "31B"]


def test_a_scatter_tells_its_correlation() -> None:
    points = [(Estimate(x, 0.1, x - 0.2, x + 0.2), SURE) for x in (0.1, 0.2, 0.4)]
    found = spearman([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
    axes = _axes(figures.scatter({"a": points}, ("gain", "Tax_S(8)"), found))
    assert axes.get_title(loc="left").startswith("Spearman +0.90 (")
    assert axes.get_ylabel() == "Tax$_S$(8)"


def test_a_scatter_of_one_point_has_no_correlation() -> None:
    found = spearman([1.0], [2.0])
    picture = figures.scatter({"a": [(SURE, UNKNOWN)]}, ("gain", "tax"), found)
    assert "undefined (1\u00a0cell)" in picture.caption
