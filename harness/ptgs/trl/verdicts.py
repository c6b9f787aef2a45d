"""Rewards as verdicts: which rollouts succeeded, and which have no verdict at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument

__all__ = ["verdicts"]


def verdicts(
    rewards: Any, weights: Any, succeeded: Callable[[Any], Any] | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows succeeded, (B,), and which have a verdict, (B,).

    Args:
        rewards: (B, F), NaN where a reward function gave None.
        weights: (F,) of the reward functions.
        succeeded: takes the rewards and returns (B,) booleans; default those whose weighted sum
            is 1.

    Raises:
        BadArgument: `succeeded` returned something else; without it, a weighted sum that is
            neither 0 nor 1, of which nobody said whether it is a success.
    """
    import torch

    scored = (~torch.isnan(rewards).all(dim=1)).cpu().numpy()
    if succeeded is None:
        total = (rewards * weights.to(rewards.device)).nansum(dim=1).cpu().numpy()
        odd = total[scored & ~np.isin(total, (0.0, 1.0))]
        if odd.size:
            raise BadArgument(
                f"Expected rewards whose weighted sum is 0 or 1, got {odd[0]:g}: say what counts "
                "as success, as in `succeeded=lambda rewards: rewards[:, 0] > 0.5` (rewards are "
                "(rows, functions))."
            )
        return total == 1.0, scored
    said = succeeded(rewards)
    try:
        won = torch.as_tensor(said).cpu().numpy()
    except (ArithmeticError, RuntimeError, TypeError, ValueError) as error:
        raise BadArgument(
            f"Expected `succeeded` to return {len(rewards)} booleans, got {type(said).__name__}: "
            f"{error}"
        ) from error
    if won.shape != (len(rewards),) or won.dtype != np.bool_:
        raise BadArgument(
            f"Expected `succeeded` to return {len(rewards)} booleans, got {won.dtype} of "
            f"shape {won.shape}."
        )
    return won, scored
