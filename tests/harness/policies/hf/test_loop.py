import functools
import math
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentenvs.errors import PolicyError
from agentenvs.harness.exchange import Request
from agentenvs.harness.policies.hf_decode import Decoder
from agentenvs.harness.policies.hf_loop import Loop
from agentenvs.harness.policies.hf_rows import Row

pytestmark = pytest.mark.hf

LENGTHS = [3, 17, 40, 300, 17]
BIG = 1 << 30
PLAIN = ["llama", "gemma3", "gpt2"]


def prompts(torch, lengths=LENGTHS):
    generator = torch.Generator().manual_seed(3)
    made = [torch.randint(3, 259, (n,), generator=generator).tolist() for n in lengths]
    made[-1] = made[1]
    return made


def row(ids, seed=0, ends=(1,), **fields):
    fields = {"temperature": 0.0, "max_tokens": 24, **fields}
    return Row(Request(seed=seed, **fields), ids, set(ends), lambda ids: str(list(ids)))


def make(model, prefix=0, most=16, chunk=512, cache_bytes=None):
    return Loop(Decoder(model, prefix), most, chunk, cache_bytes)


@functools.cache
def _reference(torch, model, ids, new):
    with torch.inference_mode():
        for _ in range(new):
            # No cache, no padding: the definition.
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1]
            ids = (*ids, int(logits.argmax()))
            if ids[-1] == 1:
                break
    return ids


def reference(torch, model, ids, new=24):
    return list(_reference(torch, model, tuple(ids), new))[len(ids) :]


@pytest.fixture(scope="module")
def models(make_model):
    return {kind: make_model(kind) for kind in (*PLAIN, "mamba")}


@pytest.mark.parametrize("kind", [*PLAIN, "mamba"])
@pytest.mark.parametrize("prefix", [0, BIG])
@pytest.mark.parametrize("times", [[0] * 5, [0, 3, 5, 9, 12]], ids=["together", "joining"])
def test_a_batch_gives_what_the_model_says_without_cache_or_padding(
    torch, models, serve, kind, prefix, times
):
    asked = prompts(torch)
    rows = [row(ids) for ids in asked]
    assert not serve(make(models[kind], prefix, chunk=64), rows, times)
    for ids, one in zip(asked, rows, strict=True):
        assert one.ids == reference(torch, models[kind], ids)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(PLAIN),
    seed=st.integers(0, 10**6),
    most=st.integers(1, 6),
    chunk=st.sampled_from([1, 7, 40, 512]),
    prefix=st.sampled_from([0, 40_000, BIG]),
)
def test_rows_that_join_at_any_moment_draw_what_they_draw_alone(
    torch, models, serve, kind, seed, most, chunk, prefix
):
    chance = random.Random(seed)
    shared = [chance.randrange(3, 259) for _ in range(30)]
    rows, times = [], []
    for index in range(7):
        ids = shared[: chance.randrange(30)] + [
            chance.randrange(3, 259) for _ in range(chance.randrange(1, 50))
        ]
        settings = {
            "temperature": chance.choice([0.0, 0.7, 1.0, 1.5]),
            "top_p": chance.choice([1.0, 0.8]),
            "max_tokens": chance.choice([1, 2, 9, 20]),
        }
        rows.append(lambda ids=ids, s=settings, i=index: row(ids, seed=i, **s))
        times.append(chance.randrange(25))
    alone = [one() for one in rows]
    for one in alone:
        serve(make(models[kind]), [one])
    together = [one() for one in rows]
    assert not serve(make(models[kind], prefix, most, chunk), together, times)
    for one, other in zip(alone, together, strict=True):
        assert one.ids == other.ids
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
        assert one.finish_reason == other.finish_reason


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_conversations_that_go_on_read_only_what_is_new(torch, models, serve, kind, monkeypatch):
    model = models[kind]
    loop = make(model, BIG)
    asked = prompts(torch)
    first = [row(ids) for ids in asked]
    serve(loop, first)
    further = [
        ids + one.ids + [30 + i] * (i + 2)
        for i, (ids, one) in enumerate(zip(asked, first, strict=True))
    ]
    widths = watch(loop, monkeypatch)
    second = [row(ids, max_tokens=8) for ids in further]
    serve(loop, second)
    assert max(width for _, width in widths) <= 8
    for ids, one in zip(further, second, strict=True):
        assert one.ids == reference(torch, model, ids, 8)


