"""The official judgement of an agent: the state left behind, and the milestones met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.acebench.compare import difference
from agentenvs.acebench.outcome import Verdict
from agentenvs.acebench.records import Task

__all__ = ["check", "check_both_ways", "milestone_lists", "process_accuracy"]

State = Sequence[Mapping[str, Mapping[str, Any]]]


def check(task: Task, state: State, process: Sequence[str]) -> Verdict:
    """Judge an episode by the official rules.

    The state must name as many classes as the reference. A class of the reference that the
    state does not name has the result of the one before it; of a dict, only the keys of the
    reference are compared.

    Args:
        task: a task of an agent category.
        state: `{class: {attribute: value}}` one a class, as JSON gives it back.
        process: the messages that went to execution.
    """
    error_type, problem, details = "", "", list[str]()
    if len(state) != len(task.answer):
        error_type = "wrong number of class"
    else:
        for wanted in task.answer:
            for name, attributes in wanted.items():
                found = next((one[name] for one in state if name in one), None)
                if found is not None:
                    problem = _difference(name, found, attributes)
                if problem:
                    error_type = "class attributes wrong"
                    details.append(problem)
    accuracy = process_accuracy(task, process) if error_type else 1.0
    left = [dict(one) for one in state]
    return Verdict(not error_type, error_type, accuracy, left, "; ".join(details))


def check_both_ways(
    task: Task, state: State, process: Sequence[str], answers: Sequence[State]
) -> Verdict:
    """Judge an episode by the mended rules.

    The state and one of the references must name the same classes, and every attribute of
    each, to the last leaf, must be equal (see `compare.difference`).

    Args:
        task: a task of an agent category.
        state: `{class: {attribute: value}}` one a class, as JSON gives it back.
        process: the messages that went to execution.
        answers: the alternatives of the reference, corrected.
    """
    left = [dict(one) for one in state]
    found = {name: part for one in left for name, part in one.items()}
    problem = ("", "")
    for answer in answers:
        wanted = {name: part for one in answer for name, part in one.items()}
        unknown = sorted(wanted.keys() - set(task.involved_classes))
        if unknown:
            problem = "fixed:unknown class", f"the reference names {unknown}"
        elif found.keys() != wanted.keys() or len(found) != len(left):
            named = sorted(name for one in left for name in one)
            problem = "wrong number of class", f"expected {sorted(wanted)}, got {named}"
        else:
            detail = difference(found, wanted)
            if not detail:
                return Verdict(True, "", 1.0, left)
            problem = "class attributes wrong", detail
    return Verdict(False, problem[0], process_accuracy(task, process), left, problem[1])


def _difference(name: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    for attribute, value in found.items():
        told = f"class({name}) attributes({attribute}"
        if attribute not in wanted:
            return f"{told}) missing in possible_answer."
        expected = wanted[attribute]
        if isinstance(expected, dict) and isinstance(value, Mapping):
            for key, part in expected.items():
                if key not in value:
                    return f"{told}) wrong, [expected: {expected}, real: {value}]"
                if value[key] != part:
                    return f"{told}.{key}) wrong, [expected: {part}, real: {value[key]}]"
        elif value != expected:
            return f"{told}) wrong, [expected: {expected}, real: {value}]"
    return ""


def milestone_lists(task: Task) -> list[Sequence[str]]:
    """Return the alternatives of a task's milestones: one list of call texts each."""
    if any(isinstance(item, list) for item in task.milestones):
        return list(task.milestones)
    return [task.milestones]


def process_accuracy(task: Task, process: Sequence[str]) -> float:
    """Return the share of milestones met, to three decimals; the best over the alternatives.

    Milestones count in order, as texts, white space around them aside; after one that is not
    met none counts.
    """
    said = [message.strip() for message in process]
    shares = [_met(said, steps) / len(steps) for steps in milestone_lists(task) if steps]
    return round(max(shares, default=0.0), 3)


def _met(said: Sequence[str], steps: Sequence[str]) -> int:
    at = 0
    for count, step in enumerate(steps):
        try:
            at = said.index(step.strip(), at) + 1
        except ValueError:
            return count
    return len(steps)
