from __future__ import annotations

import pytest

from agentenvs.errors import BadArgument
from agentenvs.toollab import vocabulary as v

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]


def play(torch, model, world, tasks, temperatures, seed=0, **options):
    from agentenvs.harness.lab.rollouts import sample

    generator = torch.Generator().manual_seed(seed)
    return sample(model, world, tasks, temperatures, generator, **options)


@pytest.fixture(scope="module")
def played(torch, taught, world, design):
    tasks = torch.from_numpy(design.train.copy()).repeat_interleave(4)
    return play(torch, taught, world, tasks, torch.linspace(0.4, 2.0, len(tasks)))


def test_rollouts_are_of_all_kinds(played):
    from agentenvs.harness.lab.rollouts import lengths

    assert 0 < int(played.success.sum()) < len(played.success)
    assert set(played.turns.tolist()) >= {1, 2, 3, 4}
    assert len(set(lengths(played).tolist())) > 8


def test_recorded_log_probabilities_are_those_scored_at_the_rows_temperature(torch, taught, played):
    from agentenvs.harness.lab.rollouts import score

    logps, _ = score(taught, played, played.temperatures)
    assert (logps - played.logps).abs().max() < 1e-4
    other, _ = score(taught, played, torch.ones(len(played.ids)))
    assert (other - played.logps).abs().max() > 0.1


def test_scores_are_those_of_the_whole_sequence_read_at_once(torch, taught, played):
    from agentenvs.harness.lab.rollouts import score

    logps, entropy = score(taught, played, played.temperatures)
    scores = (taught(played.ids[:, :-1]) / played.temperatures[:, None, None]).log_softmax(-1)
    chosen = scores.gather(2, played.ids[:, 1:, None])[..., 0]
    spread = -(scores.exp() * scores).sum(-1)
    own = played.agent[:, 1:]
    torch.testing.assert_close(logps[:, 1:], chosen * own, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(entropy[:, 1:], spread * own, atol=1e-4, rtol=1e-4)
    assert not logps[~played.agent].any()
    assert not entropy[~played.agent].any()


def test_the_gradient_of_a_score_reaches_every_weight(torch, taught, played):
    from agentenvs.harness.lab.rollouts import score

    student = taught.copy()
    logps, _ = score(student, played, played.temperatures)
    logps.sum().backward()
    assert all(weight.grad.abs().sum() > 0 for weight in student.parameters())


def test_the_same_seed_gives_the_same_rollouts(torch, taught, world, played):
    again = play(torch, taught, world, played.tasks, played.temperatures)
    for one, other in zip(played, again, strict=True):
        assert torch.equal(one, other)
    different = play(torch, taught, world, played.tasks, played.temperatures, seed=1)
    assert not torch.equal(different.success, played.success)


def test_a_row_depends_on_its_index_and_not_on_its_neighbours(torch, taught, world, played):
    tasks, temperatures = played.tasks.clone(), played.temperatures.clone()
    tasks[1::2], temperatures[1::2] = 7, 3.0
    mixed = play(torch, taught, world, tasks, temperatures)
    few = play(torch, taught, world, played.tasks[:9], played.temperatures[:9])
    for other, rows in ((mixed, slice(None, None, 2)), (few, slice(0, 9))):
        width = min(other.ids.shape[1], played.ids.shape[1])
        kept = rows if other is mixed else slice(None)
        assert torch.equal(other.ids[kept, :width], played.ids[rows, :width])
        assert torch.equal(other.success[kept], played.success[rows])
        assert (other.logps[kept, :width] - played.logps[rows, :width]).abs().max() < 1e-4


def test_letting_ended_rows_go_changes_nothing(torch, taught, world, played, monkeypatch):
    from agentenvs.harness.lab import rollouts

    for share, block in ((-1.0, 4096), (1.0, 64)):
        monkeypatch.setattr(rollouts, "_DROP", share)
        monkeypatch.setattr(rollouts, "_BLOCK", block)
        other = play(torch, taught, world, played.tasks, played.temperatures)
        assert torch.equal(other.ids, played.ids)
        assert torch.equal(other.agent, played.agent)
        assert torch.equal(other.success, played.success)
        assert (other.logps - played.logps).abs().max() < 1e-4


def test_tokens_are_drawn_as_often_as_the_model_says(torch, model, world):
    rows = 3_000
    tasks = torch.full((rows,), 1234)
    played = play(torch, model, world, tasks, torch.full((rows,), 0.7))
    with torch.no_grad():
        logits = model(world.prompt(tasks[:1]))[0, -1]
    wanted = torch.softmax(logits / 0.7, -1) * rows
    seen = torch.bincount(played.ids[:, 5], minlength=len(wanted))
    common = wanted > 15
    chi2 = ((seen - wanted) ** 2 / wanted)[common].sum()
    # Mean k, variance 2 k: six deviations.
    free = int(common.sum())
    assert free > 5
    assert chi2 < free + 6 * (2 * free) ** 0.5


def test_a_turn_without_an_end_is_cut_and_its_end_is_not_the_agents(torch, model, world):
    tasks = torch.zeros(300, dtype=torch.int64)
    played = play(torch, model, world, tasks, torch.full((300,), 3.0), max_turn=4)
    cut = played.agent[:, 5:9].all(1) & (played.ids[:, 5:9] != v.END).all(1)
    assert cut.any()
    assert (played.ids[cut, 9] == v.END).all()
    assert not played.agent[cut, 9].any()


def test_no_rollouts_are_a_batch_as_well(torch, model, world):
    from agentenvs.harness.lab.rollouts import score

    none = torch.zeros(0, dtype=torch.int64)
    played = play(torch, model, world, none, torch.zeros(0))
    assert played.ids.shape[0] == 0
    assert played.success.shape == (0,)
    assert score(model, played, torch.zeros(0))[0].shape[0] == 0


@pytest.mark.parametrize("heat", [[0.0], [-1.0], [float("nan")], [float("inf")], [1.0, 1.0]])
def test_a_temperature_a_row_above_zero_is_wanted(torch, model, world, heat):
    with pytest.raises(BadArgument, match="`temperatures`"):
        play(torch, model, world, torch.tensor([0]), torch.tensor(heat))


@pytest.mark.parametrize("turn", [3, 0, True, 6.0])
def test_a_turn_has_room_for_a_call(torch, model, world, turn):
    with pytest.raises(BadArgument, match="max_turn"):
        play(torch, model, world, torch.tensor([0]), torch.ones(1), max_turn=turn)


def test_very_cold_rows_take_the_likeliest_token(torch, taught, world):
    tasks = torch.arange(0, 1600, 16)
    cold = play(torch, taught, world, tasks, torch.full((100,), 1e-6))
    with torch.no_grad():
        best = taught(cold.ids[:, :-1]).argmax(-1)
    own = cold.agent[:, 1:]
    assert torch.equal(best[own], cold.ids[:, 1:][own])