def watch(loop, monkeypatch):
    """Note rows and columns of every forward pass."""
    shapes, forward = [], loop.decoder.forward

    def counted(ids, cache, mask=None):
        shapes.append(tuple(ids.shape))
        return forward(ids, cache, mask)

    monkeypatch.setattr(loop.decoder, "forward", counted)
    return shapes


def test_equal_prompts_are_read_once(torch, llama, serve, monkeypatch):
    loop = make(llama)
    shapes = watch(loop, monkeypatch)
    rows = [row([5] * 50, seed=i, temperature=1.0, max_tokens=4) for i in range(6)]
    serve(loop, rows)
    assert shapes == [(1, 50), (6, 1), (6, 1), (6, 1)]
    assert len({tuple(one.ids) for one in rows}) > 1


def test_a_row_that_ends_makes_room_for_one_that_waits(torch, llama, serve, monkeypatch):
    loop = make(llama, most=3)
    shapes = watch(loop, monkeypatch)
    lengths = [2, 30, 5, 30, 20, 9, 9]
    rows = [
        row([5, 6, 7 + i], seed=i, ends=(), temperature=1.0, max_tokens=m)
        for i, m in enumerate(lengths)
    ]
    serve(loop, rows)
    assert [len(one.ids) for one in rows] == lengths
    # The first token of each is drawn as it is read.
    steps = [n for n, width in shapes if width == 1]
    assert sum(steps) == sum(lengths) - len(lengths)
    assert max(steps) == 3
    assert steps.count(3) > 0.8 * len(steps)


def test_a_long_prompt_is_read_in_parts_while_the_batch_goes_on(torch, llama, serve, monkeypatch):
    loop = make(llama, chunk=32)
    shapes = watch(loop, monkeypatch)
    quick = row([5, 6], ends=(), max_tokens=40)
    long, behind = row([7] * 320, ends=(), max_tokens=2), row([8] * 9, ends=(), max_tokens=2)
    serve(loop, [quick, long, behind], [0, 3, 4])
    read = [shape for shape in shapes if shape[1] > 1]
    assert max(n * width for n, width in read) <= 32
    assert sum(n * width for n, width in read) == 2 + 320 + 9
    begin = shapes.index((1, 32))
    assert shapes[begin : begin + 18 : 2] == [(1, 32)] * 9
    assert shapes[begin + 1 : begin + 19 : 2] == [(1, 1)] * 9


def test_prompts_are_read_in_order_of_arrival(torch, llama, serve):
    loop = make(llama, most=1)
    order = []
    rows = [row([5] * n, max_tokens=3) for n in (90, 2, 40, 3)]
    for index, one in enumerate(rows):
        take = one.take
        one.take = lambda *args, i=index, t=take: (order.append(i), t(*args))
    serve(loop, rows)
    assert sorted(order) == order


def test_logprobs_are_those_of_the_model_at_that_temperature(torch, llama, serve):
    ids = prompts(torch)[2]
    one = row(ids, temperature=0.7, max_tokens=12)
    serve(make(llama, BIG), [one])
    with torch.inference_mode():
        logits = llama(input_ids=torch.tensor([ids + one.ids])).logits[0]
    scored = torch.log_softmax(logits[len(ids) - 1 : -1] / 0.7, -1)
    expected = scored.gather(-1, torch.tensor(one.ids)[:, None])[:, 0]
    assert one.logprobs == pytest.approx(expected.tolist(), abs=1e-4)


@pytest.mark.parametrize("kind", ["llama", "mamba"])
def test_cancelled_rows_leave_the_batch_and_the_others_stay(torch, models, serve, kind):
    asked = prompts(torch)
    gone = row(asked[0])
    gone.cancelled = lambda: True
    left = row(asked[1], max_tokens=10_000, ends=())
    left.cancelled = lambda: len(left.ids) >= 3
    while_read = row(asked[3], max_tokens=10_000, ends=())
    while_read.cancelled = lambda: len(other.ids) >= 4
    other = row(asked[2])
    loop = make(models[kind], BIG, chunk=20)
    serve(loop, [gone, left, other, while_read])
    assert len(while_read.ids) == 0
    assert len(gone.ids) == 0
    assert len(left.ids) == 3
    assert other.ids == reference(torch, models[kind], asked[2])


