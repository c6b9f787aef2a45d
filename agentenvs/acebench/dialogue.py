"""The dialogue of `agent_multi_turn` for PettingZoo: a user and an agent, both to be played.

Execution is the environment: after calls it stays the agent's turn, and what it observes then
is their result. `env` is the AEC environment, `parallel_env` the same where all act at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import turn_based_aec_to_parallel, wrappers

from agentenvs.acebench.conversation import MAX_MESSAGES, Conversation
from agentenvs.acebench.prompts import Prompts, schemas
from agentenvs.acebench.replies import Decoding, read_reply
from agentenvs.acebench.slots import words
from agentenvs.acebench.tasks import initial_state, task_ids, turns_of
from agentenvs.acebench.users import user_messages
from agentenvs.core import MAX_ACTION, MAX_OBSERVATION, Message, Rules
from agentenvs.errors import BadAction, BadArgument, UnknownName, did_you_mean
from agentenvs.spaces import UnicodeText

__all__ = ["AGENT", "USER", "DialogueEnv", "env", "parallel_env", "raw_env"]

USER, AGENT = "user_0", "agent_0"
_CATEGORY = "agent_multi_turn"
_OFFER = ("system", "policy", "tools")
_SIDES = {"user": USER, "agent": AGENT}

Observation = dict[str, str]


class DialogueEnv(AECEnv[str, Observation, str | None]):  # type: ignore[misc]
    """A user and an agent talk; the agent acts in a world that is judged at the end.

        >>> from agentenvs.acebench import dialogue
        >>> env = dialogue.env(tasks="mini")
        >>> env.reset(seed=0)
        >>> env.agent_selection
        'user_0'

    Agents: `user_0`, who begins, and `agent_0`. Words go to the other one; calls of the agent
    are carried out and leave it the turn.

    Observations: `{"message": text}`: the words of the other one, or the results of the calls.
    The user sees neither calls nor results.

    `infos`: the user's have `instruction` (what it is to play) and `messages` (the conversation
    as it sees it, in chat roles, with a prompt of ours); the agent's `messages` (what is new),
    until it has acted `system`, `policy` and `tools`, and `parse` (how its last action was read);
    both have `task`, and at the end `success`, `score` and `reason`.

    Actions: any text; what is beyond 100,000 characters is cut off. The agent's is read as in
    `ACEBenchEnv`. The phrase "finish conversation" ends the episode for both, the limit of
    messages truncates it.

    Rewards: 0.0, and at the end to the agent 1.0 on success or the score; with
    `share_reward` to the user as well.

    Args:
        tasks: a named task set or task ids; those of `agent_multi_turn` are played.
        task: play this one at every reset that names none.
        rules: "official" or "fixed".
        reward: "success" or "score".
        share_reward: whether the user gets what the agent gets.
        decoding: "native" or "official"; how the agent's actions are read.
        max_messages: the limit: the user's messages, the agent's and execution's.
        render_mode: None or "ansi".

    `reset(options={"task": id})` names the task.

    Raises:
        BadArgument: an argument out of range, or tasks without a dialogue among them.
        UnknownName: an unknown task or task set.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "acebench_dialogue_v0",
        "render_modes": ["ansi"],
        "render_fps": 1,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        tasks: str | Sequence[str] = "en/agent_multi_turn",
        task: str | None = None,
        rules: Rules = "official",
        reward: Literal["success", "score"] = "success",
        share_reward: bool = False,
        decoding: Decoding = "native",
        max_messages: int = MAX_MESSAGES,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        choices: tuple[tuple[str, object, tuple[object, ...]], ...] = (
            ("rules", rules, ("official", "fixed")),
            ("reward", reward, ("success", "score")),
            ("decoding", decoding, ("native", "official")),
            ("render_mode", render_mode, (None, "ansi")),
        )
        for name, value, known in choices:
            if value not in known:
                raise BadArgument(f"Expected `{name}` to be one of {known}, got {value!r}.")
        self.task_ids = tuple(name for name in task_ids(tasks) if _CATEGORY in name)
        if not self.task_ids:
            raise BadArgument(f"Expected tasks of {_CATEGORY}, got {tasks!r:.80}.")
        self.task = None if task is None else self._checked(task)
        self.rules: Rules = rules
        self.reward = reward
        self.share_reward = bool(share_reward)
        self.decoding: Decoding = decoding
        self.max_messages = max_messages
        self.render_mode = render_mode
        self.possible_agents = [USER, AGENT]
        self.agents: list[str] = []
        self._observed = gymnasium.spaces.Dict({"message": UnicodeText(MAX_OBSERVATION)})
        self._acted = {name: UnicodeText(MAX_ACTION) for name in self.possible_agents}
        self._prompts = Prompts()
        self._heard = dict.fromkeys(self.possible_agents, "")
        self._talk: Conversation | None = None
        self.np_random: np.random.Generator = seeding.np_random()[0]

    @property
    def talk(self) -> Conversation:
        """The conversation; to be read only.

        Raises:
            BadArgument: `reset` was not called.
        """
        if self._talk is None:
            raise BadArgument("Expected `reset` before anything else.")
        return self._talk

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return the space of an agent's observations, the same object each time."""
        return self._observed

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return the space of an agent's actions, the same object each time."""
        return self._acted[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode.

        Args:
            seed: reseeds the generator that draws the task.
            options: `{"task": id}`; whatever else PettingZoo's tools put in is ignored.

        Raises:
            UnknownName: there is no such task, or it is no dialogue.
        """
        if seed is not None:
            self.np_random = seeding.np_random(seed)[0]
        named = (options or {}).get("task")
        name = self.task if named is None else self._checked(named)
        if name is None:
            name = self.task_ids[int(self.np_random.integers(len(self.task_ids)))]
        (task,) = turns_of(name)
        self._talk = Conversation(task, initial_state(name), self.rules, self.max_messages)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.agent_selection = USER
        self._heard = {USER: words(task.lang).prompt["greeting"], AGENT: ""}
        shown = self._prompts.show(task)
        self.infos = {
            USER: self._for_user(),
            AGENT: {
                "task": task.name,
                "messages": [],
                "system": shown.system,
                "policy": shown.policy,
                "tools": schemas(task),
            },
        }

    def observe(self, agent: str) -> Observation:
        """Return what an agent has heard last."""
        return {"message": self._heard[agent][:MAX_OBSERVATION]}

    def step(self, action: str | None) -> None:
        """Take the words or calls of the one whose turn it is.

        Raises:
            BadAction: the action is not a str.
            ResetNeeded: the episode is over, or none has begun.
        """
        if not self.agents:
            raise ResetNeeded("The episode is over: call `reset` before `step`.")
        name = self.agent_selection
        if self.terminations[name] or self.truncations[name]:
            self._was_dead_step(action)
            return
        if not isinstance(action, str):
            raise BadAction(f"Expected an action to be a str, got {type(action)}.")
        self._cumulative_rewards[name] = 0.0
        self._clear_rewards()
        talk = self.talk
        if name == USER:
            self._user_says(talk, action[:MAX_ACTION])
        else:
            self._agent_says(talk, action[:MAX_ACTION])
        if talk.over:
            self._conclude(talk)
        else:
            self.agent_selection = _SIDES[talk.turn]
        self._accumulate_rewards()
        self._deads_step_first()

    def render(self) -> str | None:
        """Return the conversation so far as text in render mode "ansi", else None."""
        if self.render_mode is None or self._talk is None:
            return None
        return "\n".join(f"[{said.who}] {said.text}" for said in self._talk.messages)

    def close(self) -> None:
        """Nothing to close."""

    def _checked(self, task: object) -> str:
        (name,) = task_ids([task]) if isinstance(task, str) else (None,)
        if name is None or _CATEGORY not in name:
            hint = did_you_mean(str(task), self.task_ids)
            raise UnknownName(f"Expected a task of {_CATEGORY}, got {task!r:.80}.{hint}")
        return name

    def _user_says(self, talk: Conversation, text: str) -> None:
        talk.user(text)
        self._heard[AGENT] = text
        news: list[Message] = [{"role": "user", "content": text}]
        # What the agent is offered at the beginning is there when its first turn comes.
        offer = {key: value for key, value in self.infos[AGENT].items() if key in _OFFER}
        self.infos = {USER: {"task": talk.task.name}, AGENT: {**offer, **self._for_agent(news)}}

    def _agent_says(self, talk: Conversation, text: str) -> None:
        answer = read_reply(text, self.decoding, talk.task.functions)
        reply = talk.agent(answer.message, answer.calls)
        news: list[Message] = []
        if reply is not None and not reply.to_user:
            self._heard[AGENT] = reply.text
            news = [{"role": "tool", "content": reply.text}]
        elif reply is not None:
            self._heard[USER] = answer.text
        self.infos = {USER: self._for_user(), AGENT: {**self._for_agent(news)}}
        self.infos[AGENT]["parse"] = answer.parse

    def _for_user(self) -> dict[str, Any]:
        task = self.talk.task
        messages = user_messages(self.talk)
        return {"task": task.name, "instruction": task.question, "messages": messages}

    def _for_agent(self, news: list[Message]) -> dict[str, Any]:
        return {"task": self.talk.task.name, "messages": news}

    def _conclude(self, talk: Conversation) -> None:
        verdict = talk.verdict()
        score = float(verdict.process_accuracy or 0.0)
        end = {"success": verdict.valid, "score": score, "reason": verdict.error_type}
        earned = float(verdict.valid) if self.reward == "success" else score
        over = self.truncations if talk.truncated else self.terminations
        for name in self.agents:
            over[name] = True
            self.infos[name].update(end)
            self.rewards[name] = earned if name == AGENT or self.share_reward else 0.0


def raw_env(**settings: Any) -> DialogueEnv:
    """Return the environment without wrappers; takes what `DialogueEnv` takes."""
    return DialogueEnv(**settings)


def env(**settings: Any) -> AECEnv[str, Observation, str | None]:
    """Return the AEC environment, which complains when used out of order."""
    made: AECEnv[str, Observation, str | None] = wrappers.OrderEnforcingWrapper(raw_env(**settings))
    return made


def parallel_env(**settings: Any) -> ParallelEnv[str, Observation, str | None]:
    """Return the parallel environment: of all actions, that of `active_agent` counts."""
    made: ParallelEnv[str, Observation, str | None] = turn_based_aec_to_parallel(env(**settings))
    return made
