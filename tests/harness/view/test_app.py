from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType

import pytest
from rich.cells import cell_len

from agentenvs.harness.outcomes import write_settings
from agentenvs.harness.view.app import App
from agentenvs.harness.view.entries import Run
from agentenvs.harness.view.wanted import Wanted

NAMED = {"<enter>": "enter", "<esc>": "esc", "<tab>": "tab", "<del>": "ctrl-u"}


def press(app: App, keys: str, width: int = 80, height: int = 24) -> str:
    """Press keys, which stand with blanks between them, and return what is shown."""
    app.frame(width, height)
    for key in keys.split():
        app.press(NAMED.get(key, " " if key == "_" else key))
        lines = app.frame(width, height)
        assert len(lines) == height
        assert all(cell_len(line.plain) <= width for line in lines)
    return "\n".join(line.plain.rstrip() for line in app.frame(width, height))


def typed(text: str) -> str:
    return " ".join("_" if key == " " else key for key in text) + " <enter>"


@pytest.fixture
def app(run: Path) -> App:
    return App([Run(run)])


def picked(screen: str) -> str:
    (line,) = (line for line in screen.split("\n") if line.startswith("\u25b6"))
    return " ".join(line.split()[1:3])


def test_the_list(app: App) -> None:
    lines = press(app, "").split("\n")
    assert lines[0].split() == ["post", "(hf:small):", "rollouts", "1/5"]
    assert lines[1:5] == [
        "5 rollouts of 4 tasks: 1 success, 2 failure, 1 context_overflow, 1 void; 3 still",
        "to be played",
        "  task    #  outcome   step  call  bad  fix  resc  reason",
        "\u25b6 mini_0  0  success      2     1    0    0     0",
    ]


def test_moving(app: App) -> None:
    assert picked(press(app, "j j")) == "mini_1 0"
    assert picked(press(app, "k")) == "mini_0 1"
    assert picked(press(app, "G")) == "desk_8 0"
    assert picked(press(app, "j j")) == "desk_8 0"
    assert picked(press(app, "g")) == "mini_0 0"
    assert picked(press(app, "_", height=10)) == "desk_7 0"
    assert picked(press(app, "k", height=6)) == "mini_1 0"


def test_stepping_through_an_episode(app: App) -> None:
    first = press(app, "j <enter>")
    assert "mini_0 #1" in first
    assert "step 1 of 2  (2/5)" in first
    second = press(app, "n")
    assert "mended: fence, prose" in second
    assert "[wrote]\n```\n[look()]\n```\n\n[tool]\nSeen." in second
    assert "this is the last page" in press(app, "n")
    assert "opening, before 2 decisions" in press(app, "p p")
    assert "this is the first page" in press(app, "p")
    assert picked(press(app, "<esc>")) == "mini_0 1"


def test_going_from_rollout_to_rollout(app: App) -> None:
    assert "mini_1 #0" in press(app, "<enter> ] ]")
    assert "mini_0 #1" in press(app, "[")
    assert "no further rollout" in press(app, "[ [")


def test_to_the_next_reply_that_was_mended(app: App) -> None:
    assert "step 2 of 2" in press(app, "j <enter> m")
    assert "no later reply" in press(app, "m")


def test_a_filter_is_typed_and_taken_back(app: App) -> None:
    screen = press(app, "f " + typed("outcome=failure reason=wrong*"))
    assert "1 rollout of 1 task, out of 5: 1 failure" in screen
    assert "shown: outcome=failure reason='wrong*'" in screen
    assert "5 rollouts" in press(app, "f <del> <enter>")


def test_a_wrong_filter_is_told_and_can_be_mended(app: App) -> None:
    assert "Did you mean 'outcome'" in press(app, "f " + typed("outcom=void"))
    assert "filter: outcom=void" in press(app, "right")
    assert "5 rollouts" in press(app, "<esc>")


def test_nothing_wanted_is_nothing_to_open(app: App) -> None:
    screen = press(app, "f " + typed("text=nowhere") + " <enter> G j")
    assert "nothing is like that" in screen
    assert "none" in screen


def test_a_text_leads_to_the_rollout_the_step_and_the_line(app: App) -> None:
    screen = press(app, "/ " + typed("seen"))
    assert picked(screen) == "mini_0 1"
    assert "step 2 of 2" in press(app, "<enter>")


