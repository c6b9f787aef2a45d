from __future__ import annotations

import math
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import RunDamaged
from agentenvs.harness.lab.config import bundled
from agentenvs.harness.lab.effects import measures
from agentenvs.harness.lab.folder import StudyFolder, read_json, write_json
from agentenvs.harness.lab.glossary import glossary
from agentenvs.harness.lab.heat import heat_bins, heat_curve
from agentenvs.harness.lab.matched import Point, at_pass_1, matched, path
from agentenvs.harness.lab.results import Results, read_results
from agentenvs.harness.lab.student import over_seeds
from agentenvs.harness.lab.summary import summarise
from agentenvs.harness.lab.tables import PAIRS, _k_star, number, tables
from agentenvs.harness.lab.verdicts import heat_verdict
from agentenvs.harness.lab.words import words
from agentenvs.harness.tax import curve, partition, sharpening_tax

ARMS = ["base", "instruct", "grpo", "grpo-ptgs", "opd", "instruct-grpo"]


@pytest.fixture(scope="module")
def three(studies: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Results:
    path = tmp_path_factory.mktemp("three") / "s"
    return read_results(studies.make(path, studies.named(), ARMS, [0, 1, 2]))


@pytest.fixture(scope="module")
def one(studies: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Results:
    path = tmp_path_factory.mktemp("one") / "s"
    return read_results(studies.make(path, studies.named(), ["base", "grpo", "grpo-ptgs"], [0]))


def text(results: Results) -> str:
    sections = words(summarise(results), bundled())
    return "\n".join(line for title, lines in sections for line in (title, *lines))


def test_measures_are_those_of_the_tax(three: Results) -> None:
    found = measures(three, "grpo", 1)
    base, post = three.counts("base", 1), three.counts("grpo", 1)
    odd = three.exception
    assert found["pass_1"] == pytest.approx((post.c / post.n).mean())
    assert found["pass_n"] == pytest.approx((post.c > 0).mean())
    assert found["never"] == pytest.approx(partition(post.c, post.n).never)
    assert found["tax_8"] == sharpening_tax(base, post, 8).tax_S
    assert found["exception_n"] == curve(post.c[odd], post.n[odd], [16])[0]
    assert odd.sum() == 80
    assert found["cpu_s"] == 3.5


def test_a_tax_is_against_the_start_of_the_arm(three: Results) -> None:
    start, post = three.counts("instruct", 0), three.counts("instruct-grpo", 0)
    assert measures(three, "instruct-grpo", 0)["tax_8"] == sharpening_tax(start, post, 8).tax_S
    assert math.isnan(measures(three, "base", 0)["tax_8"])
    # The same outcomes as the start's: curves that are the same do not cross.
    assert math.isnan(measures(three, "instruct", 0)["k_star"])


def test_means_have_the_t_interval_over_seeds(three: Results) -> None:
    arm = summarise(three)["arms"]["grpo"]
    values = [arm["by_seed"][str(seed)]["pass_1"] for seed in range(3)]
    assert arm["spread"]["pass_1"] == over_seeds(values)._asdict()
    starts = [measures(three, "base", seed)["pass_1"] for seed in range(3)]
    gains = [own - start for own, start in zip(values, starts, strict=True)]
    assert arm["change"]["pass_1"]["values"] == pytest.approx(gains)
    assert summarise(three)["arms"]["base"]["change"] == {}


def test_pairs_are_differences_seed_by_seed(three: Results) -> None:
    pairs = {pair["arm"]: pair for pair in summarise(three)["pairs"]}
    assert set(pairs) == {"grpo-ptgs", "opd"}
    found = pairs["grpo-ptgs"]["differences"]["tax_8"]
    expected = [
        measures(three, "grpo-ptgs", seed)["tax_8"] - measures(three, "grpo", seed)["tax_8"]
        for seed in range(3)
    ]
    assert found["values"] == pytest.approx(expected)
    assert found["low"] < found["mean"] < found["high"]


def test_one_seed_has_no_interval_over_seeds(one: Results) -> None:
    summary = summarise(one)
    for arm in summary["arms"].values():
        assert all(math.isnan(spread["low"]) for spread in arm["spread"].values())
    (pair,) = summary["pairs"]
    assert math.isnan(pair["differences"]["pass_1"]["high"])
    assert pair["within"]["pass_1"]["low"] < pair["within"]["pass_1"]["high"]
    told = text(one)
    assert "no interval over seeds" in told
    assert "No arm can be said to be better" in told
    assert "*" not in "".join(c for table in tables(summary)[:4] for row in table.rows for c in row)


def test_a_path_goes_from_the_start_to_the_end(three: Results) -> None:
    points = path(three, "grpo", 0)
    assert [point.step for point in points] == [0, 3, 6]
    assert points[0].tax == 0
    assert points[-1].pass_1 == pytest.approx(measures(three, "grpo", 0)["pass_1"])
    assert path(three, "base", 0) == []


def test_interpolation_is_linear_and_takes_the_first_crossing() -> None:
    points = [Point(0, 0.2, 0.9, 0.0), Point(10, 0.4, 0.8, 0.1), Point(20, 0.3, 0.7, 0.2)]
    assert at_pass_1(points, 0.3) == pytest.approx(Point(5, 0.3, 0.85, 0.05))
    assert at_pass_1(points, 0.5) is None
    assert at_pass_1(points[:1], 0.2) is None


def test_arms_meet_at_the_lower_of_their_best(three: Results) -> None:
    found = matched(three, "grpo-ptgs", "grpo", 0)
    assert found is not None
    best = [max(point.pass_1 for point in path(three, arm, 0)) for arm in ("grpo", "grpo-ptgs")]
    assert found.pass_1 == min(best)
    assert found.arm.pass_1 == pytest.approx(found.against.pass_1)
    assert matched(three, "instruct", "base", 0) is None


def test_heat_is_measured_by_other_rollouts_than_those_that_bin(three: Results) -> None:
    bins = heat_bins(three, "base", 0)
    ends = [0.05, 0.25, 0.5]
    assert [one.low for one in bins] == [0.0, *ends]
    assert sum(one.tasks for one in bins) == 200
    rank = three.counts("base", 0)
    mine = rank.c / rank.n < 0.05
    cold = three.found["base", 0].probe[1.0]
    assert bins[0].cold == pytest.approx((cold.c / cold.n)[mine].mean())
    # The tables of chances lose by heat.
    assert bins[3].gain < 0
    found = heat_curve(three, "base", 0)
    assert found.temperatures == (0.7, 1.0, 1.5)
    assert found.p.shape == (4, 3)
    assert (np.diff(found.p[3]) < 0).all()


def test_the_words_name_what_ran_and_what_did_not(one: Results) -> None:
    told = text(one)
    assert "Arms that ran: 3 of 21: base; GRPO; GRPO + PTGS." in told
    assert "Arms that did not run: instruct-like" in told
    assert "Seeds that ran: 0." in told
    assert "Seeds that did not run: all from 1" in told
    assert "Temperatures that ran: T = 1 and 0.7" in told
    assert "Temperatures of the study that did not run: T = 0.5, 1.3" in told
    assert "smoke" not in told


def test_a_star_marks_what_the_seeds_decide_on_either_side(three: Results) -> None:
    summary = summarise(three)
    pair = next(pair for pair in summary["pairs"] if pair["arm"] == "grpo-ptgs")
    for low, high, expected in (
        (0.01, 0.03, "+0.020* ±0.010"),
        (-0.03, -0.01, "-0.020* ±0.010"),
        (-0.01, 0.05, "+0.020 ±0.030"),
    ):
        pair["differences"]["pass_1"] |= {"mean": (low + high) / 2, "low": low, "high": high}
        table = next(one for one in tables(summary) if one.title == PAIRS)
        row = next(row for row in table.rows if row[0] == "GRPO + PTGS - GRPO")
        assert row[table.columns.index("pass@1")] == expected


def test_what_training_changed_is_a_table(three: Results, one: Results) -> None:
    for results in (three, one):
        summary = summarise(results)
        table = next(made for made in tables(summary) if made.title == "What training changed")
        row = next(row for row in table.rows if row[0] == "GRPO")
        change = summary["arms"]["grpo"]["change"]["pass_1"]["mean"]
        assert row[2].startswith(number(change, sign=True))
        assert ("±" in row[2]) == (len(summary["seeds"]) > 1)
        assert "base" not in [row[0] for row in table.rows]


def spread(mean: float, half: float, seeds: int = 3) -> dict[str, Any]:
    return {"mean": mean, "low": mean - half, "high": mean + half, "seeds": seeds}


def told_first(summary: dict[str, Any]) -> list[str]:
    return next(lines for title, lines in words(summary, bundled()) if title == "In short")


@pytest.mark.parametrize(
    ("mean", "half", "expected"),
    [
        (0.1, 0.05, "ahead with one try and ahead with 16 on training tasks"),
        (-0.1, 0.05, "behind with one try and behind with 16 on training tasks"),
        (0.0001, 0.0, "level with one try and level with 16 on training tasks"),
        (0.1, 0.2, "These seeds do not decide any of it."),
    ],
)
def test_in_short_begins_with_what_the_numbers_mean(
    three: Results, mean: float, half: float, expected: str
) -> None:
    summary = summarise(three)
    for key in ("pass_1", "pass_n", "heldout_1", "heldout_n"):
        summary["arms"]["grpo"]["change"][key] = spread(mean, half)
    first, second, *_ = told_first(summary)
    share = 100 * summary["arms"]["base"]["spread"]["pass_1"]["mean"]
    assert first.startswith(
        f"With one try the base model solves {share:.0f}\u00a0% of the training"
    )
    assert "GRPO is " in second
    assert expected in second
    assert ("do not decide" in second) == (half > abs(mean))


def test_in_short_names_what_the_seeds_leave_open(three: Results) -> None:
    summary = summarise(three)
    change = summary["arms"]["grpo"]["change"]
    for key in ("pass_1", "heldout_1", "heldout_n"):
        change[key] = spread(0.1, 0.05)
    change["pass_n"] = spread(-0.1, 0.2)
    second = told_first(summary)[1]
    assert second.endswith("do not decide how it stands on training tasks with 16.")


def test_in_short_of_one_seed_says_so(one: Results) -> None:
    told = told_first(summarise(one))
    assert told[-1].startswith("One seed: in another, any of this may come out the other way")
    assert not any("decide" in line for line in told)
    assert told[2].startswith("GRPO + PTGS, the same training with temperatures set by a sampler")


def test_a_study_without_training_has_no_comparison(studies: ModuleType, tmp_path: Path) -> None:
    results = read_results(studies.make(tmp_path / "s", studies.named(), ["base"], [0, 1]))
    titles = [title for title, _ in words(summarise(results), bundled())]
    assert "What ran, and what did not" in titles
    assert "With one try" not in text(results)
    assert [table.title for table in tables(summarise(results))][1].startswith("Held-out")


def test_a_smoke_study_says_what_ran_and_claims_nothing(
    studies: ModuleType, tmp_path: Path
) -> None:
    results = read_results(studies.make(tmp_path / "s", studies.small(), ARMS[:3], [0, 1]))
    (first, (quick,)), (second, _) = words(summarise(results), bundled())
    assert (first, second) == ("Read this first", "What ran, and what did not")
    assert "measure nothing" in quick


def test_heating_is_counted_in_both_directions(three: Results) -> None:
    summary = summarise(three)
    for at, gain in ((0, 0.1), (-1, -0.1)):
        for arm in summary["arms"].values():
            for bins in arm["heat"].values():
                bins[at] |= {"gain": gain, "tasks": 9}
    count = len(summary["arms"])
    told = words(summary, bundled())
    hard, easy = next(lines for title, lines in told if title == "Does heating raise success?")
    assert f"in {count} of {count} models and less in 0;" in hard
    assert f"in 0 of {count} models and less in {count};" in easy


def test_terms_are_told_with_the_numbers_of_the_study(three: Results) -> None:
    summary = summarise(three)
    terms = dict(glossary(summary))
    assert "the 200 training tasks; the 120 held-out" in terms["Training and held-out tasks"]
    assert "(80 of" in terms["Canonical tasks, exceptions"]
    assert "> 16" in terms["k*"]
    assert "transformer, " in terms["Model and task"]
    for arm in summary["arms"].values():
        arm["weights"] = 134_336
    assert "134,336 weights" in dict(glossary(summary))["Model and task"]


def test_arms_with_temperatures_of_their_own_are_counted_apart(three: Results) -> None:
    assert "against the same training at fixed T = 1: 1. Of these" in text(three)


def test_a_missing_job_is_told(one: Results, three: Results) -> None:
    results = Results(one.config, one.found, (("base", "grpo", "ppo"), (0, 4)), one.exception)
    missing = summarise(results)["not_run"]["missing"]
    assert ["ppo", 0] in missing
    assert ["grpo", 4] in missing
    assert "Asked for and not finished: " in text(results)


def test_tables_have_a_cell_for_every_column(one: Results, three: Results) -> None:
    for results in (one, three):
        made = tables(summarise(results))
        assert len(made) == 6
        for table in made:
            assert table.note
            assert all(len(row) == len(table.columns) for row in table.rows)
    first = tables(summarise(three))[0]
    row = next(row for row in first.rows if row[0] == "GRPO")
    assert row[1:3] == ["base", "3"]
    assert all("±" in cell for cell in row[3:10])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1234, "0.123"),
        (math.nan, "-"),
        (None, "-"),
        (math.inf, "inf"),
        (12345, "12,345.000"),
        (-1e-9, "0.000"),
    ],
)
def test_numbers(value: Any, expected: str) -> None:
    assert number(value) == expected


