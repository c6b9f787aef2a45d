"""What ACEBench's files hold: one `Task` a record, read file by file when asked for."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from agentenvs.acebench.worldstate import WORLD, world_of
from agentenvs.errors import BadArgument, SourceMismatch, SourceMissing, UnknownName, did_you_mean
from agentenvs.tools import Shared

__all__ = [
    "AGENT",
    "CATEGORIES",
    "DIALOGUES",
    "LANGS",
    "NORMAL",
    "SPECIAL",
    "Lang",
    "Records",
    "Task",
    "read_folder",
    "split_id",
    "task_of",
]

Lang = Literal["en", "zh"]
LANGS: tuple[Lang, ...] = ("en", "zh")
DIALOGUES = ("normal_multi_turn_user_adjust", "normal_multi_turn_user_switch")
NORMAL = (
    "normal_single_turn_single_function",
    "normal_single_turn_parallel_function",
    *DIALOGUES,
    "normal_similar_api",
    "normal_preference",
    "normal_atom_bool",
    "normal_atom_enum",
    "normal_atom_number",
    "normal_atom_list",
    "normal_atom_object_short",
    "normal_atom_object_deep",
)
SPECIAL = ("special_incomplete", "special_error_param", "special_irrelevant")
AGENT = ("agent_multi_step", "agent_multi_turn")
CATEGORIES = (*NORMAL, *SPECIAL, *AGENT)
_ID = re.compile(rf"({'|'.join(CATEGORIES)})_(\d{{1,6}})(?:_(\d{{1,6}}))?", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Task(Shared):
    """One record with its reference: read only, shared by all that use it.

    Attributes:
        id: as in the files, unique within its language: `normal_atom_bool_0`, and by turn in
            the dialogues: `normal_multi_turn_user_adjust_3_1`.
        lang: "en" or "zh".
        category: one of `CATEGORIES`.
        number: the number in the id.
        turn: the turn of a dialogue, else None.
        question: the transcript up to the last user message; the instruction in agent tasks.
        functions: the API descriptions, as they stand in the file.
        time: a sentence on the present time, or "".
        profile: what is known of the user, in `normal_preference`, else "".
        initial_config: flags that the world starts from, in agent tasks.
        involved_classes: the services of the world, in agent tasks.
        answer: the reference: `{api: {parameter: value}}` or a list of such alternatives
            (normal), `{api or parameter: [text]}` or a sentence (special), a list of
            `{class: {attribute: value}}` (agent).
        milestones: call texts, or a list of alternative lists of them, in agent tasks.
        shelf: what `name` begins with where that is not the language: "mini" in the bundled
            set, whose ids are unique over both languages.
    """

    id: str
    lang: Lang
    category: str
    number: int
    turn: int | None
    question: str
    functions: Sequence[Mapping[str, Any]]
    time: str = ""
    profile: str = ""
    initial_config: Mapping[str, Any] = field(default_factory=dict)
    involved_classes: tuple[str, ...] = ()
    answer: Any = None
    milestones: Sequence[Any] = ()
    shelf: str = ""

    @property
    def name(self) -> str:
        """The id that is unique over both languages: `en/normal_atom_bool_0`."""
        return f"{self.shelf or self.lang}/{self.id}"

    @property
    def unit(self) -> str:
        """The id of what is scored: the dialogue's in the dialogue categories, else the task's."""
        return f"{self.shelf or self.lang}/{self.category}_{self.number}"


def split_id(task_id: str) -> tuple[str, int, int | None]:
    """Return the category, the number and the turn (None outside the dialogues) of an id.

    Raises:
        UnknownName: it is no id of this benchmark.
    """
    found = _ID.fullmatch(task_id) if isinstance(task_id, str) else None
    if found is None or (found[3] is None) == (found[1] in DIALOGUES):
        hint = did_you_mean(task_id, CATEGORIES)
        raise UnknownName(f"Expected an id such as 'agent_multi_turn_7', got {task_id!r}.{hint}")
    return found[1], int(found[2]), None if found[3] is None else int(found[3])


class Records(Shared, Mapping[str, Task]):
    """All tasks by `Task.name`; a file is read when something in it is first asked for.

    Args:
        read: returns the bytes of a file by its path in the data folder, for example
            `data_en/data_agent_multi_step.json`; raises SourceMissing where there is none.
    """

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._files: dict[tuple[str, str], Mapping[str, Task]] = {}
        self._worlds: Mapping[str, Any] | None = None

    def category(self, lang: Lang, category: str) -> Mapping[str, Task]:
        """Return the tasks of one file by `Task.id`, in the file's order.

        Raises:
            UnknownName: there is no such language or category.
            SourceMissing: the file is not there.
            SourceMismatch: it is not what it should be.
        """
        if lang not in LANGS or category not in CATEGORIES:
            hint = did_you_mean(category, CATEGORIES) if lang in LANGS else ""
            raise UnknownName(f"There is no category {category!r} in language {lang!r}.{hint}")
        key = lang, category
        if key not in self._files:
            name = f"data_{category}.json"
            rows = self._rows(f"data_{lang}/{name}")
            answers = self._rows(f"data_{lang}/possible_answer/{name}")
            if [row["id"] for row in rows] != [answer["id"] for answer in answers]:
                raise SourceMismatch(f"Expected as many references as tasks in data_{lang}/{name}.")
            tasks = (task_of(row, ref, lang) for row, ref in zip(rows, answers, strict=True))
            self._files[key] = MappingProxyType({task.id: task for task in tasks})
        return self._files[key]

    def world(self, lang: Lang) -> Mapping[str, Any]:
        """Return what the services of the agent worlds start from, in one language."""
        if self._worlds is None:
            self._worlds = json.loads(self._read("world.json"))
        return cast("Mapping[str, Any]", cast("Mapping[str, Any]", self._worlds)[lang])

    def task(self, lang: Lang, task_id: str) -> Task:
        """Return the task with this id in this language.

        Raises:
            UnknownName: there is none.
        """
        tasks = self.category(lang, split_id(task_id)[0])
        if task_id not in tasks:
            raise UnknownName(f"There is no task {task_id!r} among {len(tasks)} of its category.")
        return tasks[task_id]

    def _rows(self, path: str) -> list[dict[str, Any]]:
        try:
            lines = self._read(path).decode("utf-8").split("\n")
            rows = [json.loads(line) for line in lines if line.strip()]
        except ValueError as problem:
            raise SourceMismatch(f"Expected JSON Lines in {path}: {problem}.") from None
        if not all(isinstance(row, dict) and isinstance(row.get("id"), str) for row in rows):
            raise SourceMismatch(f"Expected an `id` in every line of {path}.")
        return rows

    def __getitem__(self, name: str) -> Task:
        lang, _, task_id = name.partition("/") if isinstance(name, str) else ("", "", "")
        if lang not in LANGS:
            raise UnknownName(f"Expected a name such as 'en/agent_multi_turn_7', got {name!r}.")
        return self.task(lang, task_id)

    def __iter__(self) -> Iterator[str]:
        for lang in LANGS:
            for category in CATEGORIES:
                for task in self.category(lang, category).values():
                    yield task.name

    def __len__(self) -> int:
        return sum(len(self.category(lang, category)) for lang in LANGS for category in CATEGORIES)


def task_of(
    row: Mapping[str, Any], reference: Mapping[str, Any], lang: Lang, shelf: str = ""
) -> Task:
    """Return a task from its record and its reference, both as they stand in the files.

    Raises:
        SourceMismatch: one of them lacks an entry.
    """
    category, number, turn = split_id(row["id"])
    try:
        return Task(
            id=row["id"],
            lang=lang,
            category=category,
            number=number,
            turn=turn,
            question=row["question"],
            functions=tuple(row["function"]),
            time=row.get("time", ""),
            profile=row.get("profile", ""),
            initial_config=row.get("initial_config", {}),
            involved_classes=tuple(row.get("involved_classes", ())),
            answer=reference["ground_truth"],
            milestones=reference.get("mile_stone", ()),
            shelf=shelf,
        )
    except KeyError as missing:
        raise SourceMismatch(f"Expected {missing} in the record {row['id']!r}.") from None


def read_folder(path: str | os.PathLike[str]) -> Records:
    """Return the tasks of a folder with `data_en/` and `data_zh/`, or of a whole checkout.

    Args:
        path: the folder, or one that holds it as `data_all/`. What the services start from
            lies beside the two in `world.json`, or is read out of the classes in a checkout.

    Raises:
        SourceMissing: neither is there.
        BadArgument: `path` is no path.
    """
    if not isinstance(path, str | os.PathLike):
        raise BadArgument(f"Expected `path` to be a path, got {type(path)}.")
    top = Path(path)
    for folder in (top, top / "data_all"):
        if any((folder / f"data_{lang}").is_dir() for lang in LANGS):
            break
    else:
        raise SourceMissing(f"Expected folders data_en and data_zh in {top}.")

    def read(name: str) -> bytes:
        try:
            return (folder / name).read_bytes()
        except OSError as problem:
            if name == WORLD:
                return world_of(top.parent if top.name == "data_all" else top)
            raise SourceMissing(f"Expected the file {folder / name}: {problem}.") from None

    return Records(read)
