"""The contract of every environment here: tools, calls, messages and `TextEnv`."""

from __future__ import annotations

import copy
import json
from abc import abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import NoneType
from typing import Any, ClassVar, Literal, TypeVar

import gymnasium
from gymnasium.error import ResetNeeded

from agentenvs.errors import BadAction, BadArgument, UnknownName, did_you_mean
from agentenvs.spaces import UnicodeText
from agentenvs.tools import Message, Shared, Tool, ToolCall

__all__ = [
    "Message",
    "Rules",
    "Shared",
    "Snapshot",
    "TaskIds",
    "TextEnv",
    "Tool",
    "ToolCall",
    "Transition",
    "check_rules",
    "fork",
]

Rules = Literal["official", "fixed"]

MAX_ACTION = 100_000
_TOO_LONG_REASON = f"an action of over {MAX_ACTION} characters"
#: reads as malformed calls, never as words
_TOO_LONG = json.dumps({"content": None, "tool_calls": _TOO_LONG_REASON})
MAX_OBSERVATION = 2_000_000
#: how many ids are looked through for one close to a wrong one
_HINTS = 2_000


def check_rules(rules: object) -> None:
    """Raise `BadArgument` where `rules` is neither "official" nor "fixed"."""
    if rules not in ("official", "fixed"):
        raise BadArgument(f"Expected `rules` to be 'official' or 'fixed', got {rules!r}.")


@dataclass(slots=True)
class Transition:
    """What one reset or step brought about; `TextEnv` turns it into Gymnasium's tuple.

    Attributes:
        observation: the text that is new, in the benchmark's own rendering.
        messages: the same as role-tagged messages.
        terminated: the episode came to its end.
        truncated: a limit ended it.
        success: the binary verdict; read only at the end.
        score: the benchmark's graded score where it has one, else 1.0 or 0.0.
        reason: why not, "" on success.
        info: further entries for `info` (`parse`, `tools`, `system`, `policy`, ...).
    """

    observation: str
    messages: list[Message]
    terminated: bool = False
    truncated: bool = False
    success: bool = False
    score: float = 0.0
    reason: str = ""
    info: dict[str, Any] = field(default_factory=dict)


class TaskIds(Shared, Sequence[str]):
    """Ids of a set too large to write out: each is made when it is asked for.

    A subclass has `__len__`, `__getitem__` for an index, and a `__contains__` that does not
    go through the ids.
    """

    __slots__ = ()


