"""One conversation with one environment, without any input or output of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium

from agentenvs.actions import canonical
from agentenvs.core import Message
from agentenvs.errors import AgentEnvsError, BadArgument
from agentenvs.harness.exchange import Completion, Form, Request, Sampling, Where
from agentenvs.harness.prompts import FORMS, Prompt, as_chat
from agentenvs.harness.prompts import prompt as as_prompt
from agentenvs.harness.seeds import nth

__all__ = ["Episode", "Step", "TokenTurn"]


class Step(NamedTuple):
    """What happened at one decision.

    Attributes:
        text: what the policy wrote, cut at the first stop string; where it gave calls that were
            parsed already, these as canonical action text. The environment was given the same.
        news: the messages that came back.
        parse: how the action was read (`info["parse"]`), {} where nothing says.
        finish_reason: why the completion ended.
        reward: the reward of this step.
    """

    text: str
    news: tuple[Message, ...]
    parse: Mapping[str, Any]
    finish_reason: str
    reward: float


class TokenTurn(NamedTuple):
    """One decision in tokens, for trainers.

    Attributes:
        prompt_ids: ids of everything that the model was shown.
        completion_ids: ids that it drew.
        logprobs: one a drawn token under the sampling distribution, or None.
        temperature: the temperature that they were drawn at; score them at the same one.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None
    temperature: float


