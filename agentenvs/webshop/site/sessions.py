"""Which goal a session shops for: said by its name, so that there is nothing to remember."""

from __future__ import annotations

import random
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from agentenvs.core import Shared
from agentenvs.errors import BadArgument, UnknownName
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.records import Goal
from agentenvs.webshop.sets import parse_task
from agentenvs.webshop.tasks import all_ids

__all__ = ["Assigned", "Sessions"]

_FIXED = re.compile(r"_([0-9]{1,9})\Z", re.ASCII)
_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class Assigned:
    """What was settled for one session.

    Attributes:
        goal: what it shops for.
        keywords: a query, split at spaces.
        rows: what that query found, where it must not be searched anew.
    """

    goal: Goal
    keywords: tuple[str, ...] = ()
    rows: Sequence[int] | None = None


class Sessions(Shared):
    """Goals by the name of a session.

    - A name with "fixed" in it that ends in `_N` has the N-th of the tasks.
    - A task's id has that task.
    - Any other name has a goal drawn by a generator that the name seeds, so that it stays the
      same after a reload, after a restart, and for any number of sessions: by the original's
      weights where the tasks are all goals of one kind, else uniformly.

    `assign` overrules the name; the 100,000 latest assignments are kept.

    Args:
        shop: where they shop.
        task_ids: the tasks, of the shop's catalog.
        seed: changes what names draw.
    """

    def __init__(self, shop: Shop, task_ids: Sequence[str], seed: int = 0) -> None:
        self._shop = shop
        self._ids = task_ids
        self._known = all_ids(shop.catalog)
        self._seed = seed
        self._lock = threading.Lock()
        self._assigned: OrderedDict[str, Assigned] = OrderedDict()
        self._names = random.Random(f"{seed} names")
        kind = parse_task(task_ids[0])[1]
        whole = len(task_ids) == len(shop.catalog.goals(kind)) and all(
            parse_task(task_ids[place])[1] == kind for place in (0, -1)
        )
        self._kind = kind if whole else None

    def __len__(self) -> int:
        return len(self._ids)

    def assign(self, session: str, settled: Assigned) -> None:
        """Settle what a session shops for, whatever its name says."""
        with self._lock:
            self._assigned[session] = settled
            self._assigned.move_to_end(session)
            while len(self._assigned) > _KEPT:
                self._assigned.popitem(last=False)

    def of(self, session: str) -> Assigned:
        """Return what a session shops for.

        Raises:
            UnknownName: its name asks for a goal that there is not; the text says which are.
        """
        with self._lock:
            settled = self._assigned.get(session)
        return settled or Assigned(self._goal(self.task(session)))

    def task(self, session: str) -> str:
        """Return the task of a session by its name alone.

        Raises:
            UnknownName: its name asks for a goal that there is not.
        """
        fixed = _FIXED.search(session) if "fixed" in session else None
        if fixed is not None:
            return self.numbered(int(fixed[1]))
        if session in self._known:
            return session
        chance = random.Random(f"{self._seed} {session}".encode("utf-8", "surrogatepass"))
        if self._kind is None:
            return self._ids[chance.randrange(len(self._ids))]
        catalog = self._shop.catalog
        index = catalog.goals(self._kind).draw(chance.random(), self._shop.rules)
        return f"{catalog.name}/{self._kind}/{index}"

    def numbered(self, number: int) -> str:
        """Return the N-th of the tasks.

        Raises:
            UnknownName: there are not so many.
        """
        if not 0 <= number < len(self._ids):
            raise UnknownName(
                f"There is no goal {number}: this shop has {len(self._ids):,}, numbered from 0."
            )
        return self._ids[number]

    def told(self, task: str) -> str:
        """Return the instruction of a task."""
        return self._goal(task).instruction_text

    def fresh_name(self) -> str:
        """Return a name for a new session."""
        with self._lock:
            return "".join(self._names.choices("abcdefghijklmnopqrstuvwxyz", k=10))

    def _goal(self, task: str) -> Goal:
        _, kind, index = parse_task(task)
        try:
            return self._shop.catalog.goals(kind).goal(index, self._shop.prices or None)
        except BadArgument as problem:
            raise UnknownName(f"There is no task {task!r}.") from problem
