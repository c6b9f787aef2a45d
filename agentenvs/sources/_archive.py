"""Fetching an archive by address whose host may pack it anew: its files are pinned, not it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentenvs.errors import SourceMismatch, SourceMissing
from agentenvs.sources._tree import problems_of

if TYPE_CHECKING:
    from agentenvs.sources._progress import Progress
    from agentenvs.sources._source import Source

__all__ = ["Archive"]

_TRIES = 3


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip or tar archive on the web, at one of several addresses.

    Of what comes the needed files are checked one by one, and kept; nothing is unpacked to
    the paths that an archive names, and nothing in it is run.

    Attributes:
        places: addresses, tried in order.
        most: bytes above which an archive is refused.
        pause: seconds before a broken connection is tried again, doubled each time.
        timeout: seconds without a byte after which a connection counts as broken.
    """

    places: tuple[str, ...]
    most: int = 200_000_000
    pause: float = 1.0
    timeout: float = 30.0

    @property
    def module(self) -> None:
        """Return None: there is no installed copy."""
        return

    @property
    def resumes(self) -> bool:
        """Return False: each try begins anew."""
        return False

    def fetch(self, source: Source, folder: Path, progress: Progress) -> Path:
        """Fetch the archive into `folder`; see `Way.fetch`."""
        failures: list[str] = []
        mismatches = 0
        for address in self.places:
            host = address.split("/")[2]
            target = folder / source.filename
            problem = self._fetch(address, target, f"Fetching {source.title} from {host}", progress)
            if not problem:
                wrong = problems_of(target, source)
                if not wrong:
                    return target
                mismatches += 1
                more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
                problem = f"{wrong[0]}{more}"
            failures.append(f"  {address}: {problem}")
        kind = SourceMismatch if failures and mismatches == len(failures) else SourceMissing
        reasons = "\n".join(failures)
        raise kind(f"{source.title} could not be had from any address:\n{reasons}")

    def _fetch(self, address: str, target: Path, text: str, progress: Progress) -> str:
        """Fetch from one address; return what went wrong, or ""."""
        from agentenvs.sources._http import DroppedError, RefusedError, fetch

        problem = ""
        for number in range(_TRIES):
            if number:
                time.sleep(min(self.pause * 2 ** (number - 1), 30.0))
            progress(0, 0, text)
            try:
                fetch(
                    address, target, self.most, self.timeout, lambda done: progress(done, 0, text)
                )
            except RefusedError as error:
                return str(error)
            except DroppedError as error:
                problem = str(error)
            else:
                return ""
        return problem
