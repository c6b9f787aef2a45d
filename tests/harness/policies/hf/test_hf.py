import asyncio
import json
import sys

import pytest

from agentenvs.errors import BadArgument, PolicyError
from agentenvs.harness.exchange import Request
from agentenvs.harness.policies.base import Policy, make_policy
from agentenvs.harness.policies.hf import HFPolicy, from_spec

pytestmark = pytest.mark.hf

USER = ({"role": "user", "content": "Hello"},)


def ask(policy, *requests):
    async def main():
        try:
            return await asyncio.gather(*map(policy.generate, requests))
        finally:
            await policy.close()

    return asyncio.run(main())


def same(left, right):
    """Equal up to rounding: log-probabilities differ in the last digits with the batch size."""
    return all(
        (a.text, a.token_ids, a.finish_reason) == (b.text, b.token_ids, b.finish_reason)
        and a.logprobs == pytest.approx(b.logprobs, abs=1e-4)
        for a, b in zip(left, right, strict=True)
    )


@pytest.fixture
def policy(llama, chat_tokenizer):
    return HFPolicy(llama, chat_tokenizer)


def test_it_is_a_policy(policy):
    assert isinstance(policy, Policy)
    assert not policy.scripted


def test_the_form_follows_the_tokenizer(llama, tokenizer):
    assert HFPolicy(llama, tokenizer).form == "completion"
    tokenizer.chat_template = "{{ messages[0]['content'] }}"
    assert HFPolicy(llama, tokenizer).form == "chat"
    assert HFPolicy(llama, tokenizer, form="completion").form == "completion"


def test_chat_without_a_template_is_refused(llama, tokenizer):
    with pytest.raises(PolicyError, match="chat_template"):
        HFPolicy(llama, tokenizer, form="chat")
    with pytest.raises(PolicyError, match="no chat template"):
        ask(HFPolicy(llama, tokenizer), Request(messages=USER))


def test_messages_are_rendered_by_the_template(policy):
    (made,) = ask(policy, Request(messages=USER, max_tokens=2, seed=1))
    assert policy.tokenizer.decode(list(made.prompt_token_ids)) == "<user>Hello</s><assistant>"


def test_a_prompt_is_left_open_though_the_tokenizer_closes_texts(policy):
    (made,) = ask(policy, Request(prompt="ab", max_tokens=2, seed=1))
    assert list(made.prompt_token_ids) == [100, 101]


@pytest.mark.parametrize("text", ["a\ud800b", "\x00", "é\u202e\U0001f600" * 3])
def test_odd_text_is_answered(policy, text):
    message = {"role": "user", "content": text}
    made = ask(
        policy,
        Request(prompt=text, max_tokens=3, seed=1),
        Request(messages=(message,), max_tokens=3, seed=1),
    )
    assert all(len(m.token_ids) > 0 for m in made)


def test_a_tokenizer_that_fails_fails_that_request_alone(policy, monkeypatch):
    tokenizer = policy.tokenizer

    def failing(messages, **options):
        raise TypeError("unreadable")

    monkeypatch.setattr(tokenizer, "apply_chat_template", failing)

    async def main():
        return await asyncio.gather(
            policy.generate(Request(messages=USER, max_tokens=1)),
            policy.generate(Request(prompt="a", max_tokens=1)),
            return_exceptions=True,
        )

    refused, made = asyncio.run(main())
    assert isinstance(refused, PolicyError)
    assert len(made.token_ids) == 1


def test_an_empty_prompt_starts_with_a_special_token(policy):
    (made,) = ask(policy, Request(prompt="", max_tokens=2, seed=1))
    assert list(made.prompt_token_ids) == [1]


def test_a_template_without_a_system_role_gets_it_with_the_user_message(llama, tokenizer):
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m['role'] == 'system' %}"
        "{{ raise_exception('no system role') }}{% endif %}[{{ m['content'] }}]{% endfor %}"
    )
    said = ({"role": "system", "content": "Rules."}, *USER)
    (made,) = ask(HFPolicy(llama, tokenizer), Request(messages=said, max_tokens=1))
    assert tokenizer.decode(list(made.prompt_token_ids)) == "[Rules.\n\nHello]"


