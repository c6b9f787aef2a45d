"""The arms of a study: what is trained from what, and what it is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentenvs.errors import BadArgument, UnknownName, did_you_mean

__all__ = ["DATA", "HOW", "Arm", "check", "order", "with_needs"]

#: how a model comes about, by the trainer that makes it
HOW = {
    "pretrain": "pre-training from scratch",
    "gradient": "policy gradients on outcomes",
    "rejection": "rejection sampling: fine-tuning on own successes, again and again",
    "sft": "fine-tuning on the start's own successes, once",
    "distil": "on-policy distillation from a teacher",
    "demonstrations": "fine-tuning on further demonstrations",
}
#: what a training learns from
DATA = {
    "demonstrations": "the demonstrations",
    "outcomes": "outcomes of own rollouts on the training tasks",
    "better": "better data: demonstrators who know more",
}


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to train.

    Attributes:
        name: short, with hyphens; names folders.
        label: for people.
        family: arms of one family share a panel in figures.
        how: a key of `HOW`.
        data: a key of `DATA`.
        start: the arm whose model it begins with, and against which its tax is measured; None
            for pre-training.
        teacher: the arm that it is distilled from.
        against: the arm with which it is compared seed by seed; None where it is a reference.
        core: whether the default mode runs it.
        options: further arguments of the trainer.
        sampler: `kind` and the arguments of what sets temperatures, None for a fixed one.
    """

    name: str
    label: str
    family: str
    how: str
    data: str
    start: str | None = None
    teacher: str | None = None
    against: str | None = None
    core: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    sampler: Mapping[str, Any] | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The arms whose models it needs."""
        return tuple(name for name in (self.start, self.teacher) if name is not None)


def check(arms: Sequence[Arm]) -> None:
    """Refuse arms that cannot be trained.

    Raises:
        BadArgument: a repeated or unfit name, an unknown kind, a need that comes later or is
            not there, or a comparison with nothing.
    """
    before: set[str] = set()
    names = {arm.name for arm in arms}
    for arm in arms:
        if arm.name in before or not arm.name.replace("-", "").isalnum() or not arm.name.islower():
            raise BadArgument(
                f"Expected arms with different names of small letters, digits and hyphens, "
                f"got {arm.name!r}."
            )
        for key, known in (("how", HOW), ("data", DATA)):
            value = getattr(arm, key)
            if value not in known:
                raise BadArgument(
                    f"Arm {arm.name}: expected `{key}` to be one of {', '.join(known)}, "
                    f"got {value!r}."
                )
        if (arm.how == "pretrain") != (arm.start is None):
            raise BadArgument(f"Arm {arm.name}: expected a start, for all but pre-training.")
        if (arm.how == "distil") != (arm.teacher is not None):
            raise BadArgument(f"Arm {arm.name}: expected a teacher, for distillation alone.")
        if arm.sampler is not None and arm.how != "gradient":
            raise BadArgument(f"Arm {arm.name}: only policy gradients take a sampler.")
        for need in arm.needs:
            if need not in before:
                raise BadArgument(f"Arm {arm.name}: expected {need!r} among the arms before it.")
        if arm.against is not None and (arm.against not in names or arm.against == arm.name):
            raise BadArgument(f"Arm {arm.name}: expected `against` to be another of the arms.")
        before.add(arm.name)
    if not arms:
        raise BadArgument("Expected at least one arm, got none.")


def with_needs(arms: Sequence[Arm], wanted: Iterable[str]) -> tuple[str, ...]:
    """Return the wanted arms and all that they need or are compared with, in the arms' order.

    Raises:
        UnknownName: there is no such arm.
    """
    known = {arm.name: arm for arm in arms}
    todo, found = list(wanted), set()
    while todo:
        name = todo.pop()
        if name not in known:
            hint = did_you_mean(name, known, limit=len(known))
            raise UnknownName(f"There is no arm {name!r}.{hint}")
        if name in found:
            continue
        found.add(name)
        arm = known[name]
        todo += arm.needs
        if arm.against is not None:
            todo.append(arm.against)
    return tuple(arm.name for arm in arms if arm.name in found)


def order(arms: Sequence[Arm], names: Iterable[str]) -> tuple[str, ...]:
    """Return names so that the longest chains of needs begin first, and needs come before.

    With several workers an arm on which others wait must not wait itself.
    """
    chosen = set(names)
    below: dict[str, int] = {}
    for arm in reversed(arms):
        if arm.name in chosen:
            depth = below.setdefault(arm.name, 0)
            for need in arm.needs:
                below[need] = max(below.get(need, 0), depth + 1)
    listed = [arm.name for arm in arms if arm.name in chosen]
    return tuple(sorted(listed, key=lambda name: -below[name]))
