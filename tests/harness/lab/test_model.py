from __future__ import annotations

import json

import pytest

from agentenvs.errors import BadArgument
from agentenvs.toollab import VOCABULARY

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]

SIZES = [{}, {"layers": 1, "width": 24, "heads": 3, "inner": 40, "context": 32}]


def make(seed=5, **sizes):
    from agentenvs.harness.lab.model import TinyLM

    return TinyLM.fresh(seed, **sizes)


def some_ids(torch, rows, length):
    generator = torch.Generator().manual_seed(9)
    return torch.randint(0, len(VOCABULARY), (rows, length), generator=generator)


@pytest.mark.parametrize("sizes", SIZES)
def test_logits_are_those_of_transformers(torch, tmp_path, sizes):
    from transformers import AutoModelForCausalLM

    from agentenvs.harness.lab.model import save

    model = make(**sizes)
    with torch.no_grad():
        # Norms of 1 would hide one that is left out.
        for name, weight in model.named_parameters():
            if "norm" in name:
                weight.mul_(torch.linspace(0.5, 2.0, len(weight)))
    save(model, tmp_path)
    other = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert type(other).__name__ == "LlamaForCausalLM"
    assert other.dtype == torch.float32
    ids = some_ids(torch, 7, model.shape.context)
    with torch.no_grad():
        assert (model(ids) - other(ids).logits).abs().max() < 1e-5


def test_a_saved_model_comes_back_the_same(torch, tmp_path):
    from agentenvs.harness.lab.model import load, save

    model = make(layers=2)
    save(model, tmp_path / "deep" / "folder")
    other = load(tmp_path / "deep" / "folder")
    assert other.shape == model.shape
    assert all(torch.equal(w, other.state_dict()[k]) for k, w in model.state_dict().items())


def test_saving_draws_nothing(torch, tmp_path):
    from agentenvs.harness.lab.model import save

    before = torch.get_rng_state()
    save(make(), tmp_path)
    make(6)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_folder_says_how_replies_end(torch, tmp_path):
    from transformers import AutoTokenizer, GenerationConfig

    from agentenvs.harness.lab.model import save

    save(make(), tmp_path)
    assert GenerationConfig.from_pretrained(tmp_path).eos_token_id == VOCABULARY.index("<end>")
    assert len(AutoTokenizer.from_pretrained(tmp_path)) == len(VOCABULARY)


@pytest.mark.parametrize("sizes", SIZES)
def test_stepping_gives_the_logits_of_reading_at_once(torch, sizes):
    model = make(**sizes)
    ids = some_ids(torch, 5, 30)
    cache = model.start(5, 30)
    with torch.no_grad():
        whole = model(ids)
    for at, column in enumerate(ids.unbind(1)):
        torch.testing.assert_close(model.step(column, cache), whole[:, at], atol=1e-4, rtol=1e-4)
    assert (cache.length, cache.rows) == (30, 5)


def test_a_cache_can_be_cut_and_multiplied(torch):
    model = make()
    ids = some_ids(torch, 4, 12)
    rows = torch.tensor([2, 0, 2])
    cache = model.start(4, 20)
    for column in ids[:, :8].unbind(1):
        model.step(column, cache)
    taken = cache.take(rows)
    model.step(ids[:, 8], cache)
    for column in ids[rows, 8:].unbind(1):
        logits = model.step(column, taken)
    with torch.no_grad():
        torch.testing.assert_close(logits, model(ids[rows])[:, -1], atol=1e-4, rtol=1e-4)


def test_what_comes_later_does_not_matter(torch):
    model = make()
    ids = some_ids(torch, 3, 20)
    other = ids.clone()
    other[:, 12:] = 0
    with torch.no_grad():
        torch.testing.assert_close(model(ids)[:, :12], model(other)[:, :12], atol=1e-5, rtol=1e-5)


