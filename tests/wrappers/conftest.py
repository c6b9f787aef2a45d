from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agentenvs.actions import read_json_action
from agentenvs.core import TextEnv, Tool, Transition
from agentenvs.wrappers import Parse, Toolset, parse_tool_calls


def _tool(name: str, required: int, **kinds: str) -> Tool:
    properties = {key: {"type": kind} for key, kind in kinds.items()}
    names = list(properties)[:required]
    return Tool(name, "", {"type": "object", "properties": properties, "required": names})


_TOOLS = (
    _tool("ls", 0, a="boolean"),
    _tool("pwd", 0),
    _tool("cd", 1, folder="string"),
    _tool("mv", 2, source="string", destination="string"),
    _tool("cat", 1, file_name="string"),
    _tool("echo", 1, content="string", file_name="string"),
    _tool("grep", 2, file_name="string", pattern="string"),
    _tool("tail", 1, file_name="string", lines="integer"),
    _tool("mean", 1, numbers="array"),
    _tool("add", 2, a="number", b="number"),
    _tool("post_tweet", 1, content="string", tags="array"),
    _tool("edit_ticket", 2, ticket_id="integer", updates="object"),
    _tool("lockDoors", 2, unlock="boolean", door="array"),
    _tool("search", 1, query="string"),
    _tool("click", 1, element="string"),
)


@pytest.fixture(scope="session")
def tools() -> Toolset:
    return Toolset(_TOOLS)


@pytest.fixture(scope="session")
def read(tools: Toolset) -> Callable[..., Parse]:
    """Return the parser with the tools of these tests."""

    def parse(text: str, mode: Any = "relaxed") -> Parse:
        return parse_tool_calls(text, tools, mode)

    return parse


@pytest.fixture(scope="session")
def pairs(read: Callable[..., Parse]) -> Callable[[str], list[tuple[str, Any]]]:
    """Return the calls of a text as pairs of name and arguments."""

    def calls(text: str) -> list[tuple[str, Any]]:
        parse = read(text)
        assert (parse.status == "calls") == bool(parse.calls)
        return [(call.name, call.arguments) for call in parse.calls]

    return calls


class EchoEnv(TextEnv):
    """Says how it read the action; `unlock` puts one more tool on offer."""

    def __init__(self, *, steps: int = 5, render_mode: str | None = None) -> None:
        super().__init__(task_ids=["one", "two"], render_mode=render_mode)
        self.steps = steps
        self.count = 0
        self.unlocked = False

    @property
    def tools(self) -> tuple[Tool, ...]:
        more = (_tool("extra", 1, value="integer"),) if self.unlocked else ()
        return (*_TOOLS, _tool("unlock", 0), *more)

    def _schemas(self) -> list[dict[str, Any]]:
        return [tool.schema() for tool in self.tools]

    def _start(self, task: str, options: Mapping[str, Any]) -> Transition:
        self.count, self.unlocked = 0, False
        return Transition(
            "hello",
            [{"role": "user", "content": "hello"}],
            info={"tools": self._schemas()},
        )

    def _act(self, action: str) -> Transition:
        self.count += 1
        read = read_json_action(action)
        status = "words" if read is None else read.status
        calls = [] if read is None else [call.as_dict() for call in read.calls]
        info: dict[str, Any] = {"parse": {"status": status}, "calls": calls, "action": action}
        if any(call["name"] == "unlock" for call in calls):
            self.unlocked = True
            info["tools"] = self._schemas()
        over = self.count >= self.steps
        return Transition(
            action, [{"role": "tool", "content": action}], over, success=over, info=info
        )

    def _save(self) -> Any:
        return self.count, self.unlocked

    def _load(self, state: Any) -> None:
        self.count, self.unlocked = state


@pytest.fixture
def echo() -> type[EchoEnv]:
    return EchoEnv
