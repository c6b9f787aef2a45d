"""Carry out an agent's messages in a world, and say what the agent reads then."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from agentenvs.acebench.reading import checked, read_message, settled
from agentenvs.acebench.worlds import CallError, NoSuchFunction, World
from agentenvs.core import Rules, ToolCall, check_rules
from agentenvs.errors import BadArgument
from agentenvs.syntax import CallNode, UnreadableCall, parse_call_list

__all__ = ["NOT_A_CALL", "Executor", "Reply"]

Mode = Literal["multi_step", "multi_turn"]

#: the original's answer to a message of `multi_step` that is not a list of calls
NOT_A_CALL = "Please do not ask me any questions, use the known conditions to solve the problem"
_FAILED = "Error during execution: "
#: the original's text lacks the mark that would fill in the error
_ABORTED = "Error during execution: {str(e)}"
#: characters of one message and of all that are read as calls in an episode; and units of work
#: of one message: what a call costs grows with what was written before it
MESSAGE_TEXT = 50_000
EPISODE_TEXT = 100_000
MESSAGE_WORK = 250_000
_CALL_WORK = 200
_TOO_MUCH = "this message does too much"
_UNBOUND = "cannot access local variable 'func_call_result' where it is not associated with a value"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one message.

    Attributes:
        text: what the agent reads next; "" where the message is words to the user.
        executed: whether the state of the world counts from now on: the message was read as
            calls, and, in `multi_turn` under `rules="official"`, none of them was an error.
        results: a result a call; the answer to words in `multi_step`; None for words in
            `multi_turn`. After an error in `multi_turn` under `rules="official"`, the single
            characters of a fixed text.
        calls: the calls that were read.
        reason: why the message was not read as calls, or "".
    """

    text: str
    executed: bool
    results: Any
    calls: tuple[ToolCall, ...] = ()
    reason: str = ""

    @property
    def to_user(self) -> bool:
        """Whether the message is words to the user."""
        return self.results is None


class _Outcome(NamedTuple):
    result: Any
    failed: bool


