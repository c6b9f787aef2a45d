"""`RelaxedToolCalls`: step an environment with whatever the model wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from agentenvs.core import Tool
from agentenvs.errors import BadArgument
from agentenvs.wrappers.outgoing import action_text
from agentenvs.wrappers.parse import Mode, Parse, parse_tool_calls
from agentenvs.wrappers.structured import parse_structured
from agentenvs.wrappers.toolset import Toolset

__all__ = ["RelaxedToolCalls"]


class RelaxedToolCalls(gymnasium.Wrapper[str, Any, str, str], RecordConstructorArgs):
    r"""Reads model text, or calls parsed elsewhere, and steps with the canonical action.

    `step` takes text in any format that models are trained to write, a list of calls
    (`ToolCall`, `{"name", "arguments"}` or OpenAI's `tool_calls`), or a message `{"content",
    "tool_calls"}`. `info["parse"]` says how it was read: `status` ("calls", "words",
    "malformed"), `reason`, `repairs`, `strict` (whether strict mode reads the same),
    `format`, `calls` (how many) and `mode`. `step` never raises on text.

    Example:
        >>> import gymnasium, agentenvs
        >>> from agentenvs.wrappers import RelaxedToolCalls
        >>> env = RelaxedToolCalls(gymnasium.make("agentenvs/BFCLv4-v0", tasks="mini"))
        >>> _ = env.reset(options={"task": "mini_files_10"})
        >>> info = env.step("Let me look.\n```python\n[list_folders()]\n```")[-1]
        >>> info["parse"]["status"], info["parse"]["repairs"]
        ('calls', ['fence', 'prose'])

    Args:
        env: an environment of this package, or one that reads its canonical actions and
            puts JSON schemas into `info["tools"]`.
        mode: "relaxed", or "strict" to read text as `parse_tool_calls` does in strict mode.

    Raises:
        BadArgument: there is no such mode.
    """

    def __init__(self, env: gymnasium.Env[str, str], mode: Mode = "relaxed") -> None:
        if mode not in ("relaxed", "strict"):
            raise BadArgument(f"Expected `mode` to be 'relaxed' or 'strict', got {mode!r}.")
        RecordConstructorArgs.__init__(self, mode=mode)
        gymnasium.Wrapper.__init__(self, env)
        self.mode: Mode = mode
        self._seen: Any = ()
        self._toolset = Toolset(())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode and note the tools on offer."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._note(info)
        return observation, info

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Read `action`, carry it out, and report in `info["parse"]` how it was read.

        Raises:
            BadAction: the action is neither text nor structured calls.
        """
        parse = self.parse(action)
        parse, text = action_text(parse, action if isinstance(action, str) else None)
        observation, reward, terminated, truncated, info = self.env.step(text)
        self._note(info)
        return (
            observation,
            float(reward),
            terminated,
            truncated,
            {**info, "parse": self._say(parse, info.get("parse"))},
        )

    def parse(self, action: Any) -> Parse:
        """Return how `step` would read `action` now; changes nothing."""
        tools = self._tools()
        if isinstance(action, str):
            return parse_tool_calls(action, tools, self.mode)
        return parse_structured(action, tools)

    def _say(self, parse: Parse, own: Any) -> dict[str, Any]:
        own = own if isinstance(own, Mapping) else {}
        # What reads well may still hold more than the environment carries out; it says what.
        reason = parse.reason or str(own.get("reason") or "")
        # What is words to every format may be a command line of the benchmark's own.
        if parse.status == "words" and own.get("status") == "calls":
            return {
                "status": "calls",
                "reason": reason,
                "repairs": [],
                "strict": False,
                "format": "native",
                "calls": 1,
                "mode": self.mode,
            }
        return {
            "status": parse.status,
            "reason": reason,
            "repairs": list(parse.repairs),
            "strict": parse.strict,
            "format": parse.format,
            "calls": len(parse.calls),
            "mode": self.mode,
        }

    def _note(self, info: Mapping[str, Any]) -> None:
        if "tools" in info:
            self._use(info["tools"])

    def _tools(self) -> Toolset:
        # The environment itself knows best: a restored snapshot changes the tools unseen.
        own: Any = getattr(self.env.unwrapped, "tools", None)
        known = own is self._seen or not isinstance(own, tuple)
        if not known and all(isinstance(tool, Tool) for tool in own):
            self._use(own)
        return self._toolset

    def _use(self, tools: Iterable[Tool | Mapping[str, Any]]) -> None:
        if tools is not self._seen:
            self._seen = tools
            self._toolset = Toolset(tools)
