import math

import pytest

from agentenvs.errors import BadArgument

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]
torch = pytest.importorskip("torch")

from agentenvs.harness.lab.critic import Critic  # noqa: E402


def states(rows, seed=0):
    """Return states (rows, 4, 8), the agent's tokens and temperatures."""
    draw = torch.Generator().manual_seed(seed)
    agent = torch.tensor([[False, True, False, True]]).expand(rows, 4)
    return torch.randn(rows, 4, 8, generator=draw), agent, torch.rand(rows, generator=draw) + 0.5


def test_it_reads_the_state_before_a_token_the_one_before_the_first_and_the_temperature():
    hidden, agent, heat = states(3)
    got = Critic(8, 0).features(hidden, agent, heat)
    assert got.shape == (6, 17)
    assert torch.equal(got[3, :8], hidden[1, 2])
    assert torch.equal(got[2, :8], hidden[1, 0])
    assert torch.equal(got[2:4, 8:16], hidden[1, 0].expand(2, 8))
    assert got[2:4, 16].tolist() == pytest.approx([math.log(heat[1])] * 2)


def test_an_untaught_critic_guesses_even_odds():
    critic = Critic(8, 0)
    assert critic.values(critic.features(*states(5))).tolist() == [0.5] * 10


def test_it_learns_success_from_states_and_temperature():
    critic = Critic(8, 0, lr=1e-2, batch=256)

    def show(seed):
        hidden, agent, heat = states(64, seed)
        won = (hidden[:, 0, 0] > 0) & (heat < 1.1)
        return critic.features(hidden, agent, heat), won.repeat_interleave(2)

    losses = [critic.learn(features, won.float()) for features, won in map(show, range(30))]
    assert 0.5 < losses[0] < 0.7
    assert losses[-1] < 0.3
    features, truth = show(99)
    guess = critic.values(features)
    assert float(guess[truth].mean()) > float(guess[~truth].mean()) + 0.5


def test_it_does_not_forget_what_the_last_steps_do_not_show():
    def after(memory):
        critic = Critic(8, 0, lr=1e-2, memory=memory, batch=64)
        one, two = torch.zeros(32, 17), torch.zeros(32, 17)
        one[:, 0], two[:, 1] = 3, 3
        for _ in range(10):
            critic.learn(one, torch.ones(32))
            critic.learn(two, torch.zeros(32))
        for _ in range(3):
            critic.learn(two, torch.zeros(32))
        return float(critic.values(one)[0])

    assert after(memory=8) > after(memory=1)
    assert after(memory=8) > 0.9


def test_it_does_not_reach_back_into_the_policy():
    critic = Critic(8, 0)
    hidden, agent, heat = states(4)
    hidden.requires_grad_()
    critic.learn(critic.features(hidden, agent, heat), torch.ones(8))
    assert hidden.grad is None


def test_nothing_to_learn_from_is_no_loss():
    critic = Critic(8, 0)
    assert math.isnan(critic.learn(torch.zeros(0, 17), torch.zeros(0)))
    critic.learn(torch.zeros(2, 17), torch.ones(2))
    assert not math.isnan(critic.learn(torch.zeros(0, 17), torch.zeros(0)))


def test_the_same_seed_is_the_same_critic():
    hidden, agent, heat = states(16)

    def guess(seed):
        critic = Critic(8, seed)
        features = critic.features(hidden, agent, heat)
        for _ in range(3):
            critic.learn(features, (features[:, 1] > 0).float())
        return critic.values(features)

    assert torch.equal(guess(3), guess(3))
    assert not torch.equal(guess(3), guess(4))


@pytest.mark.parametrize("name", ["memory", "updates", "batch", "inner"])
def test_sizes_are_checked(name):
    with pytest.raises(BadArgument, match=f"`{name}` to be an int of 1 up, got 0"):
        Critic(8, 0, **{name: 0})
