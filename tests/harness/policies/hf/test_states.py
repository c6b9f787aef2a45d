import pytest

from agentenvs.harness.policies.hf_states import is_plain, stack, unstack

pytestmark = pytest.mark.hf


@pytest.fixture
def states(torch):
    def make(ids):
        keys = torch.tensor([[[float(i)] * 2 for i in ids]])
        return [(keys, -keys)]

    return make


def test_stack_pads_on_the_left_and_unstack_takes_it_back(torch, states):
    rows = [states([1, 2, 3]), [], states([4, 5])]
    cache = stack(rows, [2, 0, 2], 3, 0)
    assert cache.layers[0].keys[:, 0, :, 0].tolist() == [[0, 1, 2], [0, 0, 0], [0, 4, 5]]
    assert cache.layers[0].values[:, 0, :, 0].tolist() == [[0, -1, -2], [0, 0, 0], [0, -4, -5]]
    ((keys, values),) = unstack(cache, 2, 2)
    assert torch.equal(keys, states([4, 5])[0][0])
    assert torch.equal(values, states([4, 5])[0][1])


def test_what_is_read_is_written_beside_what_was(torch, states):
    cache = stack([states([1, 2]), states([3])], [2, 1], 2, 3)
    new = torch.full((2, 1, 1, 2), 9.0)
    keys, values = cache.update(new, -new, 0)
    assert keys[:, 0, :, 0].tolist() == [[1, 2, 9], [0, 3, 9]]
    assert torch.equal(values, -keys)
    assert cache.get_seq_length() == 3
    assert cache.layers[0].whole[0][:, 0, :, 0].tolist() == [[1, 2, 9, 0, 0], [0, 3, 9, 0, 0]]


@pytest.mark.parametrize(
    ("kind", "plain"), [("llama", True), ("gemma3", True), ("gpt2", True), ("mamba", False)]
)
def test_recurrent_states_are_told_apart(make_model, kind, plain):
    assert is_plain(make_model(kind)) is plain


@pytest.mark.parametrize(
    ("rope", "plain"),
    [
        ({"rope_type": "default", "rope_theta": 1e4}, True),
        ({"rope_type": "linear", "factor": 2.0}, True),
        ({"rope_type": "dynamic", "factor": 2.0}, False),
        ({"full_attention": {"rope_type": "longrope"}}, False),
    ],
)
def test_positions_that_follow_the_longest_row_are_told_apart(make_model, rope, plain):
    model = make_model("llama")
    model.config.rope_parameters = rope
    assert is_plain(model) is plain
