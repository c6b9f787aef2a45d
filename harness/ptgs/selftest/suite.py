"""The self-test: all checks of one trainer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

import torch

from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.harness.ptgs._ranges import whole
from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.identity import identity
from agentenvs.harness.ptgs.selftest.loss import loss
from agentenvs.harness.ptgs.selftest.outcome import Seen, Undecided, carry_out
from agentenvs.harness.ptgs.selftest.planning import Plan, plan
from agentenvs.harness.ptgs.selftest.probe import PAIRS, Precision, Probe, forward, make_probe
from agentenvs.harness.ptgs.selftest.recorder import Recorder
from agentenvs.harness.ptgs.selftest.report import LEFT_OUT, PASSED, Check, Report
from agentenvs.harness.ptgs.selftest.resume import resume
from agentenvs.harness.ptgs.selftest.rows import rows, temperatures
from agentenvs.harness.ptgs.selftest.sampling import samples
from agentenvs.harness.ptgs.selftest.scores import Sheet, entropies, make_sheet, missing, scores
from agentenvs.harness.ptgs.selftest.spread import spread
from agentenvs.harness.ptgs.selftest.steps import Build, Run, play
from agentenvs.harness.ptgs.selftest.told import told, uniform

__all__ = ["CHECKS", "selftest"]

_ASKED = ("samples", "scores", "entropies", "identity", "missing")
_STEPPED = ("temperatures", "spread", "rows", "loss", "told", "uniform", "resume")
_NEEDS = "needs a forward pass that repeats: see `forward`"
#: names of the checks, in the order in which they are made
CHECKS = ("forward", *_ASKED, *_STEPPED)


def selftest(
    build: Build,
    *,
    seed: int = 0,
    draws: int = 16384,
    tokens: int = 1024,
    steps: int = 2,
    most_steps: int = 8,
    without: Collection[str] = (),
) -> Report:
    """Return whether a trainer samples at T, scores at T, and tells its sampler everything.

    Three trainers are built: one is asked for samples and scores, one does steps, one resumes
    from its checkpoint. torch's own generators are seeded meanwhile and put back afterwards.

    Args:
        build: takes a sampler (with the interface of `agentenvs.harness.ptgs.Sampler`) and
            returns a trainer in its initial state that takes its temperatures from there.
        seed: of the sampler, and of all that the self-test draws.
        draws: most one-token draws at each of two temperatures.
        tokens: most tokens of which gradients are enumerated; the likeliest where the vocabulary
            has more.
        steps: fewest steps before the checkpoint.
        most_steps: most steps before it, done until a group without contrast and rows of
            different temperatures were seen.
        without: checks to leave out, where they do not apply; the report says so.

    Raises:
        BadArgument, UnknownName: an argument out of range, or no such check.
    """
    if isinstance(without, str):
        raise BadArgument(f"Expected `without` to be names of checks, got {without!r} alone.")
    for name in without:
        if name not in CHECKS:
            hint = did_you_mean(name, CHECKS, limit=len(CHECKS))
            raise UnknownName(f"No check {name!r}.{hint}")
    if not callable(build):
        raise BadArgument(f"Expected `build` to be callable, got {type(build).__name__}.")
    steps = whole("steps", steps, low=1)
    sizes = _Sizes(
        whole("draws", draws, low=256),
        whole("tokens", tokens, low=2),
        steps,
        whole("most_steps", most_steps, low=steps),
    )
    suite = _Suite(build, whole("seed", seed, low=0), sizes, frozenset(without))
    with _own_random(seed):
        return Report((*suite.asked(), *suite.stepped()), seed)


class _Sizes(NamedTuple):
    draws: int
    tokens: int
    steps: int
    most_steps: int


class _Suite:
    """The checks, with what several of them need made once."""

    def __init__(self, build: Build, seed: int, sizes: _Sizes, without: frozenset[str]) -> None:
        self.build, self.seed, self.sizes, self.without = build, seed, sizes, without
        self.trainer: Guarded | None = None
        self.precision: Precision | None = None

    def asked(self) -> list[Check]:
        """Return the checks that ask a trainer for samples and scores."""
        # What comes behind needs a forward pass, whether or not this check is wanted.
        first = self._keep("forward", carry_out("forward", self._forward))
        makers: dict[str, Callable[[], Seen]] = {
            "samples": lambda: samples(self._ready(), *self._planned),
            "scores": lambda: scores(self._ready(), self._sheet),
            "entropies": lambda: entropies(self._ready(), self._sheet),
            "identity": lambda: identity(self._ready(), self._planned[0], self.sizes.tokens),
            "missing": lambda: missing(self._ready(), self._sheet),
        }
        return [first, *(self._check(name, makers[name]) for name in _ASKED)]

    def stepped(self) -> list[Check]:
        """Return the checks that look at whole steps."""
        if self.without.issuperset(_STEPPED):
            return [self._left_out(name) for name in _STEPPED]
        played: list[Run] = []

        def go() -> Seen:
            sizes = self.sizes
            played.append(play(self.build, self.seed, sizes.steps, sizes.most_steps))
            return Seen("", {})

        done = carry_out("step", go)
        if done.status != PASSED:
            return [
                self._keep(name, Check(name, done.status, done.words, error=done.error))
                for name in _STEPPED
            ]
        run = played[0]
        makers: dict[str, Callable[[], Seen]] = {
            "temperatures": lambda: temperatures(run),
            "spread": lambda: spread(run),
            "rows": lambda: rows(run),
            "loss": lambda: loss(run, self._known()),
            "told": lambda: told(run),
            "uniform": lambda: uniform(run),
            "resume": lambda: resume(run, self.build, self.seed),
        }
        return [self._check(name, makers[name]) for name in _STEPPED]

    def _forward(self) -> Seen:
        self.trainer = Guarded(self.build, Recorder(self.seed))
        self.precision, found = forward(self.trainer, self.seed)
        return found

    def _known(self) -> Precision:
        if self.precision is None:
            raise Undecided(_NEEDS)
        return self.precision

    def _ready(self) -> Guarded:
        if self.trainer is None or self.precision is None:
            raise Undecided(_NEEDS)
        return self.trainer

    @cached_property
    def _planned(self) -> tuple[Probe, Plan]:
        """The first pair of temperatures that so many draws tell from all mistakes."""
        found: list[tuple[Probe, Plan]] = []
        for pair in PAIRS:
            probe = make_probe(self._ready(), self._known(), self.seed, pair)
            found.append((probe, plan(probe, self.sizes.draws)))
            if found[-1][1].draws:
                return found[-1]
        return min(found, key=lambda one: one[1].miss)

    @cached_property
    def _sheet(self) -> Sheet:
        return make_sheet(self._ready(), self._planned[0])

    def _check(self, name: str, check: Callable[[], Seen]) -> Check:
        return self._left_out(name) if name in self.without else carry_out(name, check)

    def _keep(self, name: str, check: Check) -> Check:
        return self._left_out(name) if name in self.without else check

    @staticmethod
    def _left_out(name: str) -> Check:
        return Check(name, LEFT_OUT, "as asked for")


@contextmanager
def _own_random(seed: int) -> Iterator[None]:
    """Seed torch's generators, and bring them back afterwards."""
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
