from __future__ import annotations

import importlib
import pkgutil
import tomllib
from pathlib import Path

import pytest

import agentenvs

PACKAGES = [
    "agentenvs",
    "agentenvs.acebench",
    "agentenvs.acebench.worlds",
    "agentenvs.bfcl",
    "agentenvs.frozenlake",
    "agentenvs.harness",
    "agentenvs.harness.ablation",
    "agentenvs.harness.lab",
    "agentenvs.harness.policies",
    "agentenvs.harness.policies.endpoint",
    "agentenvs.harness.ptgs",
    "agentenvs.harness.ptgs.selftest",
    "agentenvs.harness.ptgs.trl",
    "agentenvs.harness.ray",
    "agentenvs.harness.replay",
    "agentenvs.harness.report",
    "agentenvs.harness.report.study",
    "agentenvs.harness.store",
    "agentenvs.harness.tax",
    "agentenvs.harness.tax.routing",
    "agentenvs.harness.view",
    "agentenvs.sources",
    "agentenvs.toollab",
    "agentenvs.webshop",
    "agentenvs.webshop.site",
    "agentenvs.wrappers",
]


_LAB_NEEDS = {"safetensors", "tokenizers", "torch", "transformers"}
#: what trains is made of torch
_OF_TORCH = (
    "agentenvs.harness.lab.",
    "agentenvs.harness.ptgs.scoring",
    "agentenvs.harness.ptgs.selftest.",
)


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_exist(name: str) -> None:
    if name in ("agentenvs.harness.lab", "agentenvs.harness.ptgs.selftest"):
        pytest.importorskip("torch", reason="needs the extra `lab` or `hf`")
    module = importlib.import_module(name)
    assert module.__all__
    for public in module.__all__:
        assert getattr(module, public) is not None


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_are_sorted_and_listed_once(name: str) -> None:
    names = list(importlib.import_module(name).__all__)
    assert names == sorted(set(names), key=lambda n: (not n.isupper(), not n[0].isupper(), n))


def test_every_module_says_what_is_public() -> None:
    silent = []
    for info in pkgutil.walk_packages(agentenvs.__path__, "agentenvs."):
        if info.name.endswith("__main__") or info.name.startswith("agentenvs.assets"):
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as missing:
            if missing.name in _LAB_NEEDS and info.name.startswith(_OF_TORCH):
                continue
            raise
        if not hasattr(module, "__all__"):
            silent.append(info.name)
    assert silent == []


def test_the_list_of_packages_matches_the_folders(root: Path) -> None:
    listed = set(
        tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    )
    found = set()
    for top, prefix in (
        ("agentenvs", ""),
        ("harness", "agentenvs."),
        ("wrappers", "agentenvs."),
        ("assets", "agentenvs."),
    ):
        for init in (root / top).rglob("__init__.py"):
            if any(
                part.is_symlink()
                for part in (root / top, *init.parents)
                if part != root and root in part.parents
            ):
                continue
            found.add(prefix + ".".join(init.parent.relative_to(root).parts))
    assert found == listed


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        agentenvs.nothing  # noqa: B018