class Executor:
    """One world, and how messages act on it.

    Under `rules="official"` everything is as in the original: every public function of the
    world can be called, on offer or not (for example `delete_reminder` or `process_refund`);
    an unknown function repeats the result before it in the same message, and is an error where
    it is the first; results pass through JSON, those that are no dict as text first; an error
    stands for its call in `multi_step` and ends the message in `multi_turn`. It differs in
    this: a call as the value of an argument is not carried out but an error, `dict(...)` apart.

    Under `rules="fixed"` only functions on offer can be called; each call has a result or
    `{"status": False, "message": ...}`; positional arguments are bound; a message is read as
    calls with white space around it, and everything else is words.

    Under both, a message of over 50,000 characters is words, an episode carries out messages of
    100,000 characters in all, and a message only so many calls (about two hundred at the start,
    four at the end of such an episode).

    Args:
        world: the world to act in; it is changed.
        mode: "multi_step" (no user; words are answered with a fixed sentence) or "multi_turn".
        offered: the names of the functions on offer.
        rules: "official" or "fixed".

    Attributes:
        counted: whether a message was executed, without which no state is scored.
        written: characters of the messages that were read as calls so far.
    """

    __slots__ = ("counted", "mode", "offered", "rules", "world", "written")

    def __init__(
        self,
        world: World,
        mode: Mode = "multi_step",
        offered: Collection[str] = (),
        rules: Rules = "official",
    ) -> None:
        if mode not in ("multi_step", "multi_turn"):
            raise BadArgument(f"Expected `mode` to be 'multi_step' or 'multi_turn', got {mode!r}.")
        check_rules(rules)
        self.world = world
        self.mode = mode
        self.offered = frozenset(offered)
        self.rules = rules
        self.counted = False
        self.written = 0

    def run(self, message: str) -> Reply:
        """Carry out one message of the agent. It never raises on text."""
        try:
            self._refuse_long(len(message))
            if self.rules == "fixed":
                return self._fixed([self._bound(node) for node in _nodes(message)], len(message))
            if self.mode == "multi_turn" and not _has_list(message):
                raise UnreadableCall("no list of calls")
            return self._official(read_message(message), len(message))
        except UnreadableCall as problem:
            return self._words(str(problem))

    def carry_out(self, calls: Sequence[ToolCall]) -> Reply:
        """Carry out calls that were read elsewhere, as the rules have it; none are words."""
        if not calls:
            return self._words("no calls")
        try:
            length = sum(len(call.name) + len(str(call.arguments)) for call in calls)
            self._refuse_long(length)
        except (UnreadableCall, ValueError) as problem:
            return self._words(str(problem))
        if self.rules == "fixed":
            return self._fixed([(call, "") for call in calls], length)
        return self._official([(call.name, call.arguments) for call in calls], length)

    def state(self) -> list[dict[str, Any]]:
        """Return what is scored: the world's state, or nothing where no message was executed."""
        return self.world.scored() if self.counted else []

    def copy(self) -> Executor:
        """Return an independent copy with a world of its own."""
        twin = Executor(self.world.copy(), self.mode, self.offered, self.rules)
        twin.counted, twin.written = self.counted, self.written
        return twin

    def __copy__(self) -> Executor:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Executor:
        return self.copy()

    def _words(self, reason: str) -> Reply:
        if self.mode == "multi_turn":
            return Reply("", False, None, reason=reason)
        return Reply(NOT_A_CALL, False, NOT_A_CALL, reason=reason)

    def _official(self, calls: Sequence[tuple[str, Mapping[Any, Any]]], length: int) -> Reply:
        done = tuple([ToolCall(name, dict(arguments)) for name, arguments in calls])
        results: list[Any] = []
        previous: Any = NoSuchFunction
        affordable = self._affordable(len(calls), length)
        for number, (name, arguments) in enumerate(calls):
            if number < affordable:
                outcome = self._outcome(name, arguments, previous)
            else:
                outcome = _Outcome(_TOO_MUCH, True)
            if not outcome.failed:
                previous = outcome.result
                results.append(_through_json(outcome.result))
            elif self.mode == "multi_step":
                results.append(_FAILED + outcome.result)
            else:
                return Reply(str(list(_ABORTED)), False, list(_ABORTED), done)
        self.counted = True
        return Reply(str(results), True, results, done)

    def _refuse_long(self, length: int) -> None:
        if length > MESSAGE_TEXT:
            raise UnreadableCall(f"longer than {MESSAGE_TEXT} characters")
        if self.written + length > EPISODE_TEXT:
            raise UnreadableCall(f"over {EPISODE_TEXT} characters of calls in this episode")

    def _affordable(self, count: int, length: int) -> int:
        """Take note of a message; return how many of its calls may be carried out."""
        before, self.written = self.written, self.written + length
        work = MESSAGE_WORK
        for number in range(count):
            work -= _CALL_WORK + (before + length * number // count) // 2
            if work < 0:
                return number
        return count

    def _outcome(self, name: str, arguments: Mapping[Any, Any], previous: Any) -> _Outcome:
        first, _, last = name.rpartition(".")
        if not self.world.has(last):
            if previous is NoSuchFunction:
                return _Outcome(_UNBOUND, True)
            return _Outcome(previous, False)
        if first:
            return _Outcome(f"name {first.split('.')[0]!r} is not defined", True)
        try:
            given = {key: settled(value) for key, value in arguments.items()}
            return _Outcome(self.world.call(name, given), False)
        except (CallError, ValueError) as problem:
            return _Outcome(str(problem), True)

    def _bound(self, node: CallNode) -> tuple[ToolCall, str]:
        """Return a call with its positional values bound, and what is wrong with it, or ""."""
        arguments = dict(node.kwargs)
        if node.args and node.name in self.offered and self.world.has(node.name):
            names = self.world.parameters(node.name)
            if len(node.args) > len(names):
                wrong = f"{node.name} takes at most {len(names)} arguments"
                return ToolCall(node.name, arguments), wrong
            for key, value in zip(names, node.args, strict=False):
                if key in arguments:
                    return ToolCall(node.name, arguments), f"{node.name} got {key} twice"
                arguments[key] = value
        return ToolCall(node.name, arguments), ""

    def _fixed(self, calls: Sequence[tuple[ToolCall, str]], length: int) -> Reply:
        results = []
        affordable = self._affordable(len(calls), length)
        for number, (call, wrong) in enumerate(calls):
            try:
                if wrong or number >= affordable:
                    raise CallError(wrong or _TOO_MUCH)
                result = self._permitted(call)
            except (CallError, ValueError) as problem:
                kind = f"{type(problem.__cause__).__name__}: " if problem.__cause__ else ""
                result = {"status": False, "message": f"{kind}{problem}"}
            results.append(json.loads(json.dumps(result)))
        self.counted = self.counted or bool(results)
        text = json.dumps(results, ensure_ascii=False)
        return Reply(text, bool(results), results, tuple(call for call, _ in calls))

    def _permitted(self, call: ToolCall) -> Any:
        if call.name not in self.offered:
            raise NoSuchFunction(f"There is no function {call.name!r}.")
        if not self.world.has(call.name):
            raise NoSuchFunction(f"The function {call.name!r} is not available in this task.")
        return self.world.call(call.name, {key: checked(v) for key, v in call.arguments.items()})


def _has_list(message: str) -> bool:
    """Whether a "[" stands in the message with a "]" behind it."""
    return 0 <= message.find("[") < message.rfind("]")


def _nodes(message: str) -> tuple[CallNode, ...]:
    text = message.strip()
    if not text.startswith("["):
        raise UnreadableCall("no list of calls")
    nodes = parse_call_list(text)
    if not nodes:
        raise UnreadableCall("an empty list of calls")
    return nodes


def _through_json(result: Any) -> Any:
    """Return a result as the original hands it over: a dict through JSON, the rest from text."""
    try:
        return json.loads(json.dumps(result) if isinstance(result, dict) else str(result))
    except ValueError:
        return str(result)
