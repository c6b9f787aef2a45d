"""Tiny models for the tests of the transformers policy."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="session")
def torch():
    torch = pytest.importorskip("torch", reason="needs the extra hf")
    pytest.importorskip("transformers", reason="needs the extra hf")
    torch.set_num_threads(1)
    return torch


@pytest.fixture
def tokenizer(torch):
    """Bytes as tokens: it needs no file."""
    from transformers import ByT5Tokenizer

    return ByT5Tokenizer()


@pytest.fixture
def chat_tokenizer(tokenizer):
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def _make(torch, kind):
    import transformers

    common = {"vocab_size": 384, "bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0}
    small = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 2048,
    }
    if kind == "llama":
        config = transformers.LlamaConfig(**common, **small)
    elif kind == "gemma3":
        config = transformers.Gemma3TextConfig(
            **common,
            **small,
            head_dim=8,
            sliding_window=12,
            layer_types=["sliding_attention", "full_attention"],
        )
    elif kind == "gpt2":
        config = transformers.GPT2Config(**common, n_embd=32, n_layer=2, n_head=2, n_positions=2048)
    else:
        config = transformers.MambaConfig(
            **common, hidden_size=32, num_hidden_layers=2, state_size=4, time_step_rank=4
        )
    torch.manual_seed(7)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        # Wider weights than at the start of a training, so that texts matter to the logits.
        for weight in model.parameters():
            if weight.dim() == 2:
                weight.mul_(8.0)
    return model.eval()


@pytest.fixture(scope="session")
def make_model(torch):
    """Return a function from an architecture's name to a fresh model, always the same."""
    return lambda kind: _make(torch, kind)


@pytest.fixture(scope="session")
def llama(make_model):
    return make_model("llama")


@pytest.fixture(scope="session")
def serve(torch):
    """Return a function that completes rows with a decoding loop.

    Rows arrive at the turns of the loop that `times` says, all at once without. What failed is
    returned by row.
    """

    def serve(loop, rows, times=None):
        waiting = sorted(zip(times or [0] * len(rows), range(len(rows)), strict=True))
        turn, failed = 0, {}

        def arrivals(room, idle):
            nonlocal turn
            turn = max(turn + 1, waiting[0][0]) if waiting and idle else turn + 1
            taken = []
            while waiting and waiting[0][0] <= turn and len(taken) < room:
                taken.append(rows[waiting.pop(0)[1]])
            return taken

        def ended(row, error):
            assert row not in told
            told.add(row)
            if error is not None:
                failed[row] = error

        told = set()
        loop.run(arrivals, ended)
        assert told == {row for row in rows if not row.cancelled()}
        return failed

    return serve
