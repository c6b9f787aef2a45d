"""Who plays the user of `agent_multi_turn`: a script, any function, or a recording."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from agentenvs.acebench.conversation import END, Conversation
from agentenvs.acebench.goals import holds
from agentenvs.acebench.hearing import hear
from agentenvs.acebench.records import Task
from agentenvs.acebench.slots import Table, words
from agentenvs.acebench.slots import table as table_of
from agentenvs.acebench.worlds import World
from agentenvs.core import Message
from agentenvs.errors import AgentEnvsError, BadArgument
from agentenvs.tools import Shared

__all__ = [
    "CallableUser",
    "ReplayUser",
    "ScriptedUser",
    "User",
    "as_user",
    "check_user",
    "user_messages",
]

#: what a turn that leads nowhere costs of the patience, in thirds of a turn
_LOST, _REPEATED = 3, 1


@runtime_checkable
class User(Protocol):
    """Who plays the user: anything with these members."""

    def speak(self, talk: Conversation) -> str:
        """Return the user's next words."""
        ...

    def copy(self) -> User:
        """Return an independent copy."""
        ...


class ScriptedUser:
    """A user that follows a script and looks at the world.

    It says what it wants without details, tells a slot when it is asked for it and never
    before, agrees where nothing is wrong, and corrects what is. Whether a wish is fulfilled it
    sees in the world and never believes the agent: so it ends neither before everything has
    come about nor after, its patience apart. Given no world, it has to believe the agent.

    With seed 0 it talks canonically; every other seed paraphrases. The same seed and the same
    words of the agent give the same replies.

    Args:
        task: a task of `agent_multi_turn`.
        seed: chooses the wordings.
        patience: how many turns in a row that lead nowhere it puts up with before it ends; a
            turn in which it has to repeat itself or merely agrees counts a third.
        table: what it knows and wants; default the one of the task (see `slots`).

    Attributes:
        told: the slots it was asked for so far.

    Raises:
        BadArgument: `patience` is below 1 or `seed` is no int.
        UnknownName: there is no table for this task.
    """

    __slots__ = (
        "_begin",
        "_last",
        "_lost",
        "_turns",
        "mentioned",
        "patience",
        "seed",
        "table",
        "task",
        "told",
    )

    def __init__(
        self, task: Task, seed: int = 0, *, patience: int = 3, table: Table | None = None
    ) -> None:
        if isinstance(patience, bool) or not isinstance(patience, int) or patience < 1:
            raise BadArgument(f"Expected `patience` to be an int >= 1, got {patience!r}.")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise BadArgument(f"Expected `seed` to be an int, got {seed!r}.")
        self.task = task
        self.seed = seed
        self.patience = patience
        self.table = table_of(task) if table is None else table
        self.told: frozenset[str] = frozenset()
        self.mentioned = 1
        self._turns = 0
        self._lost = 0
        self._begin: World | None = None
        self._last: Any = None

    def open(self, world: World | None = None) -> str:
        """Return the first words: what is wanted first, without details.

        Args:
            world: the world at the beginning.
        """
        if world is not None:
            self._begin, self._last = world.copy(), _state(world)
        return self._pick(self.table.goals[0].say)

    def reply(self, agent_text: str, world: World | None = None) -> str:
        """Return the answer to the agent's words.

        Args:
            agent_text: what the agent said; any text.
            world: the world as it stands, or None where it cannot be seen.
        """
        self._turns += 1
        heard = hear(agent_text, self.table)
        goals = self.table.goals
        if world is None:
            done = [at < self.mentioned and heard.claim for at in range(len(goals))]
            moved = begun = False
        else:
            if self._begin is None:
                self._begin = world.copy()
            seen = [self._seen(at, world) for at in range(len(goals))]
            done = [all(conditions) for conditions in seen]
            begun = any(map(any, seen))
            state = _state(world)
            moved, self._last = state != self._last, state
        if all(done):
            return self._say("end").format(end=END)

        parts = [self._pick(self.table.slots[name].say) for name in heard.asked]
        fresh = not self.told.issuperset(heard.asked)
        self.told |= set(heard.asked)
        lost = _REPEATED
        left = self.mentioned < len(goals)
        wanted = next(at for at in range(len(goals)) if not done[at])
        if left and (all(done[: self.mentioned]) or (heard.more and not heard.claim)):
            parts.append(self._pick(goals[self.mentioned].say))
            self.mentioned += 1
            fresh = True
        elif not parts:
            if heard.claim or heard.more:
                told = "partly" if begun else "nudge"
                parts = [self._say(told), self._pick(goals[wanted].say)]
                lost = _LOST
            elif heard.help:
                parts = [self._pick(goals[wanted].say)]
            elif heard.confirm:
                parts = [self._say("yes")]
            else:
                parts = [self._say("go_on")]
                lost = _LOST
        self._lost = 0 if fresh or moved else self._lost + lost
        if self._lost >= _LOST * self.patience:
            return self._say("give_up").format(end=END)
        return self.table.words.joint.join(parts)

    def speak(self, talk: Conversation) -> str:
        """Return the next words in a conversation, its world in view."""
        if not talk.messages:
            return self.open(talk.world)
        return self.reply(talk.messages[-1].text, talk.world)

    def copy(self) -> ScriptedUser:
        """Return an independent copy."""
        twin = object.__new__(ScriptedUser)
        for name in ScriptedUser.__slots__:
            setattr(twin, name, getattr(self, name))
        return twin

    def __copy__(self) -> ScriptedUser:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptedUser:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the task's own table, which is built anew."""
        state = {name: getattr(self, name) for name in ScriptedUser.__slots__}
        try:
            own = table_of(self.task)
        except AgentEnvsError:
            return state
        return {**state, "table": None} if self.table == own else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        if self.table is None:
            self.table = table_of(self.task)

    def _seen(self, at: int, world: World) -> list[bool]:
        """Return which conditions of a goal hold."""
        begin = self._begin or world
        conditions = self.table.goals[at].done
        return [holds(condition, self.table.values, world, begin) for condition in conditions]

    def _say(self, occasion: str) -> str:
        return self._pick(self.table.words.say[occasion])

    def _pick(self, texts: Sequence[str]) -> str:
        if self.seed == 0:
            return texts[0]
        drawn = zlib.crc32(f"{self.seed} {self._turns} {texts[0]}".encode())
        return texts[drawn % len(texts)]


