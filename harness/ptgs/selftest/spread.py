"""Has each rollout of a group its own temperature?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentenvs.harness.ptgs.selftest.outcome import Seen, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.protocol import Played
from agentenvs.harness.ptgs.selftest.rows import near
from agentenvs.harness.ptgs.selftest.steps import Run

__all__ = ["in_places", "spread"]


def spread(run: Run) -> Seen:
    """See that the rollouts of a group were played at the group's temperatures, each at one.

    Raises:
        Wrong: one temperature stands for several rollouts.
        Undecided: the sampler was asked for one temperature a group, or for one rollout of a
            group that had several, or others were played.
    """
    total, inside, elsewhere, asked = 0, 0, False, False
    for number, step in enumerate(run.steps, 1):
        for task, rows in step.rolled().items():
            asked, given = True, max(rows, key=len)
            places = in_places(step.trace.played, task, given)
            if places is None:
                elsewhere = True
                continue
            played, size, fullest = sum(map(len, places)), len(given), max(map(len, places))
            if size == 1 and played > 1:
                raise Undecided(
                    f"step {number} played {played} rollouts of task {task!r}, but the sampler was "
                    "asked for the temperature of one"
                )
            if fullest > -(-played // size):
                raise Wrong(
                    f"step {number} played {fullest} of {played} rollouts of task {task!r} at one "
                    f"temperature, the sampler gave each of {size} its own"
                )
            total, inside = total + played, inside + (played > 1)
    if not asked:
        raise Undecided(
            "the sampler was asked for one temperature a group, by `temperatures`. That will do "
            "for PTGS without `ref_share`; of samplers that give each rollout its own nothing is "
            'known: if yours does not, leave this check out, by `without=["spread"]` or '
            "`--without spread`"
        )
    if elsewhere or not total:
        raise Undecided("not all that was asked for was played as given: see `temperatures`")
    if not inside:
        return Seen(f"each of {total} groups had one rollout, at its temperature", {"groups": 0.0})
    return Seen(
        f"{total} rollouts of {inside} groups were played each at its own temperature inside the "
        "group",
        {"groups": float(inside)},
    )


def in_places(
    played: Iterable[Played], task: str | int, given: Sequence[float]
) -> list[list[Played]] | None:
    """Return the rollouts of a task that were played at each of these temperatures.

    None where one was played at none of them.
    """
    places: list[list[Played]] = [[] for _ in given]
    for one in played:
        if one.task == task:
            at = min(range(len(given)), key=lambda i: abs(given[i] - one.temperature))
            if not near(one.temperature, [given[at]]):
                return None
            places[at].append(one)
    return places
