"""The official checker of the special categories: phrases looked for in the whole text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentenvs.acebench.outcome import Verdict
from agentenvs.acebench.records import Task

__all__ = ["BEYOND", "MISSING", "WRONG_VALUE", "check"]

MISSING = "Missing necessary parameters"
WRONG_VALUE = "There is incorrect value"
BEYOND = "the limitations of the function"
_FAILED = ", but the model failed to correctly point it out"


def check(task: Task, text: str) -> Verdict:
    """Judge an answer to a special task by the official rules.

    The phrases are English in both languages, and case counts. What else the text says does
    not matter, so one that holds all three phrases and the whole question passes.

    Args:
        task: a task of a special category.
        text: the whole output of the model.
    """
    if task.category == "special_irrelevant":
        detail = f"The model cannot solve this problem, due to {BEYOND}"
        return _said(BEYOND in text, "error_detection", detail)
    missing = task.category == "special_incomplete"
    answer: Mapping[str, Sequence[str]] = task.answer
    detected = (MISSING if missing else WRONG_VALUE) in text
    verdict = Verdict(True)
    for name, words in answer.items():
        problem = _missing(name, words) if missing else _wrong(name, words)
        if not detected:
            return Verdict(False, "error_detection", detail=problem)
        if missing and name not in text:
            verdict = Verdict(False, "error_correction", detail=problem)
            continue
        for word in words:
            if word not in text:
                problem = _missing(name, word) if missing else problem
                verdict = Verdict(False, "error_correction", detail=problem)
    return verdict


def _said(valid: bool, error_type: str, detail: str) -> Verdict:
    return Verdict(True) if valid else Verdict(False, error_type, detail=detail)


def _missing(name: str, words: Sequence[str] | str) -> str:
    told = f"The user's instruction is missing necessary parameters ({words}) for the ({name})"
    return told + _FAILED


def _wrong(name: str, words: Sequence[str]) -> str:
    told = f"The user's instruction contains incorrect values ({words}) of the parameters ({name})"
    return told + _FAILED