def test_a_template_that_refuses_fails_that_request_alone(llama, tokenizer):
    tokenizer.chat_template = (
        "{% if messages[0]['content'] == 'bad' %}{{ raise_exception('no') }}{% endif %}x"
    )
    policy = HFPolicy(llama, tokenizer)
    bad = Request(messages=({"role": "user", "content": "bad"},), max_tokens=1)

    async def main():
        return await asyncio.gather(
            policy.generate(bad),
            policy.generate(Request(messages=USER, max_tokens=1)),
            return_exceptions=True,
        )

    refused, made = asyncio.run(main())
    assert isinstance(refused, PolicyError)
    assert len(made.token_ids) == 1


def test_a_conversation_beyond_the_context_is_answered_without_drawing(llama, tokenizer):
    policy = HFPolicy(llama, tokenizer, context=20)
    fits, over = ask(
        policy,
        Request(prompt="x" * 15, max_tokens=5, seed=0),
        Request(prompt="x" * 16, max_tokens=5, seed=0),
    )
    assert fits.finish_reason != "context"
    assert (over.finish_reason, over.text, over.token_ids) == ("context", "", ())
    assert len(over.prompt_token_ids) == 16


def test_the_context_is_the_models(policy):
    assert policy.context == 2048


def test_rows_keep_their_own_settings(policy):
    greedy = Request(prompt="abc", temperature=0.0, max_tokens=12)
    hot = [Request(prompt="abc", temperature=1.5, max_tokens=4 + s, seed=s) for s in range(4)]
    made = ask(policy, greedy, *hot, greedy)
    assert made[0].token_ids == made[-1].token_ids
    assert set(made[0].logprobs) == {0.0}
    assert len({m.token_ids[:4] for m in made[1:5]}) > 1
    assert [len(m.token_ids) for m in made[1:5]] == [4, 5, 6, 7]
    again = ask(policy, *hot)
    assert [m.token_ids for m in again] == [m.token_ids for m in made[1:5]]


def test_stop_strings_cut_the_text(policy):
    (whole,) = ask(policy, Request(prompt="abc", max_tokens=12, seed=5))
    stop = whole.text[3:5]
    assert len(stop) == 2
    (made,) = ask(policy, Request(prompt="abc", max_tokens=12, seed=5, stop=(stop,)))
    assert made.text == whole.text[: whole.text.find(stop)]
    assert made.finish_reason == "stop"


def test_the_models_own_sampling_defaults_do_not_take_part(make_model, chat_tokenizer):
    model = make_model("llama")
    asked = [Request(prompt="abc", max_tokens=12, seed=s) for s in range(3)]
    plain = [m.token_ids for m in ask(HFPolicy(model, chat_tokenizer), *asked)]
    model.generation_config.top_k = 1
    model.generation_config.repetition_penalty = 5.0
    model.generation_config.temperature = 0.1
    policy = HFPolicy(model, chat_tokenizer)
    assert [m.token_ids for m in ask(policy, *asked)] == plain
    ignored = policy.describe()["ignored_defaults"]
    assert (ignored["top_k"], ignored["repetition_penalty"]) == (1, 5.0)


def test_replies_end_at_the_tokens_of_model_tokenizer_and_template(make_model, tokenizer):
    model = make_model("llama")
    model.generation_config.eos_token_id = [1, 77]
    tokenizer.add_special_tokens({"additional_special_tokens": ["<extra_id_3>"]})
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}<extra_id_3>{% endfor %}"
    turn_end = tokenizer.convert_tokens_to_ids("<extra_id_3>")
    assert HFPolicy(model, tokenizer).ends == {1, 77, turn_end}


def test_a_template_that_only_writes_text_after_a_reply_adds_no_end_token(llama, tokenizer):
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}. {% endfor %}"
    assert HFPolicy(llama, tokenizer).ends == {1}


def test_the_end_token_is_among_the_ids_but_not_in_the_text(make_model, tokenizer, torch):
    model = make_model("llama")
    (free,) = ask(HFPolicy(model, tokenizer), Request(prompt="abc", temperature=0, max_tokens=6))
    end = free.token_ids[3]
    model.generation_config.eos_token_id = [end]
    (made,) = ask(HFPolicy(model, tokenizer), Request(prompt="abc", temperature=0, max_tokens=6))
    first = free.token_ids.index(end)
    assert made.token_ids == free.token_ids[: first + 1]
    assert made.finish_reason == "stop"
    assert made.text == tokenizer.decode(list(free.token_ids[:first]))


