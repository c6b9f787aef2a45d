"""Running another program: bounded in time, its output read line by line."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from agentenvs.errors import SourceMissing

__all__ = ["run"]

_TAIL_LINES = 40
_LINE = 2_000


def run(
    command: Sequence[str],
    timeout: float,
    on_line: Callable[[str], bool],
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Run `command`; return its exit code and the end of what it wrote.

    The program gets no input and is killed when this call is left in any way.

    Args:
        command: program and arguments; no shell is involved.
        timeout: seconds.
        on_line: called with each line, in the caller's thread; a line for which it returns
            True is not kept.
        environment: variables to set beside the caller's own.

    Raises:
        SourceMissing: the program cannot be started or takes longer than `timeout`.
    """
    try:
        process = subprocess.Popen(  # noqa: S603
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=None if environment is None else {**os.environ, **environment},
        )
    except OSError as error:
        raise SourceMissing(f"Could not start {command[0]}: {error}.") from error
    if process.stdout is None:
        raise RuntimeError("Expected a pipe from the program.")
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True)
    reader.start()
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    deadline = time.monotonic() + timeout
    try:
        while True:
            try:
                line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise _too_slow(command, timeout, tail) from None
            if line is None:
                break
            if not on_line(line):
                tail.append(line)
        try:
            code = process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise _too_slow(command, timeout, tail) from None
    finally:
        process.kill()
        process.wait()
        reader.join(timeout=1.0)
    return code, "".join(tail)


def _pump(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    with stream:
        while line := stream.readline(_LINE):
            lines.put(line)
    lines.put(None)


def _too_slow(command: Sequence[str], timeout: float, tail: deque[str]) -> SourceMissing:
    said = "".join(tail).strip()
    text = f"{' '.join(command[:4])} took longer than {timeout:g} s and was stopped"
    return SourceMissing(f"{text}:\n{said}" if said else f"{text}.")
