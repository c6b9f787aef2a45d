"""What was found, in plain words: the headline, its intervals and the verdict."""

from __future__ import annotations

import math
from typing import NamedTuple

from agentenvs.harness.report.formats import (
    count,
    percent,
    percents,
    points,
    spread,
    upper,
)
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.voice import Voice, trained, voice
from agentenvs.harness.tax import Estimate

__all__ = ["Verdict", "change", "headline", "meaning", "most_tries", "moved", "ranges", "verdict"]


_WAY = {"gain": "better", "loss": "worse"}


class Verdict(NamedTuple):
    """What the data decide.

    Attributes:
        level: "decided", "partly" or "open".
        mark: a word or two.
        text: sentences.
    """

    level: str
    mark: str
    text: str


def moved(gap: Estimate) -> str:
    """Return what became of a share: "gain", "loss", or "open" where the data do not say.

    Args:
        gap: before minus after, with its interval.
    """
    if gap.low > 0:
        return "loss"
    return "gain" if gap.high < 0 else "open"


def most_tries(found: Findings) -> tuple[Estimate, Estimate, Estimate]:
    """Return pass@K before, after, and its drop, at the largest budget."""
    row = max(found.comparison.rows, key=lambda row: row.K).measures
    return row.pass_base, row.pass_post, row.pass_gap


def headline(found: Findings) -> str:
    """Return the page's headline: what one try and many tries solve, before and after."""
    told, say = found.comparison, voice(found)
    tasks, n = found.comparison.tasks, found.n
    solved = [int(arm.c.sum()) for arm in found.arms]
    if not any(solved):
        what = "the task" if tasks == 1 else f"any of the {count(tasks, 'task')}"
        return f"Neither model solved {what} in {count(n, 'try', 'tries')}."
    if all(bool((arm.c == arm.n).all()) for arm in found.arms):
        what = "the task" if tasks == 1 else f"each of the {count(tasks, 'task')}"
        return f"Both models solved {what} at every try."
    one = _shares(told.pass_1[0], told.pass_1[1], told.pass_1_gap, say, tasks)
    ways = [moved(told.pass_1_gap)]
    text = f"{say.opening}, one try solves {one}"
    if found.top > 1:
        base, post, gap = most_tries(found)
        if found.crossing.same:
            both = percent(told.pass_1[0].value), percent(base.value)
            return (
                f"{upper(say.first)} and {say.second} solve the same share of the tasks at every "
                f"number of tries: {both[0]} with one, {both[1]} with {found.top}."
            )
        ways.append(moved(gap))
        link = ", but" if set(ways) == {"gain", "loss"} else ", and"
        text += f"{link} {found.top} tries solve {_shares(base, post, gap, say, None)}"
    crossed = found.crossing.k is not None and found.crossing.high is not None
    if ways == ["gain", "loss"] and crossed and told.crossing.stays_above:
        text += f": from {_crossing(found)} on {say.first} is ahead"
    return f"{text}{_doubt(ways)}."


def _crossing(found: Findings) -> str:
    """Return the number of tries at which the curves cross, with all that it may be."""
    at = found.crossing
    if at.low == at.high:
        return f"{at.k} tries"
    return f"about {at.k} tries ({at.low} to {at.high})"


def _doubt(ways: list[str]) -> str:
    """Return what the headline adds where it tells of differences that may be chance."""
    if set(ways) == {"open"}:
        return "; that does not tell the two apart"
    return ", which may be chance" if ways[-1] == "open" else ""


def _shares(base: Estimate, post: Estimate, gap: Estimate, say: Voice, tasks: int | None) -> str:
    """Return what is solved, after and before; `tasks` where it must be said of what."""
    before, after = percents(base.value, post.value)
    the, of = "", ""
    if tasks is not None:
        the, of = ("the task ", " of the time") if tasks == 1 else ("", " of the tasks")
    then = f" {say.then}"
    if before == after:
        return (
            f"{the}{after}{of}, as often as{then}"
            if tasks == 1
            else f"{after}{of}, as many as{then}"
        )
    if moved(gap) == "open":
        return f"{the}{after}{of} against {before}{then}"
    return f"{the}{after}{of} instead of {before}{say.instead}"


def meaning(found: Findings) -> str:
    """Return why one try and many tries both matter, for a reader new to this."""
    if found.top == 1:
        return (
            "With one try at each task nothing can be said about trying again, which is what this "
            "page is for. Give every task several tries."
        )
    return (
        "One try is what a user sees. Many tries show what a model can find at all, which is what "
        "search, and further training, can build on. Training often makes a model surer of its "
        "answers: it is right more often at once, but where it is wrong it stays wrong. That is "
        "called sharpening, and what trying again loses by it is the Sharpening Tax. "
        f"{_pattern(found)}"
    )


