"""The certificate of a replay: what was verified, and sums that tell a later change.

A certificate is no signature. It says that a replay of this package came to the recorded
outcomes and that the rows have not changed since; who wrote it, and whether a model ever said
the recorded words, it does not say.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import RunDamaged, RunError
from agentenvs.harness.replay.findings import OUTCOMES, RUN, TRANSCRIPTS, Finding, Kind
from agentenvs.harness.replay.rows import Rows
from agentenvs.harness.replay.sums import MARK, RowSums
from agentenvs.harness.store.durable import LONGEST, open_plain, write_whole
from agentenvs.harness.store.folder import FREE
from agentenvs.harness.store.outcomes_rows import decode
from agentenvs.harness.store.row_sums import setting_sums
from agentenvs.harness.store.segments import segments

__all__ = [
    "CERTIFICATE",
    "added",
    "compare_rows",
    "compare_settings",
    "file_sums",
    "make_certificate",
    "read_certificate",
    "write_certificate",
]

CERTIFICATE = "certificate.json"
_FORMAT = 1
# Where rollouts come from does not change once they are merged.
_FREE = FREE - {"merged_from"}
_DIFFERS = f"differs from {CERTIFICATE}"
_GONE = f"taken away since {CERTIFICATE} was written"
# Their text has to be read back.
_MOST_MARKS = 2**26


def make_certificate(
    folder: Path, facts: Mapping[str, Any], settings: Mapping[str, Any], rows: Rows
) -> dict[str, Any]:
    """Return a certificate.

    Args:
        folder: the run folder.
        facts: what was verified, plain data.
        settings: what the run's `run.json` holds.
        rows: the rows that were verified, read to their end.

    Raises:
        RunError: there are too many rollouts to mark each.
    """
    task_ids = list(settings["task_ids"])
    # A run may be far from its `n`.
    n = min(int(settings["n"]), rows.outcomes.after())
    if len(task_ids) * n > _MOST_MARKS:
        raise RunError(
            f"Expected at most {_MOST_MARKS} rollouts to certify, got {len(task_ids)} tasks with "
            f"rollouts up to number {n - 1}."
        )
    return {
        "format": _FORMAT,
        **facts,
        "outcomes": rows.outcomes.total(),
        "transcripts": rows.transcripts.total(),
        "files": file_sums(folder),
        "settings": setting_sums(settings, _FREE),
        "task_ids": task_ids,
        "n": n,
        "marks": {
            "outcomes": _packed(rows.outcomes.marks(task_ids, n)),
            "transcripts": _packed(rows.transcripts.marks(task_ids, n)),
        },
    }


def file_sums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file with rows in a run folder.

    Raises:
        RunDamaged: one cannot be read.
    """
    sums: dict[str, str] = {}
    for path in (folder / OUTCOMES, *segments(folder)):
        found = hashlib.sha256()
        try:
            with open_plain(path) as file:
                while block := file.read(2**20):
                    found.update(block)
        except OSError as error:
            raise RunDamaged(f"{path}: {error.strerror or error}.") from None
        sums[path.name] = found.hexdigest()
    return sums


def write_certificate(folder: Path, certificate: Mapping[str, Any]) -> None:
    """Write a certificate into a run folder, whole or not at all.

    Raises:
        RunError: it cannot be written.
    """
    path = folder / CERTIFICATE
    text = json.dumps({**certificate, "sum": _own_sum(certificate)}, indent=1, allow_nan=False)
    try:
        write_whole(path, [text.encode("ascii"), b"\n"])
    except OSError as error:
        raise RunError(
            f"{path}: {error.strerror or error}. Everything in the run holds; without writing "
            "(`write=False`, `--no-write`) that is said too."
        ) from error


