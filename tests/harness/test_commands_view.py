from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentenvs.harness import commands_view, run
from agentenvs.harness.cli import main
from agentenvs.harness.outcomes import write_settings
from agentenvs.harness.view.entries import KINDS


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "base"
    run("BFCLv4", "scripted:narrow", tasks="mini", n=2, out=folder, progress=False)
    return folder


@pytest.fixture
def view(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    # Processes that share the tests have a width of their own.
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*args: object, code: int = 0) -> str:
        assert main(["view", *map(str, args)]) == code
        shown = capsys.readouterr()
        return shown.err if code else shown.out

    return call


def test_without_a_terminal_every_rollout_is_a_line(view: Callable[..., str], base: Path) -> None:
    lines = view(base).split("\n")
    heading = "task # outcome score steps calls words malformed repaired rescued tokens seconds"
    assert " ".join(lines[0].split()) == f"{heading} reason"
    assert lines[1].split()[:3] == ["mini_home_0", "0", "failure"]
    body = [line for line in lines if line.startswith("mini_")]
    tasks = len({line.split()[0] for line in body})
    assert f"{len(body)} rollouts of {tasks} tasks:" in "\n".join(lines)
    assert "scripted policy: these numbers describe the script, not a model" in lines


def test_filters_and_order(view: Callable[..., str], base: Path) -> None:
    shown = view(base, "--task", "mini_home_*", "--outcome", "failure", "--sort", "steps")
    body = [line.split() for line in shown.split("\n") if line.startswith("mini_")]
    assert body
    assert all(row[0].startswith("mini_home_") and row[2] == "failure" for row in body)
    steps = [int(row[4]) for row in body]
    assert steps == sorted(steps, reverse=True)


def test_an_episode_is_printed_whole_and_a_step_alone(view: Callable[..., str], base: Path) -> None:
    whole = view(base, "--task", "mini_home_1", "--rollout", 0)
    assert whole.startswith("mini_home_1 #0: success, score 1, 2 steps")
    assert "opening, before 2 decisions\n[system]\n" in whole
    assert "step 1 of 2: read as 1 call;" in whole
    assert "step 2 of 2: read as words;" in whole
    alone = view(base, "--task", "mini_home_1", "--rollout", 0, "--step", 1)
    assert "step 1 of 2" in alone
    assert "step 2 of 2" not in alone
    assert "[system]" not in alone


def test_two_runs_list_tasks_with_the_difference(
    view: Callable[..., str], base: Path, tmp_path: Path
) -> None:
    run("BFCLv4", "scripted:wide", tasks="mini", n=2, out=tmp_path, progress=False)
    lines = view(base, tmp_path, "--task", "mini_home_*").split("\n")
    rows = [line.split() for line in lines if line.startswith("mini_")]
    gains = [float(row[-1]) for row in rows]
    assert gains == sorted(gains)
    for _, one, two, *_, gain in rows:
        (c, n), (d, m) = (map(int, pair.split("/")) for pair in (one, two))
        assert float(gain) == pytest.approx(d / m - c / n)
    assert lines[-3].startswith("base: base (scripted:narrow): ")
    both = view(base, tmp_path, "--task", "mini_home_0", "--rollout", 1)
    assert both.count("mini_home_0 #1: ") == 2


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--task", "mini_hom_0"], "Did you mean 'mini_home_0'?"),
        (["--repair", "fence"], "no reply was mended by 'fence'"),
        (["--sort", "step"], "Did you mean 'steps'?"),
        (["--step", "1"], "needs `--task` and `--rollout`"),
        (["--task", "mini_home_1", "--rollout", "0", "--step", "9"], "has steps 1 to 2"),
    ],
)
def test_wrong_usage(view: Callable[..., str], base: Path, args: list[str], told: str) -> None:
    assert told in view(base, *args, code=2)


def test_a_name_that_is_no_outcome_is_wrong_usage(base: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["view", str(base), "--outcome", "failed"])
    assert stop.value.code == 2


def test_what_is_no_run_is_a_failure(view: Callable[..., str], tmp_path: Path) -> None:
    assert "run.json" in view(tmp_path, code=1)


def test_nothing_that_is_like_that_is_no_failure(view: Callable[..., str], base: Path) -> None:
    assert "0 rollouts of 0 tasks, out of" in view(base, "--outcome", "void")


@pytest.mark.parametrize("policy", ["hf:small", "scripted:wide"])
def test_a_run_that_has_just_begun(view: Callable[..., str], tmp_path: Path, policy: str) -> None:
    write_settings(tmp_path, {"policy": {"name": policy}, "task_ids": ["a", "b"], "n": 2})
    lines = view(tmp_path).splitlines()
    assert lines[0] == "no rollout has ended yet (4 planned, 2 tasks)"
    assert lines[1:] == [
        "scripted policy: these numbers describe the script, not a model"
    ] * policy.startswith("scripted")
    write_settings(tmp_path, {"policy": {"name": policy}})
    assert view(tmp_path).splitlines()[0] == "no rollout has ended yet"


def test_a_pipe_is_as_wide_as_columns_says(
    view: Callable[..., str], base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    rows = view(base).split("\n\n")[0].split("\n")
    assert len(rows) > 20
    assert max(map(len, rows)) <= 60
    monkeypatch.setenv("COLUMNS", "")
    assert max(map(len, view(base).split("\n\n")[0].split("\n"))) > 80


def test_texts_and_repairs_need_transcripts(view: Callable[..., str], tmp_path: Path) -> None:
    run("BFCLv4", "random", tasks="mini_home_0", n=1, out=tmp_path, transcripts=False)
    assert "the run kept no transcripts" in view(tmp_path)
    assert "has no transcripts" in view(tmp_path, "--text", "lamp", code=2)
    assert "the run kept no transcripts" in view(
        tmp_path, "--task", "mini_home_0", "--rollout", "0"
    )


def test_a_terminal_gets_what_fits_and_an_encoding_what_it_has(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    out = io.TextIOWrapper(written, encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["view", str(base), "--list", "--task", "mini_home_0"]) == 0
    shown = written.getvalue().decode("ascii")
    assert "\x1b[" in shown
    assert "seconds" not in shown


def test_the_outcomes_on_offer_are_those_that_lists_know() -> None:
    assert commands_view._KINDS == KINDS
