from __future__ import annotations

from pathlib import Path
from types import ModuleType

from rich.cells import cell_len
from rich.console import Console

from agentenvs.harness.view.entries import Run
from agentenvs.harness.view.pages import LONGEST, Block, Page, facts, lines_of, pages_of


def shown(page: Page, width: int | None = None, **more: object) -> list[str]:
    return [line.plain for line in lines_of(page, width, **more)]


def page(text: str) -> Page:
    return Page("", (), (Block("wrote", text),))


def test_the_pages_of_an_episode(run: Path) -> None:
    found = Run(run)
    entry = found.by_key["mini_0", 1]
    opening, first, second = pages_of(found, entry, found.transcripts.read(entry.key))
    assert opening.title == "opening, before 2 decisions"
    assert shown(opening) == ["[system]", "You call tools.", "", "[user]", "Do mini_0."]
    assert (first.title, second.title) == ("step 1 of 2", "step 2 of 2")
    assert shown(second) == ["[wrote]", "```", "[look()]", "```", "", "[tool]", "Seen."]
    assert [note for note, _ in second.notes] == [
        "read as 1 call; format pylist; mended: fence, prose; "
        "rescued (strict reads it otherwise); finish stop; reward 0"
    ]
    assert facts(found, entry) == "failure: wrong_state, score 0, 2 steps, 10 tokens, 2.0 s"


def test_a_malformed_reply_says_why(run: Path) -> None:
    found = Run(run)
    entry = found.by_key["mini_1", 0]
    _, only = pages_of(found, entry, found.transcripts.read(entry.key))
    assert [note for note, _ in only.notes] == [
        "read as malformed; finish stop; reward 0",
        "bad_syntax: no end",
    ]
    assert facts(found, entry).startswith("context_overflow, score 0, 1 step,")


def test_a_void_rollout_shows_its_tries(run: Path) -> None:
    found = Run(run)
    entry = found.by_key["desk_8", 0]
    (only,) = pages_of(found, entry, None)
    assert shown(only) == [
        "[void try 0: timeout]",
        "no answer\u241b[2J, 0",
        "",
        "[void try 1: timeout]",
        "no answer\u241b[2J, 1",
    ]
    assert facts(found, entry) == "void: no verdict, 9.5 s"


def test_void_tries_before_a_verdict_are_told(runs: ModuleType, tmp_path: Path) -> None:
    void = {"task_id": "a", "rollout": 0, "attempt": 0, "reason": "http_503", "error": "busy"}
    folder = runs.write_run(
        tmp_path, [runs.played("a", 0, [runs.step("x")])], voids=[{**void, "wall_s": 1.0}]
    )
    found = Run(folder)
    entry = found.by_key["a", 0]
    opening, _ = pages_of(found, entry, found.transcripts.read(entry.key))
    assert shown(opening)[:2] == ["[void try 0: http_503]", "busy"]
    assert facts(found, entry).endswith("1 void try before")


def test_wide_characters_wrap_by_their_width() -> None:
    lines = shown(page("\u4f60\u597d" * 30 + " [bold]x[/bold]"), 21)
    assert all(cell_len(line) <= 21 for line in lines)
    assert "".join(lines[1:]).replace(" ", "") == "\u4f60\u597d" * 30 + "[bold]x[/bold]"


def test_nothing_that_moves_a_cursor_gets_through(runs: ModuleType) -> None:
    (line,) = shown(page(runs.HOSTILE))[1:]
    assert line == "\u241b[2J\u241b]0;owned\u2407\ufffd31m\u240dsaid [red]this[/red] \ufffd\ufffd"


def test_a_long_text_is_cut_and_can_be_seen_whole() -> None:
    long = page("word " * 2000)
    cut = shown(long, 80, whole=False)
    assert cut[-1] == f"... {10000 - LONGEST} more characters, v shows them"
    assert sum(len(line.split()) for line in cut[1:-1]) == LONGEST // 5
    assert sum(len(line.split()) for line in shown(long, 80)[1:]) == 2000


def test_a_reply_without_text_says_so() -> None:
    assert shown(page("")) == ["[wrote]", "(nothing)"]
    assert shown(page(" \n")) == ["[wrote]", "(blanks alone)"]


def test_what_was_looked_for_is_marked() -> None:
    console = Console(width=40, record=True, color_system="standard", force_terminal=True)
    for line in lines_of(page("one Two three"), 40, found="two"):
        console.print(line)
    assert "\x1b[7mTwo\x1b[0m" in console.export_text(styles=True)


def test_parses_of_other_shapes_are_shown(runs: ModuleType, tmp_path: Path) -> None:
    odd = [
        runs.step("a", repairs=[])._replace(parse={"repairs": 3, "status": ["x"], "calls": "two"}),
        runs.step("b")._replace(parse={}, finish_reason=None, reward=None),
    ]
    rollouts = [runs.played("a", 0, [runs.step("c"), runs.step("d")])._replace(steps=odd)]
    found = Run(runs.write_run(tmp_path, rollouts))
    entry = found.by_key["a", 0]
    _, one, two = pages_of(found, entry, found.transcripts.read(entry.key))
    assert one.notes[0][0] == "read as ['x']; finish stop; reward 0"
    assert two.notes[0][0] == "nothing says how it was read; finish None; reward None"
