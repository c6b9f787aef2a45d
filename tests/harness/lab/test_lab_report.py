from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.harness.cli import main
from agentenvs.harness.lab.config import bundled
from agentenvs.harness.lab.folder import StudyFolder
from agentenvs.harness.lab.glossary import PAPER
from agentenvs.harness.lab.page import _cell

ARMS = ["base", "grpo", "grpo-ptgs"]
FIGURES = ("curves", "frontier", "heat", "tax")


@pytest.fixture(scope="module")
def reported(studies: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("matplotlib", reason="needs the extra report")
    from agentenvs.harness.lab.report import report

    path = tmp_path_factory.mktemp("reported") / "s"
    folder = studies.make(path, studies.named(), ARMS, [0, 1])
    return folder, report(folder)


class Page(HTMLParser):
    """What a page holds."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_folder_has_figures_numbers_and_a_page(reported: Any) -> None:
    folder, _ = reported
    made = {file.name for file in (folder.path / "figures").iterdir()}
    assert made == {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")}
    for name in FIGURES:
        assert (folder.path / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder.path / "figures" / f"{name}.svg").read_text().startswith("<svg")
    summary = json.loads((folder.path / "summary.json").read_text())
    assert summary["seeds"] == [0, 1]
    assert set(summary["arms"]) == set(ARMS)


def test_the_page_asks_nothing_of_the_network(reported: Any) -> None:
    text = (reported[0].path / "index.html").read_text()
    page = Page()
    page.feed(text)
    links = [
        value or ""
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href", "srcset", "data", "action")
    ]
    assert len(links) == 2 + 2 * len(FIGURES)
    # The paper is a link to click on; nothing is loaded from it.
    assert ("a", {"href": PAPER[1]}) in page.tags
    assert all(link.startswith("data:") or link == PAPER[1] for link in links)
    assert not {"script", "iframe", "object", "embed"} & {tag for tag, _ in page.tags}
    assert "url(" not in re.sub(r"'data:[^']*'", "", text)
    assert "@import" not in text


def test_the_page_is_for_light_and_dark_and_small_screens(reported: Any) -> None:
    page = Page()
    page.feed((reported[0].path / "index.html").read_text())
    sources = [attributes for tag, attributes in page.tags if tag == "source"]
    assert [one["media"] for one in sources] == ["(prefers-color-scheme: dark)"] * 4
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert all(one["alt"] for one in images)
    assert all(one["src"] != two["srcset"] for one, two in zip(images, sources, strict=True))
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in (
        page.tags
    )


def test_the_page_says_what_ran_first_and_what_may_not_be_concluded_last(reported: Any) -> None:
    page = Page()
    page.feed((reported[0].path / "index.html").read_text())
    places = [
        page.text.index(title)
        for title in (
            "What this is",
            "What ran, and what did not",
            "In short",
            "Training tasks, T = 1",
            "What training changed",
            "Does heating raise success?",
            "What may not be concluded",
        )
    ]
    assert places == sorted(places)
    assert "$" not in page.text


def test_the_same_study_gives_the_same_figures(reported: Any, tmp_path: Path) -> None:
    from agentenvs.harness.lab.figures import draw
    from agentenvs.harness.lab.results import read_results

    folder, _ = reported
    draw(read_results(folder), tmp_path)
    for name in FIGURES:
        again = (tmp_path / f"{name}.svg").read_text()
        assert again == (folder.path / "figures" / f"{name}.svg").read_text()


def test_labels_are_text_and_no_markup(studies: ModuleType, tmp_path: Path) -> None:
    from agentenvs.harness.lab.page import page
    from agentenvs.harness.lab.tables import Table

    summary = {"seeds": [0], "arms": {}, "n": 8, "world": 0, "name": "<i>", "digest": "x"}
    summary |= {"budgets": [8], "tasks": {"train": 2, "heldout": 2, "exceptions": 1}}
    text = page(summary, [("a", ["<script>"])], [Table("<b>", ["<u>"], [["<s>"]], "&")], [])
    for tag in ("<script>", "<b>", "<u>", "<s>", "<i>"):
        assert tag not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("0.366 ±0.011", "0.366<small> ±0.011</small>"),
        ("-0.097* ±0.061", "\u22120.097<b class='star'>*</b><small> ±0.061</small>"),
        ("+0.1 (-0.2, 0.3)", "+0.1<small> (\u22120.2, 0.3)</small>"),
        ("4.5 [2, > 16]", "4.5<small> [2, &gt; 16]</small>"),
        ("+0.1 ±0.2 [2]", "+0.1<small> ±0.2 [2]</small>"),
        ("26, 30, 45", "26, 30, 45"),
        ("-", "-"),
    ],
)
def test_what_belongs_to_an_estimate_stands_below_it(cell: str, expected: str) -> None:
    assert _cell(cell) == expected


def test_the_command_reports_what_is_there(
    studies: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra report")
    pytest.importorskip("torch", reason="needs the extra hf")
    path = tmp_path / "s"
    studies.make(path, studies.small(), ["base", "grpo"], [0])
    assert main(["lab", "--out", str(path), "--smoke", "--arms", "grpo"]) == 0
    out, told = capsys.readouterr()
    assert "Training tasks, T = 1" in out
    assert max(map(len, out.splitlines())) <= 80 + len(str(path))
    assert "measure nothing" in out
    assert "In short" not in out
    assert f"page: {path / 'index.html'}" in out.replace("\n", "")
    assert told == ""
    assert main(["lab", "--out", str(path), "--smoke", "--arms", "grpo", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["arms"]) == {"base", "grpo"}


def test_the_command_lists_arms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [arm.name for arm in bundled().arms]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Expected --out"),
        (["--out", "s", "--arms", "gpro"], "no arm 'gpro'"),
        (["--out", "s", "--arms", ","], "--arms to name arms"),
        (["--out", "s", "--full", "--arms", "grpo"], "got both"),
        (["--out", "s", "--seeds", "0"], "`seeds`"),
        (["--out", "s", "--config", "none.json"], "expected a JSON file"),
    ],
)
def test_wrong_usage_is_told(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("agentenvs.harness.lab.command._need", lambda *_: None)
    assert main(["lab", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_missing_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["lab", "--out", str(tmp_path / "s")]) == 1
    assert "agentenvs[lab]" in capsys.readouterr().err


def test_a_folder_that_another_study_writes_is_left_alone(
    studies: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("torch", reason="needs the extra hf")
    monkeypatch.setattr("agentenvs.harness.lab.command._need", lambda *_: None)
    path = tmp_path / "s"
    with studies.make(path, studies.small(), ["base", "grpo"], [0]):
        assert main(["lab", "--out", str(path), "--smoke"]) == 1
    out, told = capsys.readouterr()
    assert out == ""
    assert "another study is writing" in told
    assert not (path / "index.html").exists()


def test_other_settings_in_the_same_folder_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="needs the extra hf")
    monkeypatch.setattr("agentenvs.harness.lab.command._need", lambda *_: None)
    with StudyFolder(tmp_path / "s", bundled()) as folder:
        folder.begin(["base"], [0])
    assert main(["lab", "--out", str(tmp_path / "s"), "--smoke"]) == 1
    assert "other settings" in capsys.readouterr().err
