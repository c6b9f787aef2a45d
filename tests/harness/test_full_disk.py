from __future__ import annotations

import asyncio
import errno
import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import pytest

from agentenvs.errors import RunError
from agentenvs.harness import Episode, Outcomes, read_transcripts, run
from agentenvs.harness.policies import RandomPolicy
from agentenvs.harness.records import Played, Void
from agentenvs.harness.store.folder import RunFolder
from agentenvs.harness.store.transcripts import TranscriptWriter

SETTINGS = {"env_id": "tests/Ledger-v0", "n": 3, "seed": 0}
VOID = Void("ledger_1", 2, 0, "timeout", "TimeoutError: 30 s", 30.0)


@pytest.fixture(scope="module")
def played(ledger: ModuleType) -> list[Played]:
    """Return rollouts to be kept."""
    found = []
    for rollout in range(3):
        for task in ("ledger_1", "ledger_2"):
            episode = Episode(
                gymnasium.make(ledger.ID), task=task, rollout=rollout, seed=rollout, form="chat"
            )
            policy = RandomPolicy()
            while episode.request is not None:
                episode.respond(asyncio.run(policy.generate(episode.request)))
            fields = {
                "score": episode.score,
                "reason": episode.reason,
                "seed": episode.seed,
                "temperature": 1.0,
                "steps": len(episode.steps),
            }
            found.append(Played.of(episode, fields))
    return found


