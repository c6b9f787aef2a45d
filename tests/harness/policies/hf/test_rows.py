import pytest
from hypothesis import given, settings
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
    def numbers(seed):
        row = Row(Request(seed=seed), [0], {END}, decode)
        for _ in range(5):
            # Asking twice, as after a step that failed, changes nothing.
            assert row.uniform() == row.uniform()
            yield row.uniform()
            row.take(0, 0.0)

    first, second, other = (list(numbers(seed)) for seed in (3, 3, 4))
    assert first == second != other
    assert len(set(first)) == 5
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


LETTERS = "ab\n é😀"
BYTES = sorted(set(LETTERS.encode()))


def read(ids, errors):
    return bytes(BYTES[i % len(BYTES)] for i in ids if i < 100).decode("utf-8", errors)


@settings(max_examples=150)
@given(
    st.text(LETTERS, max_size=300),
    st.lists(st.integers(0, 20), max_size=40),
    st.lists(st.text(LETTERS, min_size=1, max_size=12), min_size=1, max_size=3),
    st.sampled_from(["replace", "ignore"]),
    st.booleans(),
)
def test_a_stop_string_is_found_as_soon_as_the_whole_text_holds_it(
    text, noise, stop, errors, continued
):
    """One byte a token: characters are split over tokens, and some tokens are no text at all."""
    tokens = [BYTES.index(byte) for byte in text.encode()]
    for place, at in enumerate(noise):
        tokens.insert(at * 7 % (len(tokens) + 1), 100 if place % 2 else place)
    prompt = {"prompt": "ab"} if continued else {"messages": ()}
    row = Row(
        Request(**prompt, stop=tuple(stop), max_tokens=10_000),
        [BYTES.index(byte) for byte in b"ab"],
        (),
        lambda ids: read(ids, errors),
    )
    for count, token in enumerate(tokens, 1):
        row.take(token, 0.0)
        whole = read(tokens[:count], errors)
        hits = [at for at in map(whole.find, stop) if at >= 0]
        assert row.done == bool(hits)
        if hits:
            assert row.completion().text == whole[: min(hits)]
            assert row.completion().token_ids == tuple(tokens[:count])
            return
    assert row.completion().text == read(tokens, errors)


def test_only_the_end_of_a_long_text_is_decoded_again():
    sizes = []

    def counted(ids):
        sizes.append(len(ids))
        return decode(ids)

    row = Row(Request(messages=(), stop=("User",), max_tokens=2000), [0], {END}, counted)
    for _ in range(1000):
        row.take(0, 0.0)
    assert max(sizes) <= 100
    row.take(4, 0.0)
    assert row.completion().text == "a" * 1000


def test_a_stop_string_in_the_very_first_token():
    made = run([3], stop=("##",))
    assert (made.text, made.finish_reason, made.token_ids) == ("", "stop", (3,))


def test_of_stop_strings_that_overlap_the_earliest_place_counts():
    assert run([0, 1], stop=("b", "ab")).text == ""
    assert run([1, 0, 1, 1], stop=("bb", "ba")).text == ""
    assert run([0, 0, 1], stop=("ab", "aab")).text == ""


def test_an_empty_stop_string_stops_nothing():
    assert run([0, 1], stop=("",), max_tokens=2).text == "ab"
