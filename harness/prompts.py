"""What a model is shown: the benchmark's own prompt, or one light prompt for all."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from agentenvs.core import Message
from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.harness.exchange import Form
from agentenvs.harness.stubs import StubCache

__all__ = ["EXAMPLES", "Light", "Plain", "Prompt", "prompt"]


_TOOLS = (
    {
        "name": "tool",
        "description": "description",
        "parameters": {
            "type": "object",
            "properties": {
                "one": {"type": "array", "items": {"type": "string"}, "description": "first"},
                "two": {"type": ["integer", "null"], "default": 2},
            },
            "required": ["one"],
        },
    },
)


class Prompt(ABC):
    """How a conversation with an environment is put to a model.

    A conversation is a list of messages that only ever grows, so that a server's prefix
    cache stays warm; `text` renders the same list for a model without a chat template.
    """

    name: ClassVar[str]
    headings: ClassVar[Mapping[str, str]]
    #: strings that end a completion when the conversation is put as text
    stop: ClassVar[tuple[str, ...]]
    #: whether a chat model gets tool results under the role `tool`, not as a user's message
    tool_role: ClassVar[bool] = False

    @abstractmethod
    def opening(self, observation: str, info: Mapping[str, Any]) -> list[Message]:
        """Return the first messages, from what `env.reset` gave."""

    @abstractmethod
    def news(self, observation: str, info: Mapping[str, Any]) -> list[Message]:
        """Return the messages to add, from what `env.step` gave."""

    def describe(self) -> dict[str, Any]:
        """Return the settings that a run records, with a hash of wording and layout."""
        info = {
            "system": "system",
            "policy": "policy",
            "tools": _TOOLS,
            "new_tools": _TOOLS,
            "messages": [{"role": "user", "content": "user"}, {"role": "tool", "content": "tool"}],
        }
        shown: list[Message] = [
            *self.opening("observation", info),
            {"role": "assistant", "content": "assistant"},
            *self.news("observation", info),
        ]
        chat = as_chat(shown, tool_role=self.tool_role)
        wording = json.dumps([self.text(shown), chat, self.stop])
        return {"name": self.name, "wording": hashlib.sha256(wording.encode()).hexdigest()[:12]}

    def block(self, message: Message) -> str:
        """Return one message as a piece of a text transcript."""
        role, content = message["role"], message["content"]
        if role == "system":
            return content.rstrip() + "\n"
        # An empty line sets off what belongs to one wish of the user. With it a base model of 270
        # million parameters gave the right call 1.5 times as often as with even spacing.
        gap = "\n" if role == "user" else ""
        return f"{gap}{self.headings[role]}\n{content.strip()}\n"

    def text(self, messages: Sequence[Message]) -> str:
        """Return the conversation as text to be continued by the assistant's next words."""
        return "".join([self.block(message) for message in messages]) + self.cue

    @property
    def cue(self) -> str:
        """The heading under which the assistant's next words are expected."""
        return self.headings["assistant"] + "\n"


class Plain(Prompt):
    """The benchmark's own prompt (`harness="none"`): its system text and its observations.

    Nothing is added; a model without a chat template sees the same texts under role names.
    What comes back is a user's message, but where the benchmark says that its messages keep
    their roles (`info["own_roles"]`) for models that learned them.
    """

    name = "none"
    headings: ClassVar[Mapping[str, str]] = {
        "user": "User:",
        "assistant": "Assistant:",
        "tool": "Tool:",
    }
    stop = ("\nUser:", "\nAssistant:", "\nTool:")
    tool_role = True

    def opening(self, observation: str, info: Mapping[str, Any]) -> list[Message]:
        """Return the benchmark's system text, where it has one, and the first observation."""
        system = info.get("system", "")
        messages: list[Message] = [{"role": "system", "content": system}] if system else []
        return [*messages, {"role": "user", "content": observation}]

    def news(self, observation: str, info: Mapping[str, Any]) -> list[Message]:
        """Return the observation as a user message, or the messages under their own roles."""
        if info.get("own_roles"):
            return [message.copy() for message in info.get("messages", ())]
        return [{"role": "user", "content": observation}]


_INTRODUCTION = "You help a user by calling tools. Only the tools listed here exist."
_CONTRACT = """\
How to reply:
- To use tools, write one list of calls and nothing else, for example \
[first_tool(name="x"), second_tool(count=2)]. Their results come next.
- Call tools until everything the user asked for is done, then tell the user in a short \
sentence, without a list.
- Never write results, or the user's words, yourself."""
_EXAMPLES_NOTE = "First come short examples with other tools, then the conversation itself."

