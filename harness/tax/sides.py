"""What is compared, whatever it came as: counts, how they were made, what may be wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, Paired, Tasks, paired
from agentenvs.harness.tax.clusters import Clusters, cluster_codes
from agentenvs.harness.tax.counts import Counts

__all__ = [
    "Side",
    "compared_codes",
    "compared_ids",
    "compared_settings",
    "match",
    "setting_warnings",
    "side",
    "side_warnings",
]

# Settings that may differ between two arms without making the comparison unfair: who acts, and
# the bookkeeping of the run. Task ids and n are compared through the outcomes themselves.
_FREE = frozenset(
    {
        "concurrency",
        "engine",
        "format",
        "history",
        "merged_from",
        "n",
        "out",
        "policy",
        "retries",
        "rollouts",
        "seed",
        "task_ids",
        "task_options",
        "transcripts",
        "transport",
    }
)
# What a policy tells of itself differs with its weights by design; these should not.
_POLICY_COMPARED = frozenset(
    {
        "context",
        "dtype",
        "form",
        "frequency_penalty",
        "max_new_tokens",
        "max_tokens",
        "min_p",
        "presence_penalty",
        "quantization",
        "repetition_penalty",
        "stop",
        "temperature",
        "top_k",
        "top_p",
    }
)
# Sampling defaults of a checkpoint that were not used.
_POLICY_UNUSED = "ignored_defaults"


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two arms of a comparison.

    Attributes:
        arm: its counts.
        settings: how they were made, {} where unknown.
        policy: the policy's name, None where unknown.
        scripted: whether the policy is scripted.
        torn: whether the last line of its file broke off.
        planned: rollouts that the run was asked for, None where unknown.
        done: rollouts of those that are there.
        void: rollouts of those that are not, since a fault of the infrastructure ended each try.
        part: which rollouts of each task a run of a part was asked for, first and after.
    """

    arm: Arm
    settings: Mapping[str, Any]
    policy: str | None
    scripted: bool
    torn: bool
    planned: int | None
    done: int
    void: int = 0
    part: tuple[int, int] | None = None

    @property
    def known(self) -> bool:
        """Whether anything is known of how the outcomes were made."""
        told = self.settings.keys() - {"policy", "scripted"}
        return bool(told) or isinstance(self.settings.get("policy"), Mapping)


def side(source: Any) -> Side:
    """Return a side for `Outcomes`, `Counts` or a pair (c, n)."""
    counts = getattr(source, "counts", None)
    if not callable(counts):
        return Side(source, {}, None, False, False, None, 0)
    arm: Counts = counts()
    settings: Mapping[str, Any] = source.settings
    tasks, n = settings.get("task_ids"), settings.get("n")
    planned, done, part = None, 0, source.part
    if isinstance(tasks, list | tuple) and type(n) is int:
        first, after = part or (0, n)
        planned = (after - first) * len({task for task in tasks if isinstance(task, str)})
        done = planned - len(source.open)
    void = source.kinds()["void"]
    known = source.policy, source.scripted, source.torn
    return Side(arm, settings, *known, planned, done, void, part)


def match(sides: tuple[Side, Side], labels: tuple[str, str], common: bool) -> Paired:
    """Return both arms over the same tasks in one order.

    Args:
        sides: the arms.
        labels: what messages call them.
        common: take the tasks that both have, whatever else one of them has.

    Raises:
        BadArgument: an arm without outcomes, or different tasks, or with `common` none that
            both have or arms without task ids.
    """
    for one, label in zip(sides, labels, strict=True):
        ids = getattr(one.arm, "task_ids", None)
        if ids is not None and not len(ids):
            raise BadArgument(f"Expected outcomes in `{label}`, got none.{_spoilt(sides, labels)}")
    first, second = (one.arm for one in sides)
    if common:
        first, second = _shared(first, second, labels)
    try:
        return paired(first, second, labels)
    except BadArgument as error:
        hint = _spoilt(sides, labels)
        if "over the same tasks" in str(error) and all(hasattr(s.arm, "task_ids") for s in sides):
            hint += " To compare on the tasks that both have: common=True (--common)."
        raise BadArgument(f"{error}{hint}") from None


def compared_ids(sides: tuple[Side, Side]) -> list[str] | None:
    """Return the ids of the tasks that both have, in base's order; None for pairs (c, n)."""
    first, second = (getattr(one.arm, "task_ids", None) for one in sides)
    if first is None or second is None:
        return None
    both = set(second)
    return [task for task in first if task in both]


