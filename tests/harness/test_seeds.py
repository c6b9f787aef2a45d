from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.seeds import derive, nth


def test_derive_is_the_same_on_every_machine() -> None:
    assert derive(0, "task", 1) == 6407501490655066646


def test_nth_is_splitmix64() -> None:
    published = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)
    assert [nth(0, index) for index in range(3)] == [value >> 1 for value in published]


@given(st.integers(), st.text(), st.integers())
def test_seeds_fit_signed_64_bits(seed: int, task: str, rollout: int) -> None:
    assert 0 <= derive(seed, task, rollout) < 2**63
    assert 0 <= nth(derive(seed, task), abs(rollout)) < 2**63


def test_parts_do_not_run_together() -> None:
    assert derive(1, "a", "b") != derive(1, "ab")
    assert derive(1, 2) != derive(1, "2")
    assert derive(1, 23) != derive(12, 3)


def test_no_two_of_many_are_equal() -> None:
    seeds = {derive(0, f"task_{task}", rollout) for task in range(100) for rollout in range(100)}
    steps = {nth(derive(0, rollout), step) for rollout in range(100) for step in range(100)}
    assert len(seeds) == len(steps) == 10_000


def test_streams_of_neighbouring_seeds_share_nothing() -> None:
    assert not {nth(5, step) for step in range(1000)} & {nth(6, step) for step in range(1000)}
