"""Every block of the README and of the docs is executed, and printed output compared."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str
    output: str | None


def blocks() -> list[Block]:
    """Return the fenced blocks; a `text` block right behind a Python one is its output."""
    found: list[Block] = []
    for page in PAGES:
        content = page.read_text("utf-8")
        previous_end = -10
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", content, re.M | re.S):
            language, text = match[1], match[2]
            line = content.count("\n", 0, match.start()) + 1
            between = content[previous_end : match.start()].strip()
            behind = found and found[-1].page == page.name and not between
            if language == "text" and behind and found[-1].language == "python":
                found[-1] = found[-1]._replace(output=text)
            else:
                found.append(Block(page.name, line, language, text, None))
            previous_end = match.end()
    return found


def name(block: Block) -> str:
    return f"{block.page}:{block.line}"


def needs(block: Block) -> list[str]:
    """Return the packages that a block names in its first line, `# needs: torch, verl`."""
    first = block.text.partition("\n")[0]
    return re.split(r",\s*", first.removeprefix("# needs: ")) if "# needs: " in first else []


PYTHON = [block for block in blocks() if block.language == "python"]
SHELL = [block for block in blocks() if block.language == "sh"]
ILLUSTRATION = {"text", "json", "toml"}


def test_blocks_are_of_known_kinds() -> None:
    assert {block.language for block in blocks()} <= {"python", "sh", *ILLUSTRATION}
    assert len(PYTHON) >= 4
    commands = [block.text.split()[0] for block in SHELL if block.page == "README.md"]
    assert commands == ["scripts/demo", "agentenvs", "scripts/test"]


@pytest.mark.parametrize("block", PYTHON, ids=name)
def test_python_block(block: Block, tmp_path: Path) -> None:
    if "hf:" in block.text or "HFPolicy" in block.text:
        pytest.importorskip("transformers", reason="needs the extra `hf`")
    for package in needs(block):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    if block.output is not None:
        assert done.stdout == block.output


def sh(command: str, tmp_path: Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        ["sh", "-euc", command],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={
            **os.environ,
            "AGENTENVS_VENV": sys.prefix,
            "AGENTENVS_DEMO_ROLLOUTS": "2",
            "AGENTENVS_DEMO_OUT": str(tmp_path),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.hf
def test_the_set_up_and_run_command(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the extra `hf`")
    first = sh("scripts/demo", tmp_path)
    assert "240 rollouts on 120 tasks" in first
    assert "lab:base" in first
    assert "k* " in first
    assert sh("scripts/demo", tmp_path) == first


def test_the_commands_with_models_in_the_place_of_which_scripts_act(
    official_bfcl: None, tmp_path: Path
) -> None:
    (block,) = [b for b in SHELL if b.page == "README.md" and b.text.startswith("agentenvs")]
    assert {"hf:BASE", "hf:POST", "64"} <= set(block.text.split())
    text = block.text.replace("hf:BASE", "scripted:wide").replace("hf:POST", "scripted:narrow")
    shown = sh(text.replace("-n 64", "-n 2"), tmp_path, cwd=tmp_path)
    assert "Tax_S" in shown


def test_the_test_command(tmp_path: Path) -> None:
    assert "passed" in sh("scripts/test tests/test_errors.py -p no:cacheprovider", tmp_path)


@pytest.mark.parametrize("block", [b for b in SHELL if b.page != "README.md"], ids=name)
def test_commands_of_the_docs_exist(block: Block) -> None:
    for line in block.text.replace("\\\n", " ").splitlines():
        words = [word for word in line.split() if not re.match(r"[A-Z_]+=", word)]
        if words and words[0].startswith("scripts/"):
            assert os.access(ROOT / words[0], os.X_OK), line
        elif words and words[0] == "agentenvs":
            from agentenvs.harness.cli import build_parser

            build_parser().parse_args(words[1:])
        else:
            assert not words or words[0] in {"pip", "python", "git", "cd"}, line


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    for target in re.findall(
        r"`((?:docs|scripts|benchmarks|examples|assets)/[\w./-]+)`", page.read_text("utf-8")
    ):
        assert (ROOT / target).exists(), target