class Inline:
    """Seals a segment at once, so that each test does the same things in the same order."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def submit(self, function: Callable[..., None], *args: Any) -> Future[None]:
        done: Future[None] = Future()
        try:
            done.set_result(function(*args))
        except BaseException as error:
            done.set_exception(error)
        return done

    def shutdown(self) -> None: ...


class FullDisk:
    """A disk that has no room left from a certain call on; `calls` counts those that want some.

    Args:
        at: the first call that fails, from 0; None for a disk with room.
        once: whether only that call fails.
        part: whether it takes half of what it is given first, as disks do.
        stuck: whether what was taken cannot be taken back either.
    """

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        at: int | None = None,
        *,
        once: bool = False,
        part: bool = False,
        stuck: bool = False,
    ) -> None:
        self.calls = 0
        self.at, self.once, self.part = at, once, part
        self._halved = False
        for name in ("write", "open", "mkdir", "replace", "fsync"):
            patch.setattr(os, name, functools.partial(self._call, name, getattr(os, name)))
        if stuck:
            patch.setattr(os, "ftruncate", self._refuse)

    def _refuse(self, *_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _call(self, name: str, real: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if name == "open" and not args[1] & os.O_CREAT:
            return real(*args, **kwargs)
        number, self.calls = self.calls, self.calls + 1
        if self.at is None or number < self.at or (self.once and number > self.at):
            return real(*args, **kwargs)
        if name == "write" and self.part and not self._halved and len(args[1]) > 1:
            self._halved = True
            self.at, half = number + 1, args[1][: len(args[1]) // 2]
            return real(args[0], half)
        return self._refuse()


def keep(folder: Path, played: list[Played], taken: list[Played] | None = None) -> None:
    """Do what a run does: keep what is not there yet; `taken` gets what the folder has taken."""
    store = RunFolder(folder, SETTINGS)
    try:
        there = store.done.keys()
        store.void(VOID)
        for one in played:
            if (one.task, one.rollout) not in there:
                store.write(one)
                if taken is not None:
                    taken.append(one)
    finally:
        store.close()


def table(folder: Path) -> tuple[list[Any], list[Any]]:
    def key(row: dict[str, Any]) -> Any:
        return row["task_id"], row["rollout"]

    outcomes = Outcomes.load(folder)
    assert not outcomes.torn
    assert len((folder / "outcomes.jsonl").read_bytes().splitlines()) == len(outcomes)
    return sorted(outcomes, key=key), sorted(read_transcripts(folder), key=key)


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentenvs.harness.store.transcripts.ThreadPoolExecutor", Inline)
    small = functools.partial(TranscriptWriter, segment_bytes=4000)
    monkeypatch.setattr("agentenvs.harness.store.folder.TranscriptWriter", small)


MODES = {
    "full from then on": {},
    "full once": {"once": True},
    "half a row": {"part": True},
    "half a row for good": {"part": True, "stuck": True},
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_whatever_call_finds_the_disk_full_the_run_stops_and_goes_on_to_the_same_table(
    inline: None,
    played: list[Played],
    tmp_path: Path,
    mode: dict[str, bool],
) -> None:
    whole = tmp_path / "whole"
    with pytest.MonkeyPatch.context() as patch:
        disk = FullDisk(patch)
        keep(whole, played)
    expected = table(whole)
    assert len(list(whole.glob("transcripts-*.gz"))) > 2
    stops = 0
    for at in range(disk.calls):
        folder = tmp_path / str(at)
        taken: list[Played] = []
        with pytest.MonkeyPatch.context() as patch:
            FullDisk(patch, at, **mode)
            try:
                keep(folder, played, taken)
                told = ""
            except RunError as stop:
                told = str(stop)
        if told:
            stops += 1
            assert "No space left" in told
            assert str(folder) in told
            assert "The same command goes on from there once there is room." in told
        if (folder / "run.json").exists():
            rows = Outcomes.load(folder)
            assert rows.keys() == {(one.task, one.rollout) for one in taken}
            assert {(t["task_id"], t["rollout"]) for t in read_transcripts(folder)} == rows.keys()
            assert not taken or not told or f"{len(taken)} finished rollouts are kept" in told
        keep(folder, played)
        assert table(folder) == expected, at
        assert not list(folder.glob("*.part"))
        assert not list(folder.glob("transcripts-*.jsonl"))
    # That a folder which is there cannot be made hurts nobody.
    assert stops >= disk.calls - 2


def test_after_a_failure_no_further_row_is_glued_to_a_torn_one(
    inline: None, played: list[Played], tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        store = RunFolder(tmp_path, SETTINGS)
        store.write(played[0])
        disk = FullDisk(patch, part=True, once=True, stuck=True)
        disk.at = 1
        with pytest.raises(RunError, match=r"outcomes\.jsonl: No space left"):
            store.write(played[1])
        size = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
        for one in played[2:]:
            with pytest.raises(RunError, match=r"outcomes\.jsonl: No space left"):
                store.write(one)
        assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == size
        store.close()
    keep(tmp_path, played)
    assert len(table(tmp_path)[0]) == len(played)


@pytest.mark.parametrize("at", [3, 9, 14, 22, 30])
def test_a_run_of_many_slots_stops_and_goes_on(
    inline: None, ledger: ModuleType, tmp_path: Path, at: int
) -> None:
    settings = {"n": 2, "tasks": ["ledger_1", "ledger_2", "ledger_3"], "concurrency": 4}
    run(ledger.ID, RandomPolicy(), out=tmp_path / "whole", **settings)
    with pytest.MonkeyPatch.context() as patch:
        FullDisk(patch, at, part=True)
        with pytest.raises(RunError, match="No space left"):
            run(ledger.ID, RandomPolicy(), out=tmp_path / "full", **settings)
    run(ledger.ID, RandomPolicy(), out=tmp_path / "full", **settings)
    for got, wanted in zip(table(tmp_path / "full"), table(tmp_path / "whole"), strict=True):
        assert [_bare(row) for row in got] == [_bare(row) for row in wanted]


def _bare(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "wall_s"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of 256 kB."""
    where = tmp_path / "disk"
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(where)]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs the command mount")
    if made.returncode:
        pytest.skip(f"no disk may be mounted here: {made.stderr.strip()}")
    yield where
    subprocess.run(["umount", str(where)], check=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs tmpfs")
def test_a_real_disk_that_is_full_again_and_again(
    ledger: ModuleType, tmp_path: Path, small_disk: Path
) -> None:
    settings = {"n": 20, "seed": 6, "concurrency": 8}
    whole = run(ledger.ID, RandomPolicy(), out=tmp_path / "whole", **settings)
    folder, ballast = small_disk / "run", small_disk / "ballast"
    known = 0
    for free_kb in (0, 4, 8, 16, 24, 40, 64, 96, 140):
        ballast.unlink(missing_ok=True)
        used = sum(path.stat().st_blocks for path in small_disk.rglob("*") if path.is_file()) // 2
        fill = 256 - used - free_kb
        if fill > 0:
            ballast.write_bytes(b"x" * (fill * 1024))
        with pytest.raises(RunError, match=r"No space left on device.* once there is room"):
            run(ledger.ID, RandomPolicy(), out=folder, **settings)
        if (folder / "run.json").exists():
            kept = Outcomes.load(folder)
            assert len(kept) >= known
            known = len(kept)
            assert len(list(read_transcripts(folder))) == known
    assert 0 < known < len(whole)
    ballast.unlink(missing_ok=True)
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    run(ledger.ID, RandomPolicy(), out=folder, **settings)
    for got, wanted in zip(table(folder), table(tmp_path / "whole"), strict=True):
        assert [_bare(row) for row in got] == [_bare(row) for row in wanted]
