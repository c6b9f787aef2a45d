from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import pytest

from agentenvs.errors import RunDamaged, RunError
from agentenvs.harness import (
    Completion,
    Episode,
    Outcomes,
    OutcomeWriter,
    conversation,
    read_transcripts,
    run,
)
from agentenvs.harness.outcomes import write_settings
from agentenvs.harness.policies import RandomPolicy
from agentenvs.harness.store.transcripts import TranscriptWriter, lines_of, segments


def play(ledger: ModuleType, task: str, rollout: int, seed: int = 0) -> Episode:
    episode = Episode(
        gymnasium.make(ledger.ID), "none", form="completion", task=task, rollout=rollout, seed=seed
    )
    policy = RandomPolicy()
    while episode.request is not None:
        episode.respond(asyncio.run(policy.generate(episode.request)))
    return episode


def record(folder: Path, episodes: list[Episode], **kwargs: Any) -> TranscriptWriter:
    write_settings(folder, {})
    writer = TranscriptWriter(folder, **kwargs)
    with OutcomeWriter(folder) as outcomes:
        for episode in episodes:
            writer.write(episode, 1.0)
            outcomes.write(episode.task, episode.rollout, episode.success)
    return writer


def test_a_transcript_gives_back_the_conversation(ledger: ModuleType, tmp_path: Path) -> None:
    episode = play(ledger, "ledger_1", 2, seed=5)
    record(tmp_path, [episode]).close()
    (row,) = read_transcripts(tmp_path)
    assert conversation(row) == episode.messages
    assert (row["task_id"], row["rollout"], row["seed"]) == ("ledger_1", 2, 5)
    assert [step["text"] for step in row["steps"]] == [step.text for step in episode.steps]
    assert row["steps"][-1]["parse"] == episode.steps[-1].parse


def test_a_running_folder_can_be_read(ledger: ModuleType, tmp_path: Path) -> None:
    writer = record(tmp_path, [play(ledger, "ledger_1", 0)])
    assert [path.suffix for path in tmp_path.glob("transcripts-*")] == [".jsonl"]
    assert len(list(read_transcripts(tmp_path))) == 1
    writer.close()
    assert [path.suffix for path in tmp_path.glob("transcripts-*")] == [".gz"]
    assert len(list(read_transcripts(tmp_path))) == 1


def test_full_segments_are_compressed_and_stand_alone(ledger: ModuleType, tmp_path: Path) -> None:
    episodes = [play(ledger, "ledger_1", rollout) for rollout in range(9)]
    record(tmp_path, episodes, segment_bytes=4000).close()
    segments = sorted(tmp_path.glob("transcripts-*.jsonl.gz"))
    assert len(segments) > 2
    for segment in segments:
        first = json.loads(gzip.decompress(segment.read_bytes()).splitlines()[0])
        assert set(first) == {"text", "content"}
    assert [row["rollout"] for row in read_transcripts(tmp_path)] == list(range(9))


def test_a_system_text_is_kept_once_a_segment(ledger: ModuleType, tmp_path: Path) -> None:
    record(tmp_path, [play(ledger, "ledger_1", rollout) for rollout in range(5)]).close()
    (segment,) = tmp_path.glob("transcripts-*.jsonl.gz")
    assert gzip.decompress(segment.read_bytes()).count(b"You keep a ledger.") == 1


def test_what_a_kill_left_is_sealed_without_torn_and_unfinished_rows(
    ledger: ModuleType, tmp_path: Path
) -> None:
    writer = record(tmp_path, [play(ledger, "ledger_1", 0)])
    writer.write(play(ledger, "ledger_1", 1), 1.0)
    (plain,) = tmp_path.glob("transcripts-*.jsonl")
    with plain.open("ab") as file:
        file.write(b'{"task_id": "ledger_1", "rol')
    assert [row["rollout"] for row in read_transcripts(tmp_path)] == [0]
    again = TranscriptWriter(tmp_path, Outcomes.load(tmp_path).keys())
    assert not plain.exists()
    (segment,) = tmp_path.glob("transcripts-*.jsonl.gz")
    assert len(gzip.decompress(segment.read_bytes()).splitlines()) == 2
    other = play(ledger, "ledger_1", 1, seed=8)
    again.write(other, 1.0)
    with OutcomeWriter(tmp_path) as outcomes:
        outcomes.write("ledger_1", 1, other.success)
    again.close()
    assert [row["seed"] for row in read_transcripts(tmp_path)] == [0, 8]


