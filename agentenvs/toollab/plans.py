"""Gold: what an agent says to solve a task."""

from __future__ import annotations

from agentenvs.actions import canonical
from agentenvs.core import ToolCall
from agentenvs.errors import UnknownName
from agentenvs.toollab.design import CHANNELS, CODES, COUNTS, ITEMS, LABELS, Design
from agentenvs.toollab.grammar import FIND, FOUND
from agentenvs.toollab.tasks import index_of, world_of

__all__ = ["gold_actions"]


def gold_actions(task_id: str, world: int | None = None) -> list[str]:
    """Return action texts that solve a task, one a step, for `env.step`.

    The tag is drawn when an episode begins, so the call says `it`, which stands for the tag that
    was found.

    Args:
        task_id: for example "0/order/lamp/seven".
        world: the world that it must be of; default the one that the id names.

    Raises:
        UnknownName: there is no such task in that world.
    """
    number = world_of(task_id)
    if world is not None and world != number:
        raise UnknownName(f"There is no task {task_id!r} in world {world}.")
    design = Design.of(number)
    errand, item, count = design.task(index_of(task_id))
    channel, label, code = design.truth[errand, item]
    found = ToolCall(FIND, {"item": ITEMS[item]})
    amount = COUNTS[design.counted[label, count]]
    call = ToolCall(CHANNELS[channel], {"tag": FOUND, "label": LABELS[label], "count": amount})
    return [canonical([found]), canonical([call]), CODES[code]]
