"""The outcome store: who succeeded where, in memory, in a run folder, and in JSON lines.

Needs the standard library and NumPy. A run folder holds `run.json` (the settings, one JSON
object) and `outcomes.jsonl` (a row for each rollout, appended as it ends):

    {"task_id": "base_3", "rollout": 0, "success": true, "score": 1.0, "reason": "", "seed": 7,
     "temperature": 0.7, "steps": 12, "parse": {"calls": 11}, "wall_s": 3.2}

`task_id`, `rollout` and `success` are required; the rest and any further key are optional, and
null means absent. A plain file may instead hold a row for each task, rollouts numbered from 0:

    {"task_id": "base_3", "pass_flags": [true, false, ...]}
    {"task_id": "base_3", "c": 5, "n": 32}

The second kind holds counts only: it reads as c successes followed by n - c failures, since in
what order they came is not known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument, RunDamaged, RunError, UnknownName, did_you_mean
from agentenvs.harness.store.durable import OUTCOMES, write_whole
from agentenvs.harness.store.no_run import no_run
from agentenvs.harness.store.outcomes_file import (
    OutcomeWriter,
    dump,
    read_lines,
    read_settings,
    write_settings,
)
from agentenvs.harness.store.outcomes_rows import REQUIRED, Columns, RowError
from agentenvs.harness.store.voids import check_void, open_rollouts, part_of, read_voids

if TYPE_CHECKING:
    from agentenvs.harness.tax.counts import Counts

__all__ = ["OutcomeWriter", "Outcomes", "read_settings", "write_settings"]


class Outcomes:
    """Outcomes of rollouts: a table with a row for each (task, rollout).

    Args:
        rows: mappings as in the module's description, of any kind.
        settings: what the rollouts were made with, `run.json` in a run folder. Read here are
            `policy` (a string, or an object with `name`), `scripted` (true marks a policy that
            plays known solutions), `task_ids` (their order becomes that of `counts()`) and `n`
            (with it, what was planned).
        voids: rows of void tries, as in `harness/store/voids.py`.

    Raises:
        BadArgument: a row that is no outcome or no void try, or two rows of one rollout that
            disagree.
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]] = (),
        settings: Mapping[str, Any] | None = None,
        voids: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        columns = Columns()
        try:
            for number, row in enumerate(rows, 1):
                columns.add(row, number)
            columns.finish()
        except RowError as bad:
            raise BadArgument(f"Row {bad.line}: {bad}.{bad.hint}") from None
        tries = []
        for number, row in enumerate(voids, 1):
            try:
                tries.append(check_void(row))
            except BadArgument as bad:
                raise BadArgument(f"Void try {number}: {bad}") from None
        self._fill(columns, settings or {}, voids=tries)

    def _fill(
        self,
        columns: Columns,
        settings: Mapping[str, Any],
        torn: bool = False,
        voids: Iterable[dict[str, Any]] = (),
    ) -> None:
        self.voids: list[dict[str, Any]] = list(voids)
        self._open: list[tuple[str, int]] | None = None
        self.settings: dict[str, Any] = {**columns.marks, **settings}
        self.torn: bool = torn
        self._names: tuple[str, ...] = tuple(columns.index)
        self._task: NDArray[np.int64] = np.array(columns.task, dtype=np.int64)
        self._rollout: NDArray[np.int64] = np.array(columns.rollout, dtype=np.int64)
        self._success: NDArray[np.bool_] = np.array(columns.success, dtype=np.bool_)
        self._fields = columns.fields

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Outcomes:
        """Read a run folder, or a file of JSON lines of any kind.

        A last line that broke off (no JSON) is left out and noted in `.torn`, unless it is the
        only one of a file outside a run folder. Of a file called
        `outcomes.jsonl` the `run.json` beside it is read too. A row that is there twice counts
        once.

        Raises:
            RunDamaged: nothing to read there, no `run.json` in the folder, a line that is no
                outcome, or two rows of one rollout that disagree; with file and line number.
        """
        where = Path(path)
        settings: Mapping[str, Any] | None = {}
        if where.is_dir():
            settings = read_settings(where)
            if settings is None:
                raise no_run(where)
            where /= OUTCOMES
            if not where.exists():
                return cls((), settings, read_voids(where.parent))
        elif where.name == OUTCOMES:
            settings = read_settings(where.parent)
        made = cls.__new__(cls)
        columns = Columns()
        run = where.name == OUTCOMES and settings is not None
        try:
            torn = read_lines(where, columns, run)
            columns.finish()
        except RowError as bad:
            raise RunDamaged(f"{where}:{bad.line}: {bad}.{bad.hint}") from None
        except OSError as error:
            raise RunDamaged(f"{where}: {error.strerror or error}.") from None
        voids = read_voids(where.parent) if where.name == OUTCOMES else ()
        made._fill(columns, settings or {}, torn, voids)
        return made

    def __len__(self) -> int:
        """Return the number of rollouts."""
        return len(self._task)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dictionaries, in the order in which they were read."""
        columns = [(key, column) for key, column in self._fields.items()]
        rows = zip(self._task.tolist(), self._rollout.tolist(), self._success.tolist(), strict=True)
        for at, (task, rollout, success) in enumerate(rows):
            row: dict[str, Any] = {
                "task_id": self._names[task],
                "rollout": rollout,
                "success": success,
            }
            for key, column in columns:
                value = column[at]
                if value is not None:
                    # Rows may share an object; whoever changes a row changes that one alone.
                    row[key] = value.copy() if type(value) is dict else value
            yield row

    def __repr__(self) -> str:
        """Return policy and size."""
        tasks, policy = len(self.task_ids), self.policy
        return f"Outcomes({len(self)} rollouts of {tasks} tasks, policy={policy!r})"

    @property
    def task_ids(self) -> tuple[str, ...]:
        """The tasks with an outcome: in the order of the settings' `task_ids`, then as read."""
        planned = self.settings.get("task_ids")
        if not isinstance(planned, list | tuple):
            return self._names
        have = set(self._names)
        first = dict.fromkeys(name for name in planned if isinstance(name, str) and name in have)
        return (*first, *(name for name in self._names if name not in first))

    @property
    def policy(self) -> str | None:
        """The name of the policy that acted, where it is known."""
        policy = self.settings.get("policy")
        name = policy.get("name") if isinstance(policy, Mapping) else policy
        return name if isinstance(name, str) else None

    @property
    def scripted(self) -> bool:
        """Whether (some of) the outcomes come from a scripted policy, hence from no model."""
        policy = self.settings.get("policy")
        told = policy.get("scripted") if isinstance(policy, Mapping) else None
        named = (self.policy or "").split(":", 1)[0] == "scripted"
        return named or told is True or self.settings.get("scripted") is True

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of what rows hold besides `task_id`, `rollout` and `success`."""
        return tuple(self._fields)

    def column(self, name: str) -> list[Any]:
        """Return one field of every row, None where a row lacks it, in the order of the rows.

        The values are the store's own, and rows may share one: change none in place.

        Raises:
            UnknownName: no row has it.
        """
        if name == "task_id":
            return [self._names[task] for task in self._task.tolist()]
        if name in ("rollout", "success"):
            values: list[Any] = (self._rollout if name == "rollout" else self._success).tolist()
            return values
        if name not in self._fields:
            known = (*REQUIRED, *self._fields)
            raise UnknownName(f"No outcome has a field {name!r}.{did_you_mean(name, known)}")
        return list(self._fields[name])

    def keys(self) -> set[tuple[str, int]]:
        """Return the (task id, rollout) pairs that are there."""
        rows = zip(self._task.tolist(), self._rollout.tolist(), strict=True)
        return {(self._names[task], rollout) for task, rollout in rows}

    @property
    def part(self) -> tuple[int, int] | None:
        """Which rollouts of each task a run of a part holds, first and after; None for a whole."""
        return part_of(self.settings, self.keys())

    @property
    def open(self) -> list[tuple[str, int]]:
        """The (task id, rollout) pairs that the run was to have and that have no outcome.

        Of a part of a run (`part`) those of the part.
        """
        if self._open is None:
            self._open = open_rollouts(self.settings, self.keys())
        return list(self._open)

    def kinds(self) -> dict[str, int]:
        """Return how many rollouts came out in which way.

        Returns:
            `success`, `failure`, `context_overflow` (which every measure takes for a failure:
            the conversation outgrew the model) and `void`: still open, since a fault of the
            infrastructure ended every try. Void ones are in no count of rollouts.
        """
        success = int(self._success.sum())
        reasons = self._fields.get("reason", ())
        overflow = sum(
            reason == "context_overflow" and not won
            for reason, won in zip(reasons, self._success.tolist(), strict=False)
        )
        tried = {(row["task_id"], row["rollout"]) for row in self.voids}
        return {
            "success": success,
            "failure": len(self) - success - overflow,
            "context_overflow": overflow,
            "void": sum(pair in tried for pair in self.open) if tried else 0,
        }

    def counts(self) -> Counts:
        """Return successes and rollouts of each task, in the order of `task_ids`."""
        from agentenvs.harness.tax.counts import Counts

        size = len(self._names)
        n = np.bincount(self._task, minlength=size)
        c = np.bincount(self._task[self._success], minlength=size)
        ids = self.task_ids
        place = {name: at for at, name in enumerate(self._names)}
        order = np.array([place[name] for name in ids], dtype=np.intp)
        return Counts(ids, c[order].astype(np.int64), n[order].astype(np.int64))

    def shares(self) -> dict[str, float]:
        """Return which share of each task's rollouts succeeded, in the order of `task_ids`."""
        return {name: sum(flags) / len(flags) for name, flags in self.pass_flags().items()}

    def pass_flags(self) -> dict[str, list[bool]]:
        """Return each task's successes in the order of its rollouts."""
        flags: dict[str, list[bool]] = {name: [] for name in self.task_ids}
        order = np.lexsort((self._rollout, self._task))
        rows = zip(self._task[order].tolist(), self._success[order].tolist(), strict=True)
        for task, success in rows:
            flags[self._names[task]].append(success)
        return flags

    def parse_totals(self) -> dict[str, int]:
        """Return the sums of the counts in the rows' `parse`; nested ones as `outer.inner`."""
        totals: dict[str, int] = {}
        for parse in self._fields.get("parse", ()):
            for key, value in _flat(parse or {}):
                if type(value) is int:
                    totals[key] = totals.get(key, 0) + value
        return totals

    def filter(
        self,
        tasks: Iterable[str] | None = None,
        predicate: Callable[[dict[str, Any]], bool] | None = None,
    ) -> Outcomes:
        """Return the rows of some tasks, or those that a predicate on the row holds for.

        Raises:
            UnknownName: one of the tasks has no outcome here.
        """
        wanted = None if tasks is None else set(tasks)
        known = set(self._names)
        for name in sorted(wanted or ()):
            if name not in known:
                raise UnknownName(f"No outcome of task {name!r}.{did_you_mean(name, self._names)}")
        rows = (row for row in self if wanted is None or row["task_id"] in wanted)
        voids = [row for row in self.voids if wanted is None or row["task_id"] in wanted]
        kept = Outcomes(
            (r for r in rows if predicate is None or predicate(r)), self.settings, voids
        )
        kept.torn = self.torn
        # A row that was filtered out is not one that the run has still to play.
        kept._open = [pair for pair in self.open if wanted is None or pair[0] in wanted]
        return kept

    def merge(self, *others: Outcomes, renumber: bool = False) -> Outcomes:
        """Return the rows of several sets as one; a rollout that is in two of them counts once.

        The settings are those on which all agree; scripted outcomes stay marked.

        Args:
            others: outcomes to add.
            renumber: give every set rollout numbers of its own, for separate runs of the same
                tasks. A run that is given twice then counts twice.

        Raises:
            RunError: two sets disagree about one rollout; names it.
        """
        sets = (self, *others)
        columns = Columns()
        voids: dict[Any, dict[str, Any]] = {}
        missing: dict[tuple[str, int], None] = {}
        start = 0
        # Parts of one run leave open what none of them holds.
        parts = not renumber and any(part.part != self.part for part in others)
        try:
            for part in sets:
                for row in part:
                    row["rollout"] += start
                    columns.add(row, len(columns.task) + 1)
                for row in part.voids:
                    moved = {**row, "rollout": row["rollout"] + start}
                    voids.setdefault(dump(moved), moved)
                left = part.open
                if parts:
                    left = open_rollouts({**part.settings, "rollouts": None}, part.keys())
                missing |= dict.fromkeys((task, rollout + start) for task, rollout in left)
                if renumber:
                    taken = (*part._rollout.tolist(), *(rollout for _, rollout in part.open))
                    start += max(taken, default=-1) + 1
            columns.finish()
        except RowError as bad:
            raise RunError(f"The outcomes to merge disagree: {bad}.") from None
        common = {
            key: value
            for key, value in self.settings.items()
            if all(key in o.settings and o.settings[key] == value for o in others)
        }
        if any(part.scripted for part in sets):
            common["scripted"] = True
        made = Outcomes.__new__(Outcomes)
        made._fill(columns, common, any(part.torn for part in sets), voids.values())
        there = made.keys() if missing else set()
        made._open = [pair for pair in missing if pair not in there]
        return made

    def write_jsonl(self, path: str | os.PathLike[str]) -> None:
        """Write a row for each rollout, whole or not at all.

        Settings are not written, but for the mark of scripted outcomes.
        """
        mark = self._mark()
        write_whole(Path(path), (dump({**row, **mark}) for row in self))

    def save_pass_flags(self, path: str | os.PathLike[str]) -> None:
        """Write a `{task_id, pass_flags}` row for each task, whole or not at all.

        Rows of scripted outcomes say so (`scripted`, `policy`), so that the mark survives.
        """
        mark = self._mark()
        rows = ({"task_id": t, "pass_flags": f, **mark} for t, f in self.pass_flags().items())
        write_whole(Path(path), (dump(row) for row in rows))

    def _mark(self) -> dict[str, Any]:
        """What every row of scripted outcomes carries, wherever it goes."""
        return {"scripted": True, "policy": self.policy} if self.scripted else {}


def _flat(found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in found.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{inner}", count) for inner, count in value.items())
        else:
            yield key, value
