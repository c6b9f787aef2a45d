"""The environment: answers judged by reference, dialogues by turn, agents by what they leave."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agentenvs.acebench.conversation import MAX_MESSAGES, Conversation
from agentenvs.acebench.executor import Reply
from agentenvs.acebench.judge import judge_answer
from agentenvs.acebench.outcome import Verdict
from agentenvs.acebench.prompts import Prompts, added, said, schemas, tools
from agentenvs.acebench.records import AGENT, SPECIAL, Task
from agentenvs.acebench.replies import Answer, Decoding, read_reply, written
from agentenvs.acebench.tasks import (
    all_ids,
    data_version,
    initial_state,
    is_official,
    task_ids,
    turns_of,
)
from agentenvs.acebench.users import User, as_user, check_user
from agentenvs.actions import canonical
from agentenvs.core import Message, Rules, TextEnv, Tool, ToolCall, Transition
from agentenvs.errors import BadArgument

__all__ = ["ACEBenchEnv", "Dialogue"]

Dialogue = Literal["teacher", "free"]
_NOT_READ = "wrong_output_format"


@dataclass(slots=True)
class _Answers:
    """What changes where answers are judged: which turns were answered, and how well."""

    turns: tuple[Task, ...]
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def now(self) -> Task:
        """The turn to answer; the last one when all are answered."""
        return self.turns[min(len(self.verdicts), len(self.turns) - 1)]

    def copy(self) -> _Answers:
        return _Answers(self.turns, list(self.verdicts))

    def __deepcopy__(self, memo: dict[int, Any]) -> _Answers:
        return self.copy()


@dataclass(slots=True)
class _Talk:
    """What changes in an agent task: the conversation with its world, and the user."""

    talk: Conversation
    user: User | None

    @property
    def now(self) -> Task:
        """The task."""
        return self.talk.task

    def copy(self) -> _Talk:
        return _Talk(self.talk.copy(), None if self.user is None else self.user.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> _Talk:
        return self.copy()


class ACEBenchEnv(TextEnv):
    """ACEBench: tool calls judged by reference, and agents judged by the world they leave.

    Task: in the normal categories make the calls that a conversation asks for, in one reply,
    in the two of dialogues in one reply a turn; in the special ones say what is wrong with a
    request; in the agent ones carry out a task in a phone's or an airline's services, alone
    (`agent_multi_step`) or with a user (`agent_multi_turn`). English and Chinese.

    Actions: a list of calls, `[send(to='Ann', count=2)]` or canonical JSON; any other text is
    words: the answer in the special categories, words to the user, or the phrase that ends an
    agent's episode, "finish conversation".

    Observations: the conversation to answer, in agent tasks the question or the user's words;
    then what execution answers, the user's next words, or the next turn. `info["messages"]`
    has the transcript split by role. `info["fresh"]` is true where a request starts anew: the
    turns of a teacher-forced dialogue know the official answers before them, not the agent's.

    Reward: 1.0 at the end when the verdict is valid, of a dialogue when it is in every turn.
    `reward="score"` gives the share of valid turns, and the process accuracy of an agent.

    Ends: after the reply, after the last turn, or with the phrase; truncated, and judged all
    the same, by the limit of messages. Then `info` has `process_accuracy`, in agent tasks
    `final_state`, in dialogues `turns` (which of them were valid).

    Ids: `agentenvs/ACEBench-v0`. Source: chenchen0103/ACEBench at 56dd66cf, MIT, Chen et al.

    Args:
        tasks: a name from `agentenvs.task_sets`, or task ids.
        task: play this task at every reset that names none.
        rules: "official", or "fixed": every leaf compared, each call once, states both ways,
            corrected references, functions on offer only.
        reward: "success" or "score".
        user: who plays the user of agent_multi_turn: "scripted", a function from messages to
            words, a list of recorded turns, or a `User`.
        decoding: "native" (strict; positional values bound by the order of the description),
            or "official" (what the original makes of a reply).
        dialogue: "teacher" (each turn is asked after the official answers to those before it,
            as in the original), or "free" (the agent's own answers stay in the history).
        prompts: templates of a user's own by category, see `Prompts`; None for our wording.
        max_messages: the limit in agent tasks: the user's, the agent's and execution's.
        render_mode: None or "ansi".
        exclude: task ids that a bare `reset` never draws.

    `reset(options={"task": ..., "user_seed": 0})` seeds a scripted user's wording; it is drawn
    otherwise. 0 is the canonical one.

    Raises:
        BadArgument: an argument out of range.
        UnknownName: an unknown task or task set.
        SourceError: official tasks are asked for and their files cannot be had.
    """

    own_decoding: ClassVar[Mapping[str, Any]] = {"decoding": "official"}
    own_prompt: ClassVar[tuple[str, ...]] = ("prompts",)
    known_options: ClassVar[tuple[str, ...]] = ("task", "user_seed")

    def __init__(
        self,
        tasks: str | Sequence[str] = "agent",
        task: str | None = None,
        rules: Rules = "official",
        reward: Literal["success", "score"] = "success",
        user: str | Sequence[str] | User | Callable[[list[Message]], str] = "scripted",
        decoding: Decoding = "native",
        dialogue: Dialogue = "teacher",
        prompts: Mapping[str, str | Mapping[str, str]] | None = None,
        max_messages: int = MAX_MESSAGES,
        render_mode: str | None = None,
        exclude: Collection[str] = (),
    ) -> None:
        if decoding not in ("native", "official"):
            raise BadArgument(
                f"Expected `decoding` to be 'native' or 'official', got {decoding!r}."
            )
        if dialogue not in ("teacher", "free"):
            raise BadArgument(f"Expected `dialogue` to be 'teacher' or 'free', got {dialogue!r}.")
        if isinstance(max_messages, bool) or not isinstance(max_messages, int) or max_messages < 1:
            raise BadArgument(f"Expected `max_messages` to be an int >= 1, got {max_messages!r}.")
        if isinstance(exclude, str):
            raise BadArgument(f"Expected `exclude` to be a list of task ids, got {exclude!r}.")
        left_out = frozenset(task_ids(list(exclude)))
        drawn = [name for name in task_ids(tasks) if name not in left_out]
        super().__init__(
            task_ids=drawn,
            known_task_ids=all_ids(),
            task=task,
            rules=rules,
            reward=reward,
            render_mode=render_mode,
        )
        check_user(user)
        self.user = user
        self.decoding: Decoding = decoding
        self.dialogue: Dialogue = dialogue
        self.prompts = Prompts(prompts)
        self.max_messages = max_messages
        self._state: _Answers | _Talk | None = None
        for name in drawn if task is None else [task]:
            if is_official(name):
                data_version([name])
                break

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The functions on offer now."""
        return () if self._state is None else tools(self._state.now)

    def write_calls(self, calls: Sequence[ToolCall], content: str | None = None) -> str:
        """Return structured calls as an action text that the decoding in force reads.

        The official decoding reads the original's own form of calls, without words beside them.
        """
        return canonical(tuple(calls), content) if self.decoding == "native" else written(calls)

    def _start(self, task_id: str, options: Mapping[str, Any]) -> Transition:
        seed = _user_seed(options)
        turns = turns_of(task_id)
        if turns[0].category in AGENT:
            transition = self._begin(turns[0], initial_state(task_id), seed)
        else:
            self._state = _Answers(turns)
            transition = self._ask()
        transition.info["data_version"] = data_version([task_id])
        return transition

    def _act(self, action: str) -> Transition:
        state = self._parts()
        answer = read_reply(action, self.decoding, state.now.functions)
        if isinstance(state, _Answers):
            transition = self._judge(state, answer)
        else:
            # A user that raises leaves the episode as it was: the step can be tried again.
            state = state.copy()
            transition = self._say(state, answer)
            self._state = state
        transition.info.setdefault("parse", answer.parse)
        return transition

    def _save(self) -> _Answers | _Talk:
        return self._parts().copy()

    def _load(self, state: _Answers | _Talk) -> None:
        self._state = state.copy()

    def _parts(self) -> _Answers | _Talk:
        if self._state is None:
            raise BadArgument("Expected `reset` before `step`.")
        return self._state

    def _ask(self) -> Transition:
        """Put the turn to answer, with all that was said before it."""
        state = self._parts()
        turn = state.now
        shown = self.prompts.show(turn)
        info = self._offer(turn, shown.system, shown.policy)
        if turn.turn:
            info["fresh"] = True
        return Transition(shown.user, said(turn.question), info=info)

    def _go_on(self, state: _Answers) -> Transition:
        """Put the next turn behind the agent's own answer."""
        before, after = state.turns[len(state.verdicts) - 1 :][:2]
        text = added(before, after)
        messages = said(text)
        if messages and messages[0]["role"] == "assistant":
            messages[0] = {"role": "tool", "content": messages[0]["content"]}
        info: dict[str, Any] = {"turn": after.turn}
        if after.functions != before.functions:
            info["tools"] = schemas(after)
        return Transition(text, messages, info=info)

    def _judge(self, state: _Answers, answer: Answer) -> Transition:
        turn = state.now
        state.verdicts.append(self._verdict(turn, answer))
        if len(state.verdicts) < len(state.turns):
            return self._ask() if self.dialogue == "teacher" else self._go_on(state)
        valid = [verdict.valid for verdict in state.verdicts]
        failed = next((one for one in state.verdicts if not one.valid), None)
        share = sum(valid) / len(valid)
        info: dict[str, Any] = {"turn": turn.turn or 0, "process_accuracy": round(share, 3)}
        if turn.turn is not None:
            info["turns"] = valid
        return Transition(
            "",
            [],
            terminated=True,
            success=failed is None,
            score=share,
            reason="" if failed is None else failed.error_type,
            info=info,
        )

    def _verdict(self, turn: Task, answer: Answer) -> Verdict:
        if turn.category in SPECIAL:
            return judge_answer(turn, answer.whole, self.rules)
        text = answer.text
        if answer.calls is not None:
            if not answer.calls:
                return Verdict(False, _NOT_READ, detail=answer.reason or "no list of calls")
            if self.rules == "fixed":
                text = canonical(answer.calls)
        return judge_answer(turn, text, self.rules)

    def _begin(self, task: Task, initial: Mapping[str, Any], seed: int | None) -> Transition:
        talk = Conversation(task, initial, self.rules, self.max_messages)
        shown = self.prompts.show(task)
        text, user = shown.user, None
        if task.category == "agent_multi_turn":
            if seed is None:
                seed = int(self.np_random.integers(1 << 31))
            user = as_user(self.user, task, seed)
            talk.user(user.speak(talk))
            text = talk.messages[0].text
        self._state = _Talk(talk, user)
        info = self._offer(task, shown.system, shown.policy)
        return Transition(text, [{"role": "user", "content": text}], info=info)

    def _say(self, state: _Talk, answer: Answer) -> Transition:
        talk, user = state.talk, state.user
        reply = talk.agent(answer.message, answer.calls)
        transition = Transition("", [])
        if reply is not None and self.decoding == "official":
            unread = "words" if answer.status == "words" else "malformed"
            status = "calls" if reply.calls else unread
            transition.info["parse"] = {"status": status, "reason": reply.reason}
        if reply is not None and reply.to_user and user is not None and not talk.over:
            talk.user(user.speak(talk))
            transition.observation = talk.messages[-1].text
            transition.messages = [{"role": "user", "content": transition.observation}]
        elif reply is not None and not reply.to_user:
            transition.observation = reply.text
            transition.messages = _results(reply)
        if talk.over:
            self._conclude(talk, transition)
        return transition

    def _conclude(self, talk: Conversation, transition: Transition) -> None:
        verdict = talk.verdict()
        transition.truncated = talk.truncated
        transition.terminated = not talk.truncated
        transition.success = verdict.valid
        transition.score = float(verdict.process_accuracy or 0.0)
        transition.reason = verdict.error_type
        transition.info["process_accuracy"] = transition.score
        transition.info["final_state"] = verdict.final_state

    def _offer(self, task: Task, system: str, policy: str) -> dict[str, Any]:
        return {
            "turn": task.turn or 0,
            "system": system,
            "policy": policy,
            "tools": schemas(task),
        }


def _user_seed(options: Mapping[str, Any]) -> int | None:
    seed = options.get("user_seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise BadArgument(f"Expected `user_seed` to be an int >= 0, got {seed!r}.")
    return seed


def _results(reply: Reply) -> list[Message]:
    """Return what execution answers as messages, one a call where each has a result."""
    results = reply.results
    if not reply.calls:
        return [{"role": "user", "content": reply.text}]
    if not reply.executed:
        return [{"role": "tool", "content": "".join(map(str, results))}]
    return [
        {"role": "tool", "name": call.name, "content": _shown(result)}
        for call, result in zip(reply.calls, results, strict=True)
    ]


def _shown(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
