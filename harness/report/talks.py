"""What was said in a few rollouts: which ones to show, and how long they may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agentenvs.harness.report.markup import cut, text

__all__ = ["Said", "Talk", "Transcripts", "choose", "show_talk"]

Row = Mapping[str, Any]
#: a mapping task id -> transcripts, or transcripts in any order; rows of `read_transcripts`
Transcripts = Mapping[str, Sequence[Row]] | Iterable[Row]

# No message is kept longer than this, and no transcript has more messages.
_LONGEST = 20_000
_MOST = 400
# Share of a transcript's room that a single message may take.
_PART = 4
# Above how many characters a system prompt, and what a tool or user says, is folded away.
_FOLDED, _LONG = 300, 2_000
_ROLES = {
    "system": "system prompt",
    "user": "user",
    "assistant": "model",
    "tool": "tool",
    "environment": "environment",
}


class Said(NamedTuple):
    """One message: who spoke, what was said, and how many characters of its middle were cut."""

    role: str
    head: str
    tail: str
    left_out: int


class Talk(NamedTuple):
    """One rollout.

    Attributes:
        rollout: its number.
        success: whether it solved the task.
        reason: why not, "" where nothing is told.
        messages: what was said.
        more: how many messages were left out in the middle, after the first half of those kept.
    """

    rollout: int
    success: bool
    reason: str
    messages: tuple[Said, ...]
    more: int


def choose(
    transcripts: Transcripts | None, wanted: Mapping[str, Collection[bool]]
) -> dict[tuple[str, bool], Talk]:
    """Return one rollout for each task and outcome that is wanted, where there is one.

    Of the successes the first rollout is taken; of the failures the first of those that failed
    for the most frequent reason.

    Args:
        transcripts: what there is; read once, and never held as a whole.
        wanted: for each task, whether a success, a failure or both are wanted.

    Returns:
        The rollouts by task id and success.
    """
    if transcripts is None:
        return {}
    rows: Iterable[Row] = (
        (row for task in wanted for row in transcripts.get(task, ()))
        if isinstance(transcripts, Mapping)
        else transcripts
    )
    reasons: dict[tuple[str, bool], Counter[str]] = {}
    first: dict[tuple[str, bool, str], tuple[int, Talk]] = {}
    for row in rows:
        task, success = row["task_id"], bool(row["success"])
        if success not in wanted.get(task, ()):
            continue
        reason = "" if success else str(row.get("reason") or "")
        reasons.setdefault((task, success), Counter())[reason] += 1
        at = int(row["rollout"])
        if (task, success, reason) not in first or at < first[task, success, reason][0]:
            first[task, success, reason] = (at, _talk(row, success, reason))
    chosen = {}
    for (task, success), told in reasons.items():
        most = max(told.values())
        usual = min(
            (first[task, success, reason] for reason, many in told.items() if many == most),
            key=lambda found: found[0],
        )
        chosen[task, success] = usual[1]
    return chosen


def _talk(row: Row, success: bool, reason: str) -> Talk:
    said = [(m.get("role", ""), m.get("content")) for m in row["opening"]]
    for step in row["steps"]:
        said.append(("assistant", step["text"]))
        said.extend((m.get("role", ""), m.get("content")) for m in step["news"])
    more = max(len(said) - _MOST, 0)
    if more:
        said = said[: _MOST // 2] + said[len(said) - _MOST // 2 :]
    messages = tuple(Said(str(role), *cut(_words(content), _LONGEST)) for role, content in said)
    return Talk(int(row["rollout"]), success, reason, messages, more)


def _words(content: object) -> str:
    return "" if content is None else str(content)


def show_talk(talk: Talk, room: int) -> str:
    """Return a rollout as HTML of about `room` bytes at most.

    Long messages lose their middle, long rollouts the messages in the middle; a note says how
    much is missing.
    """
    each = max(room // _PART, 200)
    size = len(talk.messages)
    first: list[str] = []
    last: list[str] = []
    used = 0
    while len(first) + len(last) < size:
        forward = len(first) <= len(last)
        at = len(first) if forward else size - 1 - len(last)
        part = _message(talk.messages[at], each)
        used += len(part.encode())
        if used > room:
            break
        (first if forward else last).append(part)
    left = size - len(first) - len(last)
    gap = [_gap(talk, len(first), left)] if left or talk.more else []
    return f"<ol class='talk'>{''.join((*first, *gap, *reversed(last)))}</ol>"


def _gap(talk: Talk, head: int, left: int) -> str:
    gone = talk.messages[head : head + left]
    letters = sum(len(one.head) + len(one.tail) + one.left_out for one in gone)
    many = left + talk.more
    what = f"{many:,} message{'' if many == 1 else 's'} left out here"
    return f"<li class='gap'>{what}{f', {letters:,} characters' if letters else ''}</li>"


def _message(said: Said, most: int) -> str:
    role = _ROLES.get(said.role, said.role or "?")
    head, tail, left_out = said.head, said.tail, said.left_out
    # A character takes a byte or more, and escapes and other alphabets take several.
    if len(head) + len(tail) > most:
        head, tail, gone = cut(head + tail, most)
        left_out += gone
    fits = int(most / _wide(head + tail))
    if len(head) + len(tail) > fits:
        head, tail, gone = cut(head + tail, fits)
        left_out += gone
    body = text(head)
    if left_out:
        body += f"</pre><p class='gap'>{left_out:,} characters left out here</p><pre>{text(tail)}"
    who, kind = text(cut(role, 40).head), "model" if said.role == "assistant" else "other"
    told = f"<pre>{body}</pre>" if head or tail else "<p class='gap'>nothing</p>"
    letters = len(head) + len(tail) + left_out
    if kind == "other" and letters > (_FOLDED if said.role == "system" else _LONG):
        folded = f"<details><summary>{who}, {letters:,} characters</summary>{told}</details>"
        return f"<li class='other'>{folded}</li>"
    return f"<li class='{kind}'><b>{who}</b>{told}</li>"


def _wide(shown: str) -> float:
    """Return how many bytes a character of this text takes on the page."""
    return max(len(text(shown).encode()) / max(len(shown), 1), 1.0)
