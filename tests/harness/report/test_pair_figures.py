from __future__ import annotations

import re

import pytest

from agentenvs.harness import Outcomes
from agentenvs.harness.report.gather import find
from agentenvs.harness.report.pair_figures import pictures
from agentenvs.harness.report.pair_page import page

pytest.importorskip("matplotlib", reason="needs the extra `report`")
pytestmark = pytest.mark.usefixtures("few_pilots")


def test_every_figure_stands_on_the_page() -> None:
    found = find(([1, 3, 0, 2, 5], 8), ([8, 5, 0, 0, 8], 8))
    drawn = pictures(found)
    made = page(found, drawn, "Figures")
    assert [one.name for one in drawn] == re.findall(r"<figure id='figure-(\w+)'", made)
    assert len(drawn) == 6
    ids = re.findall(r"\bid=['\"]([^'\"]+)", made)
    assert len(ids) == len(set(ids))


def test_without_a_second_try_there_is_no_tax_to_draw() -> None:
    names = [one.name for one in pictures(find(([1, 0], 1), ([0, 0], 1)))]
    assert names == ["curves", "histograms", "consistency"]


def test_names_of_policies_are_inert_in_figures() -> None:
    name = "</title></svg><script>alert(1)</script>$x^2$ \ud800"

    def run(policy: str) -> Outcomes:
        rows = [{"task_id": "a", "rollout": at, "success": at > 1} for at in range(4)]
        return Outcomes(rows, {"policy": {"name": policy, "scripted": True}})

    found = find(run(name), run("other"))
    made = page(found, pictures(found), name)
    made.encode()
    assert "<script" not in made
