from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.errors import BadArgument, RunError, UnknownName
from agentenvs.harness.lab.jobs import Job, plan
from agentenvs.harness.lab.study import run_study
from agentenvs.harness.lab.workers import work

HERE = Path(__file__).parent


def doing(studies: ModuleType, path: Path, name: str = "perform") -> Any:
    return functools.partial(getattr(studies, name), os.fspath(path))


def test_jobs_go_seed_by_seed_with_needs_first(studies: ModuleType) -> None:
    jobs = plan(studies.small(), ("base", "grpo", "opd", "ppo"), [4, 2])
    assert [job.seed for job in jobs] == [4] * 4 + [2] * 4
    assert [job.arm for job in jobs[:4]] == ["base", "grpo", "ppo", "opd"]
    assert jobs[3].needs == ("base", "grpo")
    assert all(job.weight > 0 for job in jobs)


def test_a_study_runs_in_processes_and_goes_on(studies: ModuleType, tmp_path: Path) -> None:
    path, config = tmp_path / "s", studies.small()
    call = doing(studies, path)
    first = run_study(path, config, ["opd"], 1, jobs=2, quiet=True, doing=call)
    assert first.finished() == [("base", 0), ("grpo", 0), ("opd", 0)]
    before = {job: (first.job(*job) / "job.json").read_bytes() for job in first.finished()}
    assert str(os.getpid()).encode() not in b"".join(before.values())
    more = run_study(path, config, ["opd", "ppo"], 2, jobs=2, quiet=True, doing=call)
    assert len(more.finished()) == 8
    for job, data in before.items():
        assert (more.job(*job) / "job.json").read_bytes() == data
    assert len(more.history) == 2


def test_what_is_finished_is_not_begun_again(studies: ModuleType, tmp_path: Path) -> None:
    path, config = tmp_path / "s", studies.small()
    studies.make(path, config, ["base"], [0])
    run_study(path, config, ["base"], 1, quiet=True, doing=doing(studies, path, "slow"))
    assert not (path / "begun-base").exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [("fails_at_grpo", "ValueError: no such luck"), ("dies_at_grpo", "exit code 7")],
)
def test_a_job_that_fails_takes_only_those_along_that_need_it(
    studies: ModuleType, tmp_path: Path, name: str, why: str
) -> None:
    path, config = tmp_path / "s", studies.small()
    with pytest.raises(RunError, match=r"(?s)2 of 4 jobs.*grpo, seed 0: .*" + why) as caught:
        run_study(
            path, config, ["opd", "ppo"], 1, jobs=1, quiet=True, doing=doing(studies, path, name)
        )
    assert "opd, seed 0: needs base and grpo" in str(caught.value)
    again = run_study(path, config, ["opd", "ppo"], 1, quiet=True, doing=doing(studies, path))
    assert len(again.finished()) == 4


def test_lines_tell_how_far_it_is(
    studies: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s"
    run_study(path, studies.small(), ["grpo"], 1, jobs=1, doing=doing(studies, path))
    out, told = capsys.readouterr()
    assert out == ""
    assert "2 jobs" in told
    assert "base, seed 0 done" in told
    assert "2/2 jobs  100 %" in told


@pytest.mark.parametrize("seeds", [0, -1, [], [1, 1], [-1], "2", [0.5], True])
def test_seeds_that_are_none_are_refused(studies: ModuleType, tmp_path: Path, seeds: Any) -> None:
    with pytest.raises(BadArgument, match="`seeds`"):
        run_study(tmp_path / "s", studies.small(), ["base"], seeds)
    assert not (tmp_path / "s").exists()


def test_other_arguments_out_of_range_are_refused(studies: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no arm 'bse'"):
        run_study(tmp_path / "s", studies.small(), ["bse"])
    with pytest.raises(BadArgument, match="`jobs`"):
        run_study(tmp_path / "s", studies.small(), ["base"], jobs=0)


def test_a_job_whose_need_nobody_does_is_refused(studies: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="Nothing that grpo, seed 0 needs"):
        list(work([Job("grpo", 0, ("base",), 1.0)], doing(studies, tmp_path), 1))


KILLED = """
import functools, sys
sys.path.insert(0, {here!r})
import lab_studies
from agentenvs.harness.lab.study import run_study
if __name__ == "__main__":
    run_study({path!r}, lab_studies.small(), ["grpo", "ppo"], 1, jobs=2, quiet=True,
              doing=functools.partial(lab_studies.slow, {path!r}))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_study_leaves_no_process_and_goes_on(
    studies: ModuleType, tmp_path: Path, number: signal.Signals
) -> None:
    path, script = tmp_path / "s", tmp_path / "killed.py"
    script.write_text(KILLED.format(here=str(HERE), path=str(path)))
    running = subprocess.Popen(
        [sys.executable, str(script)], stderr=subprocess.DEVNULL, start_new_session=True
    )
    half = [path / "seed-0" / f".{arm}.part" / "half" for arm in ("grpo", "ppo")]
    _wait(lambda: all(file.exists() for file in half))
    workers = [int((path / f"begun-{arm}").read_text()) for arm in ("grpo", "ppo")]
    running.send_signal(number)
    running.wait(30)
    _wait(lambda: not any(_alive(worker) for worker in workers))
    for left in path.glob("begun-*"):
        left.unlink()
    call = doing(studies, path)
    again = run_study(path, studies.small(), ["grpo", "ppo"], 1, quiet=True, doing=call)
    assert len(again.finished()) == 3
    assert not list(path.glob("seed-*/.*.part"))


def _wait(condition: Any) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("nothing came of it in a minute")


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    try:
        return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (OSError, IndexError):
        return False
