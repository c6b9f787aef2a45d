import math

import numpy as np
import pytest

from agentenvs.errors import BadArgument

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]
torch = pytest.importorskip("torch")

from agentenvs.harness.lab import gather as gathering  # noqa: E402
from agentenvs.harness.lab.gather import Pool, chunks, gather, join, select  # noqa: E402
from agentenvs.harness.lab.rollouts import Rollouts  # noqa: E402


class Spy:
    """A sampler that gives rollouts rising temperatures and keeps what it is told."""

    def __init__(self):
        self.told = []

    def rollout_temperatures(self, ids, n):
        return np.tile(np.linspace(0.5, 2, n), (len(ids), 1))

    def record(self, ids, outcomes):
        self.told.append((ids.tolist(), outcomes.tolist()))


@pytest.fixture
def play(monkeypatch):
    """Make rollouts end as a script says: outcomes by task, else failures."""
    played = []

    def script(outcomes, width=6):
        def sample(model, world, tasks, temperatures, generator):
            played.append((tasks.tolist(), temperatures.tolist()))
            seen, success = {}, []
            for task in tasks.tolist():
                at = seen[task] = seen.get(task, -1) + 1
                success.append(bool(outcomes.get(task, [0] * 99)[at]))
            rows = len(tasks)
            agent = torch.zeros(rows, width, dtype=torch.bool)
            agent[:, 2:4] = True
            return Rollouts(
                ids=torch.arange(rows * width).reshape(rows, width),
                agent=agent,
                logps=torch.where(agent, -0.5, 0.0),
                success=torch.tensor(success),
                tasks=tasks,
                temperatures=temperatures,
                turns=torch.ones(rows, dtype=torch.long),
            )

        monkeypatch.setattr(gathering, "sample", sample)
        return played

    return script


def collect(pool, spy, **options):
    generator = torch.Generator().manual_seed(0)
    return gather(None, None, pool, spy, generator, **{"groups": 2, "size": 4, **options})


def test_the_pool_is_cycled_in_an_order_of_its_own():
    pool = Pool(np.arange(10, 16), 3)
    first = np.concatenate([pool.draw(4) for _ in range(3)])
    assert sorted(first[:6]) == sorted(first[6:]) == list(range(10, 16))
    assert first[:6].tolist() == first[6:].tolist()
    again, other = Pool(np.arange(10, 16), 3), Pool(np.arange(10, 16), 4)
    assert again.draw(6).tolist() == first[:6].tolist()
    assert other.draw(6).tolist() != first[:6].tolist()


def test_a_draw_has_each_task_once_even_around_the_end():
    pool = Pool([5, 6, 7, 8, 9], 0)
    for _ in range(7):
        assert len(set(pool.draw(4).tolist())) == 4


@pytest.mark.parametrize("tasks", [[], [1, 1], [[1, 2]]])
def test_a_pool_needs_distinct_tasks(tasks):
    with pytest.raises(BadArgument, match="distinct"):
        Pool(tasks, 0)


@pytest.mark.parametrize("count", [0, 4])
def test_no_more_than_the_pool_holds(count):
    with pytest.raises(BadArgument, match=f"1 to 3 tasks at a time, got {count}"):
        Pool([1, 2, 3], 0).draw(count)


def test_groups_lie_side_by_side_at_the_samplers_temperatures(play):
    played, spy, pool = play({}), Spy(), Pool([4, 5], 0)
    got = collect(pool, spy)
    order = Pool([4, 5], 0).draw(2).tolist()
    assert played[0][0] == [order[0]] * 4 + [order[1]] * 4
    assert played[0][1] == pytest.approx([0.5, 1, 1.5, 2] * 2)
    assert got.rollouts.tasks.tolist() == played[0][0]
    assert (got.played, got.groups, got.mixed, got.successes) == (8, 2, 0, 0)
    assert got.heat == pytest.approx(2 * math.log(1.5))
    assert (got.surprise, got.tokens) == (8.0, 16)


