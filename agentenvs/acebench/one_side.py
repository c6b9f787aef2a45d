"""One side of a dialogue for Gymnasium, the other side being played already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import gymnasium

from agentenvs.acebench.dialogue import AGENT, USER, DialogueEnv
from agentenvs.acebench.records import Task
from agentenvs.acebench.users import User, as_user, check_user
from agentenvs.core import MAX_ACTION, MAX_OBSERVATION, Message
from agentenvs.errors import BadArgument
from agentenvs.spaces import UnicodeText

__all__ = ["OneSide"]


class OneSide(gymnasium.Env[str, str]):
    """One side of a dialogue as a Gymnasium environment; the other side is played already.

        >>> from agentenvs.acebench import OneSide, dialogue
        >>> env = OneSide(dialogue.raw_env(tasks="mini"))
        >>> observation, info = env.reset(seed=0)

    Observations and actions are text: what the one who is played hears and says. `info` is
    its entry of `DialogueEnv.infos`.

    Args:
        dialogue: the dialogue; this environment steps it.
        other: who plays the other side. Of the user: "scripted", a function from messages to
            words, a list of recorded turns, or a `User`. Of the agent: a function from messages
            (its system prompt first, roles as in a chat) to its next message.
        side: who is played, "agent_0" or "user_0".

    Raises:
        BadArgument: an unknown side, or nobody for the other one.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["ansi"],
        "render_fps": 1,
    }

    def __init__(
        self,
        dialogue: DialogueEnv,
        other: str | Sequence[str] | User | Callable[[list[Message]], str] = "scripted",
        side: str = AGENT,
    ) -> None:
        if side not in (USER, AGENT):
            raise BadArgument(f"Expected `side` to be {AGENT!r} or {USER!r}, got {side!r}.")
        if side == USER and not callable(other):
            raise BadArgument(f"Expected a function that plays the agent, got {other!r:.80}.")
        if side == AGENT:
            check_user(other)
        self.dialogue = dialogue
        self.other = other
        self.side = side
        self.render_mode = dialogue.render_mode
        self.observation_space = UnicodeText(MAX_OBSERVATION)
        self.action_space = UnicodeText(MAX_ACTION)
        self._user: User | None = None
        self._history: list[Message] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode; see `DialogueEnv.reset`."""
        super().reset(seed=seed)
        self.dialogue.reset(seed=seed, options=options)
        opening = self.dialogue.infos[self.side]
        if self.side == AGENT:
            draw = int(self.dialogue.np_random.integers(1 << 31))
            self._user = as_user(self.other, self._task(), draw)
        else:
            system = self.dialogue.infos[AGENT]["system"]
            self._history = [{"role": "system", "content": system}]
        self._play_other()
        return self._heard(), {**opening, **self.dialogue.infos[self.side]}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Say or do something, and hear what comes of it."""
        self.dialogue.step(action)
        parse = self.dialogue.infos[self.side].get("parse")
        self._play_other()
        dialogue = self.dialogue
        info = dict(dialogue.infos[self.side])
        if parse is not None:
            info["parse"] = parse
        return (
            self._heard(),
            float(dialogue.rewards[self.side]),
            dialogue.terminations[self.side],
            dialogue.truncations[self.side],
            info,
        )

    def render(self) -> str | None:
        """Return the conversation so far as text in render mode "ansi", else None."""
        return self.dialogue.render()

    def _task(self) -> Task:
        return self.dialogue.talk.task

    def _heard(self) -> str:
        return self.dialogue.observe(self.side)["message"]

    def _play_other(self) -> None:
        dialogue = self.dialogue
        while not dialogue.talk.over and dialogue.agent_selection != self.side:
            if self._user is not None:
                text = self._user.speak(dialogue.talk)
            else:
                self._history += dialogue.infos[AGENT]["messages"]
                text = self.other(list(self._history))  # type: ignore[operator]
                self._history.append({"role": "assistant", "content": text})
            dialogue.step(text)