def test_a_repair_leads_to_the_reply_that_needed_it(run: Path) -> None:
    app = App([Run(run)], Wanted(repair="prose"))
    assert "step 2 of 2  (1/1)" in press(app, "<enter>")


def test_finding_within_an_episode(runs: ModuleType, tmp_path: Path) -> None:
    long = "\n".join(f"line {at} of many" for at in range(60))
    steps = [runs.step("[a()]", "one"), runs.step(long, "line 7 again")]
    app = App([Run(runs.write_run(tmp_path, [runs.played("a", 0, steps)]))])
    screen = press(app, "<enter> / " + typed("LINE 33"))
    assert "step 2 of 2" in screen
    assert screen.split("\n")[4] == "line 33 of many"
    assert "no 'line 33' from here on" in press(app, "/ " + typed("line 33"))
    assert "line 7 again" in press(app, "g / " + typed("line 7") + " / <enter>")


def test_long_pages_scroll_and_space_goes_on(runs: ModuleType, tmp_path: Path) -> None:
    long = "\n".join(f"line {at}." for at in range(60))
    steps = [runs.step(long, ""), runs.step("[b()]")]
    app = App([Run(runs.write_run(tmp_path, [runs.played("a", 0, steps)]))])
    first = press(app, "<enter>")
    assert "line 16." in first
    assert "... 43 more lines, space goes on" in first
    assert "line 59." in press(app, "G")
    assert "line 0." in press(app, "g")
    assert "step 2 of 2" in press(app, "_ _ _ _")


def test_long_texts_are_shown_whole_when_asked(runs: ModuleType, tmp_path: Path) -> None:
    steps = [runs.step("word " * 2000 + "END", "")]
    app = App([Run(runs.write_run(tmp_path, [runs.played("a", 0, steps)]))])
    assert "6003 more characters, v shows them" in press(app, "<enter> G")
    assert "END" in press(app, "v G")


def test_the_order_is_shown_and_turned_around(app: App) -> None:
    assert "shown: by task" in press(app, "s")
    assert picked(press(app, "g")) == "desk_7 0"
    assert "by task from the other end" in press(app, "S")


def test_tasks_lead_to_their_rollouts(app: App) -> None:
    screen = press(app, "t")
    assert "\u25b6 mini_0  1  2  0.500     0  " in screen
    inner = press(app, "<enter>")
    assert "rollouts of mini_0" in inner
    assert "1/2" in inner
    assert "rollouts" in press(app, "<esc> t").split("\n")[0]


def test_a_filter_leaves_c_of_n_of_a_task_whole(app: App) -> None:
    screen = press(app, "t f " + typed("outcome=failure"))
    assert "mini_0  1  2  0.500" in screen
    assert "mini_1" not in screen


def test_counts(app: App) -> None:
    screen = press(app, "i")
    assert "repairs: 1 fence, 1 prose" in screen
    assert "void tries: 2 timeout" in screen
    assert picked(press(app, "<esc>")) == "mini_0 0"


def test_help_fits_a_small_terminal(app: App) -> None:
    assert "next reply that was mended" in press(app, "?", 80, 24)
    assert picked(press(app, "esc")) == "mini_0 0"


def test_a_void_rollout_shows_its_errors(app: App) -> None:
    screen = press(app, "G <enter>")
    assert "void: no verdict" in screen
    assert "[void try 1: timeout]\nno answer\u241b[2J, 1" in screen


def test_a_run_without_transcripts_says_so(runs: ModuleType, tmp_path: Path) -> None:
    folder = runs.write_run(tmp_path, runs.some_rollouts(), transcripts=False)
    assert "the run kept no transcripts" in press(App([Run(folder)]), "<enter>")


def test_a_damaged_transcript_is_told_where_it_is_looked_for(run: Path) -> None:
    (packed,) = run.glob("*.gz")
    packed.write_bytes(packed.read_bytes()[:40])
    app = App([Run(run)])
    assert "no transcript of it" in press(app, "<enter>")
    assert "cannot be read:" in press(app, "<esc> i")


def test_a_run_that_goes_on_is_read_again(runs: ModuleType, tmp_path: Path) -> None:
    rollouts = runs.some_rollouts()
    runs.write_run(tmp_path, rollouts[:1])
    app = App([Run(tmp_path)])
    assert "1/1" in press(app, "")
    runs.write_run(tmp_path, rollouts[1:])
    screen = press(app, "r")
    assert "1/4" in screen
    assert "read again: 4 rollouts" in screen
    assert "step 2 of 2" in press(app, "G <enter> n")