def test_without_refill_groups_all_alike_stay(play):
    play({4: [1, 1, 1, 1], 5: [1, 0, 0, 0]})
    spy = Spy()
    got = collect(Pool([4, 5], 0), spy)
    assert len(got.rollouts.success) == 8
    assert (got.mixed, got.successes) == (1, 5)
    assert len(spy.told) == 1


def test_refill_replaces_groups_all_alike_and_tells_the_sampler_of_all(play):
    tasks = [1, 2, 3, 4, 5, 6]
    order = Pool(tasks, 7).draw(6).tolist()
    mixed = {order[1]: [1, 0, 0, 1], order[3]: [0, 0, 1, 0], order[4]: [1, 1, 0, 0]}
    played, spy = play({**mixed, order[0]: [1, 1, 1, 1]}), Spy()
    got = collect(Pool(tasks, 7), spy, refill=5)
    assert [ids for ids, _ in spy.told] == [order[:2], order[2:4]]
    assert spy.told[0][1] == [[True] * 4, [True, False, False, True]]
    assert len(played) == 2
    assert got.rollouts.tasks.tolist() == [order[1]] * 4 + [order[3]] * 4
    assert got.rollouts.success.tolist() == [True, False, False, True, False, False, True, False]
    assert (got.played, got.groups, got.mixed, got.successes) == (16, 4, 2, 7)


def test_a_step_keeps_no_more_groups_than_it_asked_for(play):
    tasks = [1, 2, 3, 4]
    order = Pool(tasks, 0).draw(4).tolist()
    play({task: [1, 0, 0, 0] for task in order[1:]})
    got = collect(Pool(tasks, 0), Spy(), refill=1)
    assert got.rollouts.tasks[::4].tolist() == order[1:3]
    assert got.mixed == 3


def test_refill_ends_and_keeps_what_there_is(play):
    spy = Spy()
    play({})
    got = collect(Pool([1, 2, 3], 0), spy, refill=3)
    assert len(spy.told) == 4
    assert (got.played, got.groups) == (32, 8)
    assert len(got.rollouts.success) == 0


def test_rows_are_cut_after_the_last_token_of_the_agent(play):
    play({}, width=9)
    whole = collect(Pool([1, 2], 0), Spy()).rollouts
    part = select(whole, torch.tensor([3, 0]))
    assert part.ids.shape == part.logps.shape == part.agent.shape == (2, 4)
    assert part.ids[:, 0].tolist() == [27, 0]
    assert part.temperatures.tolist() == [2.0, 0.5]


def test_rollouts_of_different_lengths_are_joined(play):
    play({}, width=9)
    long = collect(Pool([1, 2], 0), Spy()).rollouts
    short = select(long, torch.tensor([1]))
    both = join([short, long])
    assert both.ids.shape == (9, 9)
    assert both.ids[0].tolist() == [9, 10, 11, 12, 0, 0, 0, 0, 0]
    assert not both.agent[0, 4:].any()
    assert both.tasks.tolist() == [1 if long.tasks[1] == 1 else 2, *long.tasks.tolist()]


def test_chunks_hold_each_row_once_and_rows_of_like_length():
    lengths = torch.randint(1, 30, (100,), generator=torch.Generator().manual_seed(0))
    agent = torch.arange(30)[None, :] < lengths[:, None]
    rows = torch.randperm(100, generator=torch.Generator().manual_seed(1))[:70]
    parts = chunks(agent, rows, 20)
    assert sorted(torch.cat(parts).tolist()) == sorted(rows.tolist())
    assert len(parts) == 4
    longest = [int(lengths[part].max()) for part in parts]
    assert all(int(lengths[b].min()) >= a for a, b in zip(longest, parts[1:], strict=False))


def test_one_row_is_one_chunk():
    assert [part.tolist() for part in chunks(torch.ones(5, 2).bool(), torch.tensor([3]), 20)] == [
        [3]
    ]