def read_certificate(folder: Path) -> dict[str, Any] | None:
    """Return the certificate in a run folder, None where there is none.

    Raises:
        RunDamaged: it is there and none.
    """
    path = folder / CERTIFICATE
    try:
        with open_plain(path) as file:
            found = decode(file.read(LONGEST * 16).decode())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise RunDamaged(f"{path}: expected a certificate: {error}.") from None
    own = found.pop("sum", None) if isinstance(found, dict) else None
    if (
        not isinstance(found, dict)
        or found.get("format") != _FORMAT
        or not isinstance(found.get("marks"), dict)
        or not isinstance(found.get("files"), dict)
        or type(found.get("rollouts")) is not int
        or not isinstance(found.get("settings"), dict)
        or not isinstance(found.get("task_ids"), list)
        or not all(isinstance(task, str) for task in found["task_ids"])
        or type(found.get("n")) is not int
        or found["n"] < 1
        or len(found["task_ids"]) * found["n"] > _MOST_MARKS
        or not all(isinstance(found.get(key), str) for key in ("outcomes", "transcripts"))
    ):
        raise RunDamaged(
            f"{path}: expected a certificate of format {_FORMAT}. Without that file a replay "
            "writes a new one."
        )
    if own != _own_sum(found):
        raise RunDamaged(
            f"{path}: expected the certificate that was written; its check sum is another. "
            "Without that file a replay writes a new one."
        )
    return found


def _own_sum(certificate: Mapping[str, Any]) -> str:
    """Return a sum of all that a certificate says, in whatever order and layout."""
    return hashlib.sha256(json.dumps(certificate, sort_keys=True).encode()).hexdigest()[:16]


def compare_settings(
    certificate: Mapping[str, Any], settings: Mapping[str, Any]
) -> Iterator[Finding]:
    """Yield which settings were changed since a certificate was written.

    Args:
        certificate: what `read_certificate` gave.
        settings: what the run's `run.json` holds now.
    """
    now = setting_sums(settings, _FREE)
    then: Mapping[str, Any] = certificate["settings"]
    for key in dict.fromkeys((*then, *now)):
        if then.get(key) != now.get(key):
            yield Finding("edited", None, None, RUN, key, None, None, _DIFFERS)


def compare_rows(certificate: Mapping[str, Any], rows: Rows) -> Iterator[Finding]:
    """Yield which rows were changed or taken away since a certificate was written.

    Rows that have come since are none of them; see `added`.

    Args:
        certificate: what `read_certificate` gave.
        rows: the rows as they are now, read to their end.

    Raises:
        RunDamaged: the certificate's marks cannot be read.
    """
    task_ids, n = certificate["task_ids"], certificate["n"]
    for file, sums, key in (
        (OUTCOMES, rows.outcomes, "outcomes"),
        (TRANSCRIPTS, rows.transcripts, "transcripts"),
    ):
        if sums.total() != certificate[key]:
            yield from _changes(certificate, file, sums, key, task_ids, n)


def _changes(
    certificate: Mapping[str, Any],
    file: str,
    sums: RowSums,
    key: str,
    task_ids: Sequence[str],
    n: int,
) -> Iterator[Finding]:
    then = _unpacked(certificate["marks"].get(key), (len(task_ids), n))
    now = sums.marks(task_ids, n)
    wrong: NDArray[np.bool_] = (then != now) & (then != 0)
    for task, rollout in np.argwhere(wrong).tolist():
        gone = not now[task, rollout]
        kind: Kind = "missing" if gone else "edited"
        yield Finding(
            kind, task_ids[task], rollout, file, "row", None, None, _GONE if gone else _DIFFERS
        )


def added(certificate: Mapping[str, Any], rows: Rows) -> set[tuple[str, int]]:
    """Return the (task, rollout) pairs that have come since a certificate was written."""
    task_ids, n = certificate["task_ids"], certificate["n"]
    then = _unpacked(certificate["marks"].get("outcomes"), (len(task_ids), n))
    new = np.argwhere((then == 0) & (rows.outcomes.marks(task_ids, n) != 0)).tolist()
    outside = rows.outcomes.outside(task_ids, n)
    return {*((task_ids[task], rollout) for task, rollout in new), *outside}


def _packed(marks: NDArray[np.uint32]) -> str:
    return base64.b64encode(marks.tobytes()).decode("ascii")


def _unpacked(text: Any, shape: tuple[int, int]) -> NDArray[np.uint32]:
    try:
        content = base64.b64decode(text, validate=True)
        if len(content) != MARK * shape[0] * shape[1]:
            raise ValueError(f"{len(content)} bytes for {shape[0]} x {shape[1]} rollouts")
    except (TypeError, ValueError, binascii.Error) as error:
        raise RunDamaged(f"{CERTIFICATE}: expected marks of rollouts: {error}.") from None
    return np.frombuffer(content, dtype="<u4").reshape(shape)
