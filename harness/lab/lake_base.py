"""The base model for FrozenLakeText: a small transformer that read demonstrations, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agentenvs.errors import BadArgument
from agentenvs.frozenlake.vocabulary import VOCABULARY
from agentenvs.harness.lab.lake import (
    Demonstrators,
    Lakes,
    demonstrations,
    other_maps,
    train_maps,
)
from agentenvs.harness.lab.model import TinyLM
from agentenvs.harness.lab.pretrain import learn_texts
from agentenvs.harness.seeds import derive

__all__ = ["Recipe", "pretrain_lake"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the base model is made; as it stands, the one that comes along as `lab:lake`.

    Attributes:
        seed: of the weights and of the demonstrations.
        maps: how many maps are demonstrated besides those of the task set `train`, about 2,000
            at most. None of them is of a task set.
        first_map: the first seed of these.
        steps: updates.
        batch: dialogues an update; none is seen twice.
        lr: the highest rate.
        who: the demonstrators.

    Raises:
        BadArgument: no batch, or maps below 0.
    """

    seed: int = 0
    maps: int = 1800
    first_map: int = 100_000
    steps: int = 1000
    batch: int = 128
    lr: float = 5e-3
    who: Demonstrators = field(default_factory=Demonstrators)

    def __post_init__(self) -> None:
        for name, least in (("maps", 0), ("first_map", 0), ("batch", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise BadArgument(
                    f"Expected `{name}` to be an int of at least {least}, got {value!r}."
                )


def pretrain_lake(recipe: Recipe | None = None, *, on_step: Any = None) -> TinyLM:
    """Return a model that was trained from scratch to continue demonstrations on frozen lakes.

    Args:
        recipe: the settings.
        on_step: called with the step, from 1, and its loss in nats a token.

    Raises:
        BadArgument: an argument out of range, or more maps than seeds near the first one hold.
    """
    recipe = recipe or Recipe()
    lakes = Lakes.of([*train_maps(), *other_maps(recipe.maps, recipe.first_map)])
    model = TinyLM.fresh(derive(recipe.seed, "weights"), vocabulary=len(VOCABULARY))
    rng = np.random.default_rng(derive(recipe.seed, "demonstrations"))
    learn_texts(
        model,
        lambda: demonstrations(lakes, recipe.batch, rng, recipe.who).ids,
        recipe.steps,
        recipe.lr,
        on_step=on_step,
    )
    return model
