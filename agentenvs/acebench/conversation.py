"""The loop of an agent task, without input or output of its own: who speaks, what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from agentenvs.acebench.executor import Executor, Reply
from agentenvs.acebench.judge import judge_state
from agentenvs.acebench.outcome import Verdict
from agentenvs.acebench.records import AGENT, Task
from agentenvs.acebench.replay import END
from agentenvs.acebench.worlds import World
from agentenvs.core import Rules, ToolCall
from agentenvs.errors import AgentEnvsError, BadArgument

__all__ = ["END", "MAX_MESSAGES", "Conversation", "Said"]

#: messages an episode: the user's, the agent's and what execution answers
MAX_MESSAGES = 40


class Said(NamedTuple):
    """One message.

    Attributes:
        who: "user", "agent" or "execution".
        text: the message.
    """

    who: Literal["user", "agent", "execution"]
    text: str


class Conversation:
    """One episode of an agent task: the environments and the harness all drive this.

    In `agent_multi_step` the agent alone speaks, and execution answers each message. In
    `agent_multi_turn` the user opens; words of the agent go to the user, calls to execution,
    after which it is the agent's turn again. The phrase `END` in a message ends the episode,
    the first message of each side apart, and so does the limit of messages; what is left then
    is judged. A call that reaches the limit is carried out, as in the original, and is answered.

        >>> talk = Conversation(task, records.world(task.lang))    # doctest: +SKIP
        >>> talk.user("I want to send a message.")                 # doctest: +SKIP
        >>> talk.agent("[turn_on_wifi()]").text                    # doctest: +SKIP
        >>> talk.turn                                              # doctest: +SKIP
        'agent'

    Args:
        task: a task of an agent category.
        initial: what the services start from, in the task's language; shared, never changed.
        rules: "official" or "fixed".
        max_messages: the limit; the question of `agent_multi_step` is none of them.

    Attributes:
        messages: what was said so far.
        process: the messages of the agent that went to execution.
        turn: who is to speak, "" when the episode is over.
        ended: what ended it: "agent" or "user" (the phrase), "limit"; "" before.

    Raises:
        BadArgument: a task of another category, or a limit below 1.
    """

    __slots__ = (
        "ended",
        "executor",
        "initial",
        "max_messages",
        "messages",
        "process",
        "rules",
        "task",
        "turn",
    )

    def __init__(
        self,
        task: Task,
        initial: Mapping[str, Any],
        rules: Rules = "official",
        max_messages: int = MAX_MESSAGES,
    ) -> None:
        if task.category not in AGENT:
            raise BadArgument(f"Expected a task of {' or '.join(AGENT)}, got {task.id!r}.")
        if isinstance(max_messages, bool) or not isinstance(max_messages, int) or max_messages < 1:
            raise BadArgument(f"Expected `max_messages` to be an int >= 1, got {max_messages!r}.")
        with_user = task.category == "agent_multi_turn"
        self.task = task
        self.initial = initial
        self.rules: Rules = rules
        self.max_messages = max_messages
        self.executor = Executor(
            World.of(task.lang, initial, task.initial_config, task.involved_classes),
            "multi_turn" if with_user else "multi_step",
            [function["name"] for function in task.functions],
            rules,
        )
        self.messages: list[Said] = []
        self.process: list[str] = []
        self.turn: Literal["user", "agent", ""] = "user" if with_user else "agent"
        self.ended: Literal["user", "agent", "limit", ""] = ""

    @property
    def world(self) -> World:
        """The world as it stands; to be read only."""
        return self.executor.world

    @property
    def over(self) -> bool:
        """Whether the episode is over."""
        return not self.turn

    @property
    def truncated(self) -> bool:
        """Whether it was the limit that ended it."""
        return self.ended == "limit"

    def user(self, text: str) -> None:
        """Take the user's next words.

        Raises:
            AgentEnvsError: it is not the user's turn.
        """
        self._check_turn("user")
        opening = not self.messages
        if self._say("user", text, opening):
            self.turn = "agent"

    def agent(self, text: str, calls: Sequence[ToolCall] | None = None) -> Reply | None:
        """Take the agent's next message; never raises on text.

        Args:
            text: the message.
            calls: the calls in it where it was read elsewhere, none for words; `text` then
                stands for them in what is recorded.

        Returns:
            What came of it: words (`Reply.to_user`) wait for the user's answer, if the episode
            goes on. None where the message ended the episode by the phrase.

        Raises:
            AgentEnvsError: it is not the agent's turn.
        """
        self._check_turn("agent")
        opening = all(said.who != "agent" for said in self.messages)
        goes_on = self._say("agent", text, opening)
        if self.ended == "agent":
            return None
        executor = self.executor
        reply = executor.run(text) if calls is None else executor.carry_out(calls)
        if not reply.to_user:
            self.process.append(text)
            self._say("execution", reply.text, True)
        elif goes_on:
            self.turn = "user"
        return reply

    def verdict(self) -> Verdict:
        """Judge what has come of the episode so far."""
        state = self.executor.state()
        return judge_state(self.task, state, self.process, self.rules, lambda: self.initial)

    def copy(self) -> Conversation:
        """Return an independent copy with a world of its own."""
        twin = object.__new__(Conversation)
        twin.task, twin.initial, twin.rules = self.task, self.initial, self.rules
        twin.max_messages, twin.turn, twin.ended = self.max_messages, self.turn, self.ended
        twin.executor = self.executor.copy()
        twin.messages, twin.process = list(self.messages), list(self.process)
        return twin

    def __copy__(self) -> Conversation:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Conversation:
        return self.copy()

    def _check_turn(self, who: str) -> None:
        if self.turn != who:
            whose = f"it is the {self.turn}'s turn" if self.turn else "the episode is over"
            raise AgentEnvsError(f"Expected the {who}'s turn, but {whose}.")

    def _say(self, who: Literal["user", "agent", "execution"], text: str, opening: bool) -> bool:
        """Take note of a message; return whether the episode goes on."""
        self.messages.append(Said(who, text))
        if who != "execution" and not opening and END in text:
            self.turn, self.ended = "", who
        elif len(self.messages) >= self.max_messages:
            self.turn, self.ended = "", "limit"
        return bool(self.turn)
