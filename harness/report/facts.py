"""The key numbers of the first screen."""

from __future__ import annotations

import math
from typing import NamedTuple

from agentenvs.harness.report.formats import percents, signed, span
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.voice import Voice, upper, voice
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
    ends = [str(k) for k in (at.ks[0], at.ks[-1])] if at.ks else [f"beyond {at.K}"] * 2
    if at.censored:
        ends[-1] = f"beyond {at.K}"
    more = f"{ends[0]} to {ends[1]}" if ends[0] != ends[1] else ""
    if not at.decides:
        return Fact(title, "not decided", more, False, "it may be anywhere, or not at all")
    if at.k is None:
        told = "it may yet do so: not decided" if at.ks else "it stays behind throughout"
        return Fact(title, f"not within {at.K} tries", more, not at.ks, told)
    if at.k == 1:
        sure = at.ks == (1,) and not at.censored
        told = "it is not behind even at one try" if sure else "it may be behind at first"
        return Fact(title, "at once", more, sure, told)
    told = "the first number of tries at which as many tasks are solved"
    if at.censored:
        told = "seen here, but it may not catch up at all: not decided"
    return Fact(title, f"at {at.k} tries", more, not at.censored, told)


def _tax_fact(found: Findings) -> Fact | None:
    row = next((row for row in found.comparison.rows if row.K == found.K), None)
    if row is None or math.isnan(row.measures.tax_S.value):
        return None
    tax = row.measures.tax_S
    way = moved(tax)
    told = {
        "loss": f"above 0: trying again mends less than {voice(found).then}",
        "gain": f"below 0: trying again mends more than {voice(found).then}",
        "open": "may be 0: not decided" if tax.low <= 0 else "not decided",
    }[way]
    more = span(tax, 3, sign=True)
    return Fact(f"Sharpening Tax at {row.K} tries", signed(tax.value, 3), more, way != "open", told)