def test_a_study_without_a_finished_job_is_told(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path / "s", bundled())
    with folder:
        folder.begin(["base"], [0])
    with pytest.raises(RunDamaged, match="no job of this study is finished"):
        read_results(folder)


def test_a_job_of_another_study_is_told(studies: ModuleType, tmp_path: Path) -> None:
    folder = studies.make(tmp_path / "s", studies.small(), ["base"], [0])
    write_json(folder.job("base", 0) / "job.json", {"lab": "other"})
    with pytest.raises(RunDamaged, match="got 'other'"):
        read_results(folder)


@pytest.fixture
def copy(one: Results, studies: ModuleType, tmp_path: Path) -> StudyFolder:
    return studies.make(tmp_path / "s", studies.small(), ["base", "grpo"], [0])


RUN = "runs/train-T1/outcomes.jsonl"


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (RUN, lambda rows: rows[1:], "16 rollouts of each of 200 tasks and of no other, got 0 of"),
        (RUN, lambda rows: [], "got 0 of '0/order/lamp/.*' and 199 more"),
        (RUN, lambda rows: [*rows, rows[0].replace("0/", "1/")], "no other, got 16 of '1/order"),
        (RUN, lambda rows: [*rows[:-1], rows[-1][:50]], "got 0 of"),
        ("probe/T1.jsonl", lambda rows: rows[:-1], "expected 8 rollouts of each of 200 tasks"),
        (
            "probe/T1.5.jsonl",
            lambda rows: [re.sub('"n": ?8', '"n": 9', row) for row in rows],
            "expected 8 .* got 9 of .* and 199 more",
        ),
        ("checkpoints/step-0003.jsonl", lambda rows: rows[:7], "got 0 of .* and 192 more"),
        ("checkpoints/step-0003.jsonl", None, "No such file"),
    ],
)
def test_counts_that_are_not_whole_are_named(
    copy: StudyFolder, file: str, change: Any, message: str
) -> None:
    place = copy.job("grpo", 0) / file
    rows = place.read_text().splitlines()
    if change is None:
        place.unlink()
    else:
        place.write_text("".join(row + "\n" for row in change(rows)))
    with pytest.raises(RunDamaged, match=f"{place.parent.name}.*{message}"):
        read_results(copy)


