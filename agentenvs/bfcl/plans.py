"""Ground truths as plans: call strings, and action texts for `env.step`."""

from __future__ import annotations

from agentenvs.bfcl.calls import read_call
from agentenvs.bfcl.tasks import Task, task
from agentenvs.syntax import call_text

__all__ = ["END_OF_TURN", "gold", "gold_actions"]

#: words that end a turn under every decoding
END_OF_TURN = "Done."


def gold(task_id: str) -> list[list[list[str]]]:
    """Return the ground truth of a task as `turns[turn][step]`, lists of call strings.

    A turn with calls has them in one step, a turn without has no step.

    Raises:
        UnknownName: there is no such task.
        SourceError: it is official and the wheel cannot be had.
    """
    return [[list(calls)] if calls else [] for calls in task(task_id).gold]


def gold_actions(task_id: str) -> list[str]:
    """Return action texts that solve a task, one a step, for `env.step`.

    Calls are Python-style lists with keyword arguments, which every decoding reads; words end
    each turn. Errors as for `gold`.
    """
    item = task(task_id)
    actions = []
    for calls in item.gold:
        if calls:
            actions.append(f"[{', '.join(_with_keywords(item, call) for call in calls)}]")
        actions.append(END_OF_TURN)
    return actions


def _with_keywords(item: Task, call: str) -> str:
    node = read_call(call, nested=False)
    function = item.classes[item.owners[node.name]].functions[node.name]
    arguments = dict(zip(function.parameters, node.args, strict=False))
    return call_text(node.name, {**arguments, **dict(node.kwargs)})
