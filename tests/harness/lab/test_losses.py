import itertools
import math
from types import SimpleNamespace

import pytest

from agentenvs.errors import BadArgument

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]
torch = pytest.importorskip("torch")

from agentenvs.harness.lab.losses import (  # noqa: E402
    agent_scores,
    clipped_objective,
    entropy,
    exact_kl,
    policy_loss,
)

WORDS, TURN = 5, 3


def tiny(seed=0):
    """Return a causal model whose logits depend on all tokens so far, in double precision."""
    draw = torch.Generator().manual_seed(seed)

    class Tiny(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Parameter(
                torch.randn(WORDS, 6, generator=draw, dtype=torch.float64)
            )
            self.out = torch.nn.Parameter(
                torch.randn(6, WORDS, generator=draw, dtype=torch.float64)
            )

        def forward(self, ids):
            return torch.tanh(self.words[ids].cumsum(1)) @ self.out

    return Tiny()


def every_dialogue(model, temperature):
    """Return all that the model can say in a turn, and how likely each is at a temperature.

    Word 0 ends a turn: a forced token follows, then one more word. So rows differ in length.
    """
    rows = []
    for said in itertools.product(range(WORDS), repeat=TURN):
        turn = list(said[: said.index(0) + 1]) if 0 in said else list(said)
        if turn not in rows:
            rows.append(turn)
    full = [[1, *turn, 4, last] for turn in rows for last in range(WORDS)]
    longest = max(map(len, full))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in full])
    agent = torch.zeros_like(ids, dtype=torch.bool)
    for at, row in enumerate(full):
        agent[at, 1 : len(row) - 2] = True
        agent[at, len(row) - 1] = True
    with torch.no_grad():
        log_probs = (model(ids) / temperature).log_softmax(-1)
        mine = log_probs[:, :-1].gather(2, ids[:, 1:, None])[..., 0] * agent[:, 1:]
        logps = torch.cat([torch.zeros(len(ids), 1), mine], 1)
    return ids, agent, logps


def rollouts(ids, agent, logps, temperatures):
    return SimpleNamespace(ids=ids, agent=agent, logps=logps, temperatures=temperatures)


def expected_gradient(sampled_at, scored_at):
    """Return the gradient of the loss, averaged exactly over what the model says."""
    model = tiny()
    ids, agent, logps = every_dialogue(model, sampled_at)
    chance = logps.sum(1).exp()
    assert float(chance.sum()) == pytest.approx(1, abs=1e-12)
    if scored_at != sampled_at:
        logps = every_dialogue(model, scored_at)[2]
    batch = rollouts(ids, agent, logps, torch.full((len(ids),), scored_at, dtype=torch.float64))
    policy_loss(model, batch, chance, scale=1.0).loss.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5, 3.0])
def test_the_score_at_the_sampling_temperature_averages_to_zero(temperature):
    assert float(expected_gradient(temperature, temperature).abs().max()) < 1e-12


@pytest.mark.parametrize("temperature", [0.667, 1.5])
def test_the_score_at_another_temperature_does_not(temperature):
    assert float(expected_gradient(temperature, 1.0).abs().sum()) > 0.3