def test_the_order_of_rows_does_not_matter(copy: StudyFolder) -> None:
    before = summarise(read_results(copy))
    for file in copy.job("grpo", 0).glob("*/**/*.jsonl"):
        file.write_text("".join(row + "\n" for row in file.read_text().splitlines()[::-1]))
    for file in copy.job("grpo", 0).glob("runs/*/run.json"):
        told = read_json(file)
        write_json(file, told | {"task_ids": told["task_ids"][::-1]})
    np.testing.assert_equal(summarise(read_results(copy)), before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arm": "ppo"}, "'arm' to be 'grpo', got 'ppo'"),
        ({"seed": 1}, "'seed' to be 0, got 1"),
        ({"rollouts": None}, "'rollouts' to count, got None"),
        ({"steps": -1}, "'steps' to count, got -1"),
        ({"cpu_s": {"training": "long"}}, "'cpu_s' to hold seconds"),
        ({"sampler": {}}, None),
        ({"sampler": {"stats": 3}}, "'sampler' to hold its stats"),
    ],
)
def test_a_job_that_tells_nonsense_is_named(
    copy: StudyFolder, change: dict[str, Any], message: str | None
) -> None:
    file = copy.job("grpo", 0) / "job.json"
    write_json(file, read_json(file) | change)
    if message is None:
        read_results(copy)
        return
    with pytest.raises(RunDamaged, match=f"job.json: expected {message}"):
        read_results(copy)


