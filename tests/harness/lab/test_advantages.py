import pytest

from agentenvs.errors import BadArgument

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]
torch = pytest.importorskip("torch")

from agentenvs.harness.lab.advantages import (  # noqa: E402
    group_advantages,
    informative,
    token_advantages,
    whitened,
)


def test_a_group_is_centred_and_scaled_by_its_own_spread():
    rewards = torch.tensor([1, 0, 0, 0, 1, 1, 1, 0], dtype=torch.bool)
    got = group_advantages(rewards, 4)
    assert torch.allclose(got[:4], torch.tensor([1.5, -0.5, -0.5, -0.5]), atol=1e-5)
    assert torch.allclose(got[4:], -got[:4].flip(0), atol=1e-5)
    assert torch.allclose(got.reshape(2, 4).sum(1), torch.zeros(2), atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3])
def test_groups_all_alike_give_exact_zeros(value):
    rewards = torch.full((2, 7), value).flatten()
    assert group_advantages(rewards, 7).tolist() == [0.0] * 14
    assert informative(rewards, 7).tolist() == [False, False]


def test_a_group_of_one_has_nothing_to_compare():
    assert group_advantages(torch.tensor([1.0, 0.0]), 1).tolist() == [0.0, 0.0]


def test_informative_groups_are_the_mixed_ones():
    rewards = torch.tensor([1, 1, 0, 1, 0, 0], dtype=torch.bool)
    assert informative(rewards, 2).tolist() == [False, True, False]


@pytest.mark.parametrize("size", [0, 3])
def test_rewards_must_fill_their_groups(size):
    with pytest.raises(BadArgument, match=r"groups of `size`.*\(4,\)"):
        group_advantages(torch.zeros(4), size)


def agent_rows():
    return torch.tensor([[0, 1, 1, 0, 0, 1, 0], [0, 0, 1, 0, 1, 0, 0], [0] * 7]).bool()


def test_without_discount_the_advantage_is_reward_minus_value_and_the_return_the_reward():
    agent = agent_rows()
    values = torch.rand(3, 7, generator=torch.Generator().manual_seed(0))
    rewards = torch.tensor([1.0, 0.0, 1.0])
    advantages, returns = token_advantages(rewards, values, agent)
    want = torch.where(agent, rewards[:, None] - values, 0.0)
    assert torch.allclose(advantages, want, atol=1e-6)
    assert torch.allclose(returns, torch.where(agent, rewards[:, None], 0.0), atol=1e-6)


@pytest.mark.parametrize(("gamma", "lam"), [(0.9, 0.7), (0.5, 1.0), (1.0, 0.0), (0.0, 0.5)])
def test_discounted_estimates_agree_with_the_definition(gamma, lam):
    agent = agent_rows()
    values = torch.rand(3, 7, generator=torch.Generator().manual_seed(1))
    rewards = torch.tensor([1.0, 0.0, 1.0])
    advantages, returns = token_advantages(rewards, values, agent, gamma, lam)
    for row in range(3):
        at = agent[row].nonzero()[:, 0].tolist()
        for i, start in enumerate(at):
            want = 0.0
            for j, here in enumerate(at[i:], i):
                last = j == len(at) - 1
                ahead = float(rewards[row]) if last else gamma * float(values[row, at[j + 1]])
                want += (gamma * lam) ** (j - i) * (ahead - float(values[row, here]))
            assert float(advantages[row, start]) == pytest.approx(want, abs=1e-6)
            here = float(values[row, start])
            assert float(returns[row, start]) == pytest.approx(want + here, abs=1e-6)
    assert not advantages[~agent].any()
    assert not returns[~agent].any()


@pytest.mark.parametrize("name", ["gamma", "lam"])
def test_discounts_out_of_range_are_named(name):
    with pytest.raises(BadArgument, match=rf"`{name}` in \[0, 1\], got 1.5"):
        token_advantages(torch.zeros(3), torch.zeros(3, 7), agent_rows(), **{name: 1.5})


def test_whitening_counts_the_agents_tokens_alone():
    agent = agent_rows()
    advantages = torch.rand(3, 7, generator=torch.Generator().manual_seed(2)) + 5
    got = whitened(advantages, agent)
    assert float(got[agent].mean()) == pytest.approx(0, abs=1e-6)
    assert float(got[agent].std()) == pytest.approx(1, abs=1e-5)
    assert not got[~agent].any()


def test_nothing_to_whiten_gives_zeros():
    one = torch.zeros(1, 3, dtype=torch.bool)
    one[0, 1] = True
    assert not whitened(torch.ones(1, 3), one).any()
    assert not whitened(torch.ones(3, 7), agent_rows()).any()