def test_each_row_is_scored_at_its_own_temperature():
    model = tiny()
    ids, agent, _ = every_dialogue(model, 1.0)
    temperatures = torch.linspace(0.5, 2, len(ids), dtype=torch.float64)
    got = agent_scores(model, ids, agent, temperatures)
    rows = agent.nonzero()[:, 0]
    for row in (0, len(ids) // 2, len(ids) - 1):
        alone = agent_scores(model, ids[[row]], agent[[row]], temperatures[[row]])
        assert torch.allclose(got.log_probs[rows == row], alone.log_probs, atol=1e-12)
        assert torch.allclose(got.chosen[rows == row], alone.chosen, atol=1e-12)
    assert torch.allclose(got.log_probs.exp().sum(-1), torch.ones(len(rows), dtype=torch.float64))


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_a_temperature_must_be_above_zero(wrong):
    ids, agent, _ = every_dialogue(tiny(), 1.0)
    temperatures = torch.ones(len(ids))
    temperatures[3] = wrong
    with pytest.raises(BadArgument, match="temperatures above 0"):
        agent_scores(tiny(), ids, agent, temperatures)


def test_a_row_cannot_begin_with_the_agent():
    with pytest.raises(BadArgument, match="not the agent's"):
        agent_scores(tiny(), torch.ones(1, 2).long(), torch.tensor([[True, False]]), torch.ones(1))


def test_the_first_gradient_is_the_plain_policy_gradient_over_a_fixed_number():
    model = tiny()
    ids, agent, logps = every_dialogue(model, 1.5)
    temperatures = torch.full((len(ids),), 1.5, dtype=torch.float64)
    gains = torch.randn(len(ids), generator=torch.Generator().manual_seed(3)).double()
    got = policy_loss(model, rollouts(ids, agent, logps, temperatures), gains, scale=7.0)
    got.loss.backward()
    twin = tiny()
    log_probs = (twin(ids) / 1.5).log_softmax(-1)
    mine = log_probs[:, :-1].gather(2, ids[:, 1:, None])[..., 0] * agent[:, 1:]
    (-(mine.sum(1) * gains).sum() / 7).backward()
    for one, two in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(one.grad, two.grad, atol=1e-12)
    assert got.tokens == int(agent.sum())
    assert got.drift == pytest.approx(0, abs=1e-9)
    assert got.clipped == 0


def test_advantages_by_row_and_by_token_say_the_same():
    model = tiny()
    ids, agent, logps = every_dialogue(model, 1.0)
    batch = rollouts(ids, agent, logps, torch.ones(len(ids)))
    gains = torch.randn(len(ids), generator=torch.Generator().manual_seed(3)).double()
    one = policy_loss(model, batch, gains, scale=1.0).loss
    two = policy_loss(model, batch, gains[:, None].expand(ids.shape), scale=1.0).loss
    assert torch.equal(one, two)


@pytest.mark.parametrize(
    ("ratio", "advantage", "value", "held"),
    [
        (1.1, 1.0, 1.1, False),
        (1.5, 1.0, 1.28, True),
        (0.5, 1.0, 0.5, False),
        (0.5, -1.0, -0.8, True),
        (0.9, -1.0, -0.9, False),
        (1.5, -1.0, -1.5, False),
    ],
)
def test_the_clip_holds_what_has_gone_far_enough(ratio, advantage, value, held):
    new = torch.tensor([math.log(ratio)], dtype=torch.float64, requires_grad=True)
    gain = torch.tensor([advantage], dtype=torch.float64)
    objective, where = clipped_objective(new, torch.zeros(1).double(), gain, 0.2, 0.28)
    objective.sum().backward()
    assert float(objective.detach()) == pytest.approx(value)
    assert bool(where) is held
    assert (float(new.grad) == 0) is held


def test_entropy_and_kl_have_their_closed_forms():
    p, q = torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.25, 0.25, 0.5]])
    assert float(entropy(p.log())) == pytest.approx(1.5 * math.log(2))
    assert float(exact_kl(p.log(), q.log())) == pytest.approx(0.25 * math.log(2))
    assert float(exact_kl(p.log(), p.log())) == 0


def test_kl_is_over_the_vocabulary_at_the_rows_temperature_and_pulls_back():
    model, reference = tiny(), tiny(1)
    ids, agent, logps = every_dialogue(model, 2.0)
    temperatures = torch.full((len(ids),), 2.0, dtype=torch.float64)
    batch = rollouts(ids, agent, logps, temperatures)
    zero = torch.zeros(len(ids), dtype=torch.float64)
    got = policy_loss(model, batch, zero, scale=1.0, kl=0.5, reference=reference)
    got.loss.backward()
    p = (model(ids) / 2).log_softmax(-1)[:, :-1][agent[:, 1:]]
    q = (reference(ids) / 2).log_softmax(-1)[:, :-1][agent[:, 1:]]
    want = torch.nn.functional.kl_div(q, p, log_target=True, reduction="sum")
    assert got.kl == pytest.approx(float(want.detach()))
    assert float(got.loss.detach()) == pytest.approx(0.5 * float(want.detach()))
    assert all(p.grad is None for p in reference.parameters())
    with torch.no_grad():
        for p in model.parameters():
            p -= 1e-3 * p.grad
    assert policy_loss(model, batch, zero, scale=1.0, kl=0.5, reference=reference).kl < got.kl


def test_kl_needs_a_reference():
    ids, agent, logps = every_dialogue(tiny(), 1.0)
    batch = rollouts(ids, agent, logps, torch.ones(len(ids)))
    with pytest.raises(BadArgument, match="`reference`"):
        policy_loss(tiny(), batch, torch.zeros(len(ids)), scale=1.0, kl=0.1)


def test_the_bonus_raises_the_entropy_at_the_rows_temperature():
    model = tiny()
    ids, agent, logps = every_dialogue(model, 1.5)
    temperatures = torch.full((len(ids),), 1.5, dtype=torch.float64)
    batch = rollouts(ids, agent, logps, temperatures)
    zero = torch.zeros(len(ids), dtype=torch.float64)
    got = policy_loss(model, batch, zero, scale=1.0, bonus=0.1)
    spread = torch.distributions.Categorical(logits=model(ids) / 1.5).entropy()
    want = float((spread[:, :-1] * agent[:, 1:]).sum().detach())
    assert got.entropy == pytest.approx(want)
    assert float(got.loss.detach()) == pytest.approx(-0.1 * want)
    got.loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 1e-3 * p.grad
    assert policy_loss(model, batch, zero, scale=1.0).entropy > got.entropy


def test_padding_does_not_count():
    model = tiny()
    ids, agent, logps = every_dialogue(model, 1.0)
    gains = torch.randn(len(ids), generator=torch.Generator().manual_seed(4)).double()
    wide = [torch.nn.functional.pad(x, (0, 5)) for x in (ids, agent, logps)]
    ones = torch.ones(len(ids))
    one = policy_loss(model, rollouts(ids, agent, logps, ones), gains, scale=1.0)
    two = policy_loss(model, rollouts(*wide, ones), gains, scale=1.0)
    assert torch.equal(one.loss, two.loss)
