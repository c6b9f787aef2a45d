"""Gold: what an agent says to solve a task, worked out from its reference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentenvs.acebench.asking import questions
from agentenvs.acebench.judge import judge_answer, judge_state
from agentenvs.acebench.overlay import overlay
from agentenvs.acebench.planner import NoPlan, plan
from agentenvs.acebench.records import AGENT, Task
from agentenvs.acebench.replay import END, replay
from agentenvs.acebench.special import MISSING, WRONG_VALUE
from agentenvs.acebench.worlds import World
from agentenvs.core import Rules
from agentenvs.errors import SourceMismatch
from agentenvs.syntax import call_text

__all__ = ["agent_plan", "answer_text", "gold_actions"]

_NUMBER = re.compile(r"_\d+$")


def gold_actions(task_id: str, rules: Rules = "official") -> list[str]:
    """Return action texts that solve a task, one a step, for `env.step`.

    They come from the references, corrected where these are known to be wrong: one answer a
    single-shot task and one a turn of a dialogue, in the official form of calls, or the wanted
    sentence; for an agent the calls that lead from the world's initial state to the end state
    wanted, one a message, in `agent_multi_turn` with the questions of a polite agent before
    them, and the phrase that ends the episode.

    Where the two rules cannot be met by one answer, it is the one for `rules`; where the
    official checker refuses its own reference (`Overlay.unreachable`), the answer is right
    nonetheless and fails there.

    Args:
        task_id: for example "en/agent_multi_turn_7" or "mini/agent_multi_step_0".
        rules: "official" or "fixed".

    Raises:
        UnknownName: there is no such task.
        SourceMissing: it is official and the source cannot be had.
        SourceMismatch: no calls lead to the end state that its reference wants.
    """
    from agentenvs.acebench.tasks import initial_state, turns_of

    turns = turns_of(task_id)
    if turns[0].category in AGENT:
        return agent_plan(turns[0], initial_state(task_id), rules)
    return [answer_text(turn, rules) for turn in turns]


def answer_text(task: Task, rules: Rules = "official") -> str:
    """Return the right answer to a normal or special task, or to one turn of a dialogue."""
    texts = [_written(task, one) for one in _references(task, dict)]
    return next((text for text in texts if judge_answer(task, text, rules).valid), texts[0])


def agent_plan(
    task: Task, initial: Mapping[str, Any], rules: Rules = "official", *, ask: bool = True
) -> list[str]:
    """Return the messages of an agent that solves a task.

    Args:
        task: a task of an agent category.
        initial: what the services start from, in the task's language.
        rules: "official" or "fixed".
        ask: in `agent_multi_turn`, ask the user for what is needed before acting on it.

    Raises:
        SourceMismatch: no calls lead to the end state that its reference wants.
    """
    world = World.of(task.lang, initial, task.initial_config, task.involved_classes)
    allowed = [function["name"] for function in task.functions]
    asks = ask and task.category == "agent_multi_turn"
    problem = ""
    for reference in _references(task, lambda: initial):
        try:
            calls = plan(world, reference, allowed)
        except NoPlan as reason:
            problem = problem or str(reason)
            continue
        said: list[str] = []
        asked: set[str] = set()
        for call in calls:
            if asks:
                wanted = questions(task.lang, call, task.involved_classes)
                said += [text for text in wanted if text not in asked]
                asked.update(wanted)
            said.append(f"[{call_text(call.name, call.arguments)}]")
        said.append(END)
        done = replay(task, said, initial, rules)
        verdict = judge_state(task, done.final_state, done.process, rules, lambda: initial)
        if verdict.valid:
            return said
        problem = problem or verdict.detail
    raise SourceMismatch(f"Expected the reference of {task.name!r} to be within reach: {problem}.")


def _references(task: Task, initial: Callable[[], Mapping[str, Any]]) -> Iterator[Any]:
    """Yield the corrected references, then those of the file."""
    yield from overlay().references(task, initial)
    is_choice = isinstance(task.answer, list) and task.category not in AGENT
    yield from task.answer if is_choice else [task.answer]


def _written(task: Task, reference: Any) -> str:
    """Return a reference as a model would write it."""
    match task.category:
        case "special_incomplete":
            said = [
                f"{MISSING} ({', '.join(words)}) for the api ({name})"
                for name, words in reference.items()
            ]
        case "special_error_param":
            said = [
                f"{WRONG_VALUE} ({', '.join(words)}) for the parameters ({name}) "
                "in the conversation history."
                for name, words in reference.items()
            ]
        case "special_irrelevant":
            said = [reference]
        case _:
            names = [function["name"] for function in task.functions]
            calls = [
                call_text(key if key in names else _NUMBER.sub("", key), arguments)
                for key, arguments in reference.items()
            ]
            return f"[{', '.join(calls)}]"
    return repr(said)
