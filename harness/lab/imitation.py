"""Learning by imitation: from demonstrations, from own successes, from a teacher.

What RL had to learn from, outcomes of its own rollouts on the pool, `rejection_sampling` has too,
and `sft` on `own_successes`, and `distil` from a teacher that learnt so. Demonstrations of
experts, and teachers trained on them, are better data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.examples import Examples, as_examples, batches, own_successes
from agentenvs.harness.lab.gather import Pool, chunks, select
from agentenvs.harness.lab.losses import agent_scores, exact_kl
from agentenvs.harness.lab.model import TinyLM
from agentenvs.harness.lab.rollouts import Rollouts, sample
from agentenvs.harness.lab.world import TensorWorld
from agentenvs.harness.seeds import derive
from agentenvs.toollab.demos import Demos
from agentenvs.toollab.design import Ints

__all__ = ["ImitationConfig", "distil", "rejection_sampling", "sft"]

History = list[dict[str, float]]
OnStep = Callable[[int, TinyLM, History], None]


@dataclass(frozen=True, slots=True)
class ImitationConfig:
    """How a policy learns by imitation.

    Attributes:
        steps: updates in all; in distillation, rounds of `tasks` times `group` rollouts.
        batch: dialogues an update learns from.
        lr: learning rate of AdamW.
        rollouts: own rollouts in all, spread evenly over the pool's tasks.
        rounds: how often rejection sampling plays and learns in turn.
        keep: most different successes of a task that a round keeps.
        temperature: at which own rollouts are played, and in distillation compared.
        tasks: tasks of the pool a step of distillation plays.
        group: rollouts of each.
        minibatches: updates a step of distillation.
        max_norm: gradients are cut to this length.

    Raises:
        BadArgument: a value of the wrong type or out of range.
    """

    steps: int = 200
    batch: int = 128
    lr: float = 1e-3
    rollouts: int = 25_600
    rounds: int = 4
    keep: int = 8
    temperature: float = 1.0
    tasks: int = 8
    group: int = 16
    minibatches: int = 2
    max_norm: float = 1.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name in ("lr", "temperature", "max_norm"):
                real = isinstance(value, int | float) and not isinstance(value, bool)
                if not real or not 0 < value < math.inf:
                    raise BadArgument(f"Expected `{name}` to be a number above 0, got {value!r}.")
            elif isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadArgument(f"Expected `{name}` to be an int of 1 up, got {value!r}.")


def sft(
    model: TinyLM,
    examples: Examples | Demos,
    config: ImitationConfig,
    seed: int,
    *,
    on_step: OnStep | None = None,
) -> tuple[TinyLM, History]:
    """Fine-tune a copy of a model on dialogues, on the agent's tokens alone.

    Args:
        model: where to start; it stays as it is.
        examples: what to imitate; every update draws `batch` of them, going through all before
            any comes again.
        config: `steps`, `batch`, `lr` and `max_norm` count.
        seed: of the order.
        on_step: called after each step with its number (from 1), the model as it is then and
            the history so far.

    Returns:
        The trained model, and for each step: step, loss (nats a token), norm.

    Raises:
        BadArgument: no examples.
    """
    student = _Student(model, config)
    history: History = []
    shown = batches(as_examples(examples), config.batch, derive(seed, "order"))
    for step in range(1, config.steps + 1):
        history.append({"step": step, **student.imitate(next(shown))})
        if on_step is not None:
            on_step(step, student.model, history)
    return student.model, history


def rejection_sampling(
    model: TinyLM,
    world: TensorWorld,
    tasks: Ints,
    config: ImitationConfig,
    seed: int,
    *,
    on_step: OnStep | None = None,
) -> tuple[TinyLM, History]:
    """Play the pool, keep what succeeded, fine-tune on it, and so on for some rounds.

    Args:
        model: where to start; it stays as it is.
        world: the tensor world.
        tasks: indices of the pool's tasks.
        config: `rollouts` are played in all and `steps` updates made, in `rounds` even parts
            (rollouts are rounded down to whole ones of each task).
        seed: of the rollouts and the order.
        on_step: as in `sft`; steps count through all rounds.

    Returns:
        The trained model, and for each step: step, round, rollouts (those played since the step
        before), success over these (NaN where none), kept, loss, norm.

    Raises:
        BadArgument: fewer steps than rounds, or a pool for which `rollouts` do not suffice. A
            round without any success trains nothing; its `kept` is 0.
    """
    if config.rounds > config.steps:
        raise BadArgument(
            f"Expected a step or more for each of {config.rounds} rounds, got {config.steps}."
        )
    student = _Student(model, config)
    history: History = []
    each = _each(config.rollouts, len(tasks) * config.rounds)
    marks = [config.steps * part // config.rounds for part in range(config.rounds + 1)]
    for part, (first, last) in enumerate(itertools.pairwise(marks)):
        stream = derive(seed, "round", part)
        kept, success = own_successes(
            student.model, world, tasks, each, stream, config.temperature, config.keep
        )
        count, played = len(kept.ids), each * len(tasks)
        shown = batches(kept, config.batch, derive(stream, "order")) if count else None
        for step in range(first + 1, last + 1):
            learnt = student.imitate(next(shown)) if shown else {"loss": math.nan, "norm": 0.0}
            row = {"step": step, "round": part + 1, "rollouts": played, "success": success}
            history.append({**row, "kept": count, **learnt})
            played, success = 0, math.nan
            if on_step is not None:
                on_step(step, student.model, history)
    return student.model, history


def distil(
    model: TinyLM,
    teacher: TinyLM,
    world: TensorWorld,
    tasks: Ints,
    config: ImitationConfig,
    seed: int,
    *,
    on_step: OnStep | None = None,
) -> tuple[TinyLM, History]:
    """Distil a teacher into a copy of a model on the student's own rollouts.

    The student plays the pool; at each of its tokens KL(student, teacher) over the whole
    vocabulary, both at `temperature`, is the loss (reverse KL, on policy: arXiv 2306.13649).
    Outcomes play no part.

    Args:
        model: the student at the start; it stays as it is.
        teacher: the model to come close to.
        world: the tensor world.
        tasks: indices of the pool's tasks.
        config: `steps` rounds of `tasks` times `group` rollouts in `minibatches` updates.
        seed: of the pool's order, the rollouts and the minibatches.
        on_step: as in `sft`.

    Returns:
        The trained model, and for each step: step, rollouts, success, loss (nats a token), norm
        (of the last update).

    Raises:
        BadArgument: a pool smaller than `config.tasks`, or one with a task twice.
    """
    student = _Student(model, config)
    pool = Pool(tasks, derive(seed, "pool"))
    draw = torch.Generator().manual_seed(derive(seed, "rollouts"))
    shuffle = torch.Generator().manual_seed(derive(seed, "minibatches"))
    history: History = []
    for step in range(1, config.steps + 1):
        rows = torch.from_numpy(pool.draw(config.tasks)).repeat_interleave(config.group)
        heat = torch.full((len(rows),), float(config.temperature))
        with torch.no_grad():
            played = sample(student.model, world, rows, heat, draw)
        order = torch.randperm(len(rows), generator=shuffle)
        losses, norm = [], 0.0
        for part in order.tensor_split(min(config.minibatches, len(rows))):
            got = student.approach(teacher, played, part)
            losses.append(got["loss"])
            norm = got["norm"]
        success, loss = float(played.success.float().mean()), math.fsum(losses) / len(losses)
        row = {"step": step, "rollouts": len(rows), "success": success, "loss": loss, "norm": norm}
        history.append(row)
        if on_step is not None:
            on_step(step, student.model, history)
    return student.model, history


class _Student:
    """A model that learns token by token, with its optimiser."""

    def __init__(self, model: TinyLM, config: ImitationConfig) -> None:
        self.model = model.copy()
        self.config = config
        self._optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=config.lr, weight_decay=0.0, fused=True
        )

    def imitate(self, examples: Examples) -> dict[str, float]:
        """Raise the probability of the agent's tokens."""
        ids, agent = examples

        def loss(rows: Any) -> Any:
            ones = torch.ones(len(rows))
            return -agent_scores(self.model, ids[rows], agent[rows], ones).chosen.sum()

        return self._step(agent, torch.arange(len(ids)), loss)

    def approach(self, teacher: TinyLM, played: Rollouts, rows: Any) -> dict[str, float]:
        """Lower the KL to the teacher at the agent's tokens of some rows."""

        def loss(piece: Any) -> Any:
            part = select(played, piece)
            mine = agent_scores(self.model, part.ids, part.agent, part.temperatures)
            with torch.no_grad():
                theirs = agent_scores(teacher, part.ids, part.agent, part.temperatures)
            return exact_kl(mine.log_probs, theirs.log_probs).sum()

        return self._step(played.agent, rows, loss)

    def _step(self, agent: Any, rows: Any, loss: Callable[[Any], Any]) -> dict[str, float]:
        self._optimizer.zero_grad()
        tokens, total = max(int(agent[rows].sum()), 1), 0.0
        for piece in chunks(agent, rows, 48):
            got = loss(piece) / tokens
            got.backward()
            total += float(got.detach())
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_norm)
        self._optimizer.step()
        return {"loss": total, "norm": float(norm)}


def _each(rollouts: int, parts: int) -> int:
    each = rollouts // max(parts, 1)
    if not each:
        raise BadArgument(
            f"Expected `rollouts` for at least one of each task and round, {parts}, got {rollouts}."
        )
    return each
