from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra `hf`")

import torch

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs.scoring import RowTemperature, check_temperatures, row_scores


@pytest.fixture
def rows() -> tuple[Any, Any, Any]:
    generator = torch.Generator().manual_seed(0)
    z = 4 * torch.randn(5, 3, 7, generator=generator)
    tokens = torch.randint(0, 7, (5, 3), generator=generator)
    return z, tokens, torch.tensor([0.5, 1.0, 1.5, 0.1, 3.0])


def test_each_row_is_scored_at_its_own_temperature(rows: tuple[Any, Any, Any]) -> None:
    z, tokens, t = rows
    got = row_scores(z, tokens, t)
    for i in range(5):
        law = torch.distributions.Categorical(logits=z[i].double() / t[i].double())
        torch.testing.assert_close(got.log_probs[i].double(), law.log_prob(tokens[i]))
        torch.testing.assert_close(got.entropies[i].double(), law.entropy(), rtol=1e-4, atol=1e-5)


def test_gradients_have_the_temperature_in_them(rows: tuple[Any, Any, Any]) -> None:
    z, tokens, t = rows
    z = z.double().requires_grad_()
    row_scores(z, tokens, t).log_probs.sum().backward()
    chances = (z.detach() / t[:, None, None]).softmax(-1)
    hits = torch.nn.functional.one_hot(tokens, 7)
    torch.testing.assert_close(z.grad, (hits - chances) / t[:, None, None], rtol=1e-4, atol=1e-5)


def test_the_entropy_has_a_graph(rows: tuple[Any, Any, Any]) -> None:
    z, tokens, t = rows
    z.requires_grad_()
    row_scores(z, tokens, t).entropies.sum().backward()
    law = torch.distributions.Categorical(logits=z / t[:, None, None])
    (wanted,) = torch.autograd.grad(law.entropy().sum(), z)
    torch.testing.assert_close(z.grad, wanted, rtol=1e-3, atol=1e-5)


def test_coarse_logits_are_scored_in_float32(rows: tuple[Any, Any, Any]) -> None:
    z, tokens, t = rows
    got = row_scores(z.bfloat16(), tokens, t)
    assert (got.log_probs.dtype, got.entropies.dtype) == (torch.float32, torch.float32)
    assert torch.equal(got.log_probs, row_scores(z.bfloat16().float(), tokens, t).log_probs)


def test_tokens_that_are_ruled_out(rows: tuple[Any, Any, Any]) -> None:
    z, tokens, t = rows
    z[..., 0] = -torch.inf
    z.requires_grad_()
    got = row_scores(z, tokens.clamp(min=1), t)
    (got.log_probs.sum() + got.entropies.sum()).backward()
    assert torch.isfinite(got.entropies).all()
    assert torch.isfinite(z.grad).all()
    assert row_scores(z, torch.zeros_like(tokens), t).log_probs.isneginf().all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "got None"),
        ("hot", "got str"),
        ([1.0], r"shape \(2,\), got shape \(1,\)"),
        (1.0, r"got shape \(\)"),
        ([[1.0, 1.0]], r"got shape \(1, 2\)"),
        ([True, True], "torch.bool"),
        ([1.0, 0.0], "above 0, got 0"),
        ([1.0, -2.0], "above 0, got -2"),
        ([1.0, float("nan")], "got nan"),
        ([1.0, float("inf")], "got inf"),
        ([1j, 1j], "complex"),
    ],
)
def test_temperatures_that_make_no_sense(given: Any, words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        check_temperatures(given, 2)
    with pytest.raises(BadArgument, match=words):
        row_scores(torch.zeros(2, 1, 3), torch.zeros(2, 1, dtype=torch.int64), given)


@pytest.mark.parametrize("given", [[1, 2], np.array([1.0, 2.0]), torch.tensor([1.0, 2.0])])
def test_temperatures_of_any_kind(given: Any) -> None:
    checked = check_temperatures(given, 2, device="cpu")
    assert checked.dtype == torch.float32
    assert checked.tolist() == [1.0, 2.0]


def test_temperatures_carry_no_graph() -> None:
    t = torch.ones(2, requires_grad=True)
    assert not check_temperatures(t, 2).requires_grad


@pytest.mark.parametrize(
    ("z", "tokens", "words"),
    [
        (torch.zeros(2, 3), torch.zeros(2, 1, dtype=torch.int64), r"\(B, L, V\)"),
        (torch.zeros(2, 1, 3, dtype=torch.int64), torch.zeros(2, 1, dtype=torch.int64), "floats"),
        (torch.zeros(2, 1, 3), torch.zeros(2, 2, dtype=torch.int64), r"tokens of shape \(2, 1\)"),
        (torch.zeros(2, 1, 3), torch.zeros(2, 1), "int64"),
        (torch.zeros(2, 1, 3), torch.full((2, 1), -100), "got -100"),
        (torch.zeros(2, 1, 3), torch.full((2, 1), 3), "from 0 to 2"),
    ],
)
def test_rows_that_make_no_sense(z: Any, tokens: Any, words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        row_scores(z, tokens, [1.0, 1.0])


def test_no_rows() -> None:
    got = row_scores(torch.zeros(0, 4, 3), torch.zeros(0, 4, dtype=torch.int64), [])
    assert got.log_probs.shape == (0, 4)


def test_next_token_scores_are_divided_row_by_row() -> None:
    scores = torch.tensor([[1.0, -torch.inf], [1.0, 3.0]])
    assert RowTemperature([0.5, 2.0])(None, scores).tolist() == [[2.0, -torch.inf], [0.5, 1.5]]
    assert scores[0, 0] == 1.0
    assert RowTemperature([1.0])(None, torch.zeros(1, 2).bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "that rows are to be drawn at, got None"),
        (1.5, "a list of temperatures, one a row, got 1.5 alone"),
        (torch.tensor(2.0), r"one a row, got tensor\(2.\) alone"),
        ([], "one a row, got an empty one"),
        ("abc", "numbers, got str"),
        ([0.0], "above 0, got 0"),
    ],
)
def test_processors_without_temperatures(given: Any, words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        RowTemperature(given)


def test_rows_that_were_repeated_need_their_temperatures_repeated() -> None:
    with pytest.raises(BadArgument, match="Expected 2 rows"):
        RowTemperature([0.5, 2.0])(None, torch.zeros(4, 3))


def test_transformers_generates_at_them() -> None:
    transformers = pytest.importorskip("transformers", reason="needs the extra `hf`")
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = transformers.LlamaConfig(
        vocab_size=8, num_attention_heads=2, max_position_embeddings=16, **shape
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.LlamaForCausalLM(config).eval()
        with torch.no_grad():
            model.lm_head.weight.mul_(40)
        ids = torch.tensor([[1, 2]] * 400)
        t = torch.tensor([0.05, 50.0] * 200)
        out = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            logits_processor=transformers.LogitsProcessorList([RowTemperature(t)]),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            max_new_tokens=1,
            eos_token_id=None,
            pad_token_id=0,
        )[:, 2]
    assert len(set(out[::2].tolist())) <= 2  # cold rows agree
    assert len(set(out[1::2].tolist())) == 8  # hot rows draw everything
