import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.exchange import Request
from agentenvs.harness.policies.hf_rows import Row

PIECES = ["a", "b", "\n", "## ", "User", "\n## U", "ser", "é", ""]
END = len(PIECES)


def decode(ids):
    return "".join(PIECES[i] for i in ids if i < END)


def run(tokens, stop=(), max_tokens=512, seed=0):
    row = Row(Request(prompt="", stop=stop, max_tokens=max_tokens, seed=seed), [0], {END}, decode)
    for token in tokens:
        row.take(token, -0.5)
        if row.done:
            break
    return row.completion()


@given(
    st.lists(st.integers(0, END), min_size=1, max_size=30),
    st.lists(st.sampled_from(["\n## User", "ab", "é", "User"]), max_size=3).map(tuple),
    st.integers(1, 30),
)
def test_text_is_the_stream_up_to_whatever_ends_it_first(tokens, stop, max_tokens):
    made = run(tokens, stop, max_tokens)
    taken = list(made.token_ids)
    assert taken == tokens[: len(taken)]
    ended = taken[-1] == END
    text = decode(taken)
    hits = [i for i in map(text.find, stop) if i >= 0]
    if ended or not hits:
        assert made.text == text
    else:
        assert made.text == text[: min(hits)]
    assert not any(s in made.text for s in stop)
    # Nothing earlier would have ended it.
    before = taken[:-1]
    assert END not in before
    assert not any(s in decode(before) for s in stop)
    stopped = ended or bool(hits)
    assert made.finish_reason == ("stop" if stopped else "length")
    assert len(made.logprobs) == len(taken)


def test_a_stop_string_is_found_across_token_borders():
    made = run([0, 5, 6, 1], stop=("\n## User",))
    assert (made.text, made.finish_reason, made.token_ids) == ("a", "stop", (0, 5, 6))


def test_a_text_before_the_stop_string_within_one_token_is_kept():
    made = run([5, 6], stop=(" User",))
    assert (made.text, made.finish_reason) == ("\n##", "stop")


def test_the_end_token_wins_over_the_length():
    made = run([0, END], max_tokens=2)
    assert (made.text, made.finish_reason, made.token_ids) == ("a", "stop", (0, END))


def test_a_blank_that_a_tokenizer_drops_at_the_start_is_kept():
    def sentencepiece(ids):
        return "".join(["▁x", "▁y", "z"][i] for i in ids).replace("▁", " ").removeprefix(" ")

    row = Row(Request(prompt="x", max_tokens=2), [0], {9}, sentencepiece)
    row.take(1, 0.0)
    row.take(2, 0.0)
    assert row.completion().text == " yz"


def test_draws_follow_the_seed_alone():
    rows = [Row(Request(seed=s), [0], {END}, decode) for s in (3, 3, 4)]
    first, second, other = ([row.uniform() for _ in range(5)] for row in rows)
    assert first == second != other
    assert all(0 <= u < 1 for u in first)


def test_a_cancelled_row_is_done():
    row = Row(Request(), [0], {END}, decode)
    assert not row.done
    row.cancelled = lambda: True
    assert row.done


@pytest.mark.parametrize("max_tokens", [1, 3])
def test_length(max_tokens):
    made = run([0] * 5, max_tokens=max_tokens)
    assert (made.finish_reason, len(made.token_ids)) == ("length", max_tokens)
