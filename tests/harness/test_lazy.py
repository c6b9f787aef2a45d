from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentenvs.errors import AgentEnvsError
from agentenvs.harness.lazy import Extra, lazily

EXTRA = Extra("The thing", "many", ("missing_package",))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    home = tmp_path / "lazy_package"
    home.mkdir()
    (home / "__init__.py").write_text("")
    (home / "light.py").write_text("one = 1\n")
    (home / "heavy.py").write_text("import missing_package\n")
    (home / "broken.py").write_text("import another_package\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return home.name


def test_names_load_when_they_are_asked_for(package: str) -> None:
    find, names = lazily(package, {"light": ("one",), "heavy": ("two",)}, EXTRA)
    assert names() == ["one", "two"]
    assert f"{package}.light" not in sys.modules
    assert find("one") == 1
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'three'"):
        find("three")


def test_what_is_missing_is_named_with_its_extra(package: str) -> None:
    find, _ = lazily(package, {"heavy": ("two",), "broken": ("three",)}, EXTRA)
    with pytest.raises(AgentEnvsError, match=r"The thing needs missing_package: .*\[many\]"):
        find("two")
    with pytest.raises(ModuleNotFoundError, match="another_package"):
        find("three")


def test_a_package_without_an_extra_says_what_python_says(package: str) -> None:
    find, _ = lazily(package, {"heavy": ("two",)})
    with pytest.raises(ModuleNotFoundError, match="missing_package"):
        find("two")