def _state(world: World) -> list[dict[str, Any]]:
    """Return what changes when anything in the world does; services never change a value."""
    return [dict(vars(service)) for service in world.services.values()]


class CallableUser(Shared):
    """A function as the user; copies share it, since it is asked afresh at each turn.

    Args:
        function: takes the conversation as the user sees it (see `user_messages`) and returns
            the user's next words.
    """

    def __init__(self, function: Callable[[list[Message]], str]) -> None:
        self.function = function

    def speak(self, talk: Conversation) -> str:
        """Return what the function answers.

        Raises:
            BadArgument: it answers with something else than a str.
        """
        text = self.function(user_messages(talk))
        if not isinstance(text, str):
            raise BadArgument(f"Expected the user to answer with a str, got {type(text)}.")
        return text

    def copy(self) -> CallableUser:
        """Return itself."""
        return self


class ReplayUser(Shared):
    """Recorded words of a user, one a turn; it ends when they run out.

    Args:
        turns: what the user says, in order, whatever the agent says.
    """

    def __init__(self, turns: Sequence[str]) -> None:
        for text in turns:
            if not isinstance(text, str):
                raise BadArgument(f"Expected recorded turns to be texts, got {type(text)}.")
        self.turns = tuple(turns)

    def speak(self, talk: Conversation) -> str:
        """Return the words of this turn."""
        at = sum(said.who == "user" for said in talk.messages)
        return self.turns[at] if at < len(self.turns) else END

    def copy(self) -> ReplayUser:
        """Return itself."""
        return self


def as_user(spec: Any, task: Task, seed: int = 0) -> User:
    """Return who plays the user of a task.

    Args:
        spec: "scripted", a function from messages to words, a list of recorded turns, or a
            `User`, of which a copy is taken.
        task: a task of `agent_multi_turn`.
        seed: seeds a scripted user.

    Raises:
        BadArgument: `spec` is nothing of these.
        UnknownName: there is no script for this task.
    """
    check_user(spec)
    if isinstance(spec, str):
        return ScriptedUser(task, seed)
    if _is_user(spec):
        return spec.copy()  # type: ignore[no-any-return]
    return CallableUser(spec) if callable(spec) else ReplayUser(spec)


def check_user(spec: Any) -> None:
    """Refuse what `as_user` would refuse in every task.

    Raises:
        BadArgument: `spec` cannot play the user.
    """
    if isinstance(spec, list | tuple):
        ReplayUser(spec)
    elif not (_is_user(spec) or callable(spec) or spec == "scripted"):
        raise BadArgument(
            "Expected `user` to be 'scripted', a function from messages to words, a list of "
            f"recorded turns, or an object with `speak` and `copy`, got {spec!r:.80}."
        )


def _is_user(spec: Any) -> bool:
    return isinstance(spec, User) and not isinstance(spec, type)


def user_messages(talk: Conversation) -> list[Message]:
    """Return a conversation as its user sees it: the agent's words alone, roles flipped.

    First comes a system message of ours with the task's instruction, then a greeting; the
    user's words are the assistant's, the agent's are the user's. Calls and what came of them
    are left out.
    """
    prompt = words(talk.task.lang).prompt
    instruction = prompt["system"].format(question=talk.task.question, end=END)
    messages: list[Message] = [
        {"role": "system", "content": instruction},
        {"role": "user", "content": prompt["greeting"]},
    ]
    said = talk.messages
    for at, one in enumerate(said):
        if one.who == "user":
            messages.append({"role": "assistant", "content": one.text})
        elif one.who == "agent" and (at + 1 == len(said) or said[at + 1].who == "user"):
            messages.append({"role": "user", "content": one.text})
    return messages
