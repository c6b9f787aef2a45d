from __future__ import annotations

from typing import Any

from agentenvs.harness.replay.findings import Finding
from agentenvs.harness.replay.grouped import counts, grouped


def edited(rollout: int, recorded: Any = True, field: str = "success", file: str = "") -> Finding:
    return Finding("edited", "a", rollout, file or "outcomes.jsonl", field, recorded, False)


def test_a_few_are_named_one_by_one_and_many_alike_as_one() -> None:
    few = [edited(number) for number in range(3)]
    assert grouped(few, 20) == [finding.line() for finding in few]
    many = [edited(0, 7), *(edited(number) for number in range(1, 6))]
    assert grouped(many, 20) == [
        "edited  a #0  outcomes.jsonl  success: 7 -> false",
        "edited  5 rollouts, from a #1 on  outcomes.jsonl  success: true -> false",
    ]


def test_lines_and_segments_are_no_difference() -> None:
    rows = [edited(number, field="row", file=f"outcomes.jsonl:{number}") for number in range(4)]
    texts = [edited(number, file=f"transcripts-000{number}.jsonl.gz") for number in range(4)]
    assert grouped([*rows, *texts], 20) == [
        "edited  4 rollouts, from a #0 on  outcomes.jsonl  row: true -> false",
        "edited  4 rollouts, from a #0 on  transcripts  success: true -> false",
    ]


def test_differing_values_are_one_line_only_where_there_is_no_room() -> None:
    findings = [edited(number, number, "steps") for number in range(5)]
    assert len(grouped(findings, 5)) == 5
    assert grouped(findings, 4) == [
        "edited  5 rollouts, from a #0 on  outcomes.jsonl  steps: 0 -> false and others"
    ]


def test_numbers_that_look_alike_are_told_apart() -> None:
    findings = [edited(number, "x" * 100 + str(number % 2)) for number in range(8)]
    assert [line.split(",")[0] for line in grouped(findings, 20)] == ["edited  4 rollouts"] * 2


def test_what_is_of_the_whole_run_stands_for_itself() -> None:
    one = Finding("stale", None, None, "run.json", "data", "a", "b")
    assert grouped([one] * 5, 2) == [one.line()] * 5


def test_rollouts_are_counted_and_not_findings() -> None:
    found = [
        edited(0),
        edited(0, field="score"),
        edited(1),
        Finding("edited", None, None, "run.json", "n", 2, 3),
        Finding("edited", None, None, "outcomes.jsonl:5", "row", "{", None, "no JSON"),
        Finding("stale", None, None, "run.json", "data", "a", "b"),
    ]
    assert counts(found) == [
        "edited: 2 rollouts, 1 in run.json, 1 in outcomes.jsonl",
        "stale: 1 in run.json",
    ]


def test_a_sentence_stands_in_the_place_of_two_values() -> None:
    bare = Finding("edited", "a", 0, "outcomes.jsonl", "row", None, None, "differs")
    assert bare.line() == "edited  a #0  outcomes.jsonl  row: differs"
    valued = bare._replace(recorded=0.7)
    assert valued.line() == "edited  a #0  outcomes.jsonl  row: differs (it says 0.7)"
