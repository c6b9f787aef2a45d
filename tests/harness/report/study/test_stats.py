"""What a study's cells say together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentenvs.harness.report.study.report import StudyReport, study_report
from agentenvs.harness.report.study.stats import changes, dependence, lines, relations, signs
from agentenvs.harness.tax import spearman

Made = Callable[..., Path]


def test_unequal_groups_are_tested_as_their_intervals_are_made(tmp_path: Path, made: Made) -> None:
    def most_in_one(
        settings: Mapping[str, Any], ids: Sequence[str], path: Path | None
    ) -> list[str]:
        return ["big" if at < 16 else name for at, name in enumerate(ids)]

    path = made(tmp_path)
    found = study_report(path, clusters=most_in_one)
    assert {cell.clusters for cell in found.cells} == {9}
    assert all(1 < cell.worth < 1.1 for cell in found.cells)
    for one in signs(found.cells, found.ks, dependent=False, rate=0.5):
        taxes = [cell.tax(one.K).tax_S for cell in found.cells]
        assert one.found_above <= one.sure_above == sum(tax.low > 0 for tax in taxes)
    alone = study_report(path, clusters=lambda settings, ids, path: ["one"] * len(ids))
    assert all(one.found_above == one.found_below == 0 for one in alone.signs)


def test_signs_are_counted_with_and_without_intervals(found: StudyReport) -> None:
    for one in signs(found.cells, found.ks, dependent=True):
        taxes = [cell.tax(one.K).tax_S for cell in found.cells]
        assert one.above == sum(tax.value > 0 for tax in taxes)
        assert one.below == sum(tax.value < 0 for tax in taxes)
        assert one.sure_above == sum(tax.low > 0 for tax in taxes)
        assert one.found_above <= one.sure_above <= one.above <= one.cells == 6


def test_what_is_found_is_named(found: StudyReport) -> None:
    for one in (*found.signs, *found.changes):
        assert len(one.found) == one.found_above + one.found_below
    one = next(one for one in found.changes if (one.measure, one.K) == ("pass@k", 1))
    assert one.found
    assert all(found.cells[at].gain.sure for at in one.found)


def test_changes_of_success_are_counted_both_ways(found: StudyReport) -> None:
    told = {(one.measure, one.K): one for one in changes(found.cells, found.ks, dependent=True)}
    assert list(told) == [*(("pass@k", k) for k in (1, 8, 16, 32)), ("pass^k", 8)]
    gaps = [cell.tax(32).pass_gap for cell in found.cells]
    assert told["pass@k", 32].above == sum(gap.value < 0 for gap in gaps)
    assert told["pass@k", 32].sure_below == sum(gap.low > 0 for gap in gaps) > 0
    assert told["pass@k", 1].sure_above == sum(cell.gain.low > 0 for cell in found.cells)


def test_any_dependence_finds_no_more(found: StudyReport) -> None:
    strict = signs(found.cells, found.ks, dependent=True)
    plain = signs(found.cells, found.ks, dependent=False)
    assert {one.method for one in strict} == {"Benjamini-Yekutieli"}
    for one, two in zip(strict, plain, strict=True):
        assert one.found_above + one.found_below <= two.found_above + two.found_below


def test_signs_of_several_arms_add_up(tmp_path: Path, made: Made) -> None:
    found = study_report(made(tmp_path, 2, ("base", "a", "b")))
    by_arm = {(one.arm, one.K): one for one in found.signs}
    assert {arm for arm, _ in by_arm} == {None, "a", "b"}
    for k in found.ks:
        every, a, b = (by_arm[arm, k] for arm in (None, "a", "b"))
        assert every.above == a.above + b.above
        assert every.found_above == a.found_above + b.found_above


def test_cells_that_share_a_base_are_dependent(tmp_path: Path, made: Made) -> None:
    found = study_report(made(tmp_path, 1, ("base", "a", "b")))
    # Of one benchmark only one base played the tasks.
    assert (found.dependence.bases, found.dependence.tasks) == (4, 0)


def test_a_single_cell_hangs_on_nothing(found: StudyReport) -> None:
    assert not dependence(found.cells[:1]).any


def test_relations_are_rank_correlations_over_cells(found: StudyReport) -> None:
    told = {(one.against, one.K, one.benchmark): one.found for one in found.relations}
    # Three cells of each benchmark are too few.
    assert {benchmark for _, _, benchmark in told} == {None}
    gains = [cell.gain.value for cell in found.cells]
    taxes = [cell.tax(16).tax_S.value for cell in found.cells]
    assert told["gain", 16, None] == spearman(gains, taxes)
    assert ("size", 8, None) in told
    assert ("consistency", 8, None) in told


def test_relations_of_each_benchmark_need_four_cells(tmp_path: Path, made: Made) -> None:
    found = study_report(made(tmp_path, 4))
    assert {one.benchmark for one in relations(found.cells, (8,))} == {None, "one", "two"}


def test_sizes_that_are_not_told_are_left_out(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    path.write_text(re.sub(r"size = .*\n", "", path.read_text()))
    found = study_report(path)
    assert found.lines == ()
    assert {one.against for one in found.relations} == {"gain", "consistency"}


def test_lines_go_by_size(found: StudyReport) -> None:
    told = {(line.family, line.benchmark): line for line in lines(found.cells, found.ks)}
    line = told["f0", "one"]
    assert line.pairs == ("p0", "p2")
    assert line.sizes == (1e9, 3e9)
    assert line.taxes[1][1] == found.cells[4].tax(16).tax_S
