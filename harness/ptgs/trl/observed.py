"""What a trainer does in a step, seen from outside: what is drawn, rewarded and scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentenvs.errors import AgentEnvsError

__all__ = ["Batch", "Observer", "Part", "unpadded"]


@dataclass(frozen=True)
class Batch:
    """One generation.

    Attributes:
        tasks: of each row, (B,).
        temperatures: at which `generate` of transformers was asked to draw them, (B,).
        ids: prompt and completion of each row, without padding.
        rewards: (B, F).
    """

    tasks: Sequence[Any]
    temperatures: Sequence[float]
    ids: Sequence[tuple[int, ...]]
    rewards: Any


@dataclass(frozen=True)
class Part:
    """One batch of the loss.

    Attributes:
        inputs: as it was given.
        log_probs: what the loss saw of the current policy, (B, L).
        update: how many updates there had been since the observation began.
    """

    inputs: Mapping[str, Any]
    log_probs: Any
    update: int


class Observer:
    """Puts itself before four methods of a trainer, and before its model's `generate`.

    Args:
        trainer: of TRL.
        begin: its step as the observation begins.

    Attributes:
        batches: what was generated in training, in order.
        parts: what reached the loss, in order.
        temperature: at which the trainer itself scores all rows.
    """

    def __init__(self, trainer: Any, begin: int) -> None:
        self._trainer, self._begin = trainer, begin
        self.temperature = float(trainer.temperature)
        self.batches: list[Batch] = []
        self.parts: list[Part] = []
        self._drawn: list[tuple[list[tuple[int, ...]], list[float]]] = []
        self._rewards: Any = None
        self._scores: Any = None
        self._watched: list[tuple[Any, str]] = []

    def __enter__(self) -> Observer:
        trainer = self._trainer
        self._watch(trainer, "_generate_and_score_completions", self._generation)
        self._watch(trainer, "_calculate_rewards", self._rewarding)
        self._watch(trainer, "_get_per_token_logps_and_entropies", self._scoring)
        self._watch(trainer, "_compute_loss", self._loss)
        self._watch(trainer.accelerator.unwrap_model(trainer.model), "generate", self._generate)
        return self

    def __exit__(self, *_: object) -> None:
        for holder, name in reversed(self._watched):
            delattr(holder, name)

    def _watch(self, holder: Any, name: str, watcher: Any) -> None:
        method = getattr(holder, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            return watcher(method, *args, **kwargs)

        setattr(holder, name, watched)
        self._watched.append((holder, name))

    def _generate(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        out = method(*args, **kwargs)
        ids, mask = kwargs["input_ids"], kwargs["attention_mask"]
        heat = [float(kwargs["generation_config"].temperature)] * len(ids)
        for processor in kwargs.get("logits_processor") or ():
            given = getattr(processor, "temperatures", None)
            if given is not None:
                heat = [a * b for a, b in zip(heat, given.tolist(), strict=True)]
        prompts = [tuple(row[keep.bool()].tolist()) for row, keep in zip(ids, mask, strict=True)]
        self._drawn.append((prompts, heat))
        return out

    def _generation(self, method: Any, inputs: Sequence[Mapping[str, Any]]) -> Any:
        self._drawn.clear()
        out = method(inputs)
        if self._trainer.model.training:
            ids = unpadded(out)
            tasks = [row.get("task_id") for row in inputs]
            self.batches.append(Batch(tasks, self._heat(ids), ids, self._rewards))
        return out

    def _heat(self, ids: Sequence[tuple[int, ...]]) -> list[float]:
        """Return each row's temperature: that of its first turn, and of all later ones.

        Rows that go on come in their order, so that those with the same words are told apart.

        Raises:
            AgentEnvsError: a later turn was drawn at another.
        """
        first = list(self._drawn[0][1])
        for prompts, heat in self._drawn[1:]:
            rest = 0
            for prompt, temperature in zip(prompts, heat, strict=True):
                of = [at for at, row in enumerate(ids) if row[: len(prompt)] == prompt]
                fits = [at for at in of if at >= rest and first[at] == temperature]
                if of and not fits:
                    raise AgentEnvsError(
                        f"A later turn was drawn at T = {temperature:g}, the first at "
                        f"{first[of[0]]:g}: a rollout has one temperature, and rows keep their "
                        "order."
                    )
                rest = fits[0] + 1 if fits else rest
        return first

    def _rewarding(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        self._rewards = method(*args, **kwargs)
        return self._rewards

    def _scoring(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        out = method(*args, **kwargs)
        self._scores = out[0]
        return out

    def _loss(self, method: Any, model: Any, inputs: Mapping[str, Any]) -> Any:
        loss = method(model, inputs)
        update = int(self._trainer.state.global_step) - self._begin
        if self._trainer.model.training:
            self.parts.append(Part(inputs, self._scores.detach(), update))
        return loss


def unpadded(inputs: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """Return prompt and completion of each row, without padding."""
    found = []
    for at in range(len(inputs["prompt_ids"])):
        parts = (
            inputs[f"{name}_ids"][at][inputs[f"{name}_mask"][at].bool()].tolist()
            for name in ("prompt", "completion")
        )
        found.append(tuple(int(token) for part in parts for token in part))
    return found
