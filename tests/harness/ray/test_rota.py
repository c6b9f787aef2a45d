from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.exchange import Sampling
from agentenvs.harness.jobs import Job
from agentenvs.harness.ray.rota import Hand, Rota
from agentenvs.harness.records import Played, Void

SAMPLING = Sampling()


def jobs(tasks: int, n: int) -> list[Job]:
    return [Job(f"t{task}", rollout, SAMPLING) for task in range(tasks) for rollout in range(n)]


def rota_of(tasks: int, n: int, hands: int, retries: int = 2) -> Rota:
    rota = Rota(jobs(tasks, n), retries)
    rota.hands.extend(Hand() for _ in range(hands))
    return rota


def played(job: Job, **fields: Any) -> Played:
    return Played(job.task, job.rollout, 0, True, "", (), (), fields)


def test_a_hand_stays_with_its_task_and_idle_ones_take_over_half() -> None:
    rota = rota_of(2, 8, 3)
    first, second, third = rota.hands
    assert [job[:2] for job in rota.take(first, 2)] == [("t0", 0), ("t0", 1)]
    assert [job[:2] for job in rota.take(second, 1)] == [("t1", 0)]
    assert [job[:2] for job in rota.take(third, 1)] == [("t1", 4)]
    assert len(second.shard) == 3
    assert len(third.shard) == 3
    assert rota.take(first, 2) == []


def test_what_was_lost_is_played_again_the_last_time_alone() -> None:
    rota = rota_of(1, 3, 1)
    for expected in ([3], [3], [1]):
        hand = rota.hands[0]
        assert [len(rota.take(hand, 8))] == expected
        assert rota.take(hand, 8) == []
        ends = list(rota.lost(hand, "gone"))
        rota.hands.append(Hand())
    assert [(void.attempt, void.reason, void.error, last) for void, last in ends] == [
        (2, "worker", "gone", True)
    ]
    assert rota.left == 2
    (job,) = rota.take(rota.hands[0], 8)
    assert rota.played(rota.hands[0], played(job)).fields == {"attempt": 2}


def test_tries_of_a_hand_and_losses_of_hands_add_up() -> None:
    rota = rota_of(1, 1, 2)
    first, second = rota.hands
    rota.take(first, 1)
    assert rota.void(first, Void("t0", 0, 0, "timeout", "", 0.0)) == (
        Void("t0", 0, 0, "timeout", "", 0.0),
        False,
    )
    ((lost, last),) = rota.lost(first, "gone")
    assert (lost.attempt, last) == (1, False)
    (job,) = rota.take(second, 1)
    for attempt in range(3):
        void, last = rota.void(second, Void("t0", 0, attempt, "timeout", "", 0.0))
        assert (void.attempt, last) == (2 + attempt, attempt == 2)
    assert rota.left == 0
    assert job.task == "t0"


@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(0, 2),
    st.randoms(use_true_random=False),
)
def test_whatever_happens_every_rollout_ends_once(
    tasks: int, n: int, hands: int, most: int, retries: int, draw: Any
) -> None:
    rota = rota_of(tasks, n, hands, retries)
    ended: Counter[tuple[str, int]] = Counter()
    while rota.left:
        hand = draw.choice(rota.hands)
        began = rota.take(hand, most)
        assert len(hand.under_way) <= most
        under_way = [job for other in rota.hands for job in other.under_way]
        assert len(set(under_way)) == len(under_way)
        assert {job[:2] for job in began} <= set(hand.under_way)
        if not hand.under_way:
            continue
        what = draw.random()
        if what < 0.3:
            for void, last in list(rota.lost(hand, "gone")):
                ended[void.task, void.rollout] += last
            rota.hands.append(Hand())
        else:
            key = draw.choice(sorted(hand.under_way))
            if what < 0.5:
                _, last = rota.void(hand, Void(*key, retries, "timeout", "", 0.0))
                assert last
            else:
                rota.played(hand, played(hand.under_way[key].job))
            ended[key] += 1
    assert set(ended.values()) == {1}
    assert len(ended) == tasks * n
