import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.policies.hf_cache import PrefixStore

pytestmark = pytest.mark.hf


@pytest.fixture
def states(torch):
    def make(ids):
        keys = torch.tensor([[[float(i)] * 2 for i in ids]])
        return [(keys, -keys)]

    return make


BYTES = 16  # of one token: keys and values of one head with two float32 numbers


def test_the_furthest_prefix_is_found_and_the_last_token_is_left_to_read(states):
    store = PrefixStore(1000 * BYTES)
    for ids in ([1, 2, 3], [1, 2, 9, 9], [7]):
        store.add(ids, states(ids))
    assert store.find([1, 2, 9, 5])[1] == 3
    assert store.find([1, 2, 3])[1] == 2
    assert store.find([1, 2, 3, 4])[1] == 3
    assert store.find([8, 8]) == ([], 0)


def test_a_continuation_replaces_what_it_continues(states):
    store = PrefixStore(1000 * BYTES)
    store.add([1, 2], states([1, 2]))
    store.add([1, 2, 3], states([1, 2, 3]))
    store.add([1, 2], states([1, 2]))
    assert len(store) == 1
    assert store.find([1, 2, 3, 4])[1] == 3


def test_the_oldest_used_goes_when_the_bytes_run_out(states):
    store = PrefixStore(6 * BYTES)
    store.add([1, 1], states([1, 1]))
    store.add([2, 2], states([2, 2]))
    store.find([1, 1, 1])
    store.add([3, 3, 3], states([3, 3, 3]))
    assert store.find([2, 2, 2])[1] == 0
    assert store.find([1, 1, 1])[1] == 2
    assert store.find([3, 3, 3, 3])[1] == 3


_SEQUENCES = st.lists(
    st.lists(st.sampled_from([0, 1, 255, 256, 70_000]), min_size=1, max_size=5), max_size=12
)


@given(_SEQUENCES, _SEQUENCES)
def test_what_is_found_is_what_a_search_of_all_would_find(added, asked):
    store = PrefixStore(10**9)
    for ids in added:
        store.add(ids, [(_Named(tuple(ids)), _Named(()))])
    for ids in asked:
        kv, reach = store.find(ids)
        shared = [n for n in range(len(ids)) for other in added if other[:n] == ids[:n]]
        assert reach == max(shared, default=0)
        assert not reach or list(kv[0][0].ids[:reach]) == ids[:reach]
    longest = {tuple(ids) for ids in added}
    longest -= {ids for ids in longest for o in longest if o != ids and o[: len(ids)] == ids}
    assert len(store) == len(longest)


@given(_SEQUENCES, st.integers(0, 12))
def test_the_store_never_holds_more_than_its_limit(added, tokens):
    store = PrefixStore(tokens)
    for ids in added:
        store.add(ids, [(_Named(tuple(ids)), _Named(()))])
        assert sum(len(key) // 4 for key in store._order) <= tokens
        assert len(store) == len(store._order)


class _Named:
    """Stands for states of one byte a token, and tells whose they are."""

    def __init__(self, ids):
        self.ids = ids

    def numel(self):
        return len(self.ids)

    def element_size(self):
        return 1

    def clone(self):
        return self


def test_what_is_kept_is_a_copy(torch, states):
    store = PrefixStore(1000 * BYTES)
    kv = states([1, 2, 3])
    store.add([1, 2, 3], kv)
    kv[0][0].zero_()
    found, reach = store.find([1, 2, 3, 4])
    assert (reach, found[0][0][0, :, 0].tolist()) == (3, [1, 2, 3])


def test_nothing_is_kept_without_room(states):
    store = PrefixStore(0)
    store.add([1], states([1]))
    assert len(store) == 0