def _pattern(found: Findings) -> str:
    """Return whether these runs show sharpening, as far as the intervals say."""
    second, many = voice(found).second, f"{found.top} tries"
    if found.crossing.same:
        return "Here the two do not differ in that."
    at_once, in_many = moved(found.comparison.pass_1_gap), moved(most_tries(found)[2])
    return {
        ("gain", "loss"): "That is what is seen here.",
        ("gain", "open"): f"Here {second} is right more often at once; whether it finds less in "
        f"{many} is not decided.",
        ("gain", "gain"): f"Here {second} solves more at once and more in {many}: by these two "
        "numbers the first did not cost the second.",
        ("loss", "loss"): f"That is not what is seen here: {second} solves less at once and less "
        f"in {many}.",
        ("loss", "open"): f"That is not what is seen here: {second} is right less often at once, "
        f"and for {many} nothing is decided.",
        ("loss", "gain"): f"Here it is the other way round: {second} is right less often at once "
        f"and finds more in {many}.",
        ("open", "loss"): f"Here {second} finds less in {many}; whether it is right more often at "
        "once is not decided.",
        ("open", "gain"): f"That is not what is seen here: {second} finds more in {many}, and for "
        "one try nothing is decided.",
        ("open", "open"): "Whether that happened here, these tries do not tell.",
    }[at_once, in_many]


def ranges(found: Findings) -> str:
    """Return the intervals behind the headline, in a sentence."""
    told = found.comparison
    parts = [f"One try: {change(told.pass_1_gap)}"]
    if found.top > 1:
        parts.append(f"{found.top} tries: {change(most_tries(found)[2])}")
    sure = f"{100 * told.confidence:g}\u00a0%"
    seed = " Another training run may differ by more." if trained(found) else ""
    return (
        f"{'; '.join(parts)}. In brackets: {sure} intervals, what other tasks like these, and "
        f"other tries, might have given.{seed}"
    )


def change(gap: Estimate) -> str:
    """Return what was gained after a drop, in points, with its interval."""
    ends = spread(gap, flip=True)
    return f"{points(gap)}{f' ({ends})' if ends else ' (no interval)'}"


def verdict(found: Findings) -> Verdict:
    """Return what the data decide about one try and about the most tries."""
    told = found.comparison
    if found.crossing.same and _equal(found):
        return Verdict("open", "No difference seen", _same(found))
    gaps = [(1, told.pass_1_gap)]
    if found.top > 1:
        gaps.append((found.top, most_tries(found)[2]))
    ways = [moved(gap) for _, gap in gaps]
    settled = [(k, way) for (k, _), way in zip(gaps, ways, strict=True) if way != "open"]
    left = [(k, gap) for (k, gap), way in zip(gaps, ways, strict=True) if way == "open"]
    sentences = []
    if settled:
        whole = len(settled) == 2 and settled[0][1] == settled[1][1]
        told_so = (
            f"{_WAY[settled[0][1]]} at one try and at {found.top} tries"
            if whole
            else " and ".join(f"{_WAY[way]} at {_tries(k)}" for k, way in settled)
        )
        sentences.append(f"{upper(voice(found).second)} does {told_so}.")
    sentences += [_undecided(k, gap) for k, gap in left]
    if not left:
        return Verdict("decided", "Decided", " ".join(sentences))
    level = "partly" if settled else "open"
    return Verdict(level, "Partly decided" if settled else "Not decided", " ".join(sentences))


def _equal(found: Findings) -> bool:
    (c, n), (d, m) = found.arms
    return bool((c * m == d * n).all())


def _same(found: Findings) -> str:
    tasks = count(found.comparison.tasks, "task")
    most = max(found.comparison.rows, key=lambda row: row.K).measures
    if not found.arms.base.c.any():
        high = percent(most.pass_base.high)
        return (
            f"Nothing was solved, so there is nothing to compare. With {tasks}, up to {high} of "
            f"the tasks of this kind could still be within reach of {_tries(found.top)}."
        )
    return (
        f"The two runs agree on every one of the {tasks}. That does not show that they always will."
    )


def _tries(k: int) -> str:
    return "one try" if k == 1 else f"{k} tries"


def _undecided(k: int, gap: Estimate) -> str:
    if math.isnan(gap.low):
        return f"At {_tries(k)} nothing can be said."
    return (
        f"At {_tries(k)} it may be better or worse: the change lies between "
        f"{spread(gap, flip=True, link='and')} points."
    )
