from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from agentenvs.errors import RunError
from agentenvs.harness.outcomes import Outcomes, OutcomeWriter, write_settings


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