def test_description_is_plain_and_tells_models_apart(make_model, tokenizer, torch):
    model = make_model("llama")
    first = HFPolicy(model, tokenizer).describe()
    assert json.loads(json.dumps(first)) == first
    assert (first["dtype"], first["device"], first["form"]) == ("float32", "cpu", "completion")
    assert HFPolicy(make_model("llama"), tokenizer).describe() == first
    with torch.no_grad():
        model.model.embed_tokens.weight.add_(0.25)
    assert HFPolicy(model, tokenizer).describe()["weights"] != first["weights"]


def test_a_folder_by_spec_plays_like_the_model_in_memory(llama, chat_tokenizer, tmp_path):
    folder = tmp_path / "tiny-llama"
    llama.save_pretrained(folder)
    chat_tokenizer.save_pretrained(folder)
    policy = make_policy(f"hf:{folder}", device="cpu", dtype="float32")
    assert (policy.name, policy.form) == ("tiny-llama", "chat")
    request = Request(messages=USER, max_tokens=8, seed=3)
    kept = HFPolicy(llama, chat_tokenizer)
    assert same(ask(policy, request), ask(kept, request))
    assert policy.describe()["weights"] == kept.describe()["weights"]
    half = from_spec(str(folder), device="cpu", dtype="bfloat16")
    assert half.describe()["dtype"] == "bfloat16"
    assert len(ask(half, request)[0].token_ids) > 0


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "Expected a model"),
        ("./no-such-folder", "no folder"),
        ("/no/such/model.gguf", "no file"),
        ("no-such-owner/no-such-model", "cannot be loaded"),
    ],
)
def test_a_missing_model_is_a_clear_error(torch, spec, message):
    with pytest.raises(PolicyError, match=message):
        from_spec(spec)


def test_a_chat_template_may_come_from_a_file(llama, tokenizer, tmp_path):
    path = tmp_path / "chat.jinja"
    path.write_text("<<{{ messages[0]['content'] }}>>")
    policy = HFPolicy(llama, tokenizer, chat_template=str(path))
    (made,) = ask(policy, Request(messages=USER, max_tokens=1))
    assert tokenizer.decode(list(made.prompt_token_ids)) == "<<Hello>>"
    with pytest.raises(PolicyError, match="cannot be read"):
        HFPolicy(llama, tokenizer, chat_template=str(tmp_path / "none.jinja"))


@pytest.mark.parametrize(
    "bad",
    [
        {"form": "talk"},
        {"max_batch": 0},
        {"context": 1},
        {"threads": 0},
        {"prefix_gb": -1.0},
        {"wait": -1.0},
        {"max_batch": True},
        {"chunk": 0},
        {"chunk": 1.5},
        {"cache_gb": 0},
    ],
)
def test_bad_arguments(llama, chat_tokenizer, bad):
    with pytest.raises(BadArgument, match="Expected"):
        HFPolicy(llama, chat_tokenizer, **bad)