class Episode:
    """One conversation: `request` says what to ask the model, `respond` moves on.

    It alone owns the history: everything that was said, or what was said since the environment
    last began anew (`info["fresh"]`). Runner, play, replay and trainers all drive it:

        >>> import gymnasium, agentenvs
        >>> from agentenvs.harness.episode import Episode
        >>> from agentenvs.harness.exchange import Completion
        >>> env = gymnasium.make("agentenvs/BFCLv4-v0", tasks="mini")
        >>> episode = Episode(env, "none", task=agentenvs.tasks("BFCLv4", "mini")[0])
        >>> while episode.request is not None:
        ...     episode.respond(Completion("I would rather not."))
        >>> episode.success
        False

    Args:
        env: a (wrapped) environment; the episode resets it.
        prompt: "none", "light" or a `Prompt`.
        form: "chat" (messages) or "completion" (one text).
        sampling: how completions are drawn.
        task: the task's id; None lets the environment choose.
        seed: seeds the environment, and each request by (seed, step).
        rollout: index of this rollout among those of its task.
        env_id: recorded in `Request.where`; default the environment's own.
        max_requests: ends the episode as a failure after so many decisions, or None.

    Raises:
        BadArgument: an unknown form.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        prompt: Prompt | str = "light",
        *,
        form: Form = "chat",
        sampling: Sampling | None = None,
        task: str | None = None,
        seed: int = 0,
        rollout: int = 0,
        env_id: str | None = None,
        max_requests: int | None = None,
    ) -> None:
        if form not in FORMS:
            raise BadArgument(f"Expected `form` to be 'chat' or 'completion', got {form!r}.")
        self.env = env
        self.prompt = as_prompt(prompt)
        self.form: Form = form
        self.sampling = sampling or Sampling()
        self.seed = seed
        self.rollout = rollout
        self.max_requests = max_requests
        self.env_id = env_id if env_id is not None else _id_of(env)
        observation, info = env.reset(
            seed=seed & 0xFFFFFFFF, options=None if task is None else {"task": task}
        )
        self.task = str(info.get("task", task or ""))
        self.steps: list[Step] = []
        self.done = False
        self.success = False
        self.score = 0.0
        self.reason = ""
        self.opening: tuple[Message, ...] = tuple(self.prompt.opening(observation, info))
        self._tools: tuple[Mapping[str, Any], ...] = tuple(info.get("tools", ()))
        self._turns: list[TokenTurn] | None = []
        self._drawn: int | None = None
        self._cue, self._stop = ("", ()) if form == "chat" else (self.prompt.cue, self.prompt.stop)
        self._chat: list[Message] = []
        self._blocks: list[str] = []
        self._begin(self.opening)
        self.request: Request | None = self._ask()

    @property
    def messages(self) -> list[Message]:
        """The whole conversation so far, as role-tagged messages."""
        messages = list(self.opening)
        for step in self.steps:
            messages.append({"role": "assistant", "content": step.text})
            messages.extend(step.news)
        return messages

    def _begin(self, messages: Sequence[Message]) -> None:
        """Put these messages and nothing that was said before them."""
        if self.form == "chat":
            self._chat = as_chat(messages, tool_role=self.prompt.tool_role)
        else:
            self._blocks = ["".join(map(self.prompt.block, messages))]

    def _ask(self) -> Request:
        chat = self.form == "chat"
        sampling, step = self.sampling, len(self.steps)
        return Request(
            tuple(self._chat) if chat else None,
            None if chat else "".join([*self._blocks, self._cue]),
            self._tools,
            sampling.temperature,
            sampling.top_p,
            sampling.max_tokens,
            self._stop,
            nth(self.seed, step),
            Where(self.env_id, self.task, self.rollout, step, self.seed),
        )

    def respond(self, completion: Completion) -> None:
        """Carry out what the policy answered to `request`.

        Args:
            completion: its calls, where it has some, else its text.

        Raises:
            AgentEnvsError: the episode is over.
        """
        request = self.request
        if request is None:
            raise AgentEnvsError("The episode is over; there is nothing to respond to.")
        text = _cut(completion.text, request.stop) if request.stop else completion.text
        finish = completion.finish_reason
        if finish == "context":
            self.steps.append(Step(text, (), {}, finish, 0.0))
            self._end(False, 0.0, "context_overflow")
            return
        if completion.tool_calls:
            # An environment whose own decoding does not read canonical calls writes them itself.
            write = getattr(self.env.unwrapped, "write_calls", canonical)
            text = write(completion.tool_calls, text or None)
        observation, reward, terminated, truncated, info = self.env.step(text)
        # Only now: a step that raised may be tried again.
        if self._turns is not None or self._drawn is not None:
            self._note_tokens(completion, request)
        parse, earned = info.get("parse", {}), float(reward)
        if terminated or truncated:
            self.steps.append(Step(text, tuple(info.get("messages", ())), parse, finish, earned))
            success = bool(info.get("success", earned > 0.0))
            self._end(success, float(info.get("score", earned)), str(info.get("reason", "")))
            return
        fresh = bool(info.get("fresh"))
        if "tools" in info:
            offer = tuple(info["tools"])
            info = {**info, "new_tools": [tool for tool in offer if tool not in self._tools]}
            self._tools = offer
        shown = self.prompt.opening if fresh else self.prompt.news
        # Roles have to alternate, whatever an environment has to say.
        news = shown(observation, info) or [{"role": "user", "content": observation}]
        self.steps.append(Step(text, tuple(news), parse, finish, earned))
        if len(self.steps) == self.max_requests:
            self._end(False, 0.0, "max_requests")
            return
        own: Message = {"role": "assistant", "content": text}
        if fresh:
            self._begin(news)
        elif self.form == "chat":
            self._chat += as_chat([own, *news], tool_role=self.prompt.tool_role)
        else:
            block = self.prompt.block
            self._blocks.append(block(own))
            self._blocks.extend(map(block, news))
        self.request = self._ask()

    def _end(self, success: bool, score: float, reason: str) -> None:
        self.done, self.request = True, None
        self.success, self.score, self.reason = success, score, reason

    def _note_tokens(self, completion: Completion, request: Request) -> None:
        ids, prompt_ids = completion.token_ids, completion.prompt_token_ids
        count = completion.new_tokens if ids is None else len(ids)
        if count is None:
            self._drawn = None
        elif self._drawn is not None:
            self._drawn += count
        elif not self.steps:
            self._drawn = count
        if self._turns is None or ids is None or prompt_ids is None:
            self._turns = None
            return
        self._turns.append(
            TokenTurn(
                prompt_ids,
                ids,
                completion.logprobs,
                request.temperature,
            )
        )

    @property
    def new_tokens(self) -> int | None:
        """How many tokens the policy drew, or None where it did not say so at every step."""
        return self._drawn

    def token_turns(self) -> list[TokenTurn]:
        """Return every decision in tokens.

        Raises:
            AgentEnvsError: the policy gave no token ids.
        """
        if self._turns is None:
            raise AgentEnvsError("The policy gave no token ids; trainers need them.")
        return list(self._turns)

    def sequence(self) -> tuple[list[int], list[int]]:
        """Return the conversation as one token sequence and its assistant mask.

        Returns:
            Ids up to the last drawn token, and as many 0s and 1s: 1 where the model drew the
            token itself. Worked examples in the prompt are not the model's words: 0.

        Raises:
            AgentEnvsError: the policy gave no token ids, or a later prompt does not begin with
                the tokens of the earlier decisions (a tokenizer may split the text otherwise
                when it is read back; train on `token_turns` then).
        """
        ids: list[int] = []
        mask: list[int] = []
        for index, turn in enumerate(self.token_turns()):
            if list(turn.prompt_ids[: len(ids)]) != ids:
                raise AgentEnvsError(
                    f"The prompt of decision {index} does not begin with the tokens before it; "
                    "use token_turns()."
                )
            fresh = len(turn.prompt_ids) - len(ids)
            ids += turn.prompt_ids[len(ids) :]
            mask += [0] * fresh
            ids += turn.completion_ids
            mask += [1] * len(turn.completion_ids)
        return ids, mask


def _id_of(env: gymnasium.Env[Any, Any]) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def _cut(text: str, stops: Sequence[str]) -> str:
    """Cut at the first stop string, for servers that return it or run past it.

    A completion follows a line break, so that a heading may also stand at its very start.
    """
    line = "\n" + text
    for stop in stops:
        if stop in line:
            line = line[: line.index(stop)]
    return line[1:]
