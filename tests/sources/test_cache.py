import subprocess
import sys
from pathlib import Path

import pytest

from agentenvs import sources


def test_the_variable_names_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "here"))
    assert sources.cache_folder() == tmp_path / "here"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTENVS_CACHE", "here")
    assert sources.cache_folder() == tmp_path / "here"


@pytest.mark.parametrize(
    ("platform", "variables", "below"),
    [
        ("linux", {}, ".cache/agentenvs"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/agentenvs"),
        ("darwin", {}, "Library/Caches/agentenvs"),
        ("win32", {}, "AppData/Local/agentenvs"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/agentenvs"),
    ],
)
def test_else_it_is_the_users_own(
    platform: str,
    variables: dict[str, str],
    below: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AGENTENVS_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    monkeypatch.setattr("sys.platform", platform)
    assert sources.cache_folder() == tmp_path / below


def test_import_touches_nothing_and_loads_no_rich(tmp_path: Path) -> None:
    code = "import sys, agentenvs.sources; print('rich' in sys.modules)"
    cache = tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"AGENTENVS_CACHE": str(cache), "PATH": ""},
    )
    assert done.stdout == "False\n"
    assert not cache.exists()
