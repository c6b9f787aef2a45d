"""The key numbers of the first screen."""

from __future__ import annotations

import math
from typing import NamedTuple

from agentenvs.harness.report.formats import number, percent, percents, signed, span, upper
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.voice import Voice, voice
from agentenvs.harness.report.words import change, most_tries, moved
from agentenvs.harness.tax import Estimate

__all__ = ["Fact", "facts"]


class Fact(NamedTuple):
    """A key number.

    Attributes:
        title: what it is, in words.
        value: the number.
        more: its interval.
        decided: whether the interval says in which direction; None where there is none to say.
        told: what it means, in a sentence.
    """

    title: str
    value: str
    more: str
    decided: bool | None
    told: str


def facts(found: Findings) -> list[Fact]:
    """Return the key numbers of the first screen."""
    told = found.comparison
    shown = [_share_fact("Solved in one try", *told.pass_1, told.pass_1_gap, voice(found))]
    if found.top == 1:
        return shown
    shown.append(_share_fact(f"Solved within {found.top} tries", *most_tries(found), voice(found)))
    shown.append(_crossing_fact(found))
    if (tax := _tax_fact(found)) is not None:
        shown.append(tax)
    return shown


def _share_fact(title: str, base: Estimate, post: Estimate, gap: Estimate, say: Voice) -> Fact:
    before, after = percents(base.value, post.value)
    way = moved(gap)
    means = {"gain": f"more tasks than {say.then}", "loss": f"fewer tasks than {say.then}"}
    told = means.get(way, "more or fewer: not decided")
    return Fact(title, f"{before} \u2192 {after}", change(gap), way != "open", told)


def _crossing_fact(found: Findings) -> Fact:
    at, say = found.crossing, voice(found)
    title = f"{upper(say.first)} catches up"
    if at.same:
        return Fact(title, "no crossing", "the two curves are the same", None, "")
    ends = [f"beyond {at.K}" if k is None else f"{k}" for k in (at.low, at.high)]
    more = f"{ends[0]} to {ends[1]}" if ends[0] != ends[1] else ""
    if not at.decides:
        return Fact(title, "not decided", more, False, "it may be anywhere, or not at all")
    if at.k is None:
        open_ = at.low is not None
        told = "it may yet do so: not decided" if open_ else "it stays behind throughout"
        return Fact(title, f"not within {at.K} tries", more, not open_, told)
    if at.k == 1:
        return _ahead(found, more)
    if at.high is not None:
        told = "the first number of tries at which as many tasks are solved"
        return Fact(title, f"at {at.k} tries", more, True, told)
    told = "seen here, but it may not catch up at all: not decided"
    if found.top == at.K and moved(most_tries(found)[2]) == "loss":
        told = (
            f"seen here; this looks at all numbers of tries, and what is decided about {at.K} at "
            "that one alone, so that here the two differ"
        )
    return Fact(title, f"at {at.k} tries", more, False, told)


def _ahead(found: Findings, more: str) -> Fact:
    """Return the fact for a first arm that has nothing to catch up with."""
    at, first = found.crossing, upper(voice(found).first)
    level = found.comparison.pass_1_gap.value == 0
    sure = at.high == 1
    told = "it has nothing to catch up" if sure else "it may be behind at first: not decided"
    place = "level" if level else "ahead"
    return Fact(f"{first} is {place}", "from the first try", more, sure, told)


def _tax_fact(found: Findings) -> Fact | None:
    row = next((row for row in found.comparison.rows if row.K == found.K), None)
    if row is None or math.isnan(row.measures.tax_S.value):
        return None
    tax, one, two = row.measures.tax_S, row.measures.S_base.value, row.measures.S_post.value
    way = moved(tax)
    went = (
        f"stayed at {number(one, 3)}"
        if tax.value == 0
        else f"{'fell' if tax.value > 0 else 'rose'} from {number(one, 3)} to {number(two, 3)}"
    )
    by = f", by {percent(tax.value / one)}" if way == "loss" and two > 0 else ""
    doubt = ": may be chance" if way == "open" and not math.isnan(tax.low) else ""
    told = f"S, what trying again mends ({number(row.s_max, 2)} at most), {went}{by}{doubt}"
    more = span(tax, 3, sign=True)
    return Fact(f"Sharpening Tax at {row.K} tries", signed(tax.value, 3), more, way != "open", told)
