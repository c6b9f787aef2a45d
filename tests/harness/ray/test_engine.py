from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from agentenvs.errors import BadArgument, InfrastructureFault, PolicyError, RunError
from agentenvs.harness import Completion, Outcomes, Request, read_transcripts, run
from agentenvs.harness.policies import CallablePolicy, RandomPolicy
from agentenvs.harness.progress import Progress

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

ROWS = 48


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start Ray with two CPUs, as a caller would who has initialised it."""
    from agentenvs.harness.ray.cluster import Cluster

    home = set(Path.home().iterdir())
    handler = signal.getsignal(signal.SIGTERM)
    started = Cluster("local", 2)
    folder = Path(started.ray._private.worker._global_node.get_session_dir_path())
    yield started
    started.close()
    assert not folder.parent.exists()
    assert signal.getsignal(signal.SIGTERM) == handler
    # Other tests may run beside this one.
    assert not [path for path in {*Path.home().iterdir()} - home if "ray" in path.name]
    deadline = time.monotonic() + 30
    while left := _processes(str(folder)):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def _processes(of: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in found if of in line]


@pytest.fixture(scope="module")
def play(cluster: Any, ledger: ModuleType) -> Iterator[Callable[..., Outcomes]]:
    """Run the small environment; the module that it lives in is none that workers can import."""
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(ledger)

    def call(policy: Any, engine: str = "ray", **settings: Any) -> Outcomes:
        if engine == "ray":
            settings.setdefault("engine_kwargs", {"workers": 2})
        return run(ledger.ID, policy, engine=engine, **{"n": 4, "concurrency": 8, **settings})

    yield call
    cloudpickle.unregister_pickle_by_value(ledger)


@pytest.fixture(scope="module")
def whole(play: Callable[..., Outcomes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run in this process."""
    folder = tmp_path_factory.mktemp("whole")
    play(RandomPolicy(), "local", out=folder)
    return folder


def bare(rows: Any, *but: str) -> list[dict[str, Any]]:
    kept = [
        {key: value for key, value in row.items() if key not in ("wall_s", *but)} for row in rows
    ]
    return sorted(kept, key=lambda row: (row["task_id"], row["rollout"]))


def check_equal(folder: Path, whole: Path, *but: str) -> None:
    lines = (folder / "outcomes.jsonl").read_bytes().splitlines()
    assert len(lines) == len((whole / "outcomes.jsonl").read_bytes().splitlines())
    assert bare(Outcomes.load(folder), *but) == bare(Outcomes.load(whole))
    assert bare(read_transcripts(folder), *but) == bare(read_transcripts(whole))


def slow(folder: Path, wait_s: float = 0.01) -> Any:
    """Return a policy that notes which processes it acts in."""

    class Slow(RandomPolicy):
        async def generate(self, request: Request) -> Completion:
            import asyncio
            import os

            (folder / str(os.getpid())).touch()
            await asyncio.sleep(wait_s)
            return await super().generate(request)

    return Slow()


def kill_one(folder: Path, draw: random.Random) -> bool:
    """Kill one of the processes that a policy acts in."""
    found = sorted(int(path.name) for path in folder.iterdir())
    while found:
        pid = found.pop(draw.randrange(len(found)))
        (folder / str(pid)).unlink()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            return True
    return False


def test_a_run_with_ray_equals_one_in_this_process(
    play: Callable[..., Outcomes], whole: Path, tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []

    def note(progress: Progress) -> None:
        seen.append((progress.done, progress.total))

    outcomes = play(RandomPolicy(), out=tmp_path, progress=note)
    check_equal(tmp_path, whole)
    assert seen == [(done, ROWS) for done in range(1, ROWS + 1)]
    assert outcomes.settings["engine"] == "ray"
    assert ray.is_initialized()


def test_a_run_goes_on_with_the_other_engine(
    play: Callable[..., Outcomes], whole: Path, tmp_path: Path
) -> None:
    for n, engine in enumerate(("local", "ray", "local", "local"), 1):
        play(RandomPolicy(), engine, out=tmp_path, n=n)
    check_equal(tmp_path, whole)


def test_rounds_of_a_sampler_are_the_same(
    play: Callable[..., Outcomes], ledger: ModuleType, sampling: ModuleType
) -> None:
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sampling)
    there, here = sampling.Learner(), sampling.Learner()
    policy = sampling.Warm(ledger.gold)
    rows = play(policy, sampler=there, group=2)
    assert bare(rows) == bare(play(policy, "local", sampler=here, group=2))
    assert there.seen == here.seen
    assert len(set(rows.column("temperature"))) == ROWS


