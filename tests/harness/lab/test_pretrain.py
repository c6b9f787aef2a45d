from __future__ import annotations

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.toollab import EXPERT, demonstrations
from agentenvs.toollab import vocabulary as v

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]

SMALL = {"layers": 1, "width": 16, "heads": 2, "inner": 16}


def train(design, seed=0, **options):
    from agentenvs.harness.lab.model import TinyLM
    from agentenvs.harness.lab.pretrain import pretrain

    options = {"steps": 3, "batch": 8, "model": TinyLM.fresh(seed, **SMALL), **options}
    return pretrain(design, seed, **options)


def test_a_model_learns_what_demonstrators_do(torch, taught, world, design):
    from agentenvs.harness.lab.evaluate import evaluate

    canonical = design.mini[~design.is_exception(design.mini)]
    assert evaluate(taught, world, canonical, 16, temperature=0.7).mean() > 0.2


def test_the_loss_is_the_mean_over_all_tokens_but_the_first(torch, model, design):
    from agentenvs.harness.lab.pretrain import next_token_loss

    demos = demonstrations(design, 50, np.random.default_rng(0))
    ids = torch.from_numpy(demos.ids.astype(np.int64))
    assert len(set((ids > 0).sum(1).tolist())) > 1
    total = tokens = 0
    with torch.no_grad():
        for row in ids:
            words = row[row != v.PAD][None]
            scores = model(words[:, :-1]).log_softmax(-1)
            total -= float(scores.gather(2, words[:, 1:, None]).sum())
            tokens += words.shape[1] - 1
    student = model.copy()
    assert next_token_loss(student, ids) == pytest.approx(total / tokens, rel=1e-5)
    one, other = student.embed.grad.clone(), model.copy()
    wide = torch.nn.functional.pad(ids, (0, 9))
    next_token_loss(other, wide)
    torch.testing.assert_close(one, other.embed.grad, atol=1e-6, rtol=1e-4)


def test_the_same_seed_gives_the_same_model(torch, design):
    one, two = train(design), train(design)
    assert all(torch.equal(w, two.state_dict()[k]) for k, w in one.state_dict().items())
    assert not torch.equal(one.head, train(design, seed=1).head)


def test_the_global_generators_are_left_alone(torch, design):
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    train(design)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()


def test_demonstrators_may_be_better(torch, design):
    assert not torch.equal(train(design).head, train(design, quality=EXPERT).head)


def test_each_step_is_told(design):
    told = []
    train(design, steps=4, on_step=lambda step, loss: told.append((step, loss)))
    assert [step for step, _ in told] == [1, 2, 3, 4]
    assert all(0 < loss < 10 for _, loss in told)


@pytest.mark.parametrize(
    ("name", "value"), [("steps", 0), ("steps", True), ("batch", 0), ("batch", 1.5), ("lr", 0.0)]
)
def test_odd_numbers_are_refused(design, name, value):
    with pytest.raises(BadArgument, match=f"`{name}`"):
        train(design, **{name: value})
