"""Do rows keep the temperature that the sampler gave, from play to loss?"""

from __future__ import annotations

from collections.abc import Iterable

from agentenvs.harness.ptgs.selftest.outcome import Seen, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.protocol import Trained
from agentenvs.harness.ptgs.selftest.recorder import Given
from agentenvs.harness.ptgs.selftest.steps import Run, Step

__all__ = ["rows", "temperatures"]

#: temperatures may have been through float32
_NEAR = 1e-5


def temperatures(run: Run) -> Seen:
    """See that each rollout is reported at a temperature that the sampler gave its task.

    Raises:
        Wrong: it was not.
        Undecided: tasks all had one temperature.
    """
    total, different = 0, set()
    for number, step in enumerate(run.steps, 1):
        given = step.given()
        if not given:
            raise Wrong(f"in step {number} the sampler was not asked for temperatures")
        late, alone = _late(step), _of_groups(step)
        for one in step.trace.played:
            had = given.get(one.task)
            if had is None:
                raise Wrong(
                    f"step {number} played task {one.task!r}, for which the sampler was not "
                    f"asked; asked for {_some(given)}"
                )
            if not near(one.temperature, had):
                why = ""
                if near(one.temperature, late.get(one.task, ())):
                    why = " (that is what it gave after it was told)"
                elif near(one.temperature, alone.get(one.task, ())):
                    why = " (that is the group's: each rollout has its own)"
                raise Wrong(
                    f"step {number} played task {one.task!r} at T = {one.temperature:.6g}, the "
                    f"sampler gave {_list(had)}{why}"
                )
            total += 1
            different.update(had)
    if len(different) < 2:
        raise Undecided("all tasks had the same temperature: play more than one task a step")
    return Seen(
        f"{total} rollouts of {len(run.steps)} steps were reported as played at the temperatures "
        "that the sampler gave their tasks",
        {"rollouts": float(total)},
    )


def rows(run: Run) -> Seen:
    """See that each row of the loss is a rollout that was played, with its temperature.

    Raises:
        Wrong: it is not.
        Undecided: no two rows of a step had different temperatures.
    """
    total, decides, odd = 0, False, 0
    first = ""
    for number, step in enumerate(run.steps, 1):
        had: dict[tuple[int, ...], set[float]] = {}
        for one in step.trace.played:
            had.setdefault(tuple(one.tokens), set()).add(one.temperature)
        for row in step.trace.trained:
            total += 1
            played = had.get(tuple(row.tokens))
            if played is None:
                raise Wrong(
                    f"a row that reached the loss in step {number} is no rollout that was played: "
                    "`tokens` have to be the same in both"
                )
            if not near(row.temperature, played):
                odd += 1
                first = first or (
                    f"one of step {number} was played at T = {_list(played)} and scored at "
                    f"{row.temperature:.6g}"
                )
        decides |= len({t for ts in had.values() for t in ts}) > 1 and bool(step.trace.trained)
    if odd:
        raise Wrong(
            f"{odd} of {total} rows lost their temperature on the way to the loss: {first}"
            f"{_why(run)}",
            {"rows": float(total), "lost": float(odd)},
        )
    if not decides:
        raise Undecided("no step had rows of different temperatures in its loss")
    return Seen(
        f"{total} rows reached the loss with the temperature that they were played at",
        {"rows": float(total)},
    )


def near(t: float, given: Iterable[float]) -> bool:
    """Return whether a temperature is one of those given, up to rounding."""
    return any(abs(t - one) <= _NEAR * one for one in given)


def _why(run: Run) -> str:
    trained = [row for step in run.steps for row in step.trace.trained]
    played = {one.temperature for step in run.steps for one in step.trace.played}
    if all(near(row.temperature, (1.0,)) for row in trained):
        return " (every row was scored at T = 1)"
    if any(_alone(step.trace.trained) for step in run.steps):
        return " (all rows of a step were scored at one temperature)"
    if _within_groups(run):
        return " (temperatures of other rows of the group: they were mixed up inside it)"
    if all(near(row.temperature, played) for row in trained):
        return " (temperatures of other rows: they were shuffled or split apart from the rows)"
    return ""


def _alone(trained: Iterable[Trained]) -> bool:
    kinds = [row.temperature for row in trained]
    return len(kinds) > 1 and len(set(kinds)) == 1


def _within_groups(run: Run) -> bool:
    """Return whether every row was scored at a temperature of its own task."""
    for step in run.steps:
        given = step.given()
        fine: dict[tuple[int, ...], set[float]] = {}
        for one in step.trace.played:
            fine.setdefault(tuple(one.tokens), set()).update(given.get(one.task, ()))
        if not all(near(row.temperature, fine[tuple(row.tokens)]) for row in step.trace.trained):
            return False
    return True


def _of_groups(step: Step) -> dict[str | int, set[float]]:
    return {one.task: set(one.temperatures) for one in step.waiting() if not one.rolled}


def _late(step: Step) -> dict[str | int, set[float]]:
    told: set[str | int] = set()
    later: dict[str | int, set[float]] = {}
    for one in step.heard:
        if not isinstance(one, Given):
            told.add(one.task)
        elif one.task in told:
            later.setdefault(one.task, set()).update(one.temperatures)
    return later


def _list(values: Iterable[float]) -> str:
    return " or ".join(f"{one:.6g}" for one in sorted(values)[:3])


def _some(names: Iterable[str | int]) -> str:
    return ", ".join(repr(name) for name in list(names)[:4])
