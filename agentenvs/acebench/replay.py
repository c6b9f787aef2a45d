"""An agent's messages carried out in a fresh world: the original's loop without its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from agentenvs.acebench.executor import Executor
from agentenvs.acebench.records import Task
from agentenvs.acebench.worlds import World
from agentenvs.core import Rules

__all__ = ["END", "MAX_TURNS", "Replay", "replay"]

#: what ends an episode when it is said, except in the first message
END = "finish conversation"
#: agent messages an episode; the original counts 40, the answers to them included
MAX_TURNS = 20


class Replay(NamedTuple):
    """What came of an agent's messages.

    Attributes:
        final_state: `{class: {attribute: value}}` one a class; empty where nothing counted.
        process: the messages that went to execution.
        observations: what came back for each message; None for words to the user.
    """

    final_state: list[dict[str, Any]]
    process: list[str]
    observations: list[Any]


def replay(
    task: Task,
    messages: Sequence[str],
    initial: Mapping[str, Any],
    rules: Rules = "official",
) -> Replay:
    """Carry out an agent's messages in a fresh world of the task.

    Args:
        task: a task of an agent category.
        messages: what the agent says, in order; those after the end or beyond the limit of 20
            are left out.
        initial: what the services start from, in the task's language.
        rules: "official" or "fixed".
    """
    world = World.of(task.lang, initial, task.initial_config, task.involved_classes)
    mode: Literal["multi_step", "multi_turn"] = (
        "multi_step" if task.category == "agent_multi_step" else "multi_turn"
    )
    offered = [function["name"] for function in task.functions]
    executor = Executor(world, mode, offered, rules)
    process: list[str] = []
    observations: list[Any] = []
    for number, message in enumerate(messages[:MAX_TURNS]):
        if number and END in message:
            break
        reply = executor.run(message)
        observations.append(reply.results)
        if not reply.to_user:
            process.append(message)
    return Replay(executor.state(), process, observations)
