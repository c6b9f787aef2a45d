import pytest

from agentenvs.errors import PolicyError
from agentenvs.harness.policies.hf_decode import Decoder

pytestmark = pytest.mark.hf

BIG = 1 << 30


def test_training_mode_is_put_back(make_model):
    model = make_model("llama").train()
    decoder = Decoder(model, 0)
    with decoder.session():
        assert not model.training
    assert model.training
    with pytest.raises(KeyError), decoder.session():
        raise KeyError
    assert model.training


def test_trained_weights_are_noticed_once(torch, make_model):
    model = make_model("llama")
    decoder = Decoder(model, BIG)
    assert [decoder.forget_if_trained() for _ in range(3)] == [True, False, False]
    decoder.store.add([1, 2], [(torch.ones(1, 2, 2), torch.ones(1, 2, 2))])
    with torch.no_grad():
        model.model.norm.weight.mul_(2.0)
    assert decoder.forget_if_trained()
    assert len(decoder.store) == 0
    assert not decoder.forget_if_trained()


def test_what_is_read_in_parts_is_what_is_read_at_once(torch, make_model):
    for kind in ("llama", "gemma3", "gpt2"):
        decoder = Decoder(make_model(kind), 0)
        ids = decoder.tensor([list(range(5, 45))])
        ones = torch.ones_like(ids)
        with decoder.session():
            whole, _ = decoder.forward(ids, None, ones)
            _, cache = decoder.forward(ids[:, :17], None, ones[:, :17])
            parts, _ = decoder.forward(ids[:, 17:], cache, ones)
        assert torch.allclose(whole, parts, atol=1e-4)


def test_releasing_drops_what_is_kept(torch, llama):
    decoder = Decoder(llama, BIG)
    decoder.store.add([1, 2], [(torch.ones(1, 2, 2), torch.ones(1, 2, 2))])
    decoder.release()
    assert len(decoder.store) == 0


def test_a_model_without_a_cache_is_refused():
    class Model:
        def forward(self, input_ids, state=None): ...

    with pytest.raises(PolicyError, match="takes a cache"):
        Decoder(Model(), 0)
