from __future__ import annotations

from pathlib import Path

import pytest

from agentenvs.errors import BadArgument, RunDamaged
from agentenvs.harness.report.study.file import Pair, StudyFile, read_study

_HEAD = """
benchmarks = ["BFCL"]
arms = ["base", "post"]
runs = "runs/{pair}/{benchmark}/{arm}.jsonl"
"""
_PAIR = '\n[[pairs]]\nname = "small"\n'


def _study(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def _read(folder: Path, text: str) -> StudyFile:
    _touch(folder, "runs/small/BFCL/base.jsonl", "runs/small/BFCL/post.jsonl")
    return read_study(_study(folder, text))


def test_placeholders_are_filled_relative_to_the_file(tmp_path: Path) -> None:
    found = _read(tmp_path, _HEAD + _PAIR)
    run = found.runs["small", "BFCL", "post"]
    assert run == tmp_path / "runs/small/BFCL/post.jsonl"
    assert found.shown(run) == "runs/small/BFCL/post.jsonl"


def test_what_is_left_out_has_defaults(tmp_path: Path) -> None:
    found = _read(tmp_path, _HEAD + _PAIR)
    assert (found.title, found.K, found.price) == ("study", None, (1.0, 1.0))
    assert found.pairs == (Pair("small"),)
    assert found.predict == {}
    assert not found.common


def test_everything_can_be_told(tmp_path: Path) -> None:
    text = (
        'title = "Two"\nK = [32, 8]\nprice = [1, 2.5]\ntarget = 0.5\ncommon = true\n'
        + _HEAD
        + "[predict]\nearly_K = 4\nseed = 0\n"
        + _PAIR
        + 'size = 31e9\nfamily = "gemma-4"\n'
    )
    found = _read(tmp_path, text)
    assert (found.title, found.K, found.price) == ("Two", (8, 32), (1.0, 2.5))
    assert (found.target, found.common) == (0.5, True)
    assert found.predict == {"early_K": 4, "seed": 0}
    assert found.pairs == (Pair("small", 31e9, "gemma-4"),)


def test_files_about_tasks_are_told_for_each_benchmark(tmp_path: Path) -> None:
    _touch(tmp_path, "groups.tsv", "no.txt")
    told = '[clusters]\nBFCL = "groups.tsv"\n[unsolvable]\nBFCL = "no.txt"\n'
    found = _read(tmp_path, _HEAD + told + _PAIR)
    assert found.clusters == {"BFCL": tmp_path / "groups.tsv"}
    assert found.unsolvable == {"BFCL": tmp_path / "no.txt"}
    bare = _read(tmp_path, _HEAD + _PAIR)
    assert (bare.clusters, bare.unsolvable) == ({}, {})


def test_a_pair_may_have_paths_of_its_own(tmp_path: Path) -> None:
    _touch(tmp_path, "elsewhere/b.jsonl", "runs/small/BFCL/post.jsonl")
    text = _HEAD + _PAIR + '[pairs.runs.BFCL]\nbase = "elsewhere/b.jsonl"\n'
    found = read_study(_study(tmp_path, text))
    assert found.runs["small", "BFCL", "base"] == tmp_path / "elsewhere/b.jsonl"
    assert found.runs["small", "BFCL", "post"] == tmp_path / "runs/small/BFCL/post.jsonl"


def test_with_all_paths_told_no_template_is_needed(tmp_path: Path) -> None:
    _touch(tmp_path, "b", "p")
    text = (
        'benchmarks = ["BFCL"]\narms = ["base", "post"]\n'
        + _PAIR
        + '[pairs.runs.BFCL]\nbase = "b"\npost = "p"\n'
    )
    assert read_study(_study(tmp_path, text)).missing == ()


def test_braces_can_be_written_in_a_path(tmp_path: Path) -> None:
    _touch(tmp_path, "{x}/base", "{x}/post")
    text = _HEAD.replace("runs/{pair}/{benchmark}/{arm}.jsonl", "{{x}}/{arm}") + _PAIR
    assert read_study(_study(tmp_path, text)).missing == ()


def test_missing_runs_are_named_all_at_once(tmp_path: Path) -> None:
    _touch(tmp_path, "runs/small/BFCL/base.jsonl")
    text = _HEAD + _PAIR + '[[pairs]]\nname = "large"\n'
    with pytest.raises(RunDamaged, match="3 of 4 runs are not there") as told:
        read_study(_study(tmp_path, text))
    for name in ("small/BFCL/post", "large/BFCL/base", "large/BFCL/post"):
        assert f"runs/{name}.jsonl" in str(told.value)


def test_a_run_folder_without_outcomes_is_missing(tmp_path: Path) -> None:
    _touch(tmp_path, "runs/small/BFCL/base.jsonl", "runs/small/BFCL/post.jsonl/run.json")
    with pytest.raises(RunDamaged, match=r"1 of 2 runs are not there: runs/small/BFCL/post.jsonl"):
        read_study(_study(tmp_path, _HEAD + _PAIR))


@pytest.mark.parametrize("told", ["file", "argument"])
def test_missing_runs_may_be_skipped(tmp_path: Path, told: str) -> None:
    text = _HEAD + _PAIR + '[[pairs]]\nname = "large"\n'
    _touch(tmp_path, "runs/small/BFCL/base.jsonl", "runs/small/BFCL/post.jsonl")
    head = 'missing = "skip"\n' if told == "file" else ""
    path = _study(tmp_path, head + text)
    found = read_study(path, None if told == "file" else "skip")
    assert set(found.missing) == {("large", "BFCL", "base"), ("large", "BFCL", "post")}


def test_the_argument_goes_above_the_file(tmp_path: Path) -> None:
    _touch(tmp_path, "runs/small/BFCL/base.jsonl", "runs/small/BFCL/post.jsonl")
    text = 'missing = "skip"\n' + _HEAD + _PAIR + '[[pairs]]\nname = "large"\n'
    with pytest.raises(RunDamaged, match="2 of 4"):
        read_study(_study(tmp_path, text), "error")


def test_skipping_all_is_refused(tmp_path: Path) -> None:
    _touch(tmp_path, "runs/small/BFCL/base.jsonl")
    with pytest.raises(RunDamaged, match="No pair of runs is left"):
        read_study(_study(tmp_path, _HEAD + _PAIR), "skip")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("benchmark = 3" + _HEAD + _PAIR, "'benchmark' in the study. Did you mean 'benchmarks'?"),
        (_HEAD + _PAIR + "seize = 3", "'seize' in pair 1. Did you mean 'size'?"),
        (_HEAD + "[predict]\nearly_k = 3" + _PAIR, "Did you mean 'early_K'?"),
        (_HEAD + _PAIR + '[pairs.runs.BFLC]\nbase = "b"', "Did you mean 'BFCL'?"),
        (_HEAD + _PAIR + '[pairs.runs.BFCL]\npots = "b"', "Did you mean 'post'?"),
        (_HEAD.replace("{arm}", "{arms}") + _PAIR, "placeholder {arms}. Did you mean 'arm'?"),
        (_HEAD.replace("{arm}", "{arm.x}") + _PAIR, "placeholder {arm.x}"),
        (_HEAD.replace("{arm}", "{arm!r}") + _PAIR, "placeholder {arm!r}"),
        (_HEAD.replace("{arm}", "{arm:>9}") + _PAIR, "placeholder {arm:>9}"),
        (_HEAD.replace("{arm}", "{arm") + _PAIR, "placeholders"),
        (_HEAD.replace("{arm}", "x") + _PAIR, "to hold {arm}, without which 2 runs would be one"),
        (_HEAD, "Expected `pairs`, found none"),
        (_HEAD + "pairs = 3", "one or more [[pairs]]"),
        (_HEAD + "pairs = [3]", "pair 1 to be a table"),
        (_HEAD + "[[pairs]]\nsize = 3", "`name` in pair 1"),
        (_HEAD + _PAIR + _PAIR, "each of `pairs` once, twice: 'small'"),
        (_HEAD + _PAIR + "size = -1", "`size of small` to be a positive number"),
        (_HEAD + _PAIR + "size = true", "to be a positive number, got True"),
        (_HEAD + _PAIR + "size = nan", "to be a positive number, got nan"),
        (_HEAD + _PAIR + "family = 3", "`family of small` to be text"),
        (_HEAD + _PAIR + "runs = 3", "to be a table of benchmarks, got 3"),
        (_HEAD + _PAIR + "[pairs.runs]\nBFCL = 3", "to have a table of arms, got 3"),
        (_HEAD.replace('"post"', '"base"') + _PAIR, "each of `arms` once"),
        (_HEAD.replace(', "post"', "") + _PAIR, "`arms` to list 2 or more"),
        ("K = []" + _HEAD + _PAIR, "`K` to list different budgets"),
        ("K = [1]" + _HEAD + _PAIR, "budgets of 2 or more"),
        ("K = [8, 8]" + _HEAD + _PAIR, "different budgets"),
        ("price = [1]" + _HEAD + _PAIR, "`price` to list two numbers"),
        ("price = [1, 0]" + _HEAD + _PAIR, "`price` to be a positive number"),
        ("target = 1.5" + _HEAD + _PAIR, "`target` to be a positive number of at most 1"),
        ("target = 1\nbudget = 3" + _HEAD + _PAIR, "`target` or `budget`, got both"),
        ('missing = "no"' + _HEAD + _PAIR, '"error" or "skip"'),
        ("title = 3" + _HEAD + _PAIR, "`title` to be text"),
        ('common = "yes"' + _HEAD + _PAIR, "`common` to be true or false"),
        (_HEAD + "[predict]\nsplits = 0" + _PAIR, "`splits` of [predict]"),
        ("clusters = 3" + _HEAD + _PAIR, "`clusters` to be a table of benchmarks"),
        (_HEAD + '[clusters]\nBFLC = "x"' + _PAIR, "Did you mean 'BFCL'?"),
        (_HEAD + "[clusters]\nBFCL = 3" + _PAIR, "`BFCL of [clusters]` to be a path"),
        (_HEAD + '[unsolvable]\nBFCL = "x"' + _PAIR, "[unsolvable]: there is no file 'x'"),
        (_HEAD + f'[unsolvable]\nBFCL = "{"x" * 5000}"' + _PAIR, "[unsolvable]: there is no file"),
        ("x = ", "expected TOML"),
        ("title = " + 9999 * "[" + 9999 * "]" + _HEAD, "not nested this deeply"),
        ("title." + 3000 * "a." + "a = 1" + _HEAD + _PAIR, "not nested this deeply"),
        (_HEAD + _PAIR + f"size = {10**400}", "`size of small` to be a number of 1e-100 to 1e+100"),
        (f"price = [1, {10**400}]" + _HEAD + _PAIR, "`price` to be a number of 1e-100 to"),
        ("budget = 1e-200" + _HEAD + _PAIR, "`budget` to be a number of 1e-100 to"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadArgument) as told:
        _read(tmp_path, text)
    assert message in str(told.value)
    assert str(tmp_path / "study.toml") in str(told.value)


def test_two_arms_may_not_be_one_run(tmp_path: Path) -> None:
    text = _HEAD + _PAIR + '[pairs.runs.BFCL]\nbase = "x"\npost = "x"\n'
    with pytest.raises(BadArgument, match="are the same"):
        _read(tmp_path, text)


def test_two_spellings_of_a_path_are_one_run(tmp_path: Path) -> None:
    _touch(tmp_path, "runs/small/BFCL/base.jsonl", "runs/small/BFCL/post.jsonl")
    own = '[pairs.runs.BFCL]\npost = "runs/small/../small/BFCL/./base.jsonl"'
    with pytest.raises(BadArgument, match="'base' and 'post' of 'small' on 'BFCL' are the same"):
        read_study(_study(tmp_path, _HEAD + _PAIR + own))
    (tmp_path / "link").symlink_to("runs", target_is_directory=True)
    other = '[[pairs]]\nname = "large"\n[pairs.runs.BFCL]\nbase = "link/small/BFCL/base.jsonl"\n'
    other += 'post = "runs/small/BFCL/post.jsonl"\n'
    runs = read_study(_study(tmp_path, _HEAD + _PAIR + other)).runs
    assert runs["large", "BFCL", "base"] == runs["small", "BFCL", "base"]


@pytest.mark.parametrize("name", ["a" * 5000, "a\\u0000"])
def test_names_that_no_file_can_have_are_missing_runs(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunDamaged, match="2 of 2 runs are not there"):
        read_study(_study(tmp_path, _HEAD + f'[[pairs]]\nname = "{name}"\n'))


def test_of_thousands_of_missing_runs_a_hundred_are_named(tmp_path: Path) -> None:
    pairs = "".join(f'[[pairs]]\nname = "p{at}"\n' for at in range(2000))
    with pytest.raises(RunDamaged, match="p49/BFCL/post.jsonl and 3900 more") as told:
        read_study(_study(tmp_path, _HEAD + pairs))
    assert len(str(told.value)) < 10_000


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="No such file"):
        read_study(tmp_path / "nothing.toml")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadArgument, match="expected TOML"):
        read_study(path)
