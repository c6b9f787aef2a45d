"""Carrying out calls on the simulators: parsed and dispatched, never evaluated."""

from __future__ import annotations

import decimal
import json
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from agentenvs.bfcl.calls import read_call, read_plain, rewritten
from agentenvs.bfcl.clone import clone
from agentenvs.bfcl.limits import (
    BASE,
    EPISODE_TEXT,
    NESTED_SIZE,
    REFUSAL,
    STEP_WORK,
    Costly,
    size_of,
)
from agentenvs.bfcl.toolbox import ToolClass
from agentenvs.core import Rules
from agentenvs.syntax import CallNode, IndexNode, NameNode, StrNode, UnreadableCall, call_text

__all__ = ["World", "result_text"]

_FORBIDDEN = frozenset({"kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run"})
_FAILED = "Error during execution: "
#: held while functions run that set a precision, which all threads share
_PRECISION = threading.RLock()


class World:
    """The simulators of one episode, owned by whoever made it and by nobody else.

    Args:
        classes: the tool classes by name, shared.
        owners: function name -> name of the class it belongs to, shared.
        instances: one simulator a class, owned.
        rules: "official" (nested calls, names rewritten inside strings) or "fixed" (literals).
        label: stands in the names that the official executor would give the simulators.
    """

    __slots__ = ("classes", "instances", "label", "owners", "precise", "rules", "written")

    def __init__(
        self,
        classes: Mapping[str, ToolClass],
        owners: Mapping[str, str],
        instances: dict[str, Any],
        rules: Rules,
        label: str,
    ) -> None:
        self.classes = classes
        self.owners = owners
        self.instances = instances
        self.rules = rules
        self.label = label
        self.precise = any(item.precise for item in classes.values())
        self.written = 0

    def copy(self, memo: dict[int, Any] | None = None) -> World:
        """Return an independent copy, aliasing between and within simulators kept."""
        twin = World.__new__(World)
        twin.classes, twin.owners, twin.rules = self.classes, self.owners, self.rules
        twin.label, twin.precise, twin.written = self.label, self.precise, self.written
        twin.instances = clone(self.instances, {} if memo is None else memo)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        return self.copy(memo)

    def run(
        self, calls: Sequence[str | CallNode], allowed: Collection[str] | None = None
    ) -> list[str]:
        """Carry out the calls of one step and return one result text a call.

        Args:
            calls: call strings, or calls that were read already.
            allowed: the functions on offer; None for every function of the simulators.
        """
        step = _Step(self, self.owners if allowed is None else allowed)
        if not self.precise:
            return [step.result(call) for call in calls]
        with _precision_kept():
            return [step.result(call) for call in calls]

    def official_name(self, class_name: str) -> str:
        """Return a name such as the official executor gives to a simulator."""
        return f"{self.label}_{class_name}_instance"


