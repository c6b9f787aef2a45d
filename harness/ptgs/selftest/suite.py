"""The self-test: all checks of one trainer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.harness.ptgs._ranges import whole
from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.identity import identity
from agentenvs.harness.ptgs.selftest.loss import loss
from agentenvs.harness.ptgs.selftest.outcome import Found, Undecided, carry_out
from agentenvs.harness.ptgs.selftest.probe import (
    PAIRS,
    Precision,
    Probe,
    forward,
    make_probe,
)
from agentenvs.harness.ptgs.selftest.recorder import Recorder
from agentenvs.harness.ptgs.selftest.report import LEFT_OUT, PASSED, Check, Report
from agentenvs.harness.ptgs.selftest.resume import resume
from agentenvs.harness.ptgs.selftest.rows import rows, temperatures
from agentenvs.harness.ptgs.selftest.sampling import Plan, plan, samples
from agentenvs.harness.ptgs.selftest.scores import (
    entropies,
    make_sheet,
    missing,
    scores,
)
from agentenvs.harness.ptgs.selftest.steps import Build, Run, play
from agentenvs.harness.ptgs.selftest.told import told, uniform

__all__ = ["CHECKS", "selftest"]

#: names of the checks, in the order in which they are made
CHECKS = (
    "forward",
    "samples",
    "scores",
    "entropies",
    "identity",
    "missing",
    "temperatures",
    "rows",
    "loss",
    "told",
    "uniform",
    "resume",
)


def selftest(
    build: Build,
    *,
    seed: int = 0,
    draws: int = 16384,
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
        steps: fewest steps before the checkpoint.
        most_steps: most steps before it, done until a group without contrast and rows of
            different temperatures were seen.
        without: checks to leave out, where they do not apply; the report says so.

    Raises:
        BadArgument, UnknownName: an argument out of range, or no such check.
    """
    seed, draws = whole("seed", seed, low=0), whole("draws", draws, low=256)
    steps = whole("steps", steps, low=1)
    most_steps = whole("most_steps", most_steps, low=steps)
    if isinstance(without, str):
        raise BadArgument(f"Expected `without` to be names of checks, got {without!r} alone.")
    for name in without:
        if name not in CHECKS:
            raise UnknownName(f"No check {name!r}.{did_you_mean(name, CHECKS, limit=12)}")
    if not callable(build):
        raise BadArgument(f"Expected `build` to be callable, got {type(build).__name__}.")
    with _own_random(seed):
        return Report(tuple(_Suite(build, seed, draws, steps, most_steps, without).all()), seed)


class _Suite:
    """The checks, with what several of them need made once."""

    def __init__(
        self,
        build: Build,
        seed: int,
        draws: int,
        steps: int,
        most_steps: int,
        without: Collection[str],
    ) -> None:
        self.build, self.seed, self.draws = build, seed, draws
        self.steps, self.most_steps, self.without = steps, most_steps, without
        self.precision: Precision | None = None

    def all(self) -> list[Check]:
        """Return all checks."""
        return [*self._asked(), *self._stepped()]

    def _asked(self) -> list[Check]:
        trainer: Guarded | None = None

        def repeats() -> Found:
            nonlocal trainer
            trainer = Guarded(self.build, Recorder(self.seed))
            self.precision, found = forward(trainer, self.seed)
            return found

        # What comes behind needs a forward pass, whether or not this check is wanted.
        first = carry_out("forward", repeats)
        checks = [self._unless_left_out("forward", first)]
        names = ("samples", "scores", "entropies", "identity", "missing")
        if trainer is None or self.precision is None:
            return checks + [self._blocked(name, "needs the check `forward`") for name in names]
        subject, precision = trainer, self.precision
        ready: list[Any] = []

        def probed() -> tuple[Probe, Plan, Any]:
            if not ready:
                probe, sizes = self._probe(subject, precision)
                ready.extend((probe, sizes, make_sheet(subject, probe)))
            return ready[0], ready[1], ready[2]

        made: dict[str, Callable[[], Found]] = {
            "samples": lambda: samples(subject, probed()[0], probed()[1]),
            "scores": lambda: scores(subject, probed()[2]),
            "entropies": lambda: entropies(subject, probed()[2]),
            "identity": lambda: identity(subject, probed()[0]),
            "missing": lambda: missing(subject, probed()[2]),
        }
        return checks + [self._check(name, made[name]) for name in names]

    def _probe(self, trainer: Guarded, precision: Precision) -> tuple[Probe, Plan]:
        """Return the first pair of temperatures that so many draws tell from all mistakes."""
        found: list[tuple[Probe, Plan]] = []
        for pair in PAIRS:
            probe = make_probe(trainer, precision, self.seed, pair)
            found.append((probe, plan(probe, self.draws)))
            if found[-1][1].draws:
                return found[-1]
        return min(found, key=lambda one: one[1].miss)

    def _stepped(self) -> list[Check]:
        names = ("temperatures", "rows", "loss", "told", "uniform", "resume")
        if all(name in self.without for name in names):
            return [self._check(name, _nothing) for name in names]
        run: Run | None = None

        def stepped() -> Found:
            nonlocal run
            run = play(self.build, self.seed, self.steps, self.most_steps)
            return Found("", {})

        done = carry_out("step", stepped)
        if done.status != PASSED or run is None:
            return [
                self._unless_left_out(name, Check(name, done.status, done.words, error=done.error))
                for name in names
            ]
        ran = run
        made: dict[str, Callable[[], Found]] = {
            "temperatures": lambda: temperatures(ran),
            "rows": lambda: rows(ran),
            "loss": lambda: self._loss(ran),
            "told": lambda: told(ran),
            "uniform": lambda: uniform(ran),
            "resume": lambda: resume(ran, self.build, self.seed),
        }
        return [self._check(name, made[name]) for name in names]

    def _loss(self, run: Run) -> Found:
        if self.precision is None:
            raise Undecided("needs the check `forward`")
        return loss(run, self.precision)

    def _check(self, name: str, check: Callable[[], Found]) -> Check:
        if name in self.without:
            return Check(name, LEFT_OUT, "as asked for")
        return carry_out(name, check)

    def _unless_left_out(self, name: str, check: Check) -> Check:
        return self._check(name, _nothing) if name in self.without else check

    def _blocked(self, name: str, why: str) -> Check:
        def blocked() -> Found:
            raise Undecided(why)

        return self._check(name, blocked)


def _nothing() -> Found:
    return Found("", {})


@contextmanager
def _own_random(seed: int) -> Iterator[None]:
    """Seed torch's generators, and bring them back afterwards."""
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
