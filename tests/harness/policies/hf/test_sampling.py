import math

import pytest

from agentenvs.harness.policies.hf_sampling import draw

pytestmark = pytest.mark.hf

N = 4000
GRID = [(i + 0.5) / N for i in range(N)]


def frequencies(torch, logits, temperature, top_p):
    rows = torch.tensor([logits] * N)
    tokens, logprobs = draw(rows, [temperature] * N, [top_p] * N, GRID)
    return [tokens.count(t) / N for t in range(len(logits))], dict(
        zip(tokens, logprobs, strict=True)
    )


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_frequencies_and_logprobs_are_those_of_the_tempered_softmax(torch, temperature):
    logits = [0.0, 1.0, -2.0, 3.0, -math.inf]
    expected = torch.softmax(torch.tensor(logits) / temperature, -1).tolist()
    found, logprobs = frequencies(torch, logits, temperature, 1.0)
    assert found == pytest.approx(expected, abs=2 / N)
    assert found[4] == 0
    for token, logprob in logprobs.items():
        assert logprob == pytest.approx(math.log(expected[token]), abs=1e-5)


@pytest.mark.parametrize(
    ("top_p", "kept"), [(0.1, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.76, 3), (1.0, 4)]
)
def test_the_nucleus_is_the_smallest_set_with_enough_mass(torch, top_p, kept):
    probs = [0.125, 0.5, 0.125, 0.25]
    order = [1, 3, 0, 2]
    found, logprobs = frequencies(torch, [math.log(p) for p in probs], 1.0, top_p)
    mass = sum(probs[t] for t in order[:kept])
    expected = [probs[t] / mass if t in order[:kept] else 0.0 for t in range(4)]
    assert found == pytest.approx(expected, abs=2 / N)
    assert logprobs[1] == pytest.approx(math.log(0.5 / mass), abs=1e-5)


def test_temperature_zero_takes_the_likeliest_with_logprob_zero(torch):
    rows = torch.tensor([[0.0, 5.0, 1.0], [2.0, 0.0, 1.0]])
    assert draw(rows, [0.0, 0.0], [1.0, 0.2], [0.9, 0.9]) == ([1, 0], [0.0, 0.0])


def test_rows_keep_their_own_settings(torch):
    rows = torch.tensor([[0.0, 1.0, 2.0]] * 4)
    tokens, logprobs = draw(rows, [0.0, 1.0, 1.0, 1e-30], [1.0, 1.0, 0.1, 1.0], [0.0] * 4)
    assert tokens == [2, 0, 2, 2]
    assert logprobs == pytest.approx([0.0, -2.4076, 0.0, 0.0], abs=1e-4)


def test_a_row_draws_the_same_alone_and_among_others(torch):
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(8, 50, generator=generator)
    heat = [0.0, 0.5, 1.0, 2.0] * 2
    mass = [1.0, 0.9, 1.0, 0.5] * 2
    us = [i / 8 for i in range(8)]
    tokens, logprobs = draw(rows, heat, mass, us)
    for i in range(8):
        alone = draw(rows[i : i + 1], heat[i : i + 1], mass[i : i + 1], us[i : i + 1])
        assert alone[0] == [tokens[i]]
        assert alone[1] == pytest.approx([logprobs[i]], abs=1e-6)


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
def test_the_ends_of_the_unit_interval_give_tokens_that_can_be_drawn(torch, uniform):
    row = torch.tensor([[-math.inf, 0.0, -math.inf, 0.0, -math.inf]])
    (token,), _ = draw(row, [1.0], [1.0], [uniform])
    assert token in (1, 3)


@pytest.mark.parametrize("bad", [[0.0, math.nan], [math.inf, 0.0], [-math.inf, -math.inf]])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("top_p", [1.0, 0.5])
def test_logits_without_a_distribution_give_no_token_and_harm_no_other_row(
    torch, bad, temperature, top_p
):
    rows = torch.tensor([[0.0, 9.0], bad, [9.0, 0.0]])
    tokens, logprobs = draw(rows, [0.0, temperature, 1.0], [top_p] * 3, [0.5] * 3)
    assert tokens == [1, None, 0]
    assert logprobs[2] == pytest.approx(0.0, abs=1e-3)
