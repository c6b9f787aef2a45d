"""A study from its file to its table, page and plain data."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from agentenvs.errors import BadArgument, RunDamaged
from agentenvs.harness.report.study.cells import study_budgets
from agentenvs.harness.report.study.entries import crossing
from agentenvs.harness.report.study.report import StudyReport, study_report
from agentenvs.harness.report.study.tables import gain_table, noisy
from agentenvs.harness.report.study.words import caveats, findings, headline, rule, warnings
from agentenvs.harness.tax import crossover, crossover_set, sharpening_tax_interval
from agentenvs.harness.tax.reference import published

_N = 32
Made = Callable[..., Path]
Write = Callable[..., None]


def _shown(report: StudyReport, width: int = 80) -> str:
    out = io.StringIO()
    report.render(Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_a_cell_has_the_measures_of_its_two_runs(found: StudyReport) -> None:
    cell = found.cells[3]
    base, post = cell.counts
    assert (cell.pair.name, cell.benchmark, cell.arm) == ("p1", "two", "post")
    assert cell.tax(16) == sharpening_tax_interval(base, post, 16)
    once = sharpening_tax_interval(base, post, 1)
    assert cell.gain.value == pytest.approx(once.pass_post.value - once.pass_base.value)
    assert (cell.gain.low, cell.gain.high) == (-once.pass_gap.high, -once.pass_gap.low)
    assert cell.crossing.k == crossover(base, post, _N).k


def test_cells_come_by_pair_and_benchmark(found: StudyReport) -> None:
    assert [(cell.pair.name, cell.benchmark) for cell in found.cells] == [
        (f"p{at}", benchmark) for at in range(3) for benchmark in ("one", "two")
    ]
    assert found.ks == (8, 16, 32)
    assert found.main == 16


@pytest.mark.parametrize(
    ("n", "ks"),
    [(128, (8, 32, 64, 128)), (32, (8, 16, 32)), (8, (2, 4, 8)), (3, (2, 3)), (2, (2,))],
)
def test_budgets_follow_from_the_rollouts(n: int, ks: tuple[int, ...]) -> None:
    assert study_budgets(n) == ks


def test_one_rollout_is_too_few(tmp_path: Path, write: Write, toml: Made) -> None:
    for benchmark in ("one", "two"):
        write(tmp_path, f"p0/{benchmark}/base", [0, 1], 1)
        write(tmp_path, f"p0/{benchmark}/post", [1, 1], 1)
    with pytest.raises(BadArgument, match="p0, one, post: expected two rollouts"):
        study_report(toml(tmp_path, [""], ["base", "post"]))


def test_a_budget_beyond_a_cell_names_it(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    path.write_text("K = [64]\n" + path.read_text())
    with pytest.raises(BadArgument, match="32 rollouts in p0, one, post and 5 more"):
        study_report(path)


def test_arms_with_other_tasks_name_the_cell(tmp_path: Path, made: Made, write: Write) -> None:
    path = made(tmp_path)
    write(tmp_path, "p1/two/post", [1] * 24, prefix="other")
    with pytest.raises(BadArgument, match="p1, two, post: .*over the same tasks"):
        study_report(path)


def test_common_tasks_are_compared_if_asked(tmp_path: Path, made: Made, write: Write) -> None:
    path = made(tmp_path)
    write(tmp_path, "p1/two/post", [9] * 20)
    path.write_text("common = true\n" + path.read_text())
    found = study_report(path)
    cell = found.cells[3]
    assert (cell.tasks, len(cell.task_ids)) == (20, 20)
    assert any("compared on 20 of its 24 tasks" in text for text in cell.warnings)


def test_a_damaged_run_is_named(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    (tmp_path / "p1/two/post.jsonl").write_text('{"task_id": 3}\n')
    with pytest.raises(RunDamaged, match=r"p1/two/post.jsonl:1"):
        study_report(path)


def test_skipped_cells_are_told(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    (tmp_path / "p1/two/base.jsonl").unlink()
    found = study_report(path, missing="skip")
    assert (len(found.cells), found.skipped) == (5, ("p1, two, post",))
    assert "Left out, since runs are not there: 1 comparison (p1, two, post)" in " ".join(
        _shown(found).split()
    )


def test_tasks_may_hang_together(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    asked: list[tuple[Mapping[str, Any], Sequence[str], Path | None]] = []

    def clusters(settings: Mapping[str, Any], ids: Sequence[str], path: Path | None) -> list[str]:
        asked.append((settings, ids, path))
        return [name[:2] for name in ids]

    found = study_report(path, clusters=clusters)
    assert {cell.clusters for cell in found.cells} == {10}
    assert len(asked) == 6
    assert (asked[0][1][0], asked[0][2]) == ("t0", None)
    assert "24 tasks as 10 groups" in " ".join(_shown(found).split())
    alone = " ".join(_shown(study_report(path)).split())
    assert "name them under [clusters]" in alone


def test_files_tell_which_tasks_hang_together(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    path.write_text(path.read_text() + '[clusters]\ntwo = "groups.tsv"\n')
    (tmp_path / "groups.tsv").write_text("".join(f"t{at}\tg{at // 4}\n" for at in range(24)))
    found = study_report(path)
    assert {cell.benchmark: cell.clusters for cell in found.cells} == {"one": 24, "two": 6}
    shown = " ".join(_shown(found).split())
    assert "In 3 comparisons each task counts for itself" in shown
    assert "24 tasks as 6 groups" in shown
    alone = study_report(path, clusters=None)
    assert {cell.clusters for cell in alone.cells} == {24}
    (tmp_path / "groups.tsv").write_text("t0\tg0\n")
    with pytest.raises(BadArgument, match="p0, two, post: .*groups.tsv: .*23 have none"):
        study_report(path)


def test_unsolvable_tasks_are_left_out_beside(tmp_path: Path, made: Made, write: Write) -> None:
    path = made(tmp_path)
    path.write_text(path.read_text() + '[unsolvable]\none = "no.txt"\n')
    (tmp_path / "no.txt").write_text("t1\tno size stated\nt5\nelsewhere\n")
    found = study_report(path)
    cell, other = found.cells[0], found.cells[1]
    kept = [at for at in range(24) if at not in (1, 5)]
    base, post = ((arm.c[kept], arm.n[kept]) for arm in cell.counts)
    assert cell.without is not None
    assert cell.without.tasks == 22
    assert cell.without.tax(16) == sharpening_tax_interval(base, post, 16)
    assert cell.tasks == 24
    assert other.without is None
    assert [one.K for one in found.signs_without] == [8, 16, 32]
    shown = " ".join(_shown(found).split())
    assert "- without 2 of 24" in shown
    assert "In 3 comparisons some tasks are told to be unsolvable" in shown
    assert "without unsolvable tasks" in found.page()
    plain = found.to_dict()
    assert plain["cells"][0]["without_unsolvable"]["tasks"] == 22
    assert plain["cells"][1]["without_unsolvable"] is None
    assert study_report(path, unsolvable=None).signs_without == ()
    (tmp_path / "no.txt").write_text("".join(f"t{at}\n" for at in range(24)))
    with pytest.raises(BadArgument, match="p0, one, post: all of its 24 tasks"):
        study_report(path)


def test_the_headline_tells_both_sides(tmp_path: Path, toml: Made, write: Write) -> None:
    one, two = [0] * 20 + [7, 9] * 10, [3, 5] * 20
    for pair, arms in (("p0", (one, two)), ("p1", (two, one))):
        for benchmark in ("one", "two"):
            for arm, c in zip(("base", "post"), arms, strict=True):
                write(tmp_path, f"{pair}/{benchmark}/{arm}", c)
    found = study_report(toml(tmp_path, ["", ""], ["base", "post"], "K = [16]\n"))
    assert headline(found) == (
        "Beyond chance, training raised success at the first try in none of 4\u00a0comparisons and "
        "lowered it in none; with 16 tries it raised success in 2 and lowered it in 2."
    )
    assert "surely" not in " ".join((headline(found), rule(found), *findings(found)))
    assert any("5 of 100 leave out 0 by chance" in one for one in caveats(found))


def test_stars_show_the_cells_that_sentences_count(found: StudyReport) -> None:
    table = gain_table(found.cells, found.main, found.changes)
    after = [row[2].text for _, rows in table.blocks for row in rows]
    counted = next(one for one in found.changes if one.K == 1)
    assert sum(text.endswith("**") for text in after) == len(counted.found) > 0
    assert sum(text.endswith("*") for text in after) == counted.sure_above + counted.sure_below


def test_budgets_are_judged_by_each_cells_rollouts(
    tmp_path: Path, toml: Made, write: Write
) -> None:
    for pair in ("p0", "p1"):
        for benchmark, n in (("one", 32), ("two", 64 if pair == "p0" else 128)):
            for arm in ("base", "post"):
                write(tmp_path, f"{pair}/{benchmark}/{arm}", [1, 5, 9], n)
    found = study_report(toml(tmp_path, ["", ""], ["base", "post"], "K = [8, 16, 32]\n"))
    assert [noisy(found.cells, k) for k in (16, 32, 40)] == [None, " (one)", " (one, two: 1 of 2)"]
    assert noisy(found.cells, 100) == ""
    assert "scatter most: K = 32 (one)." in " ".join(_shown(found).split())


def test_cells_that_share_tasks_are_dependent(found: StudyReport) -> None:
    assert (found.dependence.bases, found.dependence.tasks) == (0, 6)
    assert "not independent" in " ".join(_shown(found).split())


def test_the_predictor_uses_what_the_file_says(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    text = path.read_text().replace(
        "\n[[pairs]]", "\n[predict]\nearly_rollouts = 4\nearly_K = 4\nsplits = 7\n[[pairs]]", 1
    )
    path.write_text(text)
    made = study_report(path).prediction
    assert made is not None
    assert (made.early_rollouts, made.early_K, made.late_K, made.splits) == (4, 4, 32, 7)


def test_predictor_settings_that_cannot_be_met_are_refused(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    text = path.read_text().replace("\n[[pairs]]", "\n[predict]\nlate_K = 64\n[[pairs]]", 1)
    path.write_text(text)
    with pytest.raises(BadArgument, match=r"study.toml: \[predict\]: .*late_K"):
        study_report(path)


def test_few_cells_foretell_nothing(tmp_path: Path, made: Made) -> None:
    found = study_report(made(tmp_path, 1))
    assert found.prediction is None
    assert "needs four" in " ".join(_shown(found).split())


def test_published_cells_stand_beside_the_same_ones(tmp_path: Path, write: Write) -> None:
    row = next(one for one in published()["cells"]["rows"] if one["benchmark"] == "BFCL")
    rng = np.random.default_rng(1)
    for name in ("same", "other"):
        for arm in ("base", "post"):
            tasks = row["tasks"] + (name == "other")
            write(tmp_path, f"{name}/{arm}", rng.integers(0, 129, tasks), 128)
    text = (
        'benchmarks = ["bfcl"]\narms = ["base", "post"]\nK = [8, 64]\n[[pairs]]\n'
        f'name = "{row["model"].upper()}"\n'
        '[pairs.runs.bfcl]\nbase = "same/base.jsonl"\npost = "same/post.jsonl"\n'
        '[[pairs]]\nname = "other"\n'
        '[pairs.runs.bfcl]\nbase = "other/base.jsonl"\npost = "other/post.jsonl"\n'
    )
    path = tmp_path / "study.toml"
    path.write_text(text)
    found = study_report(path)
    (one,) = found.published.cells
    assert one.tax_S == {8: row["tax_S"]["8"]}
    assert found.published.positive is None
    assert "Beside what was published" in found.page()


def test_a_choice_is_made_where_it_is_asked_for(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    path.write_text("price = [1, 2]\n" + path.read_text())
    found = study_report(path)
    assert found.study.budget == 16
    assert all(cell.choice is not None for cell in found.cells)
    shown = _shown(found)
    assert "Which model to ask" in shown
    assert max(map(len, shown.splitlines())) <= 80
    best = found.cells[0].choice
    assert best is not None
    assert best.best is not None
    solves = best.best.coverage
    half = max(solves.high - solves.value, solves.value - solves.low)
    assert f"{100 * solves.value:.0f} % \u00b1{100 * half:.0f}" in shown
    assert found.to_dict()["cells"][0]["choice"]["best"]["k"] >= 1


def test_no_choice_without_a_question(found: StudyReport) -> None:
    assert all(cell.choice is None for cell in found.cells)
    assert "Which model to ask" not in _shown(found)


def test_the_crossing_has_the_interval_of_two_runs(found: StudyReport) -> None:
    for cell in found.cells:
        k, ends = crossing(cell.crossing)
        told = crossover_set(*cell.counts, _N)
        low, high = (f">{_N}" if end is None else str(end) for end in (told.low, told.high))
        assert ends in (f"{low} to {high}", "undecided", low if low != k else "")
    data = found.to_dict()["cells"][0]["crossover"]
    assert (data["low"], data["high"]) == (
        found.cells[0].crossing.low,
        found.cells[0].crossing.high,
    )


def test_warnings_come_once_with_their_cells(found: StudyReport) -> None:
    ((text, names),) = warnings(found.cells)
    assert "nothing is known of how the outcomes were made" in text
    assert len(names) == 6


def test_scripted_policies_are_marked(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    rows = [
        {"task_id": f"t{at}", "pass_flags": [True] * _N, "scripted": True, "policy": "scripted"}
        for at in range(24)
    ]
    (tmp_path / "p0/one/post.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = study_report(path)
    assert found.scripted
    assert "no model was measured" in _shown(found)
    assert "no model was measured" in found.page()


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_the_terminal(found: StudyReport, width: int) -> None:
    shown = _shown(found, width)
    assert max(map(len, shown.splitlines())) <= width
    for text in ("Made up", "Tax_S(16)", "p2", "What came out"):
        assert text in shown


def test_markup_in_names_is_shown_as_it_is(tmp_path: Path, made: Made) -> None:
    path = made(tmp_path)
    path.write_text(path.read_text().replace('"Made up"', '"[red]<b>$x\\u001b[1m"'))
    found = study_report(path)
    assert "[red]<b>$x" in _shown(found)
    assert "\x1b" not in _shown(found)
    assert "&lt;b&gt;$x" in found.page()


def test_plain_data_is_json_and_whole(found: StudyReport) -> None:
    plain = json.loads(json.dumps(found.to_dict()))
    assert len(plain["cells"]) == 6
    cell = plain["cells"][0]
    assert cell["rows"][1]["tax_S"]["value"] == found.cells[0].tax(16).tax_S.value
    assert set(cell["pass_at_1"]) == {"base", "post"}
    assert plain["signs"][0]["K"] == 8
    assert len(plain["prediction"]["rhos"]) == plain["prediction"]["splits"]


def test_pictures_have_names_of_their_own(found: StudyReport) -> None:
    names = [picture.name for picture in found.pictures()]
    assert len(set(names)) == len(names)
    assert set(names) >= {
        "prediction",
        *(f"tax_{name}_{k}" for name in ("grid", "over_gain", "by_size_0_one") for k in found.ks),
    }
    assert all(re.fullmatch(r"\w+", name, flags=re.ASCII) for name in names)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        wanted = ("src", "href", "srcset", "xlink:href")
        links = [value or "" for name, value in attrs if name in wanted]
        self.found += [link for link in links if tag != "a" and not link.startswith(("#", "data:"))]


def test_the_page_asks_nothing_of_the_network(found: StudyReport) -> None:
    page = found.page()
    links = _Links()
    links.feed(page)
    assert links.found == []
    assert "script" not in links.tags
    assert len(page.encode()) < 3_000_000
    assert page.count("<svg") == len(found.pictures())


def test_the_answer_comes_before_its_details(found: StudyReport) -> None:
    page = found.page()
    first = page.index("figure-tax_grid_16")
    assert page.index("Beyond chance, training raised") < first < page.index("<li>With 16 tries")
    assert page.index("The same with 8 and 32 tries") < page.index("figure-tax_grid_8'")
    assert first < page.index("figure-tax_grid_8'")


def test_the_same_study_gives_the_same_page(tmp_path: Path, found: StudyReport, made: Made) -> None:
    assert study_report(made(tmp_path)).page() == found.page()


def test_arms_that_never_fail_have_no_tax(tmp_path: Path, made: Made, write: Write) -> None:
    path = made(tmp_path)
    write(tmp_path, "p0/one/post", [_N] * 24)
    found = study_report(path)
    assert math.isnan(found.cells[0].tax(8).tax_S.value)
    assert found.signs[0].cells == 5
    assert "undefined" in _shown(found)
    assert found.page()


def test_arms_without_any_success_are_reported(tmp_path: Path, made: Made, write: Write) -> None:
    path = made(tmp_path)
    for at in range(3):
        for benchmark in ("one", "two"):
            for arm in ("base", "post"):
                write(tmp_path, f"p{at}/{benchmark}/{arm}", [0] * 24)
    found = study_report(path)
    assert all(cell.crossing.same for cell in found.cells)
    assert "same" in _shown(found)
    assert found.page()
