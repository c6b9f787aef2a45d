from __future__ import annotations

import pytest

from agentenvs.errors import BadArgument

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]


def make(**settings):
    from agentenvs.harness.lab.lake_base import Recipe, pretrain_lake

    losses = []
    model = pretrain_lake(
        Recipe(**{"maps": 20, "steps": 6, "batch": 16, **settings}),
        on_step=lambda step, loss: losses.append((step, loss)),
    )
    return model, losses


def test_it_learns(torch):
    _, losses = make(steps=25)
    assert [step for step, _ in losses] == list(range(1, 26))
    assert losses[-1][1] < 0.5 * losses[0][1]


def test_the_same_recipe_gives_the_same_weights(torch):
    one, two, other = (make(seed=seed)[0].state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["head"], other["head"])


@pytest.mark.parametrize("field", ["maps", "batch", "first_map", "steps", "lr"])
def test_odd_numbers_are_refused(field):
    with pytest.raises(BadArgument, match=f"`{field}`"):
        make(**{field: -1})


def test_what_comes_along_fits_the_recipe(torch):
    from agentenvs.frozenlake import VOCABULARY
    from agentenvs.harness.lab.model import TinyLM, load
    from agentenvs.harness.lab.tokenizer import words_of
    from agentenvs.harness.policies.lab import folder

    model = load(folder("lake"))
    assert model.shape == TinyLM.fresh(0, vocabulary=len(VOCABULARY)).shape
    assert words_of(folder("lake")) == VOCABULARY
    assert sum(path.stat().st_size for path in folder("lake").iterdir()) < 1_000_000


@pytest.mark.slow
def test_what_comes_along_has_the_loss_of_a_trained_model(torch):
    import numpy as np

    from agentenvs.harness.lab.lake import Lakes, demonstrations, train_maps
    from agentenvs.harness.lab.model import load
    from agentenvs.harness.lab.pretrain import next_token_loss
    from agentenvs.harness.policies.lab import folder

    shown = demonstrations(Lakes.of(train_maps()), 512, np.random.default_rng(7))
    ids = torch.from_numpy(shown.ids.astype(np.int64))
    assert next_token_loss(load(folder("lake")), ids) < 0.35
