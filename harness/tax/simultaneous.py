"""One factor for a whole curve: how many standard errors wide a band must be everywhere."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax.student import student_quantile

__all__ = ["check_draws", "sup_t"]

_MAX_DRAWS = 1_000_000
_BLOCK = 2**21


def check_draws(draws: object) -> int:
    """Return a number of draws.

    Raises:
        BadArgument: it is no integer from 1 to a million.
    """
    if type(draws) is not int or not 1 <= draws <= _MAX_DRAWS:
        raise BadArgument(f"Expected `draws` of 1 to {_MAX_DRAWS}, got {draws!r}.")
    return draws


def sup_t(
    pulls: NDArray[np.float64], confidence: float, draws: int, seed: int, freedom: float
) -> float:
    """Return the factor c such that estimates lie within c standard errors at once.

    The estimates' errors are taken as jointly normal with the correlation that the pulls show:
    the limit of multiplier draws, so that the result does not hang on the order of tasks.

    Args:
        pulls: (U, M) influences of U independent units on M estimates; an estimate without any
            spread is left out.
        confidence: how often all estimates should lie within.
        draws: how many curves of errors are drawn.
        seed: of the draws.
        freedom: degrees of freedom of the standard errors.

    Returns:
        At least the two-sided quantile of Student's t; NaN where no estimate has a spread.
    """
    size = np.sqrt(np.einsum("um,um->m", pulls, pulls))
    spread = size > 0
    if not spread.any():
        return math.nan
    unit = pulls[:, spread] / size[spread]
    values, vectors = np.linalg.eigh(unit.T @ unit)
    # The symmetric root does not hang on signs or the order of the vectors, which are arbitrary.
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    rng = np.random.default_rng(seed)
    scale = np.sqrt(rng.chisquare(freedom, draws) / freedom)
    most = np.empty(draws)
    step = max(1, _BLOCK // len(root))
    for start in range(0, draws, step):
        part = slice(start, min(start + step, draws))
        errors = rng.standard_normal((part.stop - start, len(root))) @ root
        most[part] = np.abs(errors).max(axis=1)
    least = student_quantile(confidence, freedom)
    return max(float(np.quantile(most / scale, confidence)), least)
