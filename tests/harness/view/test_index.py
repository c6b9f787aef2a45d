from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import ModuleType

import pytest

from agentenvs.errors import RunDamaged
from agentenvs.harness import Outcomes, read_transcripts, run
from agentenvs.harness.view import TranscriptIndex


def index(folder: Path, **kwargs: int) -> TranscriptIndex:
    return TranscriptIndex(folder, Outcomes.load(folder).keys(), **kwargs)


def many(runs: ModuleType, folder: Path, **kwargs: object) -> Path:
    rollouts = [
        runs.played(f"task_{at % 5}", at // 5, [runs.step(f"word {at} " + "x" * 300)] * 3)
        for at in range(30)
    ]
    return runs.write_run(folder, rollouts, **kwargs)


def test_each_transcript_is_read_as_read_transcripts_does(
    ledger: ModuleType, tmp_path: Path
) -> None:
    run(ledger.ID, "random", tasks=["ledger_1", "ledger_2"], n=3, out=tmp_path, progress=False)
    found = index(tmp_path)
    rows = list(read_transcripts(tmp_path))
    assert len(rows) == 6
    for row in reversed(rows):
        got = found.read((row["task_id"], row["rollout"]))
        assert got == row
    assert found.problems == []


def test_few_segments_stay_in_memory(runs: ModuleType, tmp_path: Path) -> None:
    many(runs, tmp_path, segment_bytes=4000)
    assert len(list(tmp_path.glob("transcripts-*.gz"))) > 5
    found = index(tmp_path, kept=2)
    for row in read_transcripts(tmp_path):
        assert found.read((row["task_id"], row["rollout"])) == row
    assert len(found._recent) == 2


def test_only_as_much_is_looked_through_as_is_asked_for(runs: ModuleType, tmp_path: Path) -> None:
    many(runs, tmp_path, segment_bytes=4000)
    found = index(tmp_path)
    assert found.read(("task_0", 0)) is not None
    assert len(found._places) < 30
    shares: list[float] = []
    found.complete(shares.append)
    assert len(found._places) == 30
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_run_that_goes_on_is_read_before_and_after_packing(
    runs: ModuleType, tmp_path: Path
) -> None:
    many(runs, tmp_path, close=False)
    (plain,) = tmp_path.glob("transcripts-*.jsonl")
    with plain.open("ab") as file:
        file.write(b'{"task_id":"task_0","rollout":99,"se')
    found = index(tmp_path)
    found.complete()
    assert found.problems == []
    found._recent.clear()
    plain.with_name(plain.name + ".gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert found.read(("task_4", 5)) is not None


def test_rollouts_without_outcome_and_repeated_ones_are_left_out(
    runs: ModuleType, tmp_path: Path
) -> None:
    many(runs, tmp_path)
    (packed,) = tmp_path.glob("*.gz")
    lines = gzip.decompress(packed.read_bytes()).splitlines()
    row = json.loads(lines[1])
    again = {**row, "reason": "again"}
    stray = {**row, "task_id": "stray"}
    more = [json.dumps(one).encode() for one in (again, stray)]
    packed.write_bytes(gzip.compress(b"\n".join([*lines, *more]) + b"\n"))
    found = index(tmp_path)
    first = found.read((row["task_id"], row["rollout"]))
    assert first is not None
    assert first["reason"] == ""
    assert found.read(("stray", 0)) is None


def test_what_is_damaged_is_named_and_the_rest_is_there(runs: ModuleType, tmp_path: Path) -> None:
    many(runs, tmp_path, segment_bytes=4000)
    first, second, *_ = sorted(tmp_path.glob("*.gz"))
    first.write_bytes(first.read_bytes()[:-20])
    lines = gzip.decompress(second.read_bytes()).splitlines(keepends=True)
    lost = json.loads(lines[1])
    lines[1:2] = [b"nonsense\n", lines[1].replace(b'"steps":', b'"stops":')]
    second.write_bytes(gzip.compress(b"".join(lines)))
    found = index(tmp_path)
    found.complete()
    assert [str(first) in found.problems[0], str(second) in found.problems[1]] == [True, True]
    assert len(found.problems) == 2
    assert found.read(("task_0", 0)) is None
    assert found.read(("task_4", 5)) is not None
    with pytest.raises(RunDamaged, match="is no transcript"):
        found.read((lost["task_id"], lost["rollout"]))


def test_a_segment_that_unpacks_to_very_much_is_refused(
    runs: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(runs, tmp_path)
    monkeypatch.setattr("agentenvs.harness.view.index._MAX_SEGMENT", 1000)
    found = index(tmp_path)
    found.complete()
    assert "at most 1000 bytes" in found.problems[0]


def test_repairs_are_counted_from_parses_and_not_from_words(
    runs: ModuleType, tmp_path: Path
) -> None:
    fake = '{"repairs":["quotes"]}'
    steps = [
        runs.step(fake, fake, repairs=["fence", "prose"]),
        runs.step(fake, repairs=["fence"]),
        runs.step("[]"),
    ]
    runs.write_run(tmp_path, [runs.played("a", 0, steps)])
    found = index(tmp_path)
    found.complete()
    assert found.repairs(("a", 0)) == ("fence", "prose", "fence")
    assert found.repairs(("b", 0)) == ()


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("hello WORLD", {0}),
        ("k\u00dcche", {1}),
        ("\u4f60\u597d", {2}),
        ('say "hi"', {3}),
        ("one\ntwo", {3}),
        ("\ud800", {3}),
        ("came back", {0, 1, 2, 3}),
        ("Do t.", {0, 1, 2, 3}),
        ("You call tools", set()),
        ("task_id", set()),
        ("assistant", set()),
    ],
)
def test_search(runs: ModuleType, tmp_path: Path, text: str, hits: set[int]) -> None:
    said = ["Hello world", "in der K\u00fcche", "\u4f60\u597d", 'say "hi"\none\ntwo \ud800']
    rollouts = [runs.played("t", at, [runs.step(one, "came back")]) for at, one in enumerate(said)]
    runs.write_run(tmp_path, rollouts)
    keys = {("t", at) for at in range(4)}
    assert {rollout for _, rollout in index(tmp_path).search(text, keys)} == hits