def test_an_unknown_dtype_is_refused(torch):
    with pytest.raises(BadArgument, match="dtype"):
        from_spec("somewhere", dtype="int3")


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_a_missing_package_names_the_extra(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(PolicyError, match=r"pip install 'agentenvs\[hf\]'"):
        from_spec("somewhere")


def full(policy, monkeypatch, error):
    def forward(*_):
        raise error

    monkeypatch.setattr(policy._decoder, "forward", forward)


def test_a_row_that_does_not_fit_is_an_error(policy, torch, monkeypatch):
    full(policy, monkeypatch, torch.OutOfMemoryError("no room"))
    with pytest.raises(PolicyError, match="does not fit"):
        ask(policy, Request(prompt="a"))


def test_a_failing_model_is_a_policy_error_and_the_next_request_is_answered(policy, monkeypatch):
    with monkeypatch.context() as patch:
        full(policy, patch, RuntimeError("broken kernel"))
        with pytest.raises(PolicyError, match="broken kernel"):
            ask(policy, Request(prompt="a"))
    assert ask(policy, Request(prompt="a", max_tokens=2, seed=0))[0].token_ids


def test_requests_that_arrive_later_join_the_running_batch(policy, monkeypatch):
    sizes, forward = [], policy._decoder.forward

    def counted(ids, cache, mask=None):
        sizes.append(len(ids))
        return forward(ids, cache, mask)

    monkeypatch.setattr(policy._decoder, "forward", counted)
    ends = policy.ends = frozenset()
    ended = []

    async def one(name, prompt, new):
        made = await policy.generate(Request(prompt=prompt, max_tokens=new, seed=0))
        ended.append(name)
        return made

    async def main():
        long = asyncio.create_task(one("long", "abc", 400))
        await asyncio.sleep(0)
        while len(sizes) < 5:
            await asyncio.sleep(0.001)
        late = await one("late", "xyz", 5)
        return late, await long

    late, long = asyncio.run(main())
    assert ended == ["late", "long"]
    assert max(sizes) == 2
    assert (len(late.token_ids), len(long.token_ids)) == (5, 400)
    alone = HFPolicy(policy.model, policy.tokenizer)
    alone.ends = ends
    expected = ask(alone, Request(prompt="abc", max_tokens=400, seed=0))
    assert long.token_ids == expected[0].token_ids


def test_an_abandoned_request_frees_its_place(llama, tokenizer):
    policy = HFPolicy(llama, tokenizer, max_batch=1, context=10**9)
    policy.ends = frozenset()

    async def main():
        endless = asyncio.create_task(policy.generate(Request(prompt="a", max_tokens=10**8)))
        await asyncio.sleep(0.02)
        endless.cancel()
        made = await policy.generate(Request(prompt="b", max_tokens=3, seed=1))
        await policy.close()
        return made

    assert len(asyncio.run(main()).token_ids) == 3


def test_closing_while_requests_wait_answers_them_and_the_policy_goes_on(llama, tokenizer):
    policy = HFPolicy(llama, tokenizer, max_batch=1, context=10**9)
    policy.ends = frozenset()

    async def main():
        tasks = [
            asyncio.create_task(policy.generate(Request(prompt="a", max_tokens=10**8)))
            for _ in range(3)
        ]
        await asyncio.sleep(0.02)
        await policy.close()
        left = await asyncio.gather(*tasks, return_exceptions=True)
        return left, await policy.generate(Request(prompt="b", max_tokens=3, seed=1))

    left, made = asyncio.run(main())
    assert [type(error) for error in left] == [PolicyError] * 3
    assert len(made.token_ids) == 3
    # A loop that ended without a word leaves nothing behind that would disturb the next.
    assert len(ask(policy, Request(prompt="b", max_tokens=3, seed=1))[0].token_ids) == 3


def test_a_reply_ends_for_one_of_three_reasons(llama, tokenizer):
    policy = HFPolicy(llama, tokenizer, context=40)
    policy.ends = frozenset()
    length, context = ask(
        policy,
        Request(prompt="abc", max_tokens=9, seed=5),
        Request(prompt="a" * 39, max_tokens=9, seed=5),
    )
    (stop,) = ask(policy, Request(prompt="abc", max_tokens=9, seed=5, stop=(length.text[-1],)))
    assert [made.finish_reason for made in (length, context, stop)] == ["length", "context", "stop"]


def test_what_changes_no_answer_is_told_apart(policy):
    shown = policy.transport()
    assert json.loads(json.dumps(shown)) == shown
    assert {"max_batch", "prefix_gb", "cache_gb", "chunk", "wait", "threads"} == set(shown)
    assert not set(shown) & set(policy.describe())


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "", "meta", 3.5])
def test_no_name_of_a_device_is_a_bad_argument(llama, tmp_path, device):
    llama.save_pretrained(tmp_path)
    with pytest.raises(BadArgument, match="Expected `device`"):
        from_spec(str(tmp_path), device=device)


@pytest.mark.parametrize("device", ["cuda:97", "mps:97", "xpu:97"])
def test_a_device_that_is_not_there_is_a_clear_error(llama, tmp_path, device):
    llama.save_pretrained(tmp_path)
    with pytest.raises(PolicyError, match=f"There is no device '{device}'"):
        from_spec(str(tmp_path), device=device)


def test_the_attention_is_passed_through_and_recorded(llama, chat_tokenizer, tmp_path):
    llama.save_pretrained(tmp_path)
    chat_tokenizer.save_pretrained(tmp_path)
    request = Request(messages=USER, max_tokens=8, seed=3)
    made = []
    for attention in ("eager", "sdpa"):
        policy = from_spec(str(tmp_path), device="cpu", attn_implementation=attention)
        assert policy.describe()["attention"] == attention
        made += ask(policy, request)
    assert same(made[:1], made[1:])
    with pytest.raises(PolicyError, match="cannot be loaded"):
        from_spec(str(tmp_path), device="cpu", attn_implementation="no-such-attention")
