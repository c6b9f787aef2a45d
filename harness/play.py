"""A person acts in the terminal, through the same prompt and parser as a model."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentenvs.core import Message
from agentenvs.harness.arms import arm
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Completion
from agentenvs.harness.stubs import stubs

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["play_episode"]

_HELP = """\
Write what the model would write: {form}.
/tools shows the tools, /system the first message a model sees, /undo takes the last reply back,
/quit leaves. A line that ends in a backslash goes on in the next one."""
_FORMS = {
    "light": 'a list of calls such as [look(at="door")], or words',
    "none": "an action in the form that /system tells, or words",
}
_COLOURS = {"user": "cyan", "assistant": "green", "tool": "yellow", "system": "magenta"}


def play_episode(
    env_id: str,
    *,
    console: Console,
    tasks: str | Sequence[str] | None = None,
    task: str | None = None,
    harness: str = "light",
    examples: int = 0,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
) -> int:
    """Play one episode and return the exit code: 0 at its end, 1 where the player left before.

    Args:
        env_id: an environment's id.
        console: where to write; replies are read from standard input.
        tasks: the task set to draw from.
        task: the task to play; default one drawn by `seed`.
        harness: "light" or "none".
        examples: worked examples in the light prompt.
        seed: seeds the environment.
        env_kwargs: arguments of the environment.

    Raises:
        UnknownName: no such environment, task set or task.
    """
    if tasks is None and task is not None:
        tasks = [task]
    chosen = arm(env_id, tasks=tasks, harness=harness, examples=examples, env_kwargs=env_kwargs)
    episode = Episode(chosen.make_env(), chosen.prompt, task=task, seed=seed)
    earlier: list[Episode] = []
    usage = _HELP.format(form=_FORMS[harness])
    console.print(usage, style="dim", markup=False)
    console.print(f"task {episode.task}", markup=False)
    _show(console, [m for m in episode.opening if m["role"] != "system"])
    while episode.request is not None:
        reply = _read(console)
        if reply is None or reply == "/quit":
            console.print("left before the end")
            return 1
        if not reply.strip():
            console.print(usage, style="dim", markup=False)
        elif reply == "/tools":
            console.print(stubs(episode.request.tools), markup=False)
        elif reply == "/system":
            _show(console, [m for m in episode.opening if m["role"] == "system"])
        elif reply == "/undo":
            if earlier:
                episode = earlier.pop()
                _show(console, episode.messages[-1:])
            else:
                console.print("nothing to take back")
        elif reply.startswith("/"):
            console.print(f"unknown command {reply}", markup=False)
            console.print(usage, style="dim", markup=False)
        else:
            earlier.append(copy.deepcopy(episode))
            episode.respond(Completion(reply))
            _report(console, episode)
    verdict = "solved" if episode.success else f"not solved: {episode.reason}"
    colour = "green" if episode.success else "red"
    console.print(f"{verdict} (score {episode.score:g})", style=colour, markup=False)
    return 0


def _read(console: Console) -> str | None:
    lines: list[str] = []
    while True:
        try:
            line = console.input("[bold green]> [/]" if not lines else "  ")
        except EOFError:
            return "\n".join(lines) if lines else None
        if not line.endswith("\\"):
            return "\n".join([*lines, line])
        lines.append(line[:-1])


def _report(console: Console, episode: Episode) -> None:
    step = episode.steps[-1]
    status = step.parse.get("status", "")
    mended = ", ".join(map(str, step.parse.get("repairs", ())))
    reason = str(step.parse.get("reason", ""))
    note = f"read as {status}" if status else "read"
    note += f" (mended: {mended})" if mended else ""
    note += f": {reason}" if reason else ""
    console.print(note, style="dim", markup=False)
    _show(console, step.news)


def _show(console: Console, messages: Sequence[Message]) -> None:
    for message in messages:
        who = message["role"]
        console.print(f"[{_COLOURS[who]}]{who}[/]")
        console.print(message["content"], markup=False)
