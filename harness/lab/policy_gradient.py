"""Policy gradients on outcomes: GRPO and PPO, fed by a sampler of temperatures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.advantages import group_advantages, token_advantages, whitened
from agentenvs.harness.lab.critic import Critic
from agentenvs.harness.lab.gather import Gathered, Pool, chunks, gather, select
from agentenvs.harness.lab.losses import policy_loss
from agentenvs.harness.seeds import derive

__all__ = ["History", "OnStep", "PGConfig", "train"]

History = list[dict[str, float]]
OnStep = Callable[[int, Any, History], None]


@dataclass(frozen=True, slots=True)
class PGConfig:
    """How a policy is trained on the outcomes of its rollouts.

    Attributes:
        algorithm: "grpo" (a group's mean is the baseline) or "ppo" (a critic is).
        steps: rounds; each plays `tasks` of the pool and learns from them.
        tasks: tasks a step.
        group: rollouts of each.
        lr: learning rate of AdamW.
        minibatches: updates a step, over a random split of the rollouts.
        epochs: how often a step goes through its rollouts.
        clip_low, clip_high: how far the ratio may fall below and rise above 1.
        kl: weight of the exact KL to the model at the start, both at the row's temperature.
        entropy: weight of the entropy bonus at the row's temperature.
        refill: how many times a step may play `tasks` more in place of groups all alike.
        gamma, lam: discount and trace of PPO's advantages.
        critic_lr: learning rate of the critic.
        critic_updates: updates of the critic a step.
        critic_memory: how many steps the critic learns from at a time.
        max_norm: gradients are cut to this length.
        length: the loss is summed over tokens and divided by rollouts times this number.

    Raises:
        BadArgument: a value of the wrong type or out of range.
    """

    algorithm: str = "grpo"
    steps: int = 200
    tasks: int = 8
    group: int = 16
    lr: float = 1e-3
    minibatches: int = 2
    epochs: int = 1
    clip_low: float = 0.2
    clip_high: float = 0.28
    kl: float = 0.0
    entropy: float = 0.0
    refill: int = 0
    gamma: float = 1.0
    lam: float = 1.0
    critic_lr: float = 3e-3
    critic_updates: int = 8
    critic_memory: int = 25
    max_norm: float = 1.0
    length: float = 12.0

    def __post_init__(self) -> None:
        if self.algorithm not in ("grpo", "ppo"):
            raise BadArgument(f"Expected `algorithm` 'grpo' or 'ppo', got {self.algorithm!r}.")
        values = asdict(self)
        counts = ("steps", "tasks", "group", "minibatches", "epochs")
        for name in (*counts, "critic_updates", "critic_memory", "refill"):
            least, value = (0 if name == "refill" else 1), values.pop(name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise BadArgument(f"Expected `{name}` to be an int of {least} up, got {value!r}.")
        if self.minibatches > self.tasks * self.group:
            raise BadArgument(
                f"Expected at most {self.tasks * self.group} minibatches, one for each rollout, "
                f"got {self.minibatches}."
            )
        del values["algorithm"]
        for name, value in values.items():
            real = isinstance(value, int | float) and not isinstance(value, bool)
            if not real or not 0 <= value < math.inf:
                raise BadArgument(f"Expected `{name}` to be a number of 0 up, got {value!r}.")
            if name in ("lr", "critic_lr", "max_norm", "length") and not value:
                raise BadArgument(f"Expected `{name}` above 0, got {value!r}.")
        for name in ("clip_low", "gamma", "lam"):
            if values[name] > 1:
                raise BadArgument(f"Expected `{name}` of at most 1, got {values[name]!r}.")


def train(
    model: Any,
    world: Any,
    tasks: Any,
    config: PGConfig,
    sampler: Any,
    seed: int,
    *,
    on_step: OnStep | None = None,
) -> tuple[Any, History]:
    """Train a copy of a model on outcomes and return it with what happened at each step.

    The same arguments give the same weights, bit for bit, with the same number of threads. Every
    group's outcomes reach `sampler.record` as soon as they are played, before any is dropped.

    Args:
        model: where to start; it stays as it is, and is the reference of the KL.
        world: the tensor world.
        tasks: indices of the pool's tasks; they are cycled in a seeded order.
        config: how.
        sampler: gives each rollout its temperature (`agentenvs.harness.ptgs`), under the task's
            index as id.
        seed: of the pool's order, the sampled tokens, the minibatches and the critic.
        on_step: called after each step with its number (from 1), the model as it is then (copy
            it to keep it) and the history so far.

    Returns:
        The trained model, and a row of numbers for each step: step; rollouts and groups played;
        success and temperature (geometric mean) over these; mixed, the share of groups with
        successes and failures; surprise, minus the mean log-probability of a sampled token at
        its temperature, which estimates the entropy there; loss, clipped, drift and kl, per
        token trained on; norm, the mean gradient's length before it was cut; updates; critic,
        its mean cross-entropy on what it remembers (NaN in GRPO).

    Raises:
        BadArgument: a pool smaller than `config.tasks`, or one with a task twice.
    """
    trainer = _Trainer(model, config, seed)
    pool = Pool(tasks, derive(seed, "pool"))
    generator = torch.Generator().manual_seed(derive(seed, "rollouts"))
    history: History = []
    for step in range(1, config.steps + 1):
        with torch.no_grad():
            gathered = gather(
                trainer.model,
                world,
                pool,
                sampler,
                generator,
                groups=config.tasks,
                size=config.group,
                refill=config.refill,
            )
        history.append({"step": step, **_played(gathered), **trainer.learn(gathered.rollouts)})
        if on_step is not None:
            on_step(step, trainer.model, history)
    return trainer.model, history


def _played(gathered: Gathered) -> dict[str, float]:
    return {
        "rollouts": gathered.played,
        "groups": gathered.groups,
        "success": gathered.successes / gathered.played,
        "mixed": gathered.mixed / gathered.groups,
        "temperature": math.exp(gathered.heat / gathered.played),
        "surprise": gathered.surprise / max(gathered.tokens, 1),
    }


class _Trainer:
    """A model in training with its optimiser, and in PPO its critic."""

    def __init__(self, model: Any, config: PGConfig, seed: int) -> None:
        self.model = model.copy()
        self.config = config
        self._reference = model if config.kl else None
        self._shuffle = torch.Generator().manual_seed(derive(seed, "minibatches"))
        self._optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=config.lr, weight_decay=0.0, fused=True
        )
        self._critic: Critic | None = None
        if config.algorithm == "ppo":
            width = model.shape.width
            self._critic = Critic(
                width,
                derive(seed, "critic"),
                lr=config.critic_lr,
                memory=config.critic_memory,
                updates=config.critic_updates,
            )

    def learn(self, rollouts: Any) -> dict[str, float]:
        """Update the model from a step's rollouts and return what that was like."""
        sums = dict.fromkeys(("loss", "clipped", "drift", "kl", "tokens", "norm"), 0.0)
        updates, config = 0, self.config
        advantages, guessed = self._advantages(rollouts)
        # Without a pull of its own, a row with nothing to say has no gradient.
        idle = not (config.kl or config.entropy)
        speaks = advantages.abs().sum(1) > 0 if idle else rollouts.agent.any(1)
        total = len(rollouts.success)
        for _ in range(config.epochs if total else 0):
            order = torch.randperm(total, generator=self._shuffle)
            for rows in order.tensor_split(min(config.minibatches, total)):
                active = rows[speaks[rows]]
                if len(active):
                    scale = config.length * config.tasks * config.group / config.minibatches
                    self._update(rollouts, advantages, active, scale, sums)
                    updates += 1
        tokens, norm = max(sums.pop("tokens"), 1.0), sums.pop("norm")
        rates = {name: value / tokens for name, value in sums.items()}
        return {**rates, "norm": norm / max(updates, 1), "updates": updates, "critic": guessed}

    def _advantages(self, rollouts: Any) -> tuple[Any, float]:
        """Return (B, L) advantages and the critic's cross-entropy."""
        if self._critic is None:
            by_row = group_advantages(rollouts.success, self.config.group)
            return by_row[:, None] * rollouts.agent, math.nan
        agent = rollouts.agent
        with torch.no_grad():
            hidden = self.model.hidden(rollouts.ids)
        features = self._critic.features(hidden, agent, rollouts.temperatures)
        values = torch.zeros(agent.shape)
        values[agent] = self._critic.values(features)
        advantages, returns = token_advantages(
            rollouts.success, values, agent, self.config.gamma, self.config.lam
        )
        # The guesses that an advantage rests on are made before its outcome is learnt.
        guessed = self._critic.learn(features, returns[agent])
        return whitened(advantages, agent), guessed

    def _update(
        self, rollouts: Any, advantages: Any, rows: Any, scale: float, sums: dict[str, float]
    ) -> None:
        """Take one step of the optimiser on some rows, adding to the sums."""
        config = self.config
        self._optimizer.zero_grad()
        for piece in chunks(rollouts.agent, rows, 24):
            got = policy_loss(
                self.model,
                select(rollouts, piece),
                advantages[piece],
                scale=scale,
                clip=(config.clip_low, config.clip_high),
                kl=config.kl,
                bonus=config.entropy,
                reference=self._reference,
            )
            got.loss.backward()
            sums["loss"] += float(got.loss.detach()) * scale
            for name in ("clipped", "drift", "kl", "tokens"):
                sums[name] += getattr(got, name)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.max_norm)
        sums["norm"] += float(norm)
        self._optimizer.step()
