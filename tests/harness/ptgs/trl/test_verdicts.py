from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs.trl.verdicts import verdicts

torch = pytest.importorskip("torch", reason="needs the extra `hf`")

NAN = float("nan")
REWARDS = torch.tensor([[1.0, NAN], [0.2, 0.2], [NAN, NAN]])
WEIGHTS = torch.ones(2)


def test_a_row_succeeds_whose_weighted_sum_is_one() -> None:
    won, scored = verdicts(torch.tensor([[0.5, NAN], [0.0, 0.0], [NAN, NAN]]), torch.tensor([2, 1]))
    assert won.tolist() == [True, False, False]
    assert scored.tolist() == [True, True, False]


@pytest.mark.parametrize("reward", [7.0, 0.4, -1.0, float("inf")])
def test_other_rewards_need_a_word_on_what_success_is(reward: float) -> None:
    rewards = torch.tensor([[1.0], [reward]])
    with pytest.raises(BadArgument, match=r"weighted sum is 0 or 1.*`succeeded=lambda"):
        verdicts(rewards, torch.ones(1))
    won, _ = verdicts(rewards, torch.ones(1), lambda given: given[:, 0] > 0.5)
    assert won.tolist() == [True, reward > 0.5]


@pytest.mark.parametrize("kind", [list, np.asarray, torch.tensor])
def test_one_may_say_which_rows_succeed(kind: Any) -> None:
    won, _ = verdicts(REWARDS, WEIGHTS, lambda _: kind([False, True, False]))
    assert won.tolist() == [False, True, False]


@pytest.mark.parametrize(
    "said",
    [
        None,
        (True for _ in range(3)),
        ["yes", "no", "no"],
        [True, None, False],
        [True, False],
        [1.0, 0.0, 0.0],
        [[True], [False], [False]],
        [[True], [True, False], []],
        torch.ones(3, dtype=torch.bfloat16),
        {0: True},
    ],
)
def test_verdicts_that_are_no_booleans_are_refused(said: Any) -> None:
    with pytest.raises(BadArgument, match="`succeeded` to return 3 booleans, got"):
        verdicts(REWARDS, WEIGHTS, lambda _: said)