def test_curves_that_do_not_cross_are_told_from_no_curves(three: Results) -> None:
    for arm, seed in three.found:
        told = measures(three, arm, seed)
        if math.isnan(told["k_star"]):
            assert math.isnan(told["crosses"])
        else:
            assert told["crosses"] == math.isfinite(told["k_star"])


def test_k_star_over_many_seeds_is_a_median() -> None:
    for values, expected in (
        ([2.0, 4.0, 5.0, 9.0], "4.5 [2, 9]"),
        ([2.0, 4.0, 5.0, math.inf, math.nan], "4.5 [2, > 16]"),
        ([2.0, math.inf, math.inf, math.inf], "> 16 [2, > 16]"),
    ):
        arm = {"by_seed": {str(at): {"k_star": value} for at, value in enumerate(values)}}
        assert _k_star(arm, 16) == expected


def test_tested_differences_are_those_with_an_interval(three: Results, one: Results) -> None:
    summary = summarise(three)
    spreads = [
        spread
        for pair in summary["pairs"]
        for spread in (
            *pair["differences"].values(),
            *(
                (pair["at_equal_pass_1"] or {}).get(key, {"low": math.nan})
                for key in ("pass_k", "tax")
            ),
        )
    ]
    count = sum(not math.isnan(spread["low"]) for spread in spreads)
    assert f"{count} differences between arms are tested" in text(three)
    assert "differences between arms are tested" not in text(one)


def test_seeds_that_were_left_out_are_told(studies: ModuleType, tmp_path: Path) -> None:
    results = read_results(studies.make(tmp_path / "s", studies.small(), ["base"], [0, 3]))
    assert "Seeds that did not run: 1, 2 and all from 4." in text(results)


def test_a_gain_over_few_tasks_needs_more_than_two_errors() -> None:
    few = {"gain": 0.1, "se": 0.04, "tasks": 3}
    assert heat_verdict([few]) == "not decided"
    assert heat_verdict([few | {"tasks": 100}]) == "raises"
    assert heat_verdict([few | {"se": math.nan, "tasks": 1}]) == "too few tasks"
    gains = [{"gain": gain} for gain in (-0.1, -0.11, -0.12)]
    assert heat_verdict(gains) == "lowers"
