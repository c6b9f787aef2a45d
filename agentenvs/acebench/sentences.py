"""The mended checker of the special categories: whole sentences, and nothing beside them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from agentenvs.acebench.answers import answer_text, bracketed
from agentenvs.acebench.compare import same_text
from agentenvs.acebench.outcome import Verdict
from agentenvs.acebench.records import Task
from agentenvs.syntax import UnreadableCall, parse_expression

__all__ = ["check"]

_MISSING = re.compile(
    r"(?is)\s*missing\s+(?:the\s+)?necessary\s+parameters?\s*\((?P<words>.*)\)"
    r"\s*for\s+the\s+(?:api|function)\s*\((?P<name>[^()]*)\)\s*\.?\s*"
)
_WRONG = re.compile(
    r"(?is)\s*there\s+(?:is|are)\s+(?:an?\s+)?incorrect\s+values?\s*\((?P<words>.*)\)"
    r"\s*for\s+the\s+parameters?\s*\((?P<name>[^()]*)\)"
    r"(?:\s*in\s+the\s+conversation\s+history)?\s*\.?\s*"
)
_BEYOND = re.compile(
    r"(?is)\s*due\s+to\s+the\s+limitations\s+of\s+the\s+functions?\s*,?\s*"
    r"(?:i\s+can\s?(?:no|')t\s+solve\s+(?:this|the)\s+problems?|this\s+can\s?(?:no|')t\s+be\s+done)"
    r"\s*\.?\s*"
)
_MAX_STATEMENTS = 64


def check(task: Task, text: str, answers: Sequence[Mapping[str, Sequence[str]] | str]) -> Verdict:
    """Judge an answer to a special task by the mended rules.

    The answer is a bracketed list of texts with anything around it, or else the whole text.
    Each of its sentences must be the benchmark's own for this category, but for case, white
    space and number; together they must name exactly what the reference names.

    Args:
        task: a task of a special category.
        text: the whole output of the model.
        answers: the alternatives of the reference, corrected.
    """
    try:
        said = list(_statements(answer_text(text)))
    except UnreadableCall as problem:
        return Verdict(False, "error_detection", detail=str(problem))
    if not said:
        return Verdict(False, "error_detection", detail="no sentence")
    pattern = {"special_incomplete": _MISSING, "special_error_param": _WRONG}.get(
        task.category, _BEYOND
    )
    found = []
    for sentence in said:
        match = pattern.fullmatch(sentence)
        if match is None:
            detail = f"not the sentence of {task.category}: {sentence[:200]!r}"
            return Verdict(False, "error_detection", detail=detail)
        found.append(match.groupdict())
    if pattern is _BEYOND:
        return Verdict(True)
    names = _same_parameters if pattern is _MISSING else _same_values
    if any(names(found, answer) for answer in answers if isinstance(answer, Mapping)):
        return Verdict(True)
    return Verdict(False, "error_correction", detail=f"expected {answers[0]}, got {found}")


def _statements(text: str) -> Iterator[str]:
    for start in re.finditer(r"""\[\s*["']""", text):
        found = bracketed(text, start.start())
        if found is not None:
            try:
                body = parse_expression(found)
            except UnreadableCall:
                yield found.strip().strip("[]").strip().strip("\"'")
                return
            items = body.elts if isinstance(body, ast.List) else []
            if all(isinstance(item, ast.Constant) for item in items):
                values = [item.value for item in items if isinstance(item, ast.Constant)]
                yield from (value for value in values[:_MAX_STATEMENTS] if isinstance(value, str))
                return
        break
    whole = text.strip().removeprefix("[").removesuffix("]").strip().strip("\"'")
    if whole:
        yield whole


def _split(text: str) -> list[str]:
    return [word for word in (part.strip(" '\"\n") for part in text.split(",")) if word]


def _same_parameters(
    found: Sequence[Mapping[str, str]], answer: Mapping[str, Sequence[str]]
) -> bool:
    said: dict[str, list[str]] = {}
    for match in found:
        said.setdefault(match["name"].strip(" '\""), []).extend(_split(match["words"]))
    return {name: sorted(words) for name, words in said.items()} == {
        name: sorted(words) for name, words in answer.items()
    }


def _same_values(found: Sequence[Mapping[str, str]], answer: Mapping[str, Sequence[str]]) -> bool:
    left = dict(answer)
    for match in found:
        wanted: list[str] = []
        for name in _split(match["name"]):
            if name not in left:
                return False
            wanted += left.pop(name)
        if not same_text(match["words"], ", ".join(wanted)):
            return False
    return not left