def test_states_are_forgotten_when_the_weights_were_trained(torch, make_model, serve):
    model = make_model("llama")
    loop = make(model, BIG)
    ids = prompts(torch)[2]
    serve(loop, [row(ids)])
    with torch.no_grad():
        model.model.layers[0].self_attn.v_proj.weight.mul_(-1.0)
    one = row(ids)
    serve(loop, [one])
    with torch.inference_mode():
        expected = list(ids)
        while len(expected) < len(ids) + len(one.ids):
            expected.append(int(model(input_ids=torch.tensor([expected])).logits[0, -1].argmax()))
    assert ids + one.ids == expected


def test_states_of_a_row_that_lived_through_a_training_are_not_kept(torch, make_model, serve):
    model = make_model("llama")
    loop = make(model, BIG)
    first, second = row([5] * 9, ends=(), max_tokens=30), row([6] * 9, ends=(), max_tokens=3)
    take = second.take

    def trained(token, logprob):
        take(token, logprob)

    original = first.take

    def train_at_the_fifth(token, logprob):
        original(token, logprob)
        if len(first.ids) == 5:
            for weight in model.parameters():
                weight._version  # noqa: B018
            with torch.inference_mode(False), torch.no_grad():
                model.model.norm.weight.mul_(1.5)

    first.take, second.take = train_at_the_fifth, trained
    serve(loop, [first, second], [0, 12])
    assert loop.decoder.store.find([*first.prompt_ids, *first.ids])[1] == 0
    assert loop.decoder.store.find([*second.prompt_ids, *second.ids])[1] > 0


class Spoiled:
    """Makes forward passes fail where a token is among what is read."""

    def __init__(self, loop, monkeypatch, token, how):
        self.forward, self.token, self.how = loop.decoder.forward, token, how
        monkeypatch.setattr(loop.decoder, "forward", self)

    def __call__(self, ids, cache, mask=None):
        return self.how(self.forward, ids, cache, mask, (ids == self.token).any(-1))


@pytest.mark.parametrize("prefix", [0, BIG])
def test_nan_fails_its_own_row_and_stays_nowhere(torch, llama, serve, monkeypatch, prefix):
    loop = make(llama, prefix, most=3)

    def spoil(forward, ids, cache, mask, hit):
        logits, cache = forward(ids, cache, mask)
        for index in hit.nonzero()[:, 0].tolist():
            logits[index] = math.nan
            for layer in cache.layers:
                layer.keys[index] = layer.values[index] = math.nan
        return logits, cache

    asked = [[5] * 9, [6] * 30, [7] * 4, [8] * 30]
    said = {token for ids in asked for token in reference(torch, llama, ids)}
    poison = next(token for token in range(9, 384) if token not in said)
    asked.insert(1, [poison] * 9)
    Spoiled(loop, monkeypatch, poison, spoil)
    rows = [row(ids) for ids in asked]
    failed = serve(loop, rows)
    assert list(failed) == [rows[1]]
    assert "NaN" in str(failed[rows[1]])
    for ids, one in zip(asked, rows, strict=True):
        if one is not rows[1]:
            assert one.ids == reference(torch, llama, ids)
    # A row may also turn bad while it is decoded; its place is taken by others afterwards.
    bad = row([5] * 40, ends=())
    take = bad.take
    bad.take = lambda token, logprob: take(poison if len(bad.ids) == 4 else token, logprob)
    rows = [bad, *(row(ids) for ids in asked if poison not in ids)]
    assert list(serve(loop, rows)) == [bad]
    for one in rows[1:]:
        assert one.ids == reference(torch, llama, one.prompt_ids)


def test_a_prompt_that_the_model_cannot_read_fails_alone(torch, llama, serve):
    loop = make(llama)
    asked = [[5] * 9, [10_000] * 9, [6] * 9, [10_000] * 9]
    rows = [row(ids) for ids in asked]
    failed = serve(loop, rows)
    assert set(failed) == {rows[1], rows[3]}
    assert all(str(error).startswith("The model failed: ") for error in failed.values())
    for one in (rows[0], rows[2]):
        assert one.ids == reference(torch, llama, one.prompt_ids)


