from __future__ import annotations

import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentenvs.harness.cli import main

BASE = {"a": 1, "b": 3, "c": 0, "d": 5, "e": 2, "f": 4}
POST = {"a": 0, "b": 8, "c": 0, "d": 8, "e": 0, "f": 7}
N = 8


def write(path: Path, counts: dict[str, int]) -> str:
    rows = ({"task_id": t, "pass_flags": [i < c for i in range(N)]} for t, c in counts.items())
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return write(tmp_path / "base.jsonl", BASE), write(tmp_path / "post.jsonl", POST)


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Callable[[Sequence[str]], str]:
    def run(arguments: Sequence[str]) -> str:
        assert main(list(arguments)) in (1, 2)
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "Traceback" not in shown.err
        return shown.err

    return run


def test_two_files_become_a_page_and_figures(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    page, folder = tmp_path / "out" / "page.html", tmp_path / "figures"
    asked = ["report", *pair, "-o", str(page), "--figures", str(folder), "--title", "a <b> title"]
    assert main(asked) == 0
    shown = capsys.readouterr().out
    assert "48\xa0%" in shown
    assert f"page: {page}" in shown
    text = page.read_text("utf-8")
    assert "a &lt;b&gt; title" in text
    assert "nothing is known of how the outcomes were made" in text
    drawn = {path.suffix for path in folder.iterdir()}
    assert drawn == {".svg", ".png"}
    assert len(list(folder.iterdir())) == 12


def test_one_run_twice_is_warned_of(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text("{}")
    Path(pair[0]).rename(folder / "outcomes.jsonl")
    paths = str(folder), str(folder / "outcomes.jsonl")
    page = tmp_path / "page.html"
    for verb, more in (("tax", []), ("report", ["-o", str(page)])):
        assert main([verb, *paths, *more]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert "warning: both runs are one and the same, so that nothing can differ" in told
        assert main([verb, paths[0], pair[1], *more]) == 0
        assert "one and the same" not in capsys.readouterr().out
    assert main(["report", *paths, "-o", str(page)]) == 0
    assert page.read_text().count("both runs are one and the same") == 1


def test_the_page_says_in_a_line_that_a_run_is_a_part_or_lacks_rollouts(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = []
    for path, rollouts, tasks in zip(pair, ([0, N], None), ([*BASE], [*POST, "g"]), strict=True):
        folder = tmp_path / Path(path).stem
        folder.mkdir()
        settings = {"task_ids": tasks, "n": 2 * N if rollouts else N, "rollouts": rollouts}
        (folder / "run.json").write_text(json.dumps(settings))
        Path(path).rename(folder / "outcomes.jsonl")
        folders.append(str(folder))
    page = tmp_path / "page.html"
    assert main(["report", *folders, "-o", str(page)]) == 0
    told, shown = page.read_text(), " ".join(capsys.readouterr().out.split())
    for says in ("base is the part 0:8 of n = 16.", "post: 48 of 56 rollouts played (8 not yet, "):
        assert told.count(says) == shown.count(says) == 1


def test_without_a_file_the_answer_is_printed_alone(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.iterdir())
    assert main(["report", *pair]) == 0
    shown = capsys.readouterr().out
    assert "Add -o FILE" in shown
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (("-o", ""), "Expected -o to name a place"),
        (("-o", "."), "is a folder"),
        (("-o", "{folder}"), "is a folder"),
        (("-o", "{base}"), "is to be read"),
        (("--figures", ""), "Expected --figures to name a place"),
        (("--figures", "{base}"), "Expected --figures to name a folder"),
    ],
)
def test_places_that_cannot_be_written_are_refused_before_anything_is_read(
    pair: tuple[str, str],
    tmp_path: Path,
    fails: Callable[[Sequence[str]], str],
    place: tuple[str, str],
    message: str,
) -> None:
    before = Path(pair[0]).read_bytes()
    where = place[1].format(folder=tmp_path, base=pair[0])
    assert message in fails(["report", *pair, place[0], where])
    assert Path(pair[0]).read_bytes() == before


@pytest.mark.parametrize("option", ["-o", "--figures"])
def test_without_matplotlib_pages_are_refused_and_numbers_told(
    pair: tuple[str, str],
    tmp_path: Path,
    fails: Callable[[Sequence[str]], str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: str,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = fails(["report", *pair, option, str(tmp_path / "page")])
    assert "Pages and figures need Matplotlib" in told
    assert 'pip install "agentenvs[report]"' in told
    assert not (tmp_path / "page").exists()
    assert main(["report", *pair]) == 0
    assert "48\xa0%" in capsys.readouterr().out


def test_a_link_is_written_through_and_kept(pair: tuple[str, str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    link.symlink_to(target)
    assert main(["report", *pair, "-o", str(link)]) == 0
    assert link.is_symlink()
    assert target.read_text("utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_written_to_and_not_replaced(pair: tuple[str, str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text("utf-8")), daemon=True)
    reader.start()
    assert main(["report", *pair, "-o", str(pipe)]) == 0
    reader.join(60)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert read[0].startswith("<!DOCTYPE html>")


def test_all_tasks_are_a_target(pair: tuple[str, str]) -> None:
    assert main(["report", *pair, "--target", "1"]) == 0


@pytest.mark.parametrize("target", ["1.5", "0", "nan", "most"])
def test_a_target_is_a_share(pair: tuple[str, str], target: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["report", *pair, "--target", target])


def test_files_without_settings_are_named_by_what_tells_them_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    files = [write(tmp_path / name / "c.jsonl", BASE) for name in ("one", "two")]
    assert main(["report", *files, "-o", str(tmp_path / "page.html")]) == 0
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "one/c.jsonl" in text
    assert "two/c.jsonl" in text
    assert str(tmp_path) not in text
    capsys.readouterr()


def test_a_price_or_a_target_is_answered_in_the_terminal(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *pair, "--target", "0.8", "--price", "1", "3"]) == 0
    assert "To solve 80 % of the tasks, take base@" in capsys.readouterr().out
    assert main(["report", *pair, "--target", "0.99"]) == 0
    assert "99 %" in capsys.readouterr().out


def test_json_is_json(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *pair, "--json", "--target", "0.5", "--price", "1", "3"]) == 0

    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["tasks"] == 6
    assert found["crossover"]["K"] == N


def test_clusters_and_tasks_out_of_reach_come_from_files(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clusters, tagged = tmp_path / "clusters.txt", tmp_path / "tagged.txt"
    clusters.write_text("".join(f"{task}\t{at // 2}\n" for at, task in enumerate("abcdef")))
    tagged.write_text("c\n")
    files = ["--clusters", str(clusters), "--unsolvable", str(tagged)]
    assert main(["tax", *pair, *files]) == 0
    shown = capsys.readouterr().out
    assert "in 3 clusters" in shown
    assert "1 of 6 tasks is tagged as unsolvable" in shown
    assert main(["report", *pair, *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"] == 3


def test_a_study_becomes_a_table_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    for name in ("small", "large"):
        for arm, counts in (("base", BASE), ("post", POST)):
            folder = tmp_path / name / "Desk"
            folder.mkdir(parents=True, exist_ok=True)
            write(folder / f"{arm}.jsonl", counts)
    study, page = tmp_path / "study.toml", tmp_path / "study.html"
    study.write_text(
        'title = "Two"\nbenchmarks = ["Desk"]\narms = ["base", "post"]\n'
        'runs = "{pair}/{benchmark}/{arm}.jsonl"\n'
        '[[pairs]]\nname = "small"\nsize = 1e9\n[[pairs]]\nname = "large"\nsize = 9e9\n'
    )
    assert main(["report", str(study), "-o", str(page), "--figures", str(tmp_path / "f")]) == 0
    shown = capsys.readouterr().out
    assert "2 comparisons" in shown
    assert "Two" in page.read_text("utf-8")
    assert list((tmp_path / "f").glob("*.svg"))
    assert main(["report", str(study), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["cells"]) == 2
    (tmp_path / "small" / "Desk" / "post.jsonl").unlink()
    assert main(["report", str(study)]) == 1
    assert "post.jsonl" in capsys.readouterr().err
    assert main(["report", str(study), "--missing", "skip"]) == 0
    assert main(["report", str(study), "--title", "x"]) == 2
    assert "--title in the study's file" in capsys.readouterr().err
    assert main(["report", str(study), "--clusters", "groups.tsv"]) == 2
    assert "under [clusters] and [unsolvable]" in capsys.readouterr().err


def test_a_study_asks_its_files_about_tasks_or_else_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = {"env_id": "agentenvs/ToolLab-v0", "env_kwargs": {"world": 0}}
    tasks = [f"0/order/{thing}/{how}" for thing in ("lamp", "chair") for how in ("two", "six")]
    for benchmark in ("asked", "filed"):
        for arm in ("base", "post"):
            folder = tmp_path / benchmark / arm
            folder.mkdir(parents=True)
            (folder / "run.json").write_text(json.dumps(lab))
            rows = (
                {"task_id": name, "pass_flags": [True, at > 1, False, arm == "post"]}
                for at, name in enumerate(tasks)
            )
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / "outcomes.jsonl").write_text(text)
    (tmp_path / "one.tsv").write_text("".join(f"{name}\tall\n" for name in tasks))
    (tmp_path / "no.txt").write_text(f"{tasks[0]}\n")
    study = tmp_path / "study.toml"
    study.write_text(
        'benchmarks = ["asked", "filed"]\narms = ["base", "post"]\nruns = "{benchmark}/{arm}"\n'
        '[clusters]\nfiled = "one.tsv"\n[unsolvable]\nfiled = "no.txt"\n'
        '[[pairs]]\nname = "p"\n'
    )

    def told(*more: str) -> list[tuple[int, bool]]:
        assert main(["report", str(study), "--json", *more]) == 0
        cells = json.loads(capsys.readouterr().out)["cells"]
        return [(cell["clusters"], cell["without_unsolvable"] is None) for cell in cells]

    assert told() == [(2, True), (1, False)]
    assert told("--clusters", "none", "--unsolvable", "none") == [(4, True), (4, True)]


def test_scripted_policies_are_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    runs = [str(tmp_path / name) for name in ("wide", "narrow")]
    for run in runs:
        policy = f"scripted:{Path(run).name}"
        asked = ["run", "ToolLab", "--tasks", "mini", "--policy", policy, "-n", "4", "--quiet"]
        assert main([*asked, "--out", run]) == 0
    page = tmp_path / "page.html"
    capsys.readouterr()
    assert main(["report", *runs, "-o", str(page)]) == 0
    assert "no model was measured" in capsys.readouterr().out
    text = page.read_text("utf-8")
    assert "<title>ToolLab mini: scripted:wide" in text
    assert "no model was measured" in text.lower()
    assert "<details" in text
    capsys.readouterr()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": '{"task_id": "z", "c": 1, "n": 8}\n'}, "over the same tasks"),
        ({"rows": ""}, "post"),
        ({"rows": '{"task_id": "a", "c": NaN, "n": 8}\n'}, "post.jsonl:1"),
        ({"rows": '{"task_id": "a", "c": 9, "n": 8}\n'}, "post.jsonl:1"),
        ({"rows": '{"task_id": "a", "c": 1, "n": 8}\n{"task_id": "a", "c": 2, "n": 8}\n'}, "a"),
        ({"more": ["-K", "9"]}, "at most n, got K = 9"),
        ({"more": ["--clusters", "nowhere.txt"]}, "nowhere.txt"),
        ({"more": ["--price", "-1", "2"]}, "price"),
        ({"more": ["--price", "nan", "2"]}, "price"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    pair: tuple[str, str],
    fails: Callable[[Sequence[str]], str],
    change: dict[str, Any],
    message: str,
) -> None:
    if "rows" in change:
        Path(pair[1]).write_text(change["rows"])
    for verb in ("report", "tax"):
        if verb == "tax" and "--price" in change.get("more", ()):
            continue
        assert message in fails([verb, *pair, *change.get("more", ())])


def test_one_run_alone_or_three_are_refused(
    pair: tuple[str, str], fails: Callable[[Sequence[str]], str], tmp_path: Path
) -> None:
    assert "two runs, or one study file" in fails(["report", pair[0]])
    assert "two runs, or one study file" in fails(["report", *pair, pair[0]])
    assert "nowhere.toml" in fails(["report", str(tmp_path / "nowhere.toml")])
