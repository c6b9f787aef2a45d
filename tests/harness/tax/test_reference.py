"""The published figures, recomputed as far as what is published determines them.

`first_cell.json` holds solve counts of 500 tasks for both arms of the first cell. They are not the
paper's: they were solved for (an integer program over how many tasks have each count) so as to
agree with everything that is published of the cell at once.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agentenvs.harness.tax import (
    area,
    compare,
    crossover,
    curve,
    decompose,
    partition,
    partition_interval,
    pass_at_k_interval,
    published,
    s_max,
    scalability,
    sharpening_tax,
    sharpening_tax_interval,
    spearman,
)

N = 128
MARGINALS = {"base": (62, 438, 0), "post": (220, 150, 130)}
CELLS = published()["cells"]["rows"]
FIRST = CELLS[0]
FIGURES = {row["name"]: row["value"] for row in published()["figures"]}


def printed(value: float, digits: int) -> object:
    """Return what compares equal to every number that is printed as `value`."""
    return pytest.approx(value, abs=0.5 * 10**-digits * (1 + 1e-9), rel=0)


def by_marginals(name: str, seed: int) -> NDArray[np.int64]:
    """Return counts with the published bins; those of the middle one are anything between."""
    never, sometimes, always = MARGINALS[name]
    between = np.random.default_rng(seed).integers(1, N, sometimes)
    return np.concatenate((np.zeros(never, int), between, np.full(always, N)))


@pytest.fixture(scope="module")
def cell() -> tuple[tuple[NDArray[np.int64], int], tuple[NDArray[np.int64], int]]:
    raw = json.loads(Path(__file__).with_name("first_cell.json").read_text())
    base, post = (
        np.repeat([int(c) for c in raw[arm]], list(raw[arm].values())) for arm in ("base", "post")
    )
    return (base, N), (np.random.default_rng(0).permutation(post), N)


def test_each_figure_names_its_source() -> None:
    data = published()
    used = {row["source"] for row in data["figures"]} | {
        data[table]["source"] for table in ("cells", "ptgs")
    }
    assert used == set(data["sources"])
    assert data["paper"]["arxiv"] == "2610.01509"
    assert len(FIGURES) == len(data["figures"])


def test_what_is_returned_is_the_callers_own() -> None:
    published()["cells"]["rows"].clear()
    assert len(published()["cells"]["rows"]) == 12


@pytest.mark.parametrize("seed", range(3))
def test_the_published_bins_determine_pass_at_128_and_the_partition(seed: int) -> None:
    base, post = by_marginals("base", seed), by_marginals("post", seed)
    for name, c in (("base", base), ("post", post)):
        assert float(curve(c, N, [N])[0]) == pytest.approx(FIGURES[f"webshop_pass_128_{name}"])
        assert partition(c, N) == pytest.approx(FIGURES[f"webshop_partition_{name}"])
        told = partition_interval(c, N)
        assert [share.value for share in told] == pytest.approx(
            FIGURES[f"webshop_partition_{name}"]
        )
        assert pass_at_k_interval(c, N, N).value == pytest.approx(
            FIGURES[f"webshop_pass_128_{name}"]
        )
    found = crossover((base, N), (post, N), N)
    assert found.gap[-1] == pytest.approx(0.316)
    table = decompose((base, N), (post, N), N)
    assert table.tasks.sum(axis=1).tolist() == list(MARGINALS["base"])
    assert table.tasks.sum(axis=0).tolist() == list(MARGINALS["post"])


@pytest.mark.parametrize("arm", [0, 1])
@pytest.mark.parametrize("row", CELLS, ids=lambda row: f"{row['model']} {row['benchmark']}")
def test_scalability_follows_from_area_and_failures(row, arm: int) -> None:
    below = 127 * (1 - np.array([row["pass_1"][arm] + e for e in (-5e-4, 5e-4)]))
    low, high = (row["A"][arm] - 0.005) / below[0], (row["A"][arm] + 0.005) / below[1]
    assert low - 5e-5 <= row["S"][arm] <= high + 5e-5
    assert 0 < row["S"][arm] < s_max(128)


@pytest.mark.parametrize("row", CELLS, ids=lambda row: f"{row['model']} {row['benchmark']}")
def test_the_tax_is_the_drop_of_scalability(row) -> None:
    assert row["tax_S"]["128"] == pytest.approx(row["S"][0] - row["S"][1], abs=5e-4 + 1e-4)


@pytest.mark.parametrize("row", CELLS, ids=lambda row: f"{row['model']} {row['benchmark']}")
def test_the_crossing_fits_the_ends_of_the_curves(row) -> None:
    (one_base, one_post), (last_base, last_post) = row["pass_1"], row["pass_128"]
    assert one_base < one_post
    assert (row["crossover"] is not None) == (last_base >= last_post)
    if row["crossover"] is not None:
        assert 1 < row["crossover"] <= 128


def test_the_sign_is_positive_in_eleven_of_twelve() -> None:
    last = np.array([row["tax_S"]["128"] for row in CELLS])
    assert (last > 0).sum() == 11
    assert [CELLS[at]["model"] for at in np.flatnonzero(last < 0)] == ["Qwen3.5-35B-A3B"]
    positive, cells = FIGURES["positive_tax_S_128"]
    # The twelve are among the 42, so that the others hold the rest of the signs.
    assert 0 <= positive - 11 <= cells - 12
    assert math.prod(FIGURES["cells"]) == cells


def test_two_cells_are_not_told_from_zero_and_the_sign_changes_with_the_budget() -> None:
    near = [row for row in CELLS if abs(row["tax_S"]["128"]) < 1.45 * row["se"]]
    assert {row["model"] for row in near} == {"Qwen3.5-35B-A3B", "Ministral-3-14B"}
    assert len(near) == 2
    flips = [row for row in CELLS if len({value > 0 for value in row["tax_S"].values()}) == 2]
    assert len(flips) == 6


def test_the_order_of_the_cells_changes_with_the_budget() -> None:
    taxes = {k: [row["tax_S"][k] for row in CELLS] for k in ("8", "32", "128")}
    near, far = (spearman(taxes["8"], taxes[k]).rho for k in ("32", "128"))
    assert near > 0.7
    assert far < 0.4


def test_the_theorem_comes_near_once_unsolved_tasks_are_shared_out() -> None:
    gaps = []
    for row in CELLS:
        kept = row["A"][1] / row["A"][0]
        still = kept * (1 - row["pass_1"][0])
        never = [1 - share for share in row["pass_128"]]
        observed = row["S"][1] / row["S"][0]
        lost = (never[1] - kept * never[0], never[1] - never[0])
        gaps.append([abs(still / (still + share) - observed) for share in lost])
    shared, plain = np.array(gaps).T
    assert [(shared < 0.05).sum(), (shared < 0.1).sum()] == [7, 9]
    assert (plain < 0.1).sum() == 2


def test_ptgs_lowered_the_tax_everywhere() -> None:
    rows = published()["ptgs"]["rows"]
    assert len(rows) == 4
    for row in rows:
        assert row["tax_S_128"][1] < row["tax_S_128"][0]
        assert row["pass_128"][0] < row["pass_128"][1]
        assert row["pass_1"][0] < row["pass_1"][1] < row["pass_128"][1]


def test_counts_that_fit_give_all_figures_of_the_first_cell(cell) -> None:
    base, post = cell
    assert len(base[0]) == len(post[0]) == FIRST["tasks"]
    for arm, (c, n) in enumerate(cell):
        assert float(np.mean(c / n)) == printed(FIRST["pass_1"][arm], 3)
        assert float(curve(c, n, [128])[0]) == printed(FIRST["pass_128"][arm], 3)
        assert float(np.mean(area(c, n, 128))) == printed(FIRST["A"][arm], 2)
        assert scalability(c, n, 128) == printed(FIRST["S"][arm], 4)
        assert partition(c, n) == pytest.approx(
            FIGURES[f"webshop_partition_{('base', 'post')[arm]}"]
        )
    for k, tax in FIRST["tax_S"].items():
        assert sharpening_tax(base, post, int(k)).tax_S == printed(tax, 3)
    last = sharpening_tax(base, post, 128)
    assert last.tax_A == printed(FIGURES["webshop_tax_A_128"], 2)
    assert last.tax_S == printed(0.0364, 4)
    assert last.tax_S == printed(FIGURES["webshop_tax_S_128"], 3)
    found = crossover(base, post, 128)
    assert found.k == FIRST["crossover"] == FIGURES["webshop_crossover"]
    assert found.gap[-1] == pytest.approx(0.316)


def test_intervals_and_tables_of_the_first_cell_agree_with_its_figures(cell) -> None:
    base, post = cell
    told = sharpening_tax_interval(base, post, 128)
    apart = math.hypot(told.S_base.se, told.S_post.se)
    assert apart == printed(FIRST["se"], 3)
    assert told.tax_S.value == printed(0.0364, 4)
    assert told.tax_S.low > 0
    table = decompose(base, post, 128)
    assert float(table.tax_A.sum()) == printed(4.49, 2)
    page = compare(base, post)
    assert page.crossing.k == 3
    rows = {row.K: row.measures for row in page.rows}
    assert rows[8].tax_S.value == printed(FIRST["tax_S"]["8"], 3)
    assert rows[32].tax_S.value == printed(FIRST["tax_S"]["32"], 3)
