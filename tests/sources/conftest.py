"""A small made-up source with a real wheel, and a cache of its own for every test."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentenvs.sources import NeededFile, PyPIWheel, Source
from agentenvs.sources import _manifest as manifest

FILES = {
    "sample_data/tasks.json": b'{"id": "a"}\n' * 50,
    "sample_data/deep/sim.py": b"class Sim:\n    pass\n",
    "sample_data/text.txt": "grüße\r\n".encode(),
}
REST = {
    "sample_data/__init__.py": b"raise RuntimeError('a source must never be imported')\n",
    "sample_data-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: sample-data\n"
    b"Version: 1.0\nRequires-Dist: a-package-that-nobody-has\n",
    "sample_data-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\n"
    b"Root-Is-Purelib: true\nTag: py3-none-any\n",
    "sample_data-1.0.dist-info/RECORD": b"",
}


@dataclass(frozen=True)
class Sample:
    source: Source
    wheel: Path
    cache: Path

    @property
    def slot(self) -> Path:
        return self.cache / "sources" / "sample-1.0"

    def unpack(self, folder: Path) -> Path:
        for path, content in {**FILES, **REST}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        return folder


def write_zip(path: Path, contents: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return path


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sample:
    wheel = write_zip(tmp_path / "index" / "sample_data-1.0-py3-none-any.whl", {**FILES, **REST})
    source = Source(
        name="sample",
        version="1.0",
        title="A sample",
        licence="Apache-2.0",
        credit="nobody",
        url="https://example.org",
        filename=wheel.name,
        size=wheel.stat().st_size,
        sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        way=PyPIWheel(project="sample-data", module="sample_data"),
        files=tuple(
            NeededFile(path, len(content), hashlib.sha256(content).hexdigest())
            for path, content in FILES.items()
        ),
    )
    monkeypatch.setitem(manifest.SOURCES, "sample", source)
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "cache"))
    for name in ("AGENTENVS_SAMPLE", "AGENTENVS_OFFLINE", "AGENTENVS_DATA"):
        monkeypatch.delenv(name, raising=False)
    return Sample(source, wheel, tmp_path / "cache")


@pytest.fixture
def local_index(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make pip and uv look into a folder and nowhere else."""
    folder = sample.wheel.parent
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


@pytest.fixture
def start(sample: Sample) -> Callable[[str], subprocess.Popen[bytes]]:
    """Start a Python process that knows the sample and runs the given lines."""
    head = (
        "import pickle, sys, time\n"
        "from pathlib import Path\n"
        "from agentenvs import sources\n"
        "from agentenvs.sources import _manifest, _pypi\n"
        "_manifest.SOURCES['sample'] = pickle.load(sys.stdin.buffer)\n"
    )

    def start(lines: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", head + lines],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(sample.source))
        process.stdin.close()
        process.stdin = None
        return process

    return start


PLAIN = {"big.json": bytes(range(256)) * 2000, "small.json": b'{"a": 1}\n', "third.json": b"[]"}
OTHER = {"big.json": b"[1, 2]\n", "small.json": PLAIN["small.json"]}


def pinned(contents: dict[str, bytes]) -> tuple[NeededFile, ...]:
    return tuple(
        NeededFile(path, len(content), hashlib.sha256(content).hexdigest())
        for path, content in contents.items()
    )


def write_files(folder: Path, contents: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@dataclass(frozen=True)
class Plain:
    source: Source
    cache: Path

    @property
    def slot(self) -> Path:
        return self.cache / "sources" / "plain-1.0"


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plain:
    """A source of three plain files with a variant of two."""
    facts = {"licence": "MIT", "credit": "nobody", "url": "https://example.org"}
    variant = Source(
        name="plain",
        version="1.0-other",
        title="Plain files, rebuilt",
        size=sum(map(len, OTHER.values())),
        way=None,
        files=pinned(OTHER),
        **facts,
    )
    source = Source(
        name="plain",
        version="1.0",
        title="Plain files",
        size=sum(map(len, PLAIN.values())),
        way=None,
        files=pinned(PLAIN),
        variants=(variant,),
        **facts,
    )
    monkeypatch.setitem(manifest.SOURCES, "plain", source)
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "cache"))
    for name in ("AGENTENVS_PLAIN", "AGENTENVS_OFFLINE", "AGENTENVS_DATA"):
        monkeypatch.delenv(name, raising=False)
    return Plain(source, tmp_path / "cache")


@pytest.fixture
def webshop_files() -> Path:
    """Return the folder of official WebShop files, or skip."""
    base = os.environ.get("AGENTENVS_DATA")
    if not base:
        pytest.skip("AGENTENVS_DATA does not name the folder of official files")
    return Path(base) / "webshop"
