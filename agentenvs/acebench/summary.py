"""The official summary of outcomes: accuracies by category, and their weighted sum."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from agentenvs.acebench.records import (
    AGENT,
    CATEGORIES,
    DIALOGUES,
    LANGS,
    NORMAL,
    SPECIAL,
    split_id,
)
from agentenvs.acebench.tasks import unsolvable
from agentenvs.core import Rules
from agentenvs.errors import BadArgument, UnknownName

__all__ = ["WEIGHTS", "Accuracy", "Summary", "summarize", "summarize_solvable"]

#: normal, special, agent: roots of 700, 150 and 50 over their sum, rounded as in the original
WEIGHTS = (0.578, 0.2676, 0.1545)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many of what is scored in a category pass.

    Attributes:
        passed: sum of the outcomes.
        total: how many there are.
    """

    passed: float
    total: int

    @property
    def share(self) -> float:
        """The accuracy."""
        return self.passed / self.total


@dataclass(frozen=True, slots=True)
class Summary:
    """The official figures of one language.

    Attributes:
        categories: accuracy by category, of those that outcomes were given for.
        normal: plain mean over the twelve normal categories; None where one is missing.
        special: the same over the three special ones.
        agent: the same over the two agent ones, by end state.
        overall: 0.578 normal + 0.2676 special + 0.1545 agent; None where one is missing. The
            weights add up to 1.0001.
    """

    categories: Mapping[str, Accuracy] = field(default_factory=dict)
    normal: float | None = None
    special: float | None = None
    agent: float | None = None
    overall: float | None = None


def summarize(
    outcomes: Mapping[str, bool | float], without: Collection[str] = ()
) -> dict[str, Summary]:
    """Return the official summary for each language in the outcomes.

    Args:
        outcomes: by `Task.name` or `Task.unit` of official tasks: whether it passed, or the
            share of attempts that did, as `shares()` of a run's outcomes has them. Dialogues
            may be given by turn, then as booleans: one passes where all its turns do, and all
            of them must be there.
        without: units to leave out, for example `unsolvable(rules)`.

    Raises:
        UnknownName: a name that is no official task's.
        BadArgument: no mapping, or an outcome that is no boolean, or no share where that is
            allowed.
    """
    units = _units(outcomes)
    scores: dict[str, dict[str, list[float]]] = {}
    for unit, value in units.items():
        if unit not in without:
            lang, _, rest = unit.partition("/")
            category = rest.rpartition("_")[0]
            scores.setdefault(lang, {}).setdefault(category, []).append(value)
    return {lang: _summary(scores[lang]) for lang in LANGS if lang in scores}


def summarize_solvable(
    outcomes: Mapping[str, bool | float], rules: Rules = "official"
) -> dict[str, Summary]:
    """Return the summary without the tasks that no agent can solve (see `unsolvable`).

    Args:
        outcomes: as in `summarize`.
        rules: those that the outcomes were judged by.
    """
    return summarize(outcomes, unsolvable(rules))


def _units(outcomes: Mapping[str, bool | float]) -> dict[str, float]:
    if not isinstance(outcomes, Mapping):
        raise BadArgument(
            "Expected `outcomes` to be a mapping from tasks to booleans or shares (of a run: "
            f"`outcomes.shares()`), got {type(outcomes)}."
        )
    units: dict[str, float] = {}
    by_turn: dict[str, bool] = {}
    for name, value in outcomes.items():
        lang, _, task_id = name.partition("/") if isinstance(name, str) else ("", "", "")
        if lang not in LANGS:
            raise UnknownName(f"Expected a name such as 'en/agent_multi_turn_7', got {name!r}.")
        unit, is_turn = _unit(lang, task_id)
        if isinstance(value, bool):
            score = float(value)
        elif is_turn or not isinstance(value, int | float) or not 0 <= value <= 1:
            wanted = "a bool" if is_turn else "a bool or a share"
            raise BadArgument(f"Expected the outcome of {name!r} to be {wanted}, got {value!r}.")
        else:
            score = float(value)
        if by_turn.setdefault(unit, is_turn) != is_turn:
            raise BadArgument(f"Expected one outcome of {unit!r}, got it by turn as well.")
        units[unit] = min(units.get(unit, 1.0), score)
    return units


def _unit(lang: str, task_id: str) -> tuple[str, bool]:
    category = task_id.rpartition("_")[0]
    if category in DIALOGUES and task_id.removeprefix(f"{category}_").isdigit():
        return f"{lang}/{task_id}", False
    category, number, turn = split_id(task_id)
    return f"{lang}/{category}_{number}", turn is not None


def _summary(scores: Mapping[str, list[float]]) -> Summary:
    categories = {
        category: Accuracy(sum(scores[category]), len(scores[category]))
        for category in CATEGORIES
        if category in scores
    }
    normal, special, agent = (_mean(categories, group) for group in (NORMAL, SPECIAL, AGENT))
    overall = None
    if normal is not None and special is not None and agent is not None:
        overall = WEIGHTS[0] * normal + WEIGHTS[1] * special + WEIGHTS[2] * agent
    return Summary(categories, normal, special, agent, overall)


def _mean(categories: Mapping[str, Accuracy], group: Collection[str]) -> float | None:
    if not all(category in categories for category in group):
        return None
    return sum(categories[category].share for category in group) / len(group)