def test_a_kill_between_packing_and_removing_doubles_nothing(
    ledger: ModuleType, tmp_path: Path
) -> None:
    writer = record(tmp_path, [play(ledger, "ledger_1", rollout) for rollout in range(3)])
    (plain,) = tmp_path.glob("transcripts-*.jsonl")
    content = plain.read_bytes()
    writer.close()
    plain.write_bytes(content)
    assert len(list(read_transcripts(tmp_path))) == 3
    TranscriptWriter(tmp_path, Outcomes.load(tmp_path).keys()).close()
    assert len(list(read_transcripts(tmp_path))) == 3
    assert not plain.exists()


def test_half_a_packed_segment_is_left_aside(ledger: ModuleType, tmp_path: Path) -> None:
    writer = record(tmp_path, [play(ledger, "ledger_1", 0)])
    part = tmp_path / "transcripts-0000.jsonl.gz.999.part"
    part.write_bytes(b"half")
    assert len(list(read_transcripts(tmp_path))) == 1
    writer.close()
    TranscriptWriter(tmp_path, Outcomes.load(tmp_path).keys()).close()
    assert not part.exists()


def test_odd_characters_survive(ledger: ModuleType, tmp_path: Path) -> None:
    text = "中 \ud800 \x00 \u2028 é"
    episode = Episode(gymnasium.make(ledger.ID), form="completion", task="ledger_1")
    episode.respond(Completion(text))
    episode.respond(Completion(text))
    record(tmp_path, [episode]).close()
    (row,) = read_transcripts(tmp_path)
    assert row["steps"][0]["text"] == text


def test_a_damaged_segment_is_named(ledger: ModuleType, tmp_path: Path) -> None:
    record(tmp_path, [play(ledger, "ledger_1", 0)]).close()
    (segment,) = tmp_path.glob("transcripts-*.jsonl.gz")
    segment.write_bytes(segment.read_bytes()[:-20])
    with pytest.raises(RunDamaged, match=segment.name):
        list(read_transcripts(tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip",
        gzip.compress(b"[1]\n", mtime=0),
        gzip.compress(b"5\n", mtime=0),
        gzip.compress(b"[" * 100_000 + b"\n", mtime=0),
    ],
)
def test_foreign_content_of_a_segment_is_named(
    ledger: ModuleType, tmp_path: Path, content: bytes
) -> None:
    record(tmp_path, [play(ledger, "ledger_1", 0)]).close()
    (segment,) = tmp_path.glob("transcripts-*.jsonl.gz")
    segment.write_bytes(content)
    with pytest.raises(RunDamaged, match=segment.name):
        list(read_transcripts(tmp_path))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("task_id", ["a"]),
        ("rollout", {}),
        ("success", None),
        ("success", "yes"),
        ("opening", None),
        ("opening", ["text"]),
        ("opening", [{"role": "user", "text": "nowhere"}]),
        ("opening", [{"text": ["a"]}]),
        ("steps", 3),
        ("steps", [["a"]]),
        ("steps", [["a", None, {}, "stop", 0.0]]),
        ("steps", [["a", ["b"], {}, "stop", 0.0]]),
    ],
)
def test_rows_of_wrong_types_are_damage(
    ledger: ModuleType, tmp_path: Path, key: str, value: object
) -> None:
    record(tmp_path, [play(ledger, "ledger_1", 0)]).close()
    (segment,) = tmp_path.glob("transcripts-*.jsonl.gz")
    *texts, row = gzip.decompress(segment.read_bytes()).splitlines()
    lines = [*texts, json.dumps({**json.loads(row), key: value}).encode(), b""]
    segment.write_bytes(gzip.compress(b"\n".join(lines)))
    with pytest.raises(RunDamaged, match=segment.name):
        list(read_transcripts(tmp_path))


def test_cut_at_any_byte_a_plain_segment_keeps_what_is_whole(
    ledger: ModuleType, tmp_path: Path
) -> None:
    episodes = [play(ledger, "ledger_1", rollout) for rollout in range(2)]
    writer = record(tmp_path, episodes)
    (plain,) = tmp_path.glob("transcripts-*.jsonl")
    whole = plain.read_bytes()
    finished = Outcomes.load(tmp_path).keys()
    known = list(read_transcripts(tmp_path))
    writer.close()
    last = whole.rstrip().rindex(b"\n") + 1
    for cut in (*range(last, len(whole), 97), len(whole) - 1, len(whole)):
        for after in (b"", b"\0\0\0"):
            for segment in tmp_path.glob("transcripts-*"):
                segment.unlink()
            plain.write_bytes(whole[:cut] + after)
            assert list(read_transcripts(tmp_path)) == known[: 1 + (cut >= len(whole) - 1)]
            again = TranscriptWriter(tmp_path, finished)
            again.write(episodes[1], 1.0)
            again.close()
            assert list(read_transcripts(tmp_path)) == known


