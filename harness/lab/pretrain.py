"""The base model: a small transformer that read the demonstrations and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.model import TinyLM
from agentenvs.harness.lab.rollouts import by_length
from agentenvs.harness.seeds import derive
from agentenvs.toollab.demos import Quality, demonstrations
from agentenvs.toollab.design import Design
from agentenvs.toollab.vocabulary import PAD

__all__ = ["learn_texts", "next_token_loss", "pretrain"]

_WARM = 0.05
_DECAY = 0.01
_CLIP = 1.0


def pretrain(
    design: Design,
    seed: int,
    steps: int = 1000,
    batch: int = 128,
    lr: float = 5e-3,
    quality: Quality | None = None,
    *,
    model: TinyLM | None = None,
    on_step: Any = None,
) -> TinyLM:
    """Return a model that was trained from scratch to continue demonstrations.

    AdamW on the next-token loss of whole dialogues, words of users and tools included; the rate
    rises for a twentieth of the steps and falls along a cosine to a hundredth.

    Args:
        design: the world that the demonstrations are from.
        seed: of the weights and of the demonstrations.
        steps: updates.
        batch: dialogues an update; none is seen twice.
        lr: the highest rate.
        quality: how good the demonstrators are.
        model: trained in place of a fresh one, in place.
        on_step: called with the step, from 1, and its loss in nats a token.

    Raises:
        BadArgument: an argument out of range.
    """
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise BadArgument(f"Expected `batch` to be an int of at least 1, got {batch!r}.")
    model = model or TinyLM.fresh(derive(seed, "weights"))
    rng = np.random.default_rng(derive(seed, "demonstrations"))
    learn_texts(
        model, lambda: demonstrations(design, batch, rng, quality).ids, steps, lr, on_step=on_step
    )
    return model


def learn_texts(
    model: TinyLM,
    texts: Callable[[], NDArray[np.integer[Any]]],
    steps: int,
    lr: float,
    *,
    on_step: Any = None,
) -> None:
    """Train a model, in place, to continue texts.

    Args:
        model: the model.
        texts: called before each update for its texts, (B, L) token ids, padded with 0.
        steps: updates.
        lr: the highest rate.
        on_step: called with the step, from 1, and its loss in nats a token.

    Raises:
        BadArgument: an argument out of range.
    """
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise BadArgument(f"Expected `steps` to be an int of at least 1, got {steps!r}.")
    if not 0.0 < lr < 1.0:
        raise BadArgument(f"Expected `lr` between 0 and 1, got {lr!r}.")
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=lr, betas=(0.9, 0.98), weight_decay=_DECAY, fused=True
    )
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = lr * _rate(step, steps)
        loss = next_token_loss(model, torch.from_numpy(texts().astype(np.int64)))
        torch.nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if on_step is not None:
            on_step(step, loss)


def _rate(step: int, steps: int) -> float:
    """Return the share of the highest rate at a step, 1 to `steps`."""
    warm = max(1, round(_WARM * steps))
    if step <= warm:
        return step / warm
    through = (step - warm) / max(1, steps - warm)
    return 0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * through))


def next_token_loss(model: TinyLM, ids: Any) -> float:
    """Add the gradient of the mean loss of all tokens but the first, and return that loss.

    Args:
        model: the model.
        ids: (B, L) dialogues, padded with 0.
    """
    sizes = (ids != PAD).sum(1)
    tokens = int((sizes - 1).sum())
    whole = 0.0
    for rows, width in by_length(sizes, max(1, len(ids) // 2)):
        wanted = ids[rows, 1:width]
        logits = model(ids[rows, : width - 1])
        loss = functional.cross_entropy(
            logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD, reduction="sum"
        )
        (loss / tokens).backward()
        whole += float(loss.detach())
    return whole / tokens
