from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import RunDamaged, RunError
from agentenvs.harness.outcomes import Outcomes, OutcomeWriter, read_settings, write_settings
from agentenvs.harness.store import durable
from agentenvs.harness.store.durable import LineWriter, at_rest

ROWS = [
    {"task_id": "b", "rollout": 0, "success": True, "reason": "", "seed": 2**63},
    {"task_id": "a", "rollout": 1, "success": False, "reason": "too {long}\\"},
    {"task_id": "a", "rollout": 0, "success": True, "parse": {"calls": 3, "words": 1}},
]
NEW = {"task_id": "new", "rollout": 0, "success": True}


def line(row: dict[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"


def resumed(folder: Path, content: bytes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what is read of a file as it is, and once a run has gone on with it."""
    (folder / "outcomes.jsonl").write_bytes(content)
    before = list(Outcomes.load(folder))
    with OutcomeWriter(folder) as writer:
        assert list(Outcomes.load(folder)) == before
        assert not Outcomes.load(folder).torn
        writer.write(**NEW)
    return before, list(Outcomes.load(folder))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("run")
    write_settings(where, {})
    return where


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("after", [b"", b"\0", b"\0" * 5000])
def test_cut_at_any_byte_every_whole_row_is_kept_and_the_next_one_stands_apart(
    folder: Path, end: bytes, after: bytes
) -> None:
    lines = [line(row).replace(b"\n", end) for row in ROWS]
    whole = b"".join(lines)
    for cut in range(len(lines[0]), len(whole) + 1):
        # A row is whole once its closing brace is there.
        ends = [sum(map(len, lines[: at + 1])) - len(end) for at in range(len(lines))]
        expected = [row for row, at in zip(ROWS, ends, strict=True) if at <= cut]
        before, went_on = resumed(folder, whole[:cut] + after)
        assert before == expected, cut
        assert went_on == [*expected, NEW], cut


_TEXTS = st.text(st.characters(), max_size=20)
_MADE = st.lists(
    st.fixed_dictionaries(
        {"task_id": st.text(min_size=1, max_size=9), "success": st.booleans(), "reason": _TEXTS}
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(_MADE, st.booleans(), st.integers(0, 10**6), st.sampled_from([b"", b"\0\0", b"\xff", b"{"]))
def test_any_prefix_of_a_valid_file_is_gone_on_from(
    folder: Path, made: list[dict[str, Any]], ascii_only: bool, cut: int, after: bytes
) -> None:
    rows = [{**row, "rollout": at} for at, row in enumerate(made)]
    lines = [
        json.dumps(row, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") + b"\n"
        for row in rows
    ]
    whole = b"".join(lines)
    at = cut % (len(whole) + 1)
    ends = [sum(map(len, lines[: number + 1])) - 1 for number in range(len(lines))]
    expected = [row for row, end in zip(rows, ends, strict=True) if end <= at]
    if after in (b"\xff", b"{") and at in ends:
        # The row had no end of line yet, and with what follows it is none.
        expected = expected[:-1]
    try:
        before, went_on = resumed(folder, whole[:at] + after)
    except RunDamaged:
        # A lone surrogate is no UTF-8: only files of other programs can hold it so.
        assert not ascii_only
        return
    assert [{**row} for row in before] == expected
    assert went_on == [*expected, NEW]


def test_a_file_of_zeros_alone_is_empty(folder: Path) -> None:
    assert resumed(folder, b"\0" * 200_000) == ([], [NEW])


def test_rows_written_by_hand_with_a_byte_order_mark(folder: Path) -> None:
    before, went_on = resumed(folder, b"\xef\xbb\xbf" + line(ROWS[0])[:-1])
    assert (before, went_on) == ([ROWS[0]], [ROWS[0], NEW])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let lines be long at 300,000 bytes already."""
    for module in ("durable", "outcomes_file"):
        monkeypatch.setattr(f"agentenvs.harness.store.{module}.LONGEST", 300_000)
    return


def test_a_line_beyond_all_bounds_is_damage_and_not_read(
    short: None, folder: Path, tmp_path: Path
) -> None:
    long = line({**ROWS[0], "odd": "x" * 400_000})
    for content in (long, line(ROWS[1]) + long, line(ROWS[1]) + long[:-1], b"x" * 900_000):
        (folder / "outcomes.jsonl").write_bytes(content)
        with pytest.raises(RunDamaged, match=r"outcomes\.jsonl:\d: expected lines of less than"):
            Outcomes.load(folder)
    for content in (line(ROWS[1]) + long, line(ROWS[1]) + long[:-1]):
        (folder / "outcomes.jsonl").write_bytes(content)
        with pytest.raises(RunDamaged, match=r"outcomes\.jsonl: expected lines of less than"):
            OutcomeWriter(folder)
        assert (folder / "outcomes.jsonl").read_bytes() == content
    writer = LineWriter(tmp_path / "new.jsonl")
    with contextlib.closing(writer), pytest.raises(RunError, match="expected lines"):
        writer.write(long)
    assert (tmp_path / "new.jsonl").read_bytes() == b""


def test_settings_beyond_all_bounds_are_damage(short: None, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"odd": "x" * 400_000}))
    with pytest.raises(RunDamaged, match=r"run\.json.* more than"):
        read_settings(tmp_path)


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="the platform follows links")
def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"torn {")
    run = tmp_path / "run"
    run.mkdir()
    (run / "outcomes.jsonl").symlink_to(victim)
    with pytest.raises(RunError, match="symbolic link"):
        OutcomeWriter(run)
    (run / "run.json").symlink_to(victim)
    part = run / f"run.json.{os.getpid()}.part"
    part.symlink_to(victim)
    write_settings(run, {"a": 1})
    assert victim.read_bytes() == b"torn {"
    assert not (run / "run.json").is_symlink()
    assert read_settings(run) == {"a": 1}
    assert not part.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_the_place_of_a_file_does_not_hold_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(RunDamaged, match="expected a file"):
        Outcomes.load(tmp_path)
    (tmp_path / "run.json").unlink()
    write_settings(tmp_path, {})
    os.mkfifo(tmp_path / "outcomes.jsonl")
    with pytest.raises(RunDamaged, match="expected a file"):
        Outcomes.load(tmp_path)