def test_a_full_segment_is_compressed_only_when_its_last_outcome_is_there(
    ledger: ModuleType, tmp_path: Path
) -> None:
    writer = TranscriptWriter(tmp_path, segment_bytes=1)
    write_settings(tmp_path, {})
    writer.write(play(ledger, "ledger_1", 0), 1.0)
    with OutcomeWriter(tmp_path) as outcomes:
        outcomes.write("ledger_1", 0, True)
    writer.write(play(ledger, "ledger_1", 1), 1.0)
    writer.leave(RunError("outcomes.jsonl: no room"))
    with pytest.raises(RunError, match="no room"):
        writer.write(play(ledger, "ledger_1", 2), 1.0)
    writer.close()
    assert sorted(path.suffix for path in tmp_path.glob("transcripts-*")) == [".gz", ".jsonl"]
    again = TranscriptWriter(tmp_path, Outcomes.load(tmp_path).keys())
    other = play(ledger, "ledger_1", 1, seed=8)
    again.write(other, 1.0)
    with OutcomeWriter(tmp_path) as outcomes:
        outcomes.write("ledger_1", 1, other.success)
    again.close()
    assert [row["seed"] for row in read_transcripts(tmp_path)] == [0, 8]


@pytest.mark.parametrize(
    "bomb",
    [
        b'{"task_id":"ledger_1","rollout":0,"opening":"' + b"x" * 900_000,
        b"\0" * 900_000,
        b"".join(b'{"text":"%d","content":"%s"}\n' % (i, b"x" * 90_000) for i in range(9)),
    ],
    ids=["one long line", "zeros", "many texts"],
)
def test_a_packed_segment_that_unfolds_beyond_all_bounds_is_damage(
    ledger: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bomb: bytes
) -> None:
    record(tmp_path, [play(ledger, "ledger_1", 0)]).close()
    for module in ("durable", "transcripts"):
        monkeypatch.setattr(f"agentenvs.harness.store.{module}.LONGEST", 300_000)
    (segment,) = tmp_path.glob("transcripts-*.jsonl.gz")
    segment.write_bytes(gzip.compress(bomb))
    assert segment.stat().st_size < 10_000
    with pytest.raises(RunDamaged, match=f"{segment.name}.*expected"):
        list(read_transcripts(tmp_path))


def test_a_link_is_read_but_never_written_through_or_packed(
    ledger: ModuleType, tmp_path: Path
) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere.jsonl"
    run.mkdir()
    record(run, [play(ledger, "ledger_1", 0)])
    (plain,) = run.glob("transcripts-*.jsonl")
    content = plain.read_bytes()
    plain.rename(elsewhere)
    plain.symlink_to(elsewhere)
    assert len(list(read_transcripts(run))) == 1
    with pytest.raises(RunDamaged, match="symbolic link"):
        TranscriptWriter(run, Outcomes.load(run).keys())
    plain.unlink()
    (run / "transcripts-0003.jsonl.gz").symlink_to(elsewhere)
    (run / "transcripts-0007.jsonl.gz.5.part").symlink_to(elsewhere)
    writer = TranscriptWriter(run, Outcomes.load(run).keys())
    writer.write(play(ledger, "ledger_1", 1), 1.0)
    writer.close()
    assert elsewhere.read_bytes() == content
    assert (run / "transcripts-0004.jsonl.gz").exists()


def test_a_segment_that_is_packed_while_it_is_read_is_found(
    ledger: ModuleType, tmp_path: Path
) -> None:
    writer = record(tmp_path, [play(ledger, "ledger_1", 0)])
    (plain,) = segments(tmp_path)
    writer.close()
    assert not plain.exists()
    assert len(list(lines_of(plain))) == 2


def test_any_flipped_byte_is_damage_or_does_no_harm(ledger: ModuleType, tmp_path: Path) -> None:
    record(tmp_path, [play(ledger, "ledger_1", 0)]).close()
    (segment,) = tmp_path.glob("transcripts-*.jsonl.gz")
    whole = segment.read_bytes()
    known = list(read_transcripts(tmp_path))
    for place in range(len(whole)):
        segment.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        try:
            assert list(read_transcripts(tmp_path)) == known
        except RunDamaged:
            continue


def test_a_run_writes_a_transcript_for_each_outcome(ledger: ModuleType, tmp_path: Path) -> None:
    outcomes = run(ledger.ID, RandomPolicy(), n=3, out=tmp_path)
    rows = list(read_transcripts(tmp_path))
    assert {(row["task_id"], row["rollout"]) for row in rows} == outcomes.keys()
    assert len(rows) == len(outcomes)