class _Names(Shared):
    """The ids that may be asked for: one object for every copy of an environment."""

    __slots__ = ("in_order", "lookup")

    def __init__(self, names: Sequence[str]) -> None:
        lazy = isinstance(names, TaskIds)
        self.in_order: Sequence[str] = names if lazy else tuple(names)
        self.lookup: Container[str] = names if lazy else frozenset(names)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An opaque, reusable state of one environment; see `TextEnv.snapshot`."""

    kind: type[TextEnv]
    rules: Rules
    task: str
    over: bool
    log: tuple[Message, ...]
    rng: Any
    state: Any


class TextEnv(gymnasium.Env[str, str]):
    """Base of every environment: text in, text out, one task an episode.

    Observation: the text that is new since the last step. `info["messages"]` holds the same
    as role-tagged messages; `info["task"]` the task's id; `info["tools"]`, `info["system"]`
    and `info["policy"]` come at reset and whenever they change; `info["parse"]` says how the
    action was read. At the end `info` has `success`, `score` and `reason`.

    Action: text. Every environment reads `{"content": str | null, "tool_calls": [{"name":
    ..., "arguments": {...}}]}` or the bare list of calls, as JSON, and its benchmark's native
    grammar; any other text is words to the user. `step` never raises on text.

    Reward: 0.0 until the end, then 1.0 on success (`reward="success"`) or the benchmark's
    graded score (`reward="score"`).

    A subclass implements `_start`, `_act`, `_save` and `_load`, and keeps its state in
    itself and nowhere else.

    Args:
        task_ids: the tasks that a bare `reset` draws from.
        known_task_ids: every id that `options={"task": ...}` may name; default `task_ids`.
        task: play this task at every reset that names none.
        rules: "official" (bug-compatible verdicts) or "fixed" (documented mends).
        reward: "success" or "score".
        render_mode: None or "ansi".

    Raises:
        BadArgument: an argument out of range.
        UnknownName: `task` is not one of `known_task_ids`.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["ansi"],
        "render_fps": 1,
    }
    #: keyword arguments that select the benchmark's own decoding of a reply
    own_decoding: ClassVar[Mapping[str, Any]] = {}
    #: keyword arguments that only word the benchmark's own prompt
    own_prompt: ClassVar[tuple[str, ...]] = ()
    #: what `reset(options=...)` may name
    known_options: ClassVar[tuple[str, ...]] = ("task",)

    def __init__(
        self,
        *,
        task_ids: Sequence[str],
        known_task_ids: Sequence[str] | None = None,
        task: str | None = None,
        rules: Rules = "official",
        reward: Literal["success", "score"] = "success",
        render_mode: str | None = None,
    ) -> None:
        check_rules(rules)
        if reward not in ("success", "score"):
            raise BadArgument(f"Expected `reward` to be 'success' or 'score', got {reward!r}.")
        if render_mode not in (None, "ansi"):
            raise BadArgument(f"Expected `render_mode` to be None or 'ansi', got {render_mode!r}.")
        if not task_ids:
            raise BadArgument("Expected at least one task, got none.")
        self.task_ids: Sequence[str] = (
            task_ids if isinstance(task_ids, TaskIds) else tuple(task_ids)
        )
        self._known = _Names(self.task_ids if known_task_ids is None else known_task_ids)
        self.rules: Rules = rules
        self.reward = reward
        self.render_mode = render_mode
        self.observation_space = UnicodeText(MAX_OBSERVATION)
        self.action_space = UnicodeText(MAX_ACTION)
        self.task: str | None = None if task is None else self._check_task(task)
        self._current = ""
        self._over = True
        self._log: list[Message] = []

    @abstractmethod
    def _start(self, task: str, options: Mapping[str, Any]) -> Transition:
        """Begin `task` afresh."""

    @abstractmethod
    def _act(self, action: str) -> Transition:
        """Carry out one action (at most `MAX_ACTION` code points); never raise on text."""

    def _draw(self, options: Mapping[str, Any]) -> str:
        """Return the task of a reset that names none; uniform over `task_ids`."""
        return self.task_ids[int(self.np_random.integers(len(self.task_ids)))]

    @abstractmethod
    def _save(self) -> Any:
        """Return a copy of the episode's state that later steps cannot change."""

    @abstractmethod
    def _load(self, state: Any) -> None:
        """Take over a copy of what `_save` returned."""

    def _check_task(self, task: object) -> str:
        if not isinstance(task, str):
            raise BadArgument(f"Expected `task` to be a str, got {type(task)}.")
        if task not in self._known.lookup:
            known = self._known.in_order
            hint = did_you_mean(task, islice(known, _HINTS), total=len(known))
            raise UnknownName(f"There is no task {task!r}.{hint}")
        return task

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: reseeds the environment's generator.
            options: `{"task": id}` names the task; otherwise the `task` given at construction
                is played, or one is drawn uniformly from `task_ids`.

        Returns:
            The first observation and `info`.

        Raises:
            UnknownName: there is no such task.
            BadArgument: an option that this environment does not know.
        """
        if not isinstance(options, Mapping | NoneType):
            raise BadArgument(f"Expected `options` to be a dict or None, got {type(options)}.")
        options = dict(options or {})
        for key in options:
            if key not in self.known_options:
                known = ", ".join(map(repr, self.known_options))
                raise BadArgument(f"Expected only the options {known} of `reset`, got {key!r}.")
        named = options.pop("task", None)
        task = self.task if named is None else self._check_task(named)
        super().reset(seed=seed)
        if task is None:
            task = self._draw(options)
        # Until the start has succeeded there is no episode that a step could go on with.
        self._over, self._current, self._log = True, task, []
        transition = self._start(task, options)
        self._over = False
        return self._deliver(transition), self._info(transition)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out one action.

        Args:
            action: any text; one of over `MAX_ACTION` code points is malformed, and none of
                it is carried out.

        Returns:
            Observation, reward, terminated, truncated and `info`.

        Raises:
            BadAction: the action is not a string.
            ResetNeeded: the episode is over or was never begun.
        """
        if not isinstance(action, str):
            raise BadAction(
                f"Expected an action to be a str, got {type(action)}. Wrap the environment in "
                "agentenvs.wrappers.RelaxedToolCalls to step with structured calls."
            )
        if self._over:
            raise ResetNeeded("The episode is over: call `reset` before `step`.")
        if len(action) <= MAX_ACTION:
            transition = self._act(action)
        else:
            transition = self._act(_TOO_LONG)
            transition.info["parse"] = {"status": "malformed", "reason": _TOO_LONG_REASON}
        self._log.append({"role": "assistant", "content": action[:MAX_ACTION]})
        over = transition.terminated or transition.truncated
        self._over = over
        value = float(transition.success) if self.reward == "success" else float(transition.score)
        observation = self._deliver(transition)
        info = self._info(transition)
        if over:
            info["success"] = bool(transition.success)
            info["score"] = float(transition.score)
            info["reason"] = transition.reason
        return (
            observation,
            value if over else 0.0,
            bool(transition.terminated),
            bool(transition.truncated),
            info,
        )

    def _deliver(self, transition: Transition) -> str:
        self._log.extend(transition.messages)
        return transition.observation[:MAX_OBSERVATION]

    def _info(self, transition: Transition) -> dict[str, Any]:
        messages = [message.copy() for message in transition.messages]
        return {"task": self._current, "messages": messages, **transition.info}

    def render(self) -> str | None:
        """Return the conversation so far as text in render mode "ansi", else None."""
        if self.render_mode is None:
            return None
        lines = [f"task {self._current}" if self._current else "not begun"]
        for message in self._log:
            who = message["role"] + (f" {message['name']}" if "name" in message else "")
            lines.append(f"[{who}] {message['content']}")
        return "\n".join(lines)

    def snapshot(self) -> Snapshot:
        """Return the exact state of the episode, its generator included.

        It can be restored any number of times, into this environment or into another one
        that was made with the same arguments (a wrapped one wants a `reset` before its first
        `step`, whatever was restored).
        """
        return Snapshot(
            type(self),
            self.rules,
            self._current,
            self._over,
            tuple(self._log),
            copy.deepcopy(self.np_random.bit_generator.state),
            self._save() if self._current else None,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to `snapshot`.

        Raises:
            BadArgument: it is not a snapshot of this kind of environment, or of one with
                other rules.
        """
        if not isinstance(snapshot, Snapshot) or snapshot.kind is not type(self):
            raise BadArgument(f"Expected a snapshot of {type(self).__name__}, got {snapshot!r:.80}")
        if snapshot.rules != self.rules:
            raise BadArgument(
                f"Expected a snapshot with rules {self.rules!r}, got one with {snapshot.rules!r}."
            )
        self._current = snapshot.task
        self._over = snapshot.over
        self._log = list(snapshot.log)
        self.np_random.bit_generator.state = copy.deepcopy(snapshot.rng)
        if snapshot.task:
            self._load(snapshot.state)


EnvT = TypeVar("EnvT", bound=gymnasium.Env[Any, Any])


def fork(env: EnvT) -> EnvT:
    """Return an independent copy of a (wrapped) environment in its present state.

    The generator is copied too, so both go on identically when given the same actions.

    Example:
        >>> import gymnasium, agentenvs
        >>> env = gymnasium.make("agentenvs/BFCLv4-v0", tasks="mini")
        >>> _ = env.reset(seed=0)
        >>> twin = agentenvs.fork(env)
        >>> env.step("[]")[0] == twin.step("[]")[0]
        True
    """
    return copy.deepcopy(env)