#: Generic worked examples for `Light(examples=N)`: (request, call, result, closing words).
EXAMPLES: tuple[tuple[str, str, str, str], ...] = (
    (
        "Set an alarm named gym for 7.",
        '[set_alarm(name="gym", hour=7)]',
        '{"alarm": "gym", "hour": 7}',
        "The alarm is set.",
    ),
    (
        "What songs do I have?",
        "[list_songs()]",
        '["Blue", "Rain"]',
        "You have Blue and Rain.",
    ),
    (
        "Water the fern and close the tap.",
        '[water(plant="fern"), close(name="tap")]',
        '{"watered": "fern"}\n{"closed": "tap"}',
        "The fern is watered and the tap is closed.",
    ),
    (
        "Send Ada the note that lunch is at noon.",
        '[send_note(to="Ada", text="Lunch is at noon.")]',
        '{"sent": true}',
        "Ada has the note.",
    ),
)


class Light(Prompt):
    """The light prompt: the same few sentences for every benchmark and every model.

    Tools stand as typed Python stubs with docstrings, one output contract follows, and the
    benchmark's rules of the domain (`info["policy"]`) are kept. Tools that arrive later are
    shown in the same form when they arrive.

    Args:
        examples: how many generic worked examples go before the conversation, 0 to 4.

    Raises:
        BadArgument: `examples` is out of range.
    """

    name = "light"
    headings: ClassVar[Mapping[str, str]] = {
        "user": "User:",
        "assistant": "Assistant:",
        "tool": "Tool results:",
    }
    stop = ("\nUser:", "\nAssistant:", "\nTool results:")

    def __init__(self, examples: int = 0) -> None:
        whole = isinstance(examples, int) and not isinstance(examples, bool)
        if not whole or not 0 <= examples <= len(EXAMPLES):
            raise BadArgument(
                f"Expected `examples` to be an int from 0 to {len(EXAMPLES)}, got {examples!r}."
            )
        self.examples = examples
        self._stubs = StubCache()

    def describe(self) -> dict[str, Any]:
        """Return the settings that a run records, with a hash of the wording."""
        return {**super().describe(), "examples": self.examples}

    def opening(self, observation: str, info: Mapping[str, Any]) -> list[Message]:
        """Return the system text with the tools, the examples, and the user's first words."""
        parts = [_INTRODUCTION]
        if info.get("policy"):
            parts.append(info["policy"].strip())
        if info.get("tools"):
            parts.append(self._stubs(info["tools"]))
        parts.append(_CONTRACT)
        if self.examples:
            parts.append(_EXAMPLES_NOTE)
        messages: list[Message] = [{"role": "system", "content": "\n\n".join(parts)}]
        for request, call, result, words in EXAMPLES[: self.examples]:
            messages += [
                {"role": "user", "content": request},
                {"role": "assistant", "content": call},
                {"role": "tool", "content": result},
                {"role": "assistant", "content": words},
            ]
        return messages + self._said(info)

    def news(self, observation: str, info: Mapping[str, Any]) -> list[Message]:
        """Return the tools' results as one message, or the user's words.

        Where `info` has `new_tools` (an `Episode` puts it there), these are shown first.
        """
        fresh = info.get("new_tools")
        before = [{"role": "user", "content": f"New tools:\n{self._stubs(fresh)}"}] if fresh else []
        return self._said(info, before)

    def _said(
        self, info: Mapping[str, Any], before: Sequence[Mapping[str, str]] = ()
    ) -> list[Message]:
        """Join what came in, so that roles alternate whatever a chat template demands."""
        merged: list[Message] = []
        for message in [*before, *info.get("messages", ())]:
            role = message["role"]
            if merged and merged[-1]["role"] == role:
                merged[-1]["content"] += "\n" + message["content"]
            elif role in ("assistant", "tool"):
                merged.append({"role": role, "content": message["content"]})
            else:
                merged.append({"role": "user", "content": message["content"]})
        return merged


def as_chat(messages: Sequence[Message], *, tool_role: bool = False) -> list[Message]:
    """Return messages that any chat template takes: system, then user and assistant in turn.

    Tool results become a user message under a heading, since many templates know no role for
    results of calls that were written as text; neighbours of one role are joined.

    Args:
        messages: role-tagged messages.
        tool_role: leave tool results under their role, for a template that knows it.
    """
    chat: list[Message] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "tool" and not tool_role:
            role, content = "user", f"Tool results:\n{content}"
        if chat and chat[-1]["role"] == role and role != "system":
            chat[-1] = {"role": role, "content": f"{chat[-1]['content']}\n\n{content}"}
        else:
            chat.append({"role": role, "content": content})
    return chat


def prompt(spec: str | Prompt, examples: int = 0) -> Prompt:
    """Return the prompt that a name stands for: "none" or "light".

    Raises:
        UnknownName: there is no such prompt.
        BadArgument: `examples` with "none", which shows what the benchmark shows.
    """
    if isinstance(spec, Prompt):
        return spec
    if spec == "light":
        return Light(examples)
    if spec == "none":
        if examples:
            raise BadArgument("The benchmark's own prompt takes no `examples`; use 'light'.")
        return Plain()
    raise UnknownName(f"There is no prompt {spec!r}.{did_you_mean(spec, ('none', 'light'))}")


FORMS: tuple[Form, ...] = ("chat", "completion")
