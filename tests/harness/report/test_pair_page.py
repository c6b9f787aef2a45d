from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from agentenvs.harness import Outcomes
from agentenvs.harness.report.gather import Findings, find
from agentenvs.harness.report.pair_page import LIMIT, page
from agentenvs.harness.report.played import title_of
from agentenvs.harness.tax import Counts

pytestmark = pytest.mark.usefixtures("few_pilots")

_VOID = {"meta", "link", "br", "img", "wbr"}
_HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "'><a href='javascript:alert(1)'>x</a>",
    "</pre></details></main><h1>owned</h1>",
    "<!-- <style>body{display:none}</style>",
    "&lt;b&gt; ]]> <![CDATA[",
    "<iframe src=//example.org></iframe>",
    "\ud800\x00\x1b[2J\u202egnirts",
)


class _Page(HTMLParser):
    """Reads a page, and fails where tags do not nest."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.data: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.data.append(data)


def _read(html: str) -> _Page:
    reader = _Page()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def _run(successes: list[int], n: int, ids: list[str] | None = None, **settings: Any) -> Outcomes:
    names = ids or [f"t{at}" for at in range(len(successes))]
    rows = [
        {"task_id": task, "rollout": at, "success": at < c, "parse": {"calls": 2, "words": 1}}
        for task, c in zip(names, successes, strict=True)
        for at in range(n)
    ]
    return Outcomes(rows, settings)


def _talks(outcomes: Outcomes, text: str, messages: int = 1, role: str = "tool") -> list[Any]:
    return [
        {
            "task_id": row["task_id"],
            "rollout": row["rollout"],
            "success": row["success"],
            "reason": text[:500],
            "opening": [{"role": "system", "content": text}, {"role": "user", "content": text}],
            "steps": [{"text": text, "news": [{"role": role, "content": text}]}] * messages,
        }
        for row in outcomes
    ]


def _sections(html: str) -> list[str]:
    return re.findall(r"<section id='([a-z]+)'", html)


def _typical(**more: Any) -> Findings:
    return find(_run([1, 3, 0, 5, 2, 4], 8), _run([8, 8, 0, 0, 8, 4], 8), **more)


def test_the_page_has_every_section_in_order() -> None:
    made = page(_typical(unsolvable=["t2"]), [], "A title")
    assert "<title>A title</title>" in made
    assert " ".join(_sections(made)) == (
        "warnings tax origin bins consistency tasks parse grader unsolvable theory "
        "cheaper more method words"
    )
    _read(made)


def test_the_page_asks_nothing_of_the_network_and_runs_nothing() -> None:
    read = _read(page(_typical(), [], "A title"))
    policy = [attrs["content"] for _, attrs in read.seen if "http-equiv" in attrs]
    assert policy == [
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    ]
    tags = {tag for tag, _ in read.seen}
    assert not tags & {"script", "iframe", "object", "embed", "form", "base", "video", "audio"}
    for tag, attrs in read.seen:
        assert not any(name.startswith("on") for name in attrs)
        assert "src" not in attrs
        if tag == "link":
            assert attrs["href"] == "data:,"
        elif "href" in attrs:
            assert re.match(r"#|https://arxiv\.org/abs/", attrs["href"] or "")
    style = "".join(read.data)
    assert "url(" not in style
    assert "@import" not in style


@pytest.mark.parametrize("text", _HOSTILE)
def test_what_models_and_settings_bring_along_is_inert(text: str) -> None:
    settings = {"policy": {"name": text, "top_k": 1, text: text}, "harness": text, text: text}
    ids = [text, "b", "c"]
    base = _run([8, 1, 3], 8, ids, **settings)
    post = _run([0, 6, 3], 8, ids, **{**settings, "harness": "none"})
    talks = _talks(base, text, role=text), _talks(post, text, role=text)
    hostile = page(find(base, post, transcripts=talks), [], text)
    calm_ids = ["x", "b", "c"]
    calm_talks = [_talks(_rename(run), "x", role="x") for run in (base, post)]
    calm = find(
        _run([8, 1, 3], 8, calm_ids, **_calm(settings)),
        _run([0, 6, 3], 8, calm_ids, **_calm({**settings, "harness": "none"})),
        transcripts=(calm_talks[0], calm_talks[1]),
    )
    safe = page(calm, [], "x")
    hostile.encode()
    # Where a name may break depends on the name.
    tags = [[tag for tag, _ in _read(made).seen if tag != "wbr"] for made in (hostile, safe)]
    assert tags[0] == tags[1]


def _calm(settings: dict[str, Any]) -> dict[str, Any]:
    def calm(value: Any) -> Any:
        if isinstance(value, dict):
            return {calm(key): calm(one) for key, one in value.items()}
        return "x" if value in _HOSTILE else value

    found: dict[str, Any] = calm(settings)
    return found


def _rename(outcomes: Outcomes) -> Outcomes:
    return Outcomes(
        ({**row, "task_id": "x" if row["task_id"] in _HOSTILE else row["task_id"]})
        for row in outcomes
    )


def test_a_page_stays_small_whatever_was_said() -> None:
    rng = np.random.default_rng(0)
    base, post = (_run(rng.integers(0, 9, 60).tolist(), 8) for _ in range(2))
    long = '<&"\u4f60\U0001f600' * 20_000
    found = find(base, post, transcripts=(_talks(base, long, 40), _talks(post, long, 40)))
    made = page(found, [], "Long")
    assert len(made.encode()) < LIMIT
    assert "left out here" in made
    _read(made)


def test_transcripts_stand_under_the_tasks_that_changed_most() -> None:
    base, post = _run([8, 0], 8), _run([0, 8], 8)
    talks = _talks(base, "what base said"), _talks(post, "what post said")
    made = page(find(base, post, transcripts=talks), [], "Talks")
    told = made[made.index("class='tasks'") : made.index("id='parse'")]
    assert told.count("<details class='task'><summary class='line'><span class='id'>t0<") == 1
    assert told.count("<i>before </i>8/8") == 1
    assert "before, rollout 0: solved" in made
    assert "after, rollout 0: not solved: what post said" in made
    assert "The runs keep no transcripts" in page(find(base, post), [], "No talks")


def test_tasks_without_transcripts_keep_their_lines() -> None:
    base, post = _run([8, 0, 1], 8), _run([0, 8, 1], 8)
    said = [row for row in _talks(base, "what base said") if row["task_id"] == "t0"]
    made = page(find(base, post, transcripts=(said, None)), [], "Talks")
    assert made.count("<details class='task'>") == 1
    assert "<p class='line'><span class='id'>t1</span>" in made


def test_names_of_tasks_break_between_words() -> None:
    ids = ["0/order/seven", "mini_home_1"]
    made = page(find(_run([8, 0], 8, ids), _run([0, 8], 8, ids)), [], "Names")
    assert "0/<wbr>order/<wbr>seven" in made
    assert "mini_<wbr>home_<wbr>1" in made


def test_scripted_policies_are_marked_before_anything_is_told() -> None:
    settings = {"policy": {"name": "scripted:wide", "scripted": True}}
    made = page(find(_run([1, 2], 4, **settings), _run([2, 2], 4)), [], "Scripted")
    mark = "SCRIPTED POLICIES: no model was measured"
    assert made.index(mark) < made.index("<h2>")
    assert mark not in page(_typical(), [], "Models")


def test_settings_that_should_agree_are_shown_first() -> None:
    base = _run([1, 2], 4, harness="light", sampling={"temperature": 1.0}, seed=0)
    post = _run([2, 2], 4, harness="none", sampling={"temperature": 0.7}, seed=1)
    made = page(find(base, post), [], "Settings")
    told = made[made.index("id='settings'") :]
    assert "2\u00a0settings differ that should be alike" in told
    assert told.index("sampling.temperature") < told.index("1\u00a0setting that differs by design")
    assert "settings differ: harness is" in made


def test_the_page_says_what_was_played_and_by_whom() -> None:
    settings = {
        "env_id": "agentenvs/ToolLab-v0",
        "tasks": "heldout",
        "harness": "light",
        "prompt": {"examples": 2},
        "sampling": {"temperature": 0.7, "max_tokens": 64},
    }
    base, post = _run([1, 2], 4, **settings), _run([2, 2], 4, **settings)
    found = find(base, post, names=("a.jsonl", "b.jsonl"), clusters=["x", "x"])
    made = page(found, [], title_of(found)).replace("\u00a0", " ")
    assert (
        "Played: ToolLab heldout, 2 tasks that count as 1 group, since some hang together, prompt "
        "\u201clight\u201d with 2 examples, temperature 0.7, at most 64 tokens a reply." in made
    )
    assert "<title>ToolLab heldout: a.jsonl \u2192 b.jsonl</title>" in made
    assert "model before training (base): a.jsonl; for the trained model (post): b.jsonl" in made
    bare = find(_run([1, 2], 4), _run([2, 2], 4))
    assert "Played:" not in page(bare, [], title_of(bare))
    assert title_of(bare) == "What post-training cost"


def _told(html: str, section: str) -> str:
    start = html.index(f"<section id='{section}'")
    return html[start : html.index("</section>", start)].replace("\u00a0", " ")


def _sharp() -> Findings:
    rng = np.random.default_rng(4)
    rate = rng.beta(0.4, 1.2, 60)
    base = rng.binomial(32, rate), 32
    return find(base, (rng.binomial(32, np.where(rng.random(60) < 0.8, rate**0.7, 0)), 32))


def test_parts_that_may_be_chance_are_told_as_such() -> None:
    found = _sharp()
    assert found.parts is not None
    assert not found.parts.earliness.sure
    told = _told(page(found, [], "Parts"), "origin")
    assert told.count("which may be chance") == sum(
        not one.sure for one in (found.parts.coverage, found.parts.earliness)
    )
    assert "Two runs of one and the same model fill both cells too" in told


def test_the_budgets_that_are_told_best_come_first_and_the_tax_beside_them() -> None:
    told = _told(page(_sharp(), [], "Tax"), "tax")
    marks = [
        told.index(f">{name}</span>") for name in ("what these tries tell best", "other budgets")
    ]
    rows = [told.index(f"<th scope='row'>{k}<") for k in (8, 16, 2)]
    assert marks[0] < rows[0] < rows[1] < marks[1] < rows[2]
    assert re.search("tries, K</th><th scope='col'>Tax_S</th><th scope='col'>pass@K, before", told)
    asked = find(([1, 3, 0], 8), ([4, 4, 0], 8), ks=[8, 3])
    assert "tell best" not in _told(page(asked, [], "Tax"), "tax")


def test_the_share_of_rarely_solved_tasks_is_explained_where_it_is_shown() -> None:
    told = _told(page(_sharp(), [], "Grader"), "grader")
    assert told.index("from tasks solved 1 to 8 times") < told.index("The last row says nothing of")
    few = _told(page(_typical(), [], "Grader"), "grader")
    assert "1 to 8 times" not in few
    assert "The last row" not in few


def test_assumptions_that_all_fail_are_told_plainly() -> None:
    found = _typical()
    assert found.theory is not None
    wrong = found.theory.rest._replace(verdict="fails")
    theory = found.theory._replace(
        sharpened=found.theory.sharpened._replace(value=0.5), prediction="holds"
    )
    every = theory._replace(selection=wrong, rest=wrong, all_the_way=wrong)
    told = _told(page(replace(found, theory=every), [], "Theory"), "theory")
    assert "but none of the 3 things that it assumes holds" in told
    right = theory.rest._replace(verdict="holds")
    one = theory._replace(selection=right, rest=wrong, all_the_way=right)
    told = _told(page(replace(found, theory=one), [], "Theory"), "theory")
    assert "but 1 of the 3 things that it assumes does not hold" in told


def _counts(c: list[int], n: list[int] | int) -> Counts:
    sizes = np.broadcast_to(n, len(c)).copy()
    return Counts([f"t{at}" for at in range(len(c))], np.array(c), sizes)


@pytest.mark.parametrize(
    ("base", "post"),
    [
        (_counts([0] * 5, 4), _counts([0] * 5, 4)),
        (_counts([4] * 5, 4), _counts([4] * 5, 4)),
        (_counts([0], 1), _counts([1], 1)),
        (_counts([3], 8), _counts([6], 8)),
        (_counts([0, 1, 1], 1), _counts([1, 1, 0], 1)),
        (_counts([1, 2], 2), _counts([2, 1], 2)),
        (_counts([1, 2, 0], 3), _counts([1, 2, 0], 3)),
        (_counts([1, 2, 0], [3, 9, 5]), _counts([1, 2, 4], [7, 4, 30])),
        (_counts([0, 0, 0], 4), _counts([4, 4, 4], 4)),
    ],
    ids=["none", "all", "one", "single", "once", "twice", "equal", "unequal", "opposite"],
)
def test_awkward_pairs_have_a_page(base: Counts, post: Counts) -> None:
    made = page(find(base, post), [], "Awkward")
    _read(made)
    assert "nan" not in re.sub(r"<style>.*</style>", "", made, flags=re.S).lower().split()
    assert "inf%" not in made


def test_links_lead_to_sections_that_are_there() -> None:
    for found in (_typical(), find(_counts([0, 1], 1), _counts([1, 1], 1))):
        made = page(found, [], "Links")
        assert set(re.findall(r"href='#([a-z]+)'", made)) == set(_sections(made))