def test_functions_from_files_and_specs_act_there(
    play: Callable[..., Outcomes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text("WORD = 'Deposited.'\ndef act(prompt):\n    return WORD\n")
    monkeypatch.chdir(tmp_path)
    one = {"workers": 1}
    rows = play("callable:mine.py:act", n=1, engine_kwargs=one)
    assert bare(rows) == bare(play("callable:mine.py:act", "local", n=1))
    assert rows.settings["policy"]["name"] == "callable:mine.py:act"
    wide = run("BFCLv4", "scripted:wide", tasks="mini", n=1, engine="ray", engine_kwargs=one)
    assert bare(wide) == bare(run("BFCLv4", "scripted:wide", tasks="mini", n=1))


def test_a_worker_that_is_killed_takes_nothing_along(
    play: Callable[..., Outcomes], whole: Path, tmp_path: Path
) -> None:
    (pids := tmp_path / "pids").mkdir()
    draw = random.Random(5)
    moments = sorted(draw.sample(range(3, ROWS - 4), 2))

    def kill(progress: Progress) -> None:
        if moments and progress.done >= moments[0] and kill_one(pids, draw):
            moments.pop(0)

    play(slow(pids), out=tmp_path / "run", progress=kill)
    assert not moments
    check_equal(tmp_path / "run", whole, "attempt")
    outcomes = Outcomes.load(tmp_path / "run")
    assert 1 <= len(outcomes.voids) <= 8
    assert {row["reason"] for row in outcomes.voids} == {"worker"}
    again = {(row["task_id"], row["rollout"]): row["attempt"] + 1 for row in outcomes.voids}
    told = {(row["task_id"], row["rollout"]): row.get("attempt") for row in outcomes}
    assert {key: told[key] for key in again} == again
    assert not outcomes.open


def test_a_rollout_that_kills_its_worker_stays_open_and_no_other_does(
    play: Callable[..., Outcomes], whole: Path
) -> None:
    class Deadly(RandomPolicy):
        async def generate(self, request: Request) -> Completion:
            if request.where.task == "ledger_3" and request.where.rollout == 1:
                import os

                os.kill(os.getpid(), 9)
            return await super().generate(request)

    outcomes = play(Deadly(), concurrency=16, retries=1)
    assert outcomes.open == [("ledger_3", 1)]
    kept = [
        row for row in Outcomes.load(whole) if (row["task_id"], row["rollout"]) != ("ledger_3", 1)
    ]
    assert bare(outcomes, "attempt") == bare(kept)


def test_workers_that_die_again_and_again_stop_the_run(
    play: Callable[..., Outcomes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentenvs.harness.ray.engine._FEWEST_DEATHS", 2)

    class Fatal(RandomPolicy):
        async def generate(self, request: Request) -> Completion:
            import os

            os.kill(os.getpid(), 9)
            raise AssertionError

    with pytest.raises(RunError, match="^2 workers died with no rollout finished.*same command"):
        play(Fatal(), out=tmp_path, retries=9, engine_kwargs={"workers": 1})
    assert len(Outcomes.load(tmp_path)) == 0


def test_void_tries_and_failures_come_back_from_workers(play: Callable[..., Outcomes]) -> None:
    class Shaky(RandomPolicy):
        seen: ClassVar[set[Any]] = set()

        async def generate(self, request: Request) -> Completion:
            key = request.where[:3]
            if request.where.task == "ledger_0" or key not in self.seen:
                self.seen.add(key)
                raise InfrastructureFault("no answer", "http_503")
            return await super().generate(request)

    outcomes = play(Shaky(), n=1, engine_kwargs={"workers": 1, "per_worker": 3})
    assert outcomes.open == [("ledger_0", 0)]
    assert {row["reason"] for row in outcomes.voids} == {"http_503"}
    assert {row["attempt"] for row in outcomes} == {1}
    assert [row["attempt"] for row in outcomes.voids if row["task_id"] == "ledger_0"] == [0, 1, 2]

    def broken(prompt: str) -> str:
        raise ValueError("out of ideas")

    with pytest.raises(PolicyError, match=r"task 'ledger_\d+', rollout \d .*: ValueError: out of"):
        play(broken, engine_kwargs={"workers": 1})
    with pytest.raises(PolicyError, match="cannot be sent to workers"):
        play(CallablePolicy(str, threads=1))


def test_what_cannot_work_is_told(
    play: Callable[..., Outcomes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(**settings: Any) -> None:
        play(RandomPolicy(), engine_kwargs=settings)

    with pytest.raises(RunError, match=r"A worker asks for \{'CPU': 1.0, 'GPU': 1.0\}"):
        call(num_gpus=1)
    with pytest.raises(RunError, match=r"No worker started within 0 s.*free"):
        call(num_cpus=3, workers=1, start_s=0)
    with pytest.raises(BadArgument, match=r"takes no argument 'worker'.*workers"):
        call(worker=1)
    with pytest.raises(BadArgument, match="`workers` to be an int of at least 1, got 0"):
        call(workers=0)
    with pytest.raises(BadArgument, match="`num_gpus` to be a number"):
        call(num_gpus="two")
    with monkeypatch.context() as patch:
        patch.setattr("agentenvs.harness.ray.worker.versions", lambda: {"agentenvs": "0"})
        with pytest.raises(RunError, match='something else: versions.agentenvs: "0" -> "'):
            call(workers=1)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "ray", None)
        with pytest.raises(BadArgument, match=r"pip install 'agentenvs\[ray\]'"):
            call()


def test_addresses_that_lead_nowhere_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentenvs.harness.ray.cluster import Cluster

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(BadArgument, match="HOST:PORT"):
        Cluster("ray://head:10001")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(RunError, match=r"There is no Ray cluster \(ConnectionRefusedError"):
            Cluster(f"127.0.0.1:{taken.getsockname()[1]}")
    assert signal.getsignal(signal.SIGTERM) == handler


@pytest.mark.slow
def test_soak_workers_killed_at_ten_random_moments(
    play: Callable[..., Outcomes], tmp_path: Path
) -> None:
    (pids := tmp_path / "pids").mkdir()
    draw = random.Random(11)
    over, kills = threading.Event(), []

    def killer() -> None:
        while len(kills) < 10 and not over.wait(draw.uniform(0.5, 2.0)):
            if kill_one(pids, draw):
                kills.append(time.monotonic())

    play(RandomPolicy(), "local", out=tmp_path / "whole", n=64)
    thread = threading.Thread(target=killer)
    thread.start()
    try:
        play(slow(pids, 0.04), out=tmp_path / "run", n=64, retries=9)
    finally:
        over.set()
        thread.join()
    assert len(kills) == 10
    check_equal(tmp_path / "run", tmp_path / "whole", "attempt")
    assert not Outcomes.load(tmp_path / "run").open
