"""`FormatPenalty`: a price on sloppy format, for rewards that should teach it away."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from agentenvs.errors import BadArgument

__all__ = ["FormatPenalty"]


class FormatPenalty(gymnasium.Wrapper[str, Any, str, Any], RecordConstructorArgs):
    """Takes a price off each step's reward for what the parser had to mend or refuse.

    Put it outside `RelaxedToolCalls`. `info["format_penalty"]` is what the step cost.

    Example:
        >>> import gymnasium, agentenvs
        >>> from agentenvs.wrappers import FormatPenalty, RelaxedToolCalls
        >>> env = gymnasium.make("agentenvs/BFCLv4-v0", tasks="mini")
        >>> env = FormatPenalty(RelaxedToolCalls(env), per_repair=0.25)
        >>> _ = env.reset(seed=0)
        >>> env.step("list_folders()")[1]
        -0.25

    Args:
        env: an environment whose `info["parse"]` says how an action was read.
        per_repair: the price of one kind of repair in a step, at least 0.
        malformed: the price of a malformed action, at least 0.

    Raises:
        BadArgument: a price is negative or no number.
    """

    def __init__(
        self, env: gymnasium.Env[str, Any], per_repair: float = 0.01, malformed: float = 0.1
    ) -> None:
        for name, price in (("per_repair", per_repair), ("malformed", malformed)):
            if isinstance(price, bool) or not isinstance(price, int | float):
                raise BadArgument(f"Expected `{name}` to be a number, got {type(price)}.")
            if not (math.isfinite(price) and price >= 0):
                raise BadArgument(f"Expected `{name}` to be at least 0, got {price}.")
        RecordConstructorArgs.__init__(self, per_repair=per_repair, malformed=malformed)
        gymnasium.Wrapper.__init__(self, env)
        self.per_repair = float(per_repair)
        self.malformed = float(malformed)

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out an action and take the price of its format off the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        parse = info.get("parse", {})
        price = self.per_repair * len(parse.get("repairs", ()))
        if parse.get("status") == "malformed":
            price += self.malformed
        info = {**info, "format_penalty": price}
        return observation, float(reward) - price, terminated, truncated, info
