"""Which temperatures a task may get: the law of T when p is drawn from its Beta posterior.

A task without outcomes draws from Beta(2 p~, 2 (1 - p~)). That is close to a random temperature
between the rails, and for p~ below 1/2 it leans to heat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.harness.ptgs import _beta
from agentenvs.harness.ptgs._ranges import chances, number
from agentenvs.harness.ptgs.posterior import PRIOR_MASS
from agentenvs.harness.ptgs.theory import heat

__all__ = ["TemperatureLaw", "cold_start", "temperature_law"]

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TemperatureLaw:
    """The distribution of T = t_ref tau ** h(p) for p ~ Beta(a, b).

    Attributes:
        tau, target, t_ref: the settings of the map.
        a, b: the parameters of the posterior.
    """

    tau: float
    target: float
    t_ref: float
    a: float
    b: float

    @property
    def mean(self) -> float:
        """The mean temperature."""
        return _beta.expectation(self._temperature, self.a, self.b, self.target)

    @property
    def sd(self) -> float:
        """The standard deviation of the temperature."""
        middle = self.mean

        def square(p: _Floats) -> _Floats:
            off: _Floats = (self._temperature(p) - middle) ** 2
            return off

        return math.sqrt(_beta.expectation(square, self.a, self.b, self.target))

    @property
    def heats(self) -> float:
        """The chance of a temperature above `t_ref`."""
        return 0.0 if self.tau == 1 else float(_beta.cdf(self.target, self.a, self.b))

    def near_rails(self, within: float = 0.02) -> float:
        """Return the chance of a temperature within that share of the hottest or the coldest.

        Raises:
            BadArgument: `within` outside [0, 1).
        """
        share = number("within", within, low=0.0, below=1.0)
        top, bottom = self.t_ref * self.tau, self.t_ref / self.tau
        if top * (1 - share) <= bottom * (1 + share):
            return 1.0
        hot = 1 - float(self.cdf(top * (1 - share)))
        return hot + float(self.cdf(bottom * (1 + share)))

    def cdf(self, t: ArrayLike) -> _Floats:
        """Return the chance of a temperature of at most `t`, of any shape."""
        at = np.asarray(t, dtype=np.float64)
        if self.tau == 1:
            step: _Floats = (at >= self.t_ref).astype(np.float64)[()]
            return step
        return 1 - _beta.cdf(self._chance(at), self.a, self.b)

    def quantile(self, q: ArrayLike) -> _Floats:
        """Return the temperatures that lie above a share `q` of the draws, in [0, 1].

        Raises:
            BadArgument: a share outside [0, 1].
        """
        share = chances("q", q)
        return self._temperature(np.asarray(_beta.quantile(1 - share, self.a, self.b)))

    def _temperature(self, p: _Floats) -> _Floats:
        hot: _Floats = self.t_ref * self.tau ** heat(p, self.target)
        return hot

    def _chance(self, t: _Floats) -> _Floats:
        """Return the p that is played at `t`, cut to [0, 1]."""
        with np.errstate(divide="ignore"):
            h = np.clip(np.log(np.maximum(t, 0.0) / self.t_ref) / math.log(self.tau), -1.0, 1.0)
        below, above = self.target * (1 - h), self.target - (1 - self.target) * h
        p: _Floats = np.where(h >= 0, below, above)
        return p


def cold_start(tau: float = 1.5, target: float = 0.5, t_ref: float = 1.0) -> TemperatureLaw:
    """Return the law of the temperature of a task's first visit.

    >>> law = cold_start(target=0.25)
    >>> [round(x, 2) for x in (law.mean, law.sd, law.heats)]
    [1.15, 0.26, 0.61]

    Raises:
        BadArgument: tau below 1, the target outside (0, 1), or `t_ref` not positive.
    """
    return temperature_law(0.0, 0.0, tau, target, t_ref)


def temperature_law(
    success: float, failure: float, tau: float = 1.5, target: float = 0.5, t_ref: float = 1.0
) -> TemperatureLaw:
    """Return the law of the temperature after discounted counts of successes and failures.

    Args:
        success: s~ >= 0, as the sampler holds it.
        failure: f~ >= 0.
        tau: at least 1, as in `temperature`.
        target: p~, in (0, 1).
        t_ref: positive.

    Raises:
        BadArgument: a value out of range.
    """
    aim = number("target", target, above=0.0, below=1.0)
    return TemperatureLaw(
        tau=number("tau", tau, low=1.0),
        target=aim,
        t_ref=number("t_ref", t_ref, above=0.0),
        a=PRIOR_MASS * aim + number("success", success, low=0.0),
        b=PRIOR_MASS * (1 - aim) + number("failure", failure, low=0.0),
    )
