"""What is built from the sources, installed in a fresh environment, works from anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ALL_MODULES = """
import importlib, pkgutil, agentenvs
for info in pkgutil.walk_packages(agentenvs.__path__, "agentenvs."):
    if info.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(info.name)
    except ModuleNotFoundError as missing:
        optional = {"datasets", "safetensors", "tokenizers", "torch", "transformers", "trl"}
        rooms = ("lab.", "ptgs.scoring", "ptgs.selftest.", "ptgs.trl.")
        of_torch = tuple(f"agentenvs.harness.{room}" for room in rooms)
        if missing.name not in optional or not info.name.startswith(of_torch):
            raise
import agentenvs.harness, agentenvs.wrappers
from importlib import resources
print(len(list(resources.files("agentenvs.assets").joinpath("mini").iterdir())))
"""


def python(folder: Path) -> str:
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


def run(*command: str, cwd: Path | None = None, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment}
    )
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


@pytest.fixture(scope="module")
def sources(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clean copy of what git tracks, so that nothing untracked helps."""
    folder = tmp_path_factory.mktemp("sources") / "agentenvs"
    if not (root / ".git").exists():
        pytest.skip("not a git checkout")
    run("git", "clone", "--quiet", str(root), str(folder))
    return folder


@pytest.fixture(scope="module")
def built(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and the sdist."""
    out = tmp_path_factory.mktemp("built")
    backend = (
        "import sys; from setuptools import build_meta as b; "
        "out = sys.argv[1]; b.build_sdist(out); b.build_wheel(out)"
    )
    tools = tmp_path_factory.mktemp("tools")
    venv.create(tools, with_pip=True)
    try:
        run(python(tools), "-m", "pip", "install", "--quiet", "setuptools>=77")
    except AssertionError as problem:
        pytest.skip(f"setuptools is not to be had here: {str(problem)[-200:]}")
    run(python(tools), "-c", backend, str(out), cwd=sources)
    return out


@pytest.fixture(scope="module")
def fresh(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a fresh environment with the wheel and its dependencies alone."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=True)
    (wheel,) = built.glob("*.whl")
    run(python(folder), "-m", "pip", "install", "--quiet", str(wheel))
    return folder


def test_wheel_holds_every_room_under_one_name(built: Path, root: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    assert {n.split("/")[0] for n in names} == {"agentenvs"}
    rooms = ("agentenvs", "harness", "wrappers", "assets")
    tracked = run("git", "ls-files", *rooms, cwd=root).split()
    expected = {
        n if n.startswith("agentenvs/") else f"agentenvs/{n}"
        for n in tracked
        if not (root / n).is_symlink()
    }
    assert names == expected


def test_sdist_holds_all_that_git_tracks(built: Path, root: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    tracked = {
        name
        for name in run("git", "ls-files", cwd=root).split()
        if not (root / name).is_symlink() and name != ".gitignore"
    }
    assert tracked <= inside, tracked - inside


def test_installed_package_imports_from_anywhere(fresh: Path, root: Path, tmp_path: Path) -> None:
    (tmp_path / "wrappers.py").write_text("raise RuntimeError('a user file of the same name')")
    (tmp_path / "harness").mkdir()
    for cwd in (root, tmp_path, Path("/")):
        assert int(run(python(fresh), "-c", ALL_MODULES, cwd=cwd)) > 0


def test_fresh_environment_is_small(fresh: Path) -> None:
    listed = json.loads(run(python(fresh), "-m", "pip", "list", "--format", "json"))
    packages = {row["name"].lower() for row in listed} - {"pip", "setuptools"}
    assert len(packages) <= 23, sorted(packages)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(python(fresh), "-c", where).strip())
    tools = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    # What was downloaded: bytecode, a third more, is made here and differs between Pythons.
    size = sum(
        f.stat().st_size
        for f in site.rglob("*")
        if f.is_file() and f.suffix != ".pyc" and not f.relative_to(site).parts[0].startswith(tools)
    )
    assert size < 95e6, size


def test_command_works_offline_in_a_fresh_environment(fresh: Path, tmp_path: Path) -> None:
    command = str(Path(python(fresh)).parent / "agentenvs")
    environment = {"AGENTENVS_OFFLINE": "1", "AGENTENVS_CACHE": str(tmp_path / "cache")}
    runs = [str(tmp_path / name) for name in ("wide", "narrow")]
    for out in runs:
        options = ["--policy", f"scripted:{Path(out).name}", "-n", "4", "--out", out, "--quiet"]
        mini = [command, "run", "BFCLv4", "--tasks", "mini"]
        run(*mini, *options, cwd=tmp_path, **environment)
    table = json.loads(run(command, "tax", *runs, "--json", cwd=tmp_path, **environment))
    assert table


def test_sdist_installs(built: Path, fresh: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    target = tmp_path / "site"
    run(
        python(fresh),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(target),
        str(sdist),
    )
    code = "import agentenvs.harness.cli; print(agentenvs.__file__)"
    assert str(target) in run(python(fresh), "-c", code, cwd=tmp_path, PYTHONPATH=str(target))


def test_editable_install_in_use_is_this_checkout(root: Path) -> None:
    code = "import agentenvs.harness as h, agentenvs as a; print(a.__path__[0]); print(h.__file__)"
    where = run(sys.executable, "-c", code, cwd=Path("/")).split()
    if root != Path(where[0]).parent:
        pytest.skip("the tests run against another installation")
    assert Path(where[1]).resolve() == root / "harness" / "__init__.py"


def test_a_folder_of_the_packages_name_hides_nothing(root: Path, tmp_path: Path) -> None:
    paths = [Path(folder) for folder in sys.path if folder]
    if not any(str(root) in file.read_text() for p in paths for file in p.glob("*agentenvs*.pth")):
        pytest.skip("the package is not installed by scripts/install")
    (tmp_path / "agentenvs").mkdir()
    code = "import agentenvs; print(agentenvs.__file__)"
    assert run(sys.executable, "-c", code, cwd=tmp_path).strip() == str(
        root / "agentenvs" / "__init__.py"
    )