class _Step:
    """The calls of one step, with what is left of its work."""

    __slots__ = ("allowed", "left", "world")

    def __init__(self, world: World, allowed: Collection[str]) -> None:
        self.world = world
        self.allowed = allowed
        self.left = STEP_WORK

    def result(self, call: str | CallNode) -> str:
        try:
            text = result_text(self._outcome(call))
        except UnreadableCall as problem:
            return _FAILED + (problem.python or str(problem))
        except Exception as problem:
            return f"{_FAILED}{problem}"
        self.left -= len(text)
        return text

    def _outcome(self, call: str | CallNode) -> Any:
        self._pay(0)
        official = self.world.rules == "official"
        if isinstance(call, CallNode):
            text = call_text(call.name, dict(call.kwargs), call.args)
            unknown = call.name not in self.allowed
            if official and not call.args and (unknown or text.count("(") > 1):
                call = text
            else:
                self._pay_text(len(text))
                return self._node(call)
        self._pay_text(len(call))
        if not official or call.count("(") == 1:
            plain = read_plain(call)
            if plain is not None and plain[0] in self.allowed:
                return self._dispatch(*plain)
        return self._node(self._read(call, official))

    def _read(self, call: str, official: bool) -> CallNode:
        """Read a call that is not of the plain shape, or not of a known function."""
        if official:
            call = rewritten(call, self._instance_name)
            head = call.split("(", 1)[0]
            if "." in head:
                head = head.split(".")[1]
            if head in _FORBIDDEN:
                raise UnreadableCall(f"Function call {head} is not allowed.")
        try:
            return read_call(call, nested=official)
        except UnreadableCall as problem:
            name = call.split("(", 1)[0].strip()
            known = not name.isidentifier() or name in self.allowed
            if problem.python or known:
                raise
            raise UnreadableCall(f"name {name!r} is not defined") from None

    def _instance_name(self, function: str) -> str | None:
        owner = self.world.owners.get(function)
        return None if owner is None else f"{self.world.official_name(owner)}.{function}"

    def _pay_text(self, length: int) -> None:
        if self.world.written + length > EPISODE_TEXT:
            raise Costly(f"the calls of this episode have over {EPISODE_TEXT} characters")
        self.world.written += length
        self._pay(length)

    def _pay(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise Costly("this step does too much")

    def _node(self, node: CallNode) -> Any:
        """Carry out a call that may hold nested ones, the function looked up first."""
        name = node.name
        if "." in name:
            prefix, _, last = name.rpartition(".")
            owner = self.world.owners.get(last)
            if owner is None or prefix != self.world.official_name(owner):
                raise UnreadableCall(f"name {name.split('.', 1)[0]!r} is not defined")
            name = last
        if name not in self.allowed:
            raise UnreadableCall(f"name {name!r} is not defined")
        args = [self._value(value) for value in node.args]
        return self._dispatch(name, args, {key: self._value(item) for key, item in node.kwargs})

    def _dispatch(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Carry out a call of a function on offer; the values are taken over."""
        world = self.world
        owner = world.owners[name]
        instance = world.instances[owner]
        function = world.classes[owner].functions[name]
        for position, parameter, kind in function.fresh:
            if position >= len(args) and parameter not in kwargs:
                kwargs[parameter] = kind()
        work = BASE + world.written // 3
        if function.rule is not None:
            given = dict(zip(function.parameters, args, strict=False))
            given.update(kwargs)
            try:
                work += function.rule(instance, given)
            except Costly:
                self.left -= REFUSAL
                raise
        self._pay(work)
        return getattr(instance, name)(*args, **kwargs)

    def _value(self, value: Any) -> Any:
        """Return an argument; results of nested calls are copied, and paid for by their size."""
        kind = type(value)
        if kind is list:
            return [self._value(item) for item in value]
        if kind is tuple:
            return tuple([self._value(item) for item in value])
        if kind is dict:
            return {key: self._value(item) for key, item in value.items()}
        if kind is CallNode or kind is IndexNode or kind is StrNode:
            found = self._nested(value)
            self._pay_text(self._size(found))
            return clone(found, {})
        if kind is NameNode:
            raise UnreadableCall(f"name {value.name!r} is not defined")
        return value

    def _size(self, value: Any) -> int:
        """Return the size of a nested call's value, and pay for measuring it in vain."""
        limit = min(self.left, NESTED_SIZE)
        try:
            return size_of(value, limit)
        except Costly:
            self.left -= limit
            raise

    def _nested(self, node: Any) -> Any:
        if isinstance(node, StrNode):
            found = self._nested(node.value)
            self._pay(self._size(found))
            return str(found)
        if isinstance(node, IndexNode):
            return self._nested(node.call)[node.key]
        return self._node(node)


def result_text(value: Any) -> str:
    """Return the result of a call as the official executor shows it."""
    kind = type(value)
    if kind is str:
        text: str = value
        return text
    if kind is dict:
        try:
            return json.dumps(value)
        except Exception:
            return str(value)
    return str(value)


@contextmanager
def _precision_kept() -> Iterator[None]:
    """Keep precision, which functions set for the whole process, and Python's limit on digits.

    mpmath switches the limit off where a number does not read.
    """
    context = sys.modules["mpmath"].mp
    with _PRECISION:
        before, digits = context.prec, sys.get_int_max_str_digits()
        try:
            with decimal.localcontext():
                yield
        finally:
            context.prec = before
            sys.set_int_max_str_digits(digits)
