"""Does the sampler hear how every group went, before any filter?"""

from __future__ import annotations

from agentenvs.harness.ptgs.selftest.outcome import Seen, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.recorder import Told
from agentenvs.harness.ptgs.selftest.spread import in_places
from agentenvs.harness.ptgs.selftest.steps import Run, Step, groups

__all__ = ["told", "uniform"]


def told(run: Run) -> Seen:
    """See that what the sampler heard of a step's tasks is what was played.

    Groups that all failed or all succeeded are the matter of `uniform`.

    Raises:
        Wrong: another task, other counts, outcomes in another order than that of the
            temperatures, or a mixed group of which nothing was heard.
    """
    total = 0
    for number, step in enumerate(run.steps, 1):
        played, heard = groups(list(step.trace.played)), _heard(step)
        for task, (won, n) in heard.items():
            if task not in played:
                raise Wrong(
                    f"in step {number} the sampler was told of task {task!r}, which was not "
                    f"played; played were {', '.join(repr(one) for one in list(played)[:4])}"
                )
            if played[task] != (won, n):
                raise Wrong(
                    f"in step {number} the sampler was told {won} of {n} successes for task "
                    f"{task!r}, played were {played[task][0]} of {played[task][1]}"
                    f"{_unjudged(step, task)}"
                )
        for task, (won, n) in played.items():
            if task not in heard and won not in (0, n):
                raise Wrong(
                    f"in step {number} the sampler was not told of task {task!r}, {won} of {n}"
                )
        _in_order(step, number)
        total += len(heard)
    return Seen(
        f"the sampler was told the right counts of {total} groups", {"groups": float(total)}
    )


def uniform(run: Run) -> Seen:
    """See that the sampler hears of groups that all failed or all succeeded.

    Raises:
        Wrong: it does not.
        Undecided: there was no such group.
    """
    all_won, all_lost, missed = 0, 0, []
    for number, step in enumerate(run.steps, 1):
        heard = _heard(step)
        for task, (won, n) in groups(list(step.trace.played)).items():
            if n and won in (0, n):
                all_won, all_lost = all_won + (won == n), all_lost + (won != n)
                if task not in heard:
                    missed.append(f"task {task!r} of step {number}, {won} of {n}")
    total = all_won + all_lost
    if missed:
        raise Wrong(
            f"of {total} groups without contrast the sampler was not told of {len(missed)}, such "
            f"as {missed[0]}: tell it before groups are filtered",
            {"groups": float(total), "missed": float(len(missed))},
        )
    if not total:
        raise Undecided(
            "no group was without contrast, so that none could be filtered: play more steps"
        )
    return Seen(
        f"the sampler was told of groups without contrast too: {all_lost} that all failed, "
        f"{all_won} that all succeeded",
        {"groups": float(total), "missed": 0.0},
    )


def _in_order(step: Step, number: int) -> None:
    """See that outcomes told one by one are those of the rollouts at these temperatures."""
    rolled = step.rolled()
    for one in step.heard:
        if not isinstance(one, Told) or one.outcomes is None:
            continue
        for given in rolled.get(one.task, ()):
            went = in_places(step.trace.played, one.task, given)
            if len(given) != one.n or went is None or any(len(each) != 1 for each in went):
                continue
            for at, (told, (played,)) in enumerate(zip(one.outcomes, went, strict=True)):
                if told != played.success:
                    raise Wrong(
                        f"in step {number} the sampler was told that rollout {at} of task "
                        f"{one.task!r} {_ended(told)}, the one played at its temperature "
                        f"{_ended(bool(played.success))}: `record` takes outcomes in the order of "
                        "`rollout_temperatures`"
                    )


def _ended(success: bool) -> str:
    return "succeeded" if success else "failed"


def _unjudged(step: Step, task: str | int) -> str:
    none = sum(one.task == task and one.success is None for one in step.trace.played)
    return f" with a verdict and {none} without" if none else ""


def _heard(step: Step) -> dict[str | int, tuple[int, int]]:
    counts: dict[str | int, tuple[int, int]] = {}
    for one in step.heard:
        if isinstance(one, Told):
            won, n = counts.get(one.task, (0, 0))
            counts[one.task] = (won + one.successes, n + one.n)
    return counts
