from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentenvs import sources
from agentenvs.harness.cli import main

FILES = ("items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins_1000.json")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AGENTENVS_OFFLINE", "1")
    monkeypatch.delenv("AGENTENVS_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    for entry in map(sources.source, sources.names()):
        monkeypatch.delenv(entry.variable, raising=False)
    return tmp_path / "cache"


@pytest.fixture
def mini(root: Path) -> str:
    return str(root / "assets" / "mini" / "webshop")


@pytest.fixture
def catalog(cache: Path, mini: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    folder = str(tmp_path / "made")
    assert main(["data", "compile", "webshop", mini, folder]) == 0
    capsys.readouterr()
    return folder


@pytest.mark.parametrize("act", ["list", "pull", "import", "verify", "compile", "audit"])
def test_every_action_helps(act: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["data", act, "--help"])
    assert stop.value.code == 0
    assert "usage: agentenvs data" in capsys.readouterr().out


def test_list_names_what_is_missing_and_how_to_get_it(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    assert "agentenvs data pull webshop-1k" in shown
    assert "5,671.2" in shown


def test_verify_without_a_name_looks_at_what_is_there(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "verify"]) in (0, 1)
    assert "webshop-full: not here" in capsys.readouterr().out
    assert main(["data", "verify", "webshop-full"]) == 1
    assert "agentenvs data pull webshop-full" in capsys.readouterr().out
    assert main(["data", "verify", "webshop"]) == 1


def test_pull_without_the_network_says_what_can_be_done(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "pull", "webshop"]) == 1
    shown = capsys.readouterr().err
    assert "webshop-1k v2" in shown
    assert "agentenvs data import webshop-1k PATH" in shown


def test_pull_of_the_family_fetches_the_small_one_and_names_the_large(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def pull(name: str, progress: sources.Progress) -> sources.Tree:
        asked.append(name)
        return sources.Tree(sources.source(name), cache / "files", "cache")

    monkeypatch.setattr(sources, "pull", pull)
    assert main(["data", "pull", "webshop"]) == 0
    shown = capsys.readouterr().out
    assert f"webshop-1k v2: {cache / 'files'}" in shown
    assert "(5,671 MB): agentenvs data pull webshop-full" in shown
    assert main(["data", "pull", "webshop-full"]) == 0
    assert "agentenvs data pull" not in capsys.readouterr().out
    assert asked == ["webshop", "webshop-full"]


def test_a_variant_is_imported_and_said_to_be_one(
    webshop_files: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "import", "webshop", str(webshop_files)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("webshop-1k v2-rebuilt: ")
    assert "a stated variant, not the official bytes" in shown
    assert main(["data", "verify", "webshop"]) == 0
    shown = capsys.readouterr().out
    assert "webshop-1k: as pinned, version v2-rebuilt; a stated variant" in shown
    assert "webshop-full: not here" in shown
    assert main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    assert "v2-rebuilt" in shown
    assert "a stated variant" in shown


def test_an_import_without_a_file_names_it(
    webshop_files: Path, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in FILES[:2]:
        (tmp_path / name).write_bytes((webshop_files / name).read_bytes())
    for name in ("webshop", "webshop-1k"):
        assert main(["data", "import", name, str(tmp_path)]) == 1
        assert "items_human_ins_1000.json: missing" in capsys.readouterr().err
    assert main(["data", "import", "webshop-full", str(tmp_path)]) == 1
    assert "items_human_ins.json" in capsys.readouterr().err


@pytest.fixture
def webshop_files(request: pytest.FixtureRequest) -> Path:
    import os

    base = os.environ.get("AGENTENVS_DATA")
    if not base:
        pytest.skip("AGENTENVS_DATA does not name the folder of official files")
    return Path(base) / "webshop"


def test_compile_says_what_the_catalog_holds(
    cache: Path, mini: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "compile", "webshop", mini, str(tmp_path / "made")]) == 0
    shown, told = capsys.readouterr()
    assert shown.startswith("catalog mini (")
    assert f"): {tmp_path / 'made'}\n" in shown
    for part in (" products of ", " synthetic goals of ", " human goals", "nouns: given; "):
        assert part in shown
    assert " MB, " in shown
    assert "reading products" in told


def test_other_tasks_have_other_names(
    cache: Path, mini: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["data", "compile", "webshop", mini, str(tmp_path / "made")]
    assert main([*command, "--limit", "50", "--seed", "3", "--nouns", "heuristic"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("catalog mini-50-seed3 (")
    assert "50 products of 50 records" in shown
    assert "nouns: heuristic" in shown
    assert main([*command, "--name", "shop"]) == 0
    assert capsys.readouterr().out.startswith("catalog shop (")


def test_rejected_records_are_counted_by_reason(
    cache: Path, mini: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in Path(mini).iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "items_shuffle_mini.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps([*records, {**records[0], "asin": "nan"}, 7]), encoding="utf-8")
    assert main(["data", "compile", "webshop", str(tmp_path), str(tmp_path / "made")]) == 0
    shown = capsys.readouterr().out
    assert f"{len(records)} products of {len(records) + 2} records" in shown
    assert shown.count("1 rejected: ") == 2


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["compile", "webshop", "/nowhere", "{new}"], 1, "/nowhere"),
        (["compile", "webshop", "{mini}", "{mini}"], 2, "left alone"),
        (["compile", "webshop", "{mini}", "{new}", "--name", "A/B"], 2, "name"),
        (["compile", "webshop", "{mini}", "{new}", "--limit", "0"], 2, "limit"),
        (["audit", "webshop", "minni"], 1, "Did you mean 'mini'"),
        (["import", "webshop", "/nowhere"], 1, "/nowhere"),
        (["pull", "webshp"], 2, "Did you mean 'webshop'"),
    ],
)
def test_errors_are_one_message(
    argv: list[str],
    code: int,
    said: str,
    cache: Path,
    mini: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    filled = [part.format(mini=mini, new=tmp_path / "new") for part in argv]
    assert main(["data", *filled]) == code
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown


def test_audit_lists_goals_and_why(catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "audit", "webshop", catalog]) == 0
    *rows, summary = capsys.readouterr().out.splitlines()
    assert summary.startswith(f"{len(rows):,} of ")
    assert "under 'official' rules" in summary
    for row in rows:
        task, score, why = row.split("\t")
        assert task.startswith("mini/synthetic/")
        assert float(score) < 1.0
        assert why
    assert main(["data", "audit", "webshop", catalog, "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["task"] for row in found] == [row.split("\t")[0] for row in rows]
    assert all(row["score"] < 1.0 and row["reasons"] for row in found)


def test_audit_finds_nothing_under_fixed_rules(
    catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "audit", "webshop", catalog, "--rules", "fixed"]) == 0
    assert capsys.readouterr().out.startswith("0 of ")
    assert main(["data", "audit", "webshop", catalog, "--rules", "fixed", "--json"]) == 0
    assert capsys.readouterr().out == ""


def test_audit_also_tells_what_cannot_be_clicked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "audit", "webshop", "mini", "--unclickable"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("1.0000" in line and "W4" in line for line in lines)
    assert lines[-1].startswith("11 of 1,830")
    assert main(["data", "audit", "webshop", "mini", "--unclickable", "--rules", "fixed"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
