"""Fetching a wheel by its package name, with pip or uv and without its dependencies."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentenvs.errors import SourceMismatch, SourceMissing
from agentenvs.sources._process import run

if TYPE_CHECKING:
    from agentenvs.sources._progress import Progress
    from agentenvs.sources._source import Source

__all__ = ["PyPIWheel"]

_TIMEOUT = 600.0
# Nothing is installed, so a rule against installing outside an environment does not apply.
_ENVIRONMENT = {"PIP_REQUIRE_VIRTUALENV": "0"}
_RAW_PROGRESS = re.compile(r"Progress (\d{1,15}) of (\d{1,15})\s*")
_OTHER_HASH = re.compile(r"(?:Got|Computed:\s+sha256:)\s*([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class PyPIWheel:
    """A wheel in the package index that pip or uv is set up to use.

    pip gives the wheel itself; uv, which environments that it made have instead of pip,
    gives the unpacked tree. Both check the wheel's hash, and both keep their own settings
    for index, proxy and certificates.

    Attributes:
        project: the package's name in the index.
        module: the package's import name.
    """

    project: str
    module: str

    @property
    def resumes(self) -> bool:
        """Return False: each try begins anew."""
        return False

    def fetch(self, source: Source, folder: Path, progress: Progress) -> Path:
        """Fetch the wheel into `folder`; see `Way.fetch`."""
        requirements = folder / "requirements.txt"
        pin = f"{self.project}=={source.version} --hash=sha256:{source.sha256}\n"
        requirements.write_text(pin, encoding="utf-8")
        target = folder / "fetched"
        tool, command = _command(requirements, target)
        text = f"Fetching {source.title}: {self.project} {source.version}, with {tool}"
        progress(0, source.size, text)
        code, output = run(command, _TIMEOUT, _reader(progress, text), _ENVIRONMENT)
        if code:
            raise _failure(source, tool, code, output)
        wheel = target / source.filename
        found = wheel if wheel.is_file() else target
        progress(source.size, source.size, text)
        return found


def _command(requirements: Path, target: Path) -> tuple[str, list[str]]:
    wanted = ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
    listed = ["-r", str(requirements)]
    if sys.executable and importlib.util.find_spec("pip") is not None:
        options = ["--no-input", "--disable-pip-version-check", "--retries", "2"]
        if _pip_has_raw_progress():
            options += ["--progress-bar", "raw"]
        start = [sys.executable, "-m", "pip", "download"]
        return "pip", [*start, *wanted, *options, *listed, "-d", str(target)]
    uv = _uv()
    if uv is not None:
        start = [*uv, "pip", "install", "--python", sys.executable]
        options = ["--no-progress", "--link-mode", "copy", "--target", str(target)]
        return "uv", [*start, *wanted, *options, *listed]
    raise SourceMissing(f"Neither pip nor uv was found beside {sys.executable or 'Python'}.")


def _uv() -> list[str] | None:
    found = shutil.which("uv")
    if found is not None:
        return [found]
    if sys.executable and importlib.util.find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    return None


def _pip_has_raw_progress() -> bool:
    from importlib import metadata

    version = re.match(r"(\d+)\.(\d+)", metadata.version("pip"))
    return version is not None and (int(version[1]), int(version[2])) >= (24, 1)


def _reader(progress: Progress, text: str) -> Callable[[str], bool]:
    def read(line: str) -> bool:
        match = _RAW_PROGRESS.fullmatch(line)
        if match is None:
            return False
        progress(int(match[1]), int(match[2]), text)
        return True

    return read


def _failure(source: Source, tool: str, code: int, output: str) -> Exception:
    other = _OTHER_HASH.search(output)
    if other is not None:
        return SourceMismatch(
            f"{source.filename} was refused: expected sha256 {source.sha256}, found {other[1]}."
        )
    return SourceMissing(f"{tool} ended with exit code {code}:\n{output.strip()}")
