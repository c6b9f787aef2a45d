"""A study as one HTML file that asks nothing of the network and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentenvs.harness.report.markup import (
    PAPER,
    bullets,
    document,
    figure,
    folded,
    paragraph,
    section,
    terms,
    text,
)
from agentenvs.harness.report.markup import table as grid
from agentenvs.harness.report.paint import Picture
from agentenvs.harness.report.paint_theme import theme
from agentenvs.harness.report.study import words
from agentenvs.harness.report.study.cells import CONSISTENCY_K
from agentenvs.harness.report.study.choices import choice_table
from agentenvs.harness.report.study.entries import STAR, STARS, Table
from agentenvs.harness.report.study.tables import (
    change_table,
    gain_table,
    published_table,
    relation_table,
    sign_table,
    tax_table,
)
from agentenvs.harness.tax.render import SCRIPTED_MARK

if TYPE_CHECKING:
    from agentenvs.harness.report.study.report import StudyReport

__all__ = ["page"]

_LISTED = 12
# Many rows, wide tables: who a row is about stays in sight on a phone.
_STYLE = (
    " @media screen { .wide th:first-child "
    "{ position: sticky; left: 0; background: var(--sheet); min-width: 8.5em; } }"
)
# Tables of so many columns stand side by side; of more blocks than these all but the first fold.
_NARROW, _FOLDED = 5, 3


def page(found: StudyReport, pictures: Sequence[Picture]) -> str:
    """Return the page: the answer in words, figures, tables of every cell, what the words mean.

    Args:
        found: the study.
        pictures: its figures.
    """
    style = theme() + _STYLE
    return document(found.study.title, style, words.lead(found), _body(found, pictures))


def _body(found: StudyReport, pictures: Sequence[Picture]) -> list[str]:
    def figures(start: str) -> str:
        """Return the figures of the main budget, and those of the others to open."""
        mine = [one for one in pictures if one.name.startswith(start)]
        main = [one for one in mine if one.name.endswith(f"_{found.main}")]
        return _beside(main) + _others([one for one in mine if one not in main], found)

    signs = sign_table(found.signs, found.signs_without, words.shared(found))
    relations = relation_table(found.relations, found.ks)
    choices = choice_table(found.cells, found.study)
    beside = published_table(found.published, found.cells)
    foretold = _beside([one for one in pictures if one.name == "prediction"])
    return [
        _top(found, [one for one in pictures if one.name.startswith("tax_grid_")]),
        _warnings(found),
        *(
            section(one.title, [_table(one)], one.name)
            for one in (signs, change_table(found.changes))
        ),
        section("The tax by size", [figures("tax_by_size_")], "sizes"),
        section(
            relations.title if relations else "What the tax goes along with",
            [figures("tax_over_"), _table(relations) if relations else ""],
            "relations",
        ),
        section(
            "Whether a few rollouts foretell the tax",
            [f"<div class='pair'>{bullets(words.predictor(found))}{foretold}</div>"],
            "prediction",
        ),
        section(beside.title, [_table(beside)], beside.name) if beside else "",
        *(
            section(one.title, [_table(one)], one.name)
            for one in (
                gain_table(found.cells, found.main, found.changes),
                tax_table(found.cells, found.ks, found.signs),
            )
        ),
        section(choices.title, [_table(choices)], choices.name) if choices else "",
        section("Before believing it", [bullets(words.caveats(found))], "caveats"),
        _glossary(),
    ]


def _top(found: StudyReport, grids: Sequence[Picture]) -> str:
    scripted = paragraph(SCRIPTED_MARK, "scripted") if found.scripted else ""
    first, *others = grids
    told = bullets(words.findings(found))
    return (
        f"<section class='top' id='answer'>{scripted}<h2>{text(words.headline(found))}</h2>"
        f"{paragraph(words.rule(found), 'ranges')}{paragraph(words.MEANING, 'ranges')}"
        f"<div class='pair'>{figure(first)}{told}</div>{_others(others, found)}</section>"
    )


def _beside(pictures: Sequence[Picture]) -> str:
    drawn = "".join(figure(one) for one in pictures)
    return f"<div class='pair'>{drawn}</div>" if len(pictures) > 1 else drawn


def _others(pictures: Sequence[Picture], found: StudyReport) -> str:
    """Return figures of the other budgets, which a reader may open."""
    if not pictures:
        return ""
    *first, last = [str(k) for k in found.ks if k != found.main]
    listed = f"{', '.join(first)} and {last}" if first else last
    return folded(f"The same with {listed} tries", _beside(pictures))


def _warnings(found: StudyReport) -> str:
    items = []
    for told, names in words.warnings(found.cells):
        where = "; ".join(names[:_LISTED])
        more = f"; and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        where = "all comparisons" if len(names) == len(found.cells) else where + more
        items.append(f"<li>{text(told)} <span class='note'>({text(where)})</span></li>")
    body = f"<ul>{''.join(items)}</ul>" if items else ""
    if len(items) > _LISTED:
        body = folded(f"{len(items)} warnings", body)
    return section("What may spoil comparisons", [body], "warnings", "warnings")


def _glossary() -> str:
    told = (
        (
            "Comparison (cell)",
            "One pair of models on one benchmark: a base, and what one way of training made of "
            "it. Both played the same tasks.",
        ),
        (
            "Task, rollout, try",
            "A task is solved or not at each try. A rollout is one try, played with chance.",
        ),
        ("pass@k", "The chance that at least one of k tries succeeds, a mean over tasks."),
        (
            f"pass^{CONSISTENCY_K}",
            f"The chance that all of {CONSISTENCY_K} tries succeed: what can be relied on.",
        ),
        (
            "Tax_S(K)",
            "The Sharpening Tax: how much of the first try's failure up to K tries mend before "
            "training, minus the same after it. Above 0, there is less to gain from more tries "
            "than there was. It can be positive where no task was lost: solving sooner lowers it "
            "too. Look at pass@K beside it.",
        ),
        (
            "k*",
            "The least number of tries at which the base solves as many tasks as the trained "
            "model. In small print: its interval.",
        ),
        (
            f"{STAR} and {STARS}",
            f"{STAR}: the interval leaves out 0. One in twenty such intervals misses by chance. "
            f"{STARS}, beyond chance: it stays when that is allowed for over all comparisons.",
        ),
        (
            "Spearman's correlation",
            "How much alike two measures order the comparisons: 1 the same order, 0 no relation, "
            "\u22121 the reverse.",
        ),
    )
    link = f"<p class='note'>The Sharpening Tax was described in {PAPER}.</p>"
    return section("What the words mean", [terms(told), link], "words")


def _table(one: Table) -> str:
    """Return a table's blocks one below the other, narrow ones side by side."""
    parts = [
        f"<div>{f'<h3>{text(name)}</h3>' if name else ''}{grid(one.columns, rows)}</div>"
        for name, rows in one.blocks
    ]
    shown = "".join(parts)
    if len(parts) > 1 and len(one.columns) <= _NARROW:
        shown = f"<div class='pair'>{shown}</div>"
    elif len(parts) > _FOLDED:
        rest = folded(f"The same for each of {len(parts) - 1}", "".join(parts[1:]))
        shown = parts[0] + rest
    return shown + paragraph(one.note, "note")
