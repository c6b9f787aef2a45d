import pytest

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")

from agentenvs.harness.lab.critic import Critic  # noqa: E402


def states(rows, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 8, generator=draw), torch.rand(rows, generator=draw) + 0.5


def test_an_unfitted_critic_guesses_even_odds():
    critic = Critic(8, 0)
    assert critic.values(critic.features(*states(5))).tolist() == [0.5] * 5


def test_it_learns_success_from_states_and_temperature():
    critic = Critic(8, 0, lr=1e-2)
    hidden, temperatures = states(512)
    features = critic.features(hidden, temperatures)
    won = ((hidden[:, 0] > 0) & (temperatures < 1.1)).float()
    losses = [critic.fit(features, won) for _ in range(200)]
    assert losses[0] == pytest.approx(0.693, abs=1e-3)
    assert losses[-1] < 0.25
    fresh, heat = states(512, seed=1)
    guess = critic.values(critic.features(fresh, heat))
    truth = (fresh[:, 0] > 0) & (heat < 1.1)
    assert float(guess[truth].mean()) > float(guess[~truth].mean()) + 0.5


def test_it_does_not_reach_back_into_the_policy():
    critic = Critic(8, 0)
    hidden, temperatures = states(4)
    hidden.requires_grad_()
    critic.fit(critic.features(hidden, temperatures), torch.ones(4))
    assert hidden.grad is None


def test_the_same_seed_is_the_same_critic():
    hidden, temperatures = states(16)

    def guess(seed):
        critic = Critic(8, seed)
        features = critic.features(hidden, temperatures)
        for _ in range(3):
            critic.fit(features, (hidden[:, 1] > 0).float())
        return critic.values(features)

    assert torch.equal(guess(3), guess(3))
    assert not torch.equal(guess(3), guess(4))
