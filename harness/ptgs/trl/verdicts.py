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
            is above 0.5.

    Raises:
        BadArgument: `succeeded` returned something else.
    """
    import torch

    scored = (~torch.isnan(rewards).all(dim=1)).cpu().numpy()
    if succeeded is None:
        won = ((rewards * weights.to(rewards.device)).nansum(dim=1) > 0.5).cpu().numpy()
        return won, scored
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
