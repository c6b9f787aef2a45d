"""What is wrong with the references: corrections as edits, and tasks that cannot be solved."""

from __future__ import annotations

import copy
import importlib.resources
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from agentenvs.acebench.records import AGENT, Task
from agentenvs.errors import BadArgument, SourceMismatch
from agentenvs.tools import Shared

__all__ = ["KINDS", "Correction", "Overlay", "Tag", "edited", "overlay"]

#: why a task cannot be solved
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "unstated": "the reference demands a value that is given nowhere",
        "wording": "the reference demands a wording that nothing leads to",
        "schema": "the reference breaks the description of its own function",
        "contradiction": "the reference or the instruction contradicts the instruction",
        "optional": "the reference calls missing what the description does not require",
    }
)


@dataclass(frozen=True, slots=True)
class Tag(Shared):
    """Why a task cannot be solved.

    Attributes:
        kind: one of `KINDS`.
        at: keys of the reference under which the trouble lies.
        reason: what is wrong.
    """

    kind: str
    at: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Correction(Shared):
    """What is wrong with a reference, and how to mend it.

    Attributes:
        reason: what is wrong.
        edits: one after the other: `{"op": ..., "at": path, ...}`; see `edited`.
        keep: whether the reference as it was will do as well.
    """

    reason: str
    edits: tuple[Mapping[str, Any], ...]
    keep: bool


@dataclass(frozen=True, slots=True)
class Overlay(Shared):
    """Findings about the official tasks, by `Task.name`.

    Attributes:
        unsolvable: tasks whose correct answer cannot be found or contradicts the instruction;
            they stay tasks, and every aggregate can be had without them.
        corrected: references that `rules="fixed"` mends.
        unreachable: tasks whose own reference the official checker refuses.
    """

    unsolvable: Mapping[str, Tag]
    corrected: Mapping[str, Correction]
    unreachable: frozenset[str]

    def references(self, task: Task, initial: Callable[[], Mapping[str, Any]]) -> list[Any]:
        """Return the references of a task under `rules="fixed"`: any one of them will do.

        Args:
            task: an official task.
            initial: returns what the services start from in the task's language; called only
                where a correction needs it.
        """
        is_choice = isinstance(task.answer, list) and task.category not in AGENT
        references = list(task.answer) if is_choice else [task.answer]
        correction = self.corrected.get(task.name)
        if correction is None:
            return references
        mended = [edited(one, correction.edits, initial) for one in references]
        return mended + references if correction.keep else mended


@lru_cache(1)
def overlay() -> Overlay:
    """Return the findings that come with this package."""
    place = importlib.resources.files("agentenvs.assets") / "acebench" / "overlay.json"
    found = json.loads(place.read_text("utf-8"))
    tags = {
        name: Tag(tag["kind"], tuple(tag["at"]), tag["reason"])
        for name, tag in found["unsolvable"].items()
    }
    corrections = {
        name: Correction(one["reason"], tuple(one["edits"]), one["keep"])
        for name, one in found["corrected"].items()
    }
    return Overlay(
        MappingProxyType(tags), MappingProxyType(corrections), frozenset(found["unreachable"])
    )


def edited(
    reference: Any,
    edits: Sequence[Mapping[str, Any]],
    initial: Callable[[], Mapping[str, Any]] = dict,
) -> Any:
    """Return a copy of a reference with the edits made.

    A path leads through `{class: {attribute: value}}` in agent tasks, through the arguments
    of every call that has its first key in normal tasks, and through the reference itself in
    special ones. `op` is one of

    - "drop": take the entry away;
    - "rename": `to` is its new key;
    - "wrap": put it into a list;
    - "add": add `by` to the number;
    - "set": `value` takes its place;
    - "initial": what the service starts from takes its place.

    Args:
        reference: as in the file.
        edits: the edits in order.
        initial: returns what the services start from.

    Raises:
        BadArgument: an edit of another kind.
        SourceMismatch: there is nothing at the path of an edit.
    """
    made = copy.deepcopy(reference)
    states = isinstance(made, list)
    if states:
        made = {name: part for one in made for name, part in one.items()}
    for edit in edits:
        path = list(edit["at"])
        roots = [made]
        if path[0] not in made and not states:
            roots = [call for call in made.values() if path[0] in call]
        if not roots:
            raise SourceMismatch(f"Expected an entry at {path} in the reference.")
        for root in roots:
            _edit(root, edit, path, initial)
    return [{name: part} for name, part in made.items()] if states else made


def _edit(
    root: Any, edit: Mapping[str, Any], path: list[Any], initial: Callable[[], Mapping[str, Any]]
) -> None:
    *parents, last = path
    try:
        place = root
        for key in parents:
            place = place[key]
        match edit["op"]:
            case "drop":
                del place[last]
            case "rename":
                place[edit["to"]] = place.pop(last)
            case "wrap":
                place[last] = [place[last]]
            case "add":
                place[last] += edit["by"]
            case "set":
                place[last] = edit["value"]
            case "initial":
                value: Any = initial()[path[0]]["state"]
                for key in path[1:]:
                    value = value[key]
                place[last] = copy.deepcopy(value)
            case other:
                raise BadArgument(f"Expected a kind of edit that is known, got {other!r}.")
    except (KeyError, IndexError, TypeError):
        raise SourceMismatch(f"Expected an entry at {path} in the reference.") from None
