import pytest

from agentenvs.errors import PolicyError
from agentenvs.harness.exchange import Request
from agentenvs.harness.policies.hf_decode import Decoder
from agentenvs.harness.policies.hf_rows import Row

pytestmark = pytest.mark.hf

LENGTHS = [3, 17, 40, 300, 17]
BIG = 1 << 30


def prompts(torch, lengths=LENGTHS):
    generator = torch.Generator().manual_seed(3)
    made = [torch.randint(3, 259, (n,), generator=generator).tolist() for n in lengths]
    made[-1] = made[1]
    return made


def complete(decoder, all_ids, **fields):
    fields = {"temperature": 0.0, "max_tokens": 24, **fields}
    rows = [
        Row(Request(seed=i, **fields), ids, {1}, lambda ids: str(list(ids)))
        for i, ids in enumerate(all_ids)
    ]
    decoder.run(rows)
    return [row.completion() for row in rows]


def reference(torch, model, ids, new):
    with torch.inference_mode():
        for _ in range(new):
            # No cache, no padding: the definition.
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1]
            ids = [*ids, int(logits.argmax())]
            if ids[-1] == 1:
                break
    return ids


@pytest.mark.parametrize("kind", ["llama", "gemma3", "gpt2", "mamba"])
@pytest.mark.parametrize("prefix", [0, BIG])
def test_padded_batches_give_what_the_model_says_without_cache_or_padding(
    torch, make_model, kind, prefix
):
    model = make_model(kind)
    decoder = Decoder(model, prefix)
    asked = prompts(torch)
    made = complete(decoder, asked)
    for ids, completion in zip(asked, made, strict=True):
        assert ids + list(completion.token_ids) == reference(torch, model, ids, 24)


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_conversations_that_go_on_read_only_what_is_new(torch, make_model, kind, monkeypatch):
    model = make_model(kind)
    decoder = Decoder(model, BIG)
    asked = prompts(torch)
    first = complete(decoder, asked)
    further = [
        ids + list(c.token_ids) + [30 + i] * (i + 2)
        for i, (ids, c) in enumerate(zip(asked, first, strict=True))
    ]
    widths = []
    forward = decoder._forward

    def counted(ids, mask, cache):
        widths.append(ids.shape[1])
        return forward(ids, mask, cache)

    monkeypatch.setattr(decoder, "_forward", counted)
    made = complete(decoder, further, max_tokens=8)
    assert max(widths) <= 8
    for ids, completion in zip(further, made, strict=True):
        assert ids + list(completion.token_ids) == reference(torch, model, ids, 8)


def test_a_row_draws_the_same_alone_and_among_others(torch, llama):
    asked = prompts(torch)
    together = complete(Decoder(llama, BIG), asked, temperature=1.0, top_p=0.9)
    for i, ids in enumerate(asked):
        row = Row(Request(seed=i, temperature=1.0, top_p=0.9, max_tokens=24), ids, {1}, str)
        Decoder(llama, 0).run([row])
        assert row.completion().token_ids == together[i].token_ids
        assert row.completion().logprobs == pytest.approx(together[i].logprobs, abs=1e-4)


def test_logprobs_are_those_of_the_model_at_that_temperature(torch, llama):
    ids = prompts(torch)[2]
    (made,) = complete(Decoder(llama, BIG), [ids], temperature=0.7, max_tokens=12)
    with torch.inference_mode():
        logits = llama(input_ids=torch.tensor([ids + list(made.token_ids)])).logits[0]
    scored = torch.log_softmax(logits[len(ids) - 1 : -1] / 0.7, -1)
    expected = scored.gather(-1, torch.tensor(made.token_ids)[:, None])[:, 0]
    assert made.logprobs == pytest.approx(expected.tolist(), abs=1e-4)


def test_rows_of_different_lengths_end_on_their_own(torch, llama):
    rows = [
        Row(Request(seed=i, temperature=1.0, max_tokens=m), [5, 6, 7], set(), str)
        for i, m in enumerate((1, 9, 3, 30, 2))
    ]
    Decoder(llama, BIG).run(rows)
    assert [len(row.ids) for row in rows] == [1, 9, 3, 30, 2]
    alone = Row(Request(seed=3, temperature=1.0, max_tokens=30), [5, 6, 7], set(), str)
    Decoder(llama, 0).run([alone])
    assert alone.ids == rows[3].ids


def test_cancelled_rows_stop_the_work(torch, llama):
    row = Row(Request(temperature=1.0, max_tokens=10_000), [5, 6, 7], set(), str)
    row.cancelled = lambda: len(row.ids) >= 3
    other = Row(Request(temperature=1.0, max_tokens=6), [5, 6, 7], set(), str)
    gone = Row(Request(temperature=1.0, max_tokens=6), [5, 6, 7], set(), str)
    gone.cancelled = lambda: True
    Decoder(llama, BIG).run([gone, row, other])
    assert (len(gone.ids), len(row.ids), len(other.ids)) == (0, 3, 6)


def test_states_are_forgotten_when_the_weights_were_trained(torch, make_model):
    model = make_model("llama")
    decoder = Decoder(model, BIG)
    ids = prompts(torch)[2]
    complete(decoder, [ids])
    with torch.no_grad():
        model.model.layers[0].self_attn.v_proj.weight.mul_(-1.0)
    (made,) = complete(decoder, [ids])
    assert ids + list(made.token_ids) == reference(torch, model, ids, 24)


def test_training_mode_is_put_back(torch, make_model):
    model = make_model("llama").train()
    complete(Decoder(model, 0), [[5, 6]], max_tokens=1)
    assert model.training


def test_a_model_without_a_cache_is_refused():
    class Model:
        def forward(self, input_ids, state=None): ...

    with pytest.raises(PolicyError, match="takes a cache"):
        Decoder(Model(), 0)