def test_an_interrupt_within_a_row_takes_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(tmp_path, {})
    with OutcomeWriter(tmp_path) as writer:
        writer.write(**NEW)
        write = os.write

        def interrupted(fd: int, data: bytes) -> int:
            write(fd, data[:7])
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                writer.write("b", 0, True)
        assert not Outcomes.load(tmp_path).torn
        with pytest.raises(RunError, match="KeyboardInterrupt"):
            writer.write("c", 0, True)
    assert list(Outcomes.load(tmp_path)) == [NEW]


def test_what_is_read_at_rest_keeps_writers_out(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    OutcomeWriter(tmp_path).close()
    with at_rest(tmp_path), at_rest(tmp_path), pytest.raises(RunError, match="another run"):
        OutcomeWriter(tmp_path)
    with OutcomeWriter(tmp_path), pytest.raises(RunError, match="another run"), at_rest(tmp_path):
        pass


def test_a_file_that_must_be_new_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b"{}\n")
    with pytest.raises(RunError, match="File exists"):
        LineWriter(tmp_path / "rows.jsonl", fresh=True)


def test_a_disk_that_tells_late_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = LineWriter(tmp_path / "rows.jsonl")
    close = os.close

    def late(fd: int) -> None:
        close(fd)
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with monkeypatch.context() as patch:
        patch.setattr(durable.os, "close", late)
        with pytest.raises(RunError, match=r"rows\.jsonl: Disk quota exceeded"):
            writer.close()
    writer.close()


def test_a_row_that_does_not_fit_is_taken_back_and_none_follows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(tmp_path, {})
    with OutcomeWriter(tmp_path) as writer:
        writer.write("a", 0, True)
        whole = writer.path.read_bytes()
        room = 5
        write = os.write

        def full(fd: int, data: bytes) -> int:
            nonlocal room
            if not room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            took = write(fd, data[:room])
            room -= took
            return took

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            told = r"outcomes\.jsonl: No space left on device\. 1 finished rollouts are kept\."
            with pytest.raises(RunError, match=told):
                writer.write("b", 0, True)
        assert writer.path.read_bytes() == whole
        with pytest.raises(RunError, match=r"The same command goes on .* once there is room"):
            writer.write("c", 0, True)
        assert writer.path.read_bytes() == whole
    assert len(Outcomes.load(tmp_path)) == 1


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2**65),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, "", "a"]),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from([0, 1, True, 1.0, "1"]), max_size=2),
)


@settings(deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries({}, optional={"x": _VALUES, "y": _VALUES, "odd": _VALUES}), max_size=8
    ),
    st.booleans(),
)
def test_rows_that_look_alike_share_equal_values_and_nothing_else(
    folder: Path, given: list[dict[str, Any]], turned: bool
) -> None:
    rows: list[dict[str, Any]] = [
        {"task_id": f"t{at % 2}", "rollout": at, "success": at % 3 == 0, **fields}
        for at, fields in enumerate(given)
    ]
    written = [dict(reversed(row.items())) for row in rows] if turned else rows
    (folder / "outcomes.jsonl").write_bytes(b"".join(map(line, written)))
    expected = [{key: value for key, value in row.items() if value is not None} for row in rows]
    found = list(Outcomes.load(folder))
    # Text tells 1 from True and 1.0, and 0.0 from -0.0.
    assert [sorted(map(repr, row.items())) for row in found] == [
        sorted(map(repr, row.items())) for row in expected
    ]
    assert list(map(repr, found)) == list(map(repr, Outcomes(written)))


def test_who_changes_a_row_changes_no_other(folder: Path) -> None:
    rows = [{**NEW, "rollout": at, "parse": {"calls": 1}} for at in range(3)]
    (folder / "outcomes.jsonl").write_bytes(b"".join(map(line, rows)))
    outcomes = Outcomes.load(folder)
    first, second = outcomes.column("parse")[1:]
    assert first is second
    for row in outcomes:
        row["parse"]["calls"] += row["rollout"]
    assert list(outcomes) == rows
