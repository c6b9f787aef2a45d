"""The official wheel itself, where it is on this machine."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import pytest

from agentenvs import sources
from agentenvs.errors import SourceMissing


@pytest.fixture(scope="module")
def tree() -> sources.Tree:
    try:
        return sources.open_source("bfcl", fetch=False)
    except SourceMissing:
        pytest.skip("bfcl is not in the cache: agentenvs data pull bfcl")


def test_the_digest_is_that_of_the_content(tree: sources.Tree) -> None:
    contents = tree.read_many()
    whole = hashlib.sha256()
    for path in sorted(contents):
        whole.update(f"{path}\0{hashlib.sha256(contents[path]).hexdigest()}\n".encode())
    assert whole.hexdigest() == tree.digest
    assert sources.verify("bfcl") == []


def test_the_files_are_what_their_names_say(tree: sources.Tree) -> None:
    for path, content in tree.read_many().items():
        if path.endswith(".py"):
            compile(content, path, "exec")
        else:
            rows = [json.loads(line) for line in content.splitlines()]
            assert all(rows)
            assert "func_doc" in path or len(rows) == 200


def test_opening_does_not_import_the_package(tree: sources.Tree) -> None:
    assert not any(name.split(".")[0] == "bfcl_eval" for name in sys.modules)


def test_an_unpacked_wheel_is_as_good(
    tree: sources.Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if tree.path.is_dir():
        pytest.skip("an unpacked copy is what is in use")
    shutil.unpack_archive(tree.path, tmp_path / "tree", "zip")
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "cache"))
    kept = sources.import_("bfcl", tmp_path / "tree" / "bfcl_eval").path
    monkeypatch.setenv("AGENTENVS_BFCL", str(kept))
    assert sources.open_source("bfcl").read_many() == tree.read_many()
    assert kept.stat().st_size < 600_000
