"""Tasks of an environment as what a GRPOTrainer trains on: prompts, rollouts, rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from agentenvs.errors import BadArgument
from agentenvs.harness.arms import HARNESSES, arm
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Sampling
from agentenvs.harness.prompts import Prompt
from agentenvs.harness.ptgs.trl.chat import Chat
from agentenvs.harness.ptgs.trl.dialogue import Dialogue
from agentenvs.harness.ptgs.trl.rows import with_temperatures
from agentenvs.harness.ptgs.trl.sampled import limited
from agentenvs.harness.seeds import derive

__all__ = ["TextWorld"]


class TextWorld:
    """An environment's tasks for TRL's GRPOTrainer, `tempered` or not.

    Many turns a rollout, each an `Episode` in chat form: the model's tokens are kept as they
    were drawn, and what the environment says is masked out of the loss.

        world = TextWorld("ToolLab", max_tokens=8)
        trainer = tempered()(
            model=model,
            args=config,
            processing_class=tokenizer,
            train_dataset=world.dataset(),
            reward_funcs=world.reward,
            rollout_func=world.rollout,
            sampler=PTGS(),
        )

    A rollout ends as a failure where its tokens, the environment's among them, reach
    `max_completion_length` or the model's context. One that an outage ended has no reward.

    Args:
        env_id: an environment's id; prefix and version may be left out.
        tasks: a named task set or a list of task ids; default the environment's own set.
        prompt: "none" (the benchmark's own), "light" or a `Prompt`.
        max_tokens: most new tokens a reply.
        parser: what reads replies; default what goes with the prompt, as in `run`.
        env_kwargs: further arguments of the environment.
        max_requests: ends an episode as a failure after so many replies, or None.
        reward: "success" (1.0 or 0.0) or "score" (the benchmark's graded score).

    Raises:
        UnknownName: there is no such environment, task set, task, prompt or parser.
        BadArgument: an argument out of range.
    """

    def __init__(
        self,
        env_id: str,
        tasks: str | Sequence[str] | None = None,
        prompt: str | Prompt = "none",
        *,
        max_tokens: int = 256,
        parser: str | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        max_requests: int | None = None,
        reward: Literal["success", "score"] = "success",
    ) -> None:
        name = prompt if isinstance(prompt, str) else prompt.name
        self._arm = arm(
            env_id,
            tasks=tasks,
            harness=name if name in HARNESSES else "none",
            prompt=prompt,
            parser=parser,
            env_kwargs=env_kwargs,
        )
        if reward not in ("success", "score"):
            raise BadArgument(f"Expected `reward` to be 'success' or 'score', got {reward!r}.")
        if max_requests is not None and (not isinstance(max_requests, int) or max_requests < 1):
            raise BadArgument(
                f"Expected `max_requests` of 1 or more or None, got {max_requests!r}."
            )
        self._reward = reward
        self._max_tokens = Sampling(max_tokens=max_tokens).max_tokens
        self._max_requests = max_requests
        self._envs: list[Any] = []

    @property
    def task_ids(self) -> tuple[str, ...]:
        """The tasks, in order."""
        return self._arm.task_ids

    def dataset(self) -> Any:
        """Return a data set with one row a task: `prompt` and `task_id` are both its id."""
        from datasets import Dataset

        ids = list(self.task_ids)
        return Dataset.from_dict({"prompt": ids, "task_id": ids})

    def reward(self, completions: Sequence[Any], **fields: Any) -> list[float | None]:
        """Return the reward of each rollout, as TRL asks a reward function.

        Raises:
            BadArgument: the rollouts are not this world's.
        """
        if self._reward not in fields:
            raise BadArgument(
                f"Expected rollouts with `{self._reward}`, got {sorted(fields)}: give the trainer "
                "`rollout_func=world.rollout`."
            )
        return [None if value is None else float(value) for value in fields[self._reward]]

    def rollout(self, prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
        """Play one episode a prompt, a task's id each, as TRL asks a rollout function.

        Environments are seeded by the trainer's seed, its step, the task and the row, in
        evaluation without the step; tokens come from torch's generator.

        Returns:
            prompt_ids, completion_ids, env_mask (1 where the model drew the token), logprobs
            (None where the backend gives none); success, score and reason of each row.

        Raises:
            UnknownName: a prompt that is no task.
            BadArgument: a first prompt that does not fit, or a chat template that rewrites.
        """
        played = self._begin(prompts, trainer)
        context = _context(trainer)
        while True:
            active = [one for one in played if one.room(context) > 0]
            if not _anyone(trainer, bool(active)):
                break
            asked = active or played[:1]  # another process goes on, and generates with all
            limit = min(self._max_tokens, max((one.room(context) for one in active), default=1))
            shortest = min((context - len(one.ids) for one in active), default=limit)
            if shortest < limit:
                # Generation goes on for all rows alike, and a table of positions has an end: those
                # next to it go first, so that nobody else's reply is cut shorter for them.
                limit = shortest
                asked = active = [one for one in active if context - len(one.ids) == shortest]
            prompt_ids: Any = [one.ids for one in asked]
            if hasattr(trainer, "row_temperatures"):
                prompt_ids = with_temperatures(prompt_ids, [one.temperature for one in asked])
            with limited(trainer, limit):
                drawn, logprobs = trainer._generate_single_turn(prompt_ids, None, {}, 1)
            for at, one in enumerate(active):
                one.take(drawn[at], None if logprobs is None else logprobs[at], context)
        known = all(one.logprobs is not None for one in played)
        return {
            "prompt_ids": [one.ids[: one.start] for one in played],
            "completion_ids": [one.ids[one.start :] for one in played],
            "env_mask": [one.mask for one in played],
            "logprobs": [one.logprobs for one in played] if known else None,
            "success": [one.success for one in played],
            "score": [one.score for one in played],
            "reason": [one.reason for one in played],
        }

    def close(self) -> None:
        """Close the environments."""
        for env in self._envs:
            env.close()
        self._envs.clear()

    def _begin(self, prompts: Sequence[str], trainer: Any) -> list[Dialogue]:
        while len(self._envs) < len(prompts):
            self._envs.append(self._arm.make_env())
        heat = getattr(trainer, "row_temperatures", None)
        given = [trainer.temperature] * len(prompts) if heat is None else heat.tolist()
        chat = Chat(
            trainer._tokenizer,
            trainer.eos_token_ids,
            trainer.chat_template,
            trainer.chat_template_kwargs,
        )
        purpose = _purpose(trainer)
        first = trainer.accelerator.process_index * len(prompts)
        played = []
        envs = self._envs[: len(prompts)]
        for at, (env, task, temperature) in enumerate(zip(envs, prompts, given, strict=True)):
            episode = Episode(
                env,
                self._arm.prompt,
                sampling=Sampling(temperature, max_tokens=self._max_tokens),
                task=task,
                seed=derive(trainer.args.seed, *purpose, task, first + at),
                rollout=first + at,
                env_id=self._arm.env_id,
                max_requests=self._max_requests,
            )
            played.append(Dialogue(episode, chat, trainer.max_completion_length))
        return played


def _purpose(trainer: Any) -> tuple[str | int, ...]:
    """Return what a batch is for; a step of training may play several."""
    if not trainer.model.training:
        return ("eval",)
    part = trainer._step % trainer.args.gradient_accumulation_steps
    return ("train", int(trainer.state.global_step), int(part))


def _context(trainer: Any) -> int:
    """Return how many tokens the model takes."""
    if trainer.use_vllm and trainer.vllm_mode == "colocate":
        return int(trainer.vllm_generation.llm.llm_engine.model_config.max_model_len)
    config = trainer.model.config.get_text_config()
    return int(getattr(config, "max_position_embeddings", 1 << 30))


def _anyone(trainer: Any, active: bool) -> bool:
    """Return whether any process that has to generate together with this one is still playing."""
    together = trainer.use_vllm or trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled
    if trainer.accelerator.num_processes == 1 or not together:
        return active
    from accelerate.utils import gather_object

    return any(gather_object([active]))
