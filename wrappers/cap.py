"""`CapObservation`: observations of a bounded length that say what was left out."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from agentenvs.errors import BadArgument
from agentenvs.spaces import UnicodeText

__all__ = ["CapObservation"]

MIN_CHARS = 100


class CapObservation(gymnasium.Wrapper[str, Any, str, Any], RecordConstructorArgs):
    """Cuts long observations in the middle and says so, in words, where the cut is.

    The first two thirds and the last third of what fits are kept. The contents of
    `info["messages"]` are cut in the same way, each for itself. `info["observation_cut"]` is
    the number of characters of the observation that were left out, 0 where none were.

    Example:
        >>> import gymnasium, agentenvs
        >>> from agentenvs.wrappers import CapObservation
        >>> env = CapObservation(gymnasium.make("agentenvs/BFCLv4-v0", tasks="mini"), 100)
        >>> observation, info = env.reset(seed=0)
        >>> len(observation) <= 100
        True

    Args:
        env: any environment with text observations.
        max_chars: the largest length of an observation in code points, at least 100.

    Raises:
        BadArgument: `max_chars` is no integer or too small.
    """

    def __init__(self, env: gymnasium.Env[str, Any], max_chars: int) -> None:
        if isinstance(max_chars, bool) or not isinstance(max_chars, int):
            raise BadArgument(f"Expected `max_chars` to be an int, got {type(max_chars)}.")
        if max_chars < MIN_CHARS:
            raise BadArgument(f"Expected `max_chars` to be at least {MIN_CHARS}, got {max_chars}.")
        RecordConstructorArgs.__init__(self, max_chars=max_chars)
        gymnasium.Wrapper.__init__(self, env)
        self.max_chars = max_chars
        self.observation_space = UnicodeText(max_chars)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._cap(observation, info)

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out an action and cut what comes back."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        observation, info = self._cap(observation, info)
        return observation, float(reward), terminated, truncated, info

    def _cap(self, observation: str, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        short, left_out = cut_middle(observation, self.max_chars)
        info = {**info, "observation_cut": left_out}
        if "messages" in info:
            info["messages"] = [
                {**message, "content": cut_middle(message["content"], self.max_chars)[0]}
                for message in info["messages"]
            ]
        return short, info


def cut_middle(text: str, limit: int) -> tuple[str, int]:
    """Return `text` with its middle left out so that it fits, and how much was left out."""
    if len(text) <= limit:
        return text, 0
    room = limit - len(_note(len(text)))
    head = room * 2 // 3
    tail = room - head
    left_out = len(text) - room
    return text[:head] + _note(left_out) + text[len(text) - tail :], left_out


def _note(count: int) -> str:
    return f"\n[... {count} characters left out ...]\n"