def test_hidden_states_lead_to_the_logits(torch):
    model = make()
    ids = some_ids(torch, 3, 20)
    with torch.no_grad():
        hidden = model.hidden(ids)
        assert hidden.shape == (3, 20, model.shape.width)
        torch.testing.assert_close(hidden @ model.head.t(), model(ids))


def test_the_same_seed_gives_the_same_weights(torch):
    one, two, three = make(1), make(1), make(2)
    assert torch.equal(one.embed, two.embed)
    assert torch.equal(one.blocks[2].down, two.blocks[2].down)
    assert not torch.equal(one.embed, three.embed)


def test_a_copy_shares_nothing(torch):
    model = make()
    other = model.copy()
    with torch.no_grad():
        other.head.add_(1.0)
    assert not torch.equal(model.head, other.head)
    assert torch.equal(model.embed, other.embed)


def test_it_is_small():
    model = make()
    assert model.size() == sum(w.numel() for w in model.parameters()) < 500_000


@pytest.mark.parametrize(
    ("field", "value"),
    [("layers", 0), ("width", 97), ("width", 100), ("inner", True), ("context", 1.5)],
)
def test_odd_sizes_are_refused(field, value):
    with pytest.raises(BadArgument, match=f"`{field}`"):
        make(**{field: value})


def test_the_context_is_a_limit(torch):
    model = make(context=16)
    with pytest.raises(BadArgument, match="at most 16 tokens"):
        model(some_ids(torch, 1, 17))
    with pytest.raises(BadArgument, match="at most 16 tokens"):
        model.start(1, 17)


def test_a_folder_without_a_model_is_refused(tmp_path):
    from agentenvs.harness.lab.model import load

    with pytest.raises(BadArgument, match="saved model"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("model_type", "qwen3"), ("num_key_value_heads", 2), ("rms_norm_eps", 1e-5)],
)
def test_another_architecture_is_refused(torch, tmp_path, field, value):
    from agentenvs.harness.lab.model import load, save

    save(make(), tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(BadArgument, match=field):
        load(tmp_path)


def test_weights_that_lack_are_told(torch, tmp_path):
    from safetensors.torch import load_file, save_file

    from agentenvs.harness.lab.model import load, save

    save(make(), tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(BadArgument, match="lm_head"):
        load(tmp_path)


def test_weights_of_another_size_are_told(torch, tmp_path):
    from safetensors.torch import load_file, save_file

    from agentenvs.harness.lab.model import load, save

    save(make(), tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weights["model.norm.weight"] = weights["model.norm.weight"][1:].contiguous()
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(BadArgument, match="not of its config"):
        load(tmp_path)


def test_another_vocabulary_has_no_tokenizer(torch, tmp_path):
    from agentenvs.harness.lab.model import save

    with pytest.raises(BadArgument, match="tokens"):
        save(make(vocabulary=10), tmp_path)


def test_a_model_of_another_world_is_saved_with_its_words(torch, tmp_path):
    from agentenvs.harness.lab.model import load, save
    from agentenvs.harness.lab.tokenizer import words_of

    words = (*VOCABULARY[:6], ".", "O", "left")
    model = make(vocabulary=len(words), layers=1)
    save(model, tmp_path, words)
    assert words_of(tmp_path) == words
    assert load(tmp_path).shape == model.shape
    with pytest.raises(BadArgument, match="9 tokens, got one of 86"):
        save(make(layers=1), tmp_path, words)


@pytest.mark.parametrize("name", ["base", "grpo"])
def test_what_comes_along_is_saved_to_the_same_bytes(torch, tmp_path, name):
    from agentenvs.harness.lab.model import load, save
    from agentenvs.harness.policies.lab import folder

    save(load(folder(name)), tmp_path)
    # Configurations name the release of transformers that wrote them.
    for file in ("model.safetensors", "chat_template.jinja"):
        assert (folder(name) / file).read_bytes() == (tmp_path / file).read_bytes()