def test_what_is_cut_is_spelled_out_for_the_row_that_is_picked(
    runs: ModuleType, tmp_path: Path
) -> None:
    tasks = [f"normal_single_turn_{kind}_function_0" for kind in ("single", "parallel")]
    rollouts = [runs.played(task, 0, [runs.step("x")], "wrong " * 9) for task in tasks]
    app = App([Run(runs.write_run(tmp_path, rollouts))])
    screen = press(app, "j").split("\n")
    assert tasks[1] in screen[-2]
    assert tasks[1] not in "\n".join(screen[:-2])
    assert tasks[1] in press(app, "", 160).split("\n")[4]


def test_two_runs_side_by_side(runs: ModuleType, run: Path, tmp_path: Path) -> None:
    base = runs.write_run(
        tmp_path / "base",
        [
            runs.played("mini_0", 0, [runs.step("[base()]")]),
            runs.played("mini_0", 1, [runs.step("[base()]")]),
            runs.played("other", 0, [runs.step("[base()]")]),
        ],
    )
    app = App([Run(base), Run(run)])
    screen = press(app, "")
    picked = next(line for line in screen.split("\n") if line.startswith("\u25b6"))
    assert picked.split()[1:] == ["mini_0", "2/2", "1/2", "1.000", "0.500", "-0.500"]
    assert "[base()]" in press(app, "<enter> <enter>")
    assert "post mini_0 #0" in press(app, "<tab>")
    assert "base mini_0 #0" in press(app, "<tab>")
    assert "rollouts of mini_0" in press(app, "<esc>")
    assert "post (hf:small): rollouts of mini_0" in press(app, "<tab>")
    assert "opens post" in press(app, "<esc>")
    # What one run lacks is opened in the other.
    assert "base base (hf:small): rollouts of other" in press(app, "j <enter>")
    assert "the other run has no rollout" in press(app, "<enter> <tab>")
    assert "only rollouts are sorted" in press(app, "<esc> <esc> s")


def test_one_rollout_that_is_named_is_opened_at_once(run: Path) -> None:
    app = App([Run(run)], Wanted(task="mini_0", rollout=1))
    assert "mini_0 #1" in press(app, "").split("\n")[0]
    assert "rollouts" in press(app, "<esc>").split("\n")[0]


@pytest.mark.parametrize(("width", "height"), [(20, 5), (40, 10), (80, 24), (140, 50), (300, 90)])
def test_any_size(app: App, width: int, height: int) -> None:
    press(
        app,
        "j <enter> n ? j <esc> i <esc> <esc> t <enter> G <enter> <esc> <esc> f a",
        width,
        height,
    )


def test_ids_of_several_lines_stay_in_theirs(runs: ModuleType, tmp_path: Path) -> None:
    app = App([Run(runs.write_run(tmp_path, [runs.played("a\nb\tc", 0, [runs.step("x")])]))])
    app.press("enter")
    app.say("one\ntwo")
    screen = app.frame(80, 24)
    assert all(set("\n\t").isdisjoint(line.plain) for line in screen)
    assert screen[0].plain.startswith(" a\u240ab c #0")
    assert screen[-1].plain == "one\u240atwo"


def test_a_run_that_has_just_begun(tmp_path: Path) -> None:
    write_settings(tmp_path, {"policy": {"name": "p"}, "task_ids": ["a", "b"], "n": 2})
    screen = press(App([Run(tmp_path)]), "")
    assert "no rollout has ended yet (4 planned, 2 tasks)\n" in screen
    assert "nothing has ended yet; r reads the run again" in screen
    assert "still to be played" not in screen


def test_long_names_of_two_runs_can_both_be_told(run: Path, tmp_path: Path) -> None:
    long = "gemma-3-270m-instruct-on-the-bundled-tasks-with-seed-7"
    runs = [shutil.copytree(run, tmp_path / f"{arm}-{long}") for arm in ("before", "after")]
    title = press(App([Run(path) for path in runs]), "").split("\n")[0]
    assert "base before-gemma" in title
    assert "post after-gemma" in title
    assert title.count("\u2026") == 2
    short = shutil.copytree(run, tmp_path / "pt")
    title = press(App([Run(runs[0]), Run(short)]), "").split("\n")[0]
    assert "seed-7, post pt opens base" in title