def compared_codes(
    clusters: Clusters | None, sides: tuple[Side, Side], size: int
) -> NDArray[np.intp] | None:
    """Return the cluster of each compared task, in the order of `compared_ids`.

    Args:
        clusters: a label for each task of the first arm, compared or not, or by task id.
        sides: the arms.
        size: how many tasks are compared.

    Raises:
        BadArgument: as `cluster_codes`.
    """
    arm, ids = sides[0].arm, compared_ids(sides)
    if clusters is None or ids is None:
        return cluster_codes(clusters, arm, size)
    if not isinstance(clusters, Mapping):
        every: Sequence[str] = getattr(arm, "task_ids", ids)
        known = cluster_codes(clusters, arm, len(every))
        clusters = None if known is None else dict(zip(every, known.tolist(), strict=True))
    nothing = np.zeros(size, dtype=np.int64)
    return cluster_codes(clusters, Counts(ids, nothing, nothing), size)


def _shared(first: Any, second: Any, labels: tuple[str, str]) -> tuple[Counts, Counts]:
    for label, arm in zip(labels, (first, second), strict=True):
        if not hasattr(arm, "task_ids"):
            raise BadArgument(f"Expected task ids in `{label}` for `common`, got a pair (c, n).")
    both = set(first.task_ids) & set(second.task_ids)
    if not both:
        raise BadArgument(f"Expected tasks that `{labels[0]}` and `{labels[1]}` share, found none.")

    def kept(arm: Any) -> Counts:
        where = [at for at, task in enumerate(arm.task_ids) if task in both]
        return Counts([arm.task_ids[at] for at in where], arm.c[where], arm.n[where])

    return kept(first), kept(second)


def _unfinished(one: Side, label: str, spread: str = "") -> str:
    """Say what a run lacks of what it was asked for, and that it is a part where it is one."""
    part = ""
    if one.part is not None:
        part = f"the part {one.part[0]}:{one.part[1]} of n = {one.settings['n']}"
    if one.planned is None or one.done >= one.planned:
        return f"{label} is {part}." if part else ""
    of = f" of {part}" if part else ""
    waiting = one.planned - one.done - one.void
    return (
        f"{label}: {one.done} of {one.planned} rollouts{of} played "
        f"({waiting} not yet, {one.void} void){spread}; the same run command goes on with it."
    )


def _torn(one: Side, label: str) -> str:
    if not one.torn:
        return ""
    mend = "the same run command plays it again" if one.planned is not None else "write it again"
    return f"{label}: the last line of the outcomes broke off and was left out; {mend}."


def _spoilt(sides: tuple[Side, Side], labels: tuple[str, str]) -> str:
    """Return what either arm lacks, to stand behind a complaint."""
    told = (
        text
        for one, label in zip(sides, labels, strict=True)
        for text in (_unfinished(one, label), _torn(one, label))
    )
    return "".join(f" {text}" for text in told if text)


def side_warnings(one: Side, label: str, used: Tasks, other: str) -> Iterator[str]:
    """Yield what may spoil one arm's numbers, each with its remedy.

    Args:
        one: the arm.
        label: what it is called.
        used: the tasks that were compared.
        other: what the other arm is called.
    """
    low, high = int(used.n.min()), int(used.n.max())
    uneven = f"tasks have {low} to {high} rollouts"
    lacks = one.planned is not None and one.done < one.planned
    spread = f", so that {uneven} and budgets end at {low}" if low != high else ""
    if unfinished := _unfinished(one, label, spread):
        yield unfinished
    if spread and not lacks:
        yield f"{label}: {uneven}, so that budgets end at {low}; give every task as many."
    ids = getattr(one.arm, "task_ids", None)
    if ids is not None and len(ids) > len(used.c):
        yield (
            f"{label}: compared on {len(used.c)} of its {_tasks(len(ids))}, those that {other} has "
            f"too; {other} wants the others as well, since they may be the hard ones."
        )
    if torn := _torn(one, label):
        yield torn


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"


def setting_warnings(sides: tuple[Side, Side], labels: tuple[str, str]) -> Iterator[str]:
    """Yield what was not alike between the arms, or is not known to be."""
    unknown = [label for one, label in zip(sides, labels, strict=True) if not one.known]
    if unknown:
        yield (
            f"{' and '.join(unknown)}: nothing is known of how the outcomes were made; "
            "compare run folders, or see to it that both arms were asked alike."
        )
        return
    first, second = (compared_settings(one.settings) for one in sides)
    for key in dict.fromkeys((*first, *second)):
        if first.get(key) != second.get(key):
            one, two = (_show(known, key) for known in (first, second))
            yield (
                f"settings differ: {key} is {one} in {labels[0]}, {two} in {labels[1]}; "
                "run one of them again with the other's."
            )


def compared_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that two arms should agree in, nested ones under dotted names."""
    return dict(_flat(settings))


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if prefix.startswith("policy.") or key == "policy":
            if isinstance(value, Mapping):
                if key != _POLICY_UNUSED:
                    yield from _flat(value, f"{prefix}{key}.")
            elif key in _POLICY_COMPARED:
                yield prefix + key, value
        elif (not prefix and key in _FREE) or key == "scripted":
            continue
        elif isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _show(known: Mapping[str, Any], key: str) -> str:
    if key not in known:
        return "not set"
    text = json.dumps(known[key], default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."