def test_a_step_that_fails_fails_its_rows_and_those_that_wait_go_on(
    torch, llama, serve, monkeypatch
):
    loop = make(llama, most=2)
    steps = []

    def once(forward, ids, cache, mask, hit):
        steps.append(tuple(ids.shape))
        if steps[-1] == (2, 1) and steps.count((2, 1)) == 3:
            raise RuntimeError("broken kernel")
        return forward(ids, cache, mask)

    Spoiled(loop, monkeypatch, -1, once)
    rows = [row([5 + i] * 9) for i in range(4)]
    failed = serve(loop, rows)
    assert set(failed) == set(rows[:2])
    assert "broken kernel" in str(failed[rows[0]])
    for one in rows[2:]:
        assert one.ids == reference(torch, llama, one.prompt_ids)


def test_a_tokenizer_that_fails_on_a_token_fails_that_row(torch, llama, serve):
    def picky(ids):
        if len(ids) > 3:
            raise ValueError("cannot decode")
        return "x"

    bad = Row(Request(seed=0, stop=("y",), max_tokens=9), [5] * 9, set(), picky)
    fine = row([5] * 9)
    failed = serve(make(llama), [bad, fine])
    assert list(failed) == [bad]
    assert fine.ids == reference(torch, llama, fine.prompt_ids)


def test_a_loop_that_cannot_work_at_all_says_so(llama, serve, monkeypatch):
    loop = make(llama)

    def broken():
        raise RuntimeError("no weights")

    monkeypatch.setattr(loop.decoder, "forget_if_trained", broken)
    with pytest.raises(PolicyError, match="no weights"):
        serve(loop, [row([5])])


def small(torch, most):
    """Return a machine that bears no more than so many rows."""

    def how(forward, ids, cache, mask, hit):
        if len(ids) > most:
            raise torch.OutOfMemoryError("no room")
        return forward(ids, cache, mask)

    return how


@pytest.mark.parametrize("prefix", [0, BIG])
@pytest.mark.parametrize("times", [[0] * 5, [0, 2, 4, 6, 8]])
def test_a_batch_that_does_not_fit_is_halved_and_draws_the_same(
    torch, llama, serve, monkeypatch, prefix, times
):
    asked = prompts(torch)
    expected = [row(ids, seed=i, temperature=1.0) for i, ids in enumerate(asked)]
    serve(make(llama), expected)
    loop = make(llama, prefix)
    shapes = watch(loop, monkeypatch)
    Spoiled(loop, monkeypatch, -1, small(torch, 2))
    rows = [row(ids, seed=i, temperature=1.0) for i, ids in enumerate(asked)]
    assert not serve(loop, rows, times)
    assert max(n for n, _ in shapes) <= 2
    for one, other in zip(rows, expected, strict=True):
        assert one.ids == other.ids
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_row_that_does_not_fit_alone_is_an_error_and_others_go_on(
    torch, llama, serve, monkeypatch
):
    loop = make(llama, BIG)

    def how(forward, ids, cache, mask, hit):
        if mask.shape[1] > 100:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return forward(ids, cache, mask)

    Spoiled(loop, monkeypatch, -1, how)
    rows = [row([5] * 9), row([6] * 101), row([7] * 90, max_tokens=30, ends=()), row([8] * 9)]
    failed = serve(loop, rows)
    assert set(failed) == {rows[1], rows[2]}
    assert all("does not fit" in str(error) for error in failed.values())
    for one in (rows[0], rows[3]):
        assert one.ids == reference(torch, llama, one.prompt_ids)


def test_the_states_of_the_batch_stay_within_their_bound(torch, llama, serve, monkeypatch):
    token = 2 * 2 * 2 * 8 * 4  # layers, keys and values, heads, head size, bytes
    bound = 3 * (256 + 100) * token
    loop = make(llama, cache_bytes=bound)
    shapes = watch(loop, monkeypatch)
    largest = []
    step = loop._live.step

    def measured():
        out = step()
        layers = loop._live._cache.layers
        largest.append(sum(w.numel() * w.element_size() for y in layers for w in y.whole))
        return out

    monkeypatch.setattr(loop._live, "step", measured)
    rows = [row([5 + i] * 60, ends=(), max_tokens=40) for i in range(7)]
    rows.append(row([5] * 1500, ends=(), max_tokens=40))
    assert not serve(loop, rows)
    assert [len(one.ids) for one in rows] == [40] * 8
    assert max(n for n, width in shapes if width == 1) == 3
    assert max(largest[:-40]) <= bound


def test_nothing_of_a_batch_is_held_once_it_is_empty(llama, serve):
    loop = make(llama)
    serve(loop, [row([5] * 9)])
    assert loop._live._cache is None
    assert not loop._live.rows
