from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.report.talks import Talk, choose, show_talk


def _row(
    task: str, rollout: int, success: bool, reason: str = "", text: str = "hi"
) -> dict[str, Any]:
    return {
        "task_id": task,
        "rollout": rollout,
        "success": success,
        "reason": reason,
        "opening": [{"role": "user", "content": "do it"}],
        "steps": [{"text": text, "news": [{"role": "tool", "content": "ok"}], "parse": {}}],
    }


def _only(rows: list[dict[str, Any]], success: bool) -> Talk:
    return choose(rows, {"a": (success,)})["a", success]


def test_the_first_success_is_taken_whatever_the_order() -> None:
    rows = [_row("a", 5, True), _row("a", 2, True), _row("a", 0, False), _row("b", 1, True)]
    assert choose(rows, {"a": (True,)}).keys() == {("a", True)}
    assert _only(rows, True).rollout == 2
    assert _only(rows[::-1], True).rollout == 2


def test_a_failure_for_the_most_frequent_reason_is_taken() -> None:
    rows = [_row("a", 0, False, "odd"), _row("a", 3, False, "usual"), _row("a", 1, False, "usual")]
    assert (_only(rows, False).rollout, _only(rows, False).reason) == (1, "usual")


def test_a_mapping_and_a_stream_give_the_same() -> None:
    rows = [_row("a", at, at % 2 == 0) for at in range(4)]
    wanted = {"a": (True, False)}
    assert choose({"a": rows}, wanted) == choose(iter(rows), wanted)
    assert choose(None, wanted) == {}
    assert choose({}, wanted) == {}


def test_messages_without_content_are_shown_as_such() -> None:
    row = _row("a", 0, True)
    row["opening"] = [{"role": "assistant", "content": None}, {"content": "x"}]
    shown = show_talk(choose([row], {"a": (True,)})["a", True], 10_000)
    assert "nothing" in shown
    assert "<b>?</b>" in shown


def test_a_long_message_loses_its_middle() -> None:
    talk = _only([_row("a", 0, True, text="start" + "x" * 9000 + "end")], True)
    shown = show_talk(talk, 4000)
    found = re.search(r"([\d,]+) characters left out here", shown)
    assert found is not None
    kept = shown.count("x")
    assert int(found[1].replace(",", "")) == 9000 - kept
    assert "start" in shown
    assert "end" in shown


def test_a_long_rollout_loses_messages_in_the_middle() -> None:
    row = _row("a", 0, True)
    row["steps"] = [{"text": f"step {at}", "news": []} for at in range(2000)]
    shown = show_talk(_only([row], True), 4000)
    found = re.search(r"([\d,]+) messages left out here", shown)
    assert found is not None
    kept = shown.count("<pre>")
    assert int(found[1].replace(",", "")) + kept == 2001
    assert "do it" in shown
    assert "step 1999" in shown


@given(
    st.lists(st.text(st.characters(codec=None), max_size=400), max_size=30), st.integers(0, 3000)
)
def test_no_transcript_takes_more_room_than_it_has(texts: list[str], room: int) -> None:
    row = _row("a", 0, True)
    row["steps"] = [{"text": text, "news": []} for text in texts]
    shown = show_talk(_only([row], True), room)
    assert len(shown.encode()) <= room + 200
