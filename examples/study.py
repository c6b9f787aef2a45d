"""GRPO with samplers of temperature, seed by seed: trained by `grpo.py`, measured, compared.

    python examples/study.py --out runs/ptgs-study

The settings are in `study.json` beside this file. The same command goes on where it was stopped,
two jobs at a time; `--report` writes the tables and figures anew from what there is.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import grpo
import torch

from agentenvs import registry
from agentenvs.errors import AgentEnvsError, BadArgument, RunError, SettingsDiffer
from agentenvs.harness.lab.folder import lab_versions
from agentenvs.harness.lab.jobs import Job
from agentenvs.harness.lab.watch import watch
from agentenvs.harness.lab.workers import work
from agentenvs.harness.plain_data import finite
from agentenvs.harness.ptgs.state import read_state
from agentenvs.harness.samplers import make_sampler
from agentenvs.harness.store.durable import write_whole
from agentenvs.harness.store.folder import differences

BASE = "base"
RESULT = "result.json"
SPENT = "cpu.json"
SETS = ("train", "heldout")
#: CPU seconds a rollout in play; training takes three times as long. They weigh jobs alone.
ROLLOUT_S = {"FrozenLakeText": 1.5e-3, "ToolLab": 4.5e-4}


@dataclass(frozen=True)
class Study:
    """What `study.json` says.

    Every job is measured on the training and held-out tasks at T = 1, by which the seeds of
    episodes and tokens hang on the job's seed alone, not on its arm.
    """

    seeds: tuple[int, ...]
    training: Mapping[str, Any]  # fields of grpo.Args
    n: int  # rollouts of each task, at each temperature
    budgets: tuple[int, ...]  # the K of pass@K and Tax_S(K)
    probe: tuple[float, ...]  # further temperatures, on the training tasks
    worlds: Mapping[str, Mapping[str, str]]  # world -> arm -> sampler
    pairs: tuple[tuple[str, str], ...]  # which arms are compared, arm minus the other

    def __post_init__(self) -> None:
        """Refuse what could not be run to its end."""
        whole = all(type(seed) is int and seed >= 0 for seed in self.seeds)
        if not self.seeds or not whole or len(set(self.seeds)) < len(self.seeds):
            raise BadArgument(f"Expected different `seeds` from 0 up, got {self.seeds}.")
        if type(self.n) is not int or self.n < 2:
            raise BadArgument(f"Expected `evaluation.n` to be an int of 2 up, got {self.n!r}.")
        if not self.budgets or not all(type(k) is int and 2 <= k <= self.n for k in self.budgets):
            raise BadArgument(f"Expected `budgets` from 2 to {self.n}, got {self.budgets}.")
        if 1.0 in self.probe or len(set(self.probe)) < len(self.probe):
            raise BadArgument(f"Expected different `probe` temperatures but 1, got {self.probe}.")
        for name, arms in self.worlds.items():
            if name not in grpo.STARTS or BASE in arms:
                raise BadArgument(
                    f"Expected worlds out of {', '.join(grpo.STARTS)}, and no arm {BASE!r}; "
                    f"got {name!r} with {', '.join(arms)}."
                )
            for pair in self.pairs:
                if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(arms):
                    raise BadArgument(f"Expected pairs of arms of {name}, got {list(pair)}.")
        for job in self.jobs():
            make_sampler(arguments(self, job, Path()).sampler)

    def jobs(self) -> tuple[Job, ...]:
        """Return what is to be trained and measured, the longest first within a seed."""
        arms = [(world, arm) for world in self.worlds for arm in (*self.worlds[world], BASE)]
        made = [
            Job(f"{world} {arm}", seed, (), self._weight(world, arm))
            for seed in self.seeds
            for world, arm in arms
        ]
        return tuple(sorted(made, key=lambda job: (self.seeds.index(job.seed), -job.weight)))

    def cells(self) -> list[tuple[str, float]]:
        """Return the (task set, temperature) that every model plays."""
        return [*((name, 1.0) for name in SETS), *(("train", one) for one in self.probe)]

    def _weight(self, world: str, arm: str) -> float:
        played = self.n * sum(len(registry.tasks(env_id(world), name)) for name, _ in self.cells())
        args = grpo.Args(**self.training)
        trained = 0 if arm == BASE else args.steps * args.tasks * args.group
        return ROLLOUT_S.get(world, 1e-3) * (played + 3 * trained)


def env_id(world: str) -> str:
    return f"agentenvs/{world}-v0"


def read_study(path: str | os.PathLike[str]) -> tuple[Study, dict[str, Any]]:
    """Return the settings in a JSON file, and the same as plain data.

    Raises:
        BadArgument: no JSON object there, a key too few or too many, or a bad value.
    """
    try:
        plain = json.loads(Path(path).read_text(encoding="utf-8"))
        keys = {"seeds", "training", "evaluation", "worlds", "pairs"}
        if set(plain) != keys or set(plain["evaluation"]) != {"n", "budgets", "probe"}:
            raise BadArgument(
                f"expected {', '.join(sorted(keys))}, and in `evaluation` "
                "n, budgets and probe, got other keys"
            )
        odd = set(plain["training"]) - {one.name for one in fields(grpo.Args)}
        if odd:
            raise BadArgument(f"`training`: there is no {', '.join(sorted(odd))}")
        looks = plain["evaluation"]
        study = Study(
            tuple(plain["seeds"]),
            dict(plain["training"]),
            looks["n"],
            tuple(looks["budgets"]),
            tuple(float(temperature) for temperature in looks["probe"]),
            {world: dict(arms) for world, arms in plain["worlds"].items()},
            tuple((one, other) for one, other in plain["pairs"]),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadArgument(f"{path}: expected the settings of a study: {error}.") from None
    return study, plain


def place(out: Path, job: Job) -> Path:
    """Return the folder of a job."""
    return out.joinpath(*job.arm.split(), f"seed-{job.seed}")


def arguments(study: Study, job: Job, folder: Path) -> grpo.Args:
    """Return the arguments of a job's training; the base model has no steps."""
    world, arm = job.arm.split()
    given = dict(study.training) | ({"steps": 0} if arm == BASE else {})
    sampler = "fixed" if arm == BASE else study.worlds[world][arm]
    told = {"env": world, "sampler": sampler, "seed": job.seed, "out": os.fspath(folder)}
    return grpo.Args(**{**given, **told, "eval_n": 0})


def perform(out: str, study: Study, job: Job, report: Callable[[float, str], None]) -> None:
    """Train and measure one arm and seed in its folder, or go on with it."""
    torch.set_num_threads(1)  # it is loaded before the process could be told otherwise
    folder = place(Path(out), job)
    folder.mkdir(parents=True, exist_ok=True)
    spent, args = Spent(folder), arguments(study, job, folder)
    cells, shares = study.cells(), 0.6 if args.steps else 0.0
    with open(folder / "log.txt", "a", buffering=1) as log, contextlib.redirect_stdout(log):
        # A short stretch at a time; the command goes on with a run, also with one of its own.
        for stop in range(min(args.save_every, args.steps), args.steps, args.save_every):
            if stop > reached(folder):
                grpo.train(replace(args, steps=stop))
                spent.keep()
            report(shares * stop / args.steps, f"step {stop}/{args.steps}")
        model = grpo.train(args)
        spent.keep()
        for at, (name, temperature) in enumerate(cells):
            report(shares + (1 - shares) * at / len(cells), f"{name} at T = {temperature:g}")
            if not evaluated(folder, study, args, name, temperature).exists():
                only: dict[str, Any] = {"eval_sets": (name,), "eval_temperatures": (temperature,)}
                grpo.train(replace(args, eval_n=study.n, **only))
                spent.keep()
    sampler = make_sampler(args.sampler, seed=args.seed)
    sampler.load_state_dict(read_state(model / "sampler.npz"))
    told = {
        "sampler": args.sampler,
        "stats": sampler.stats(),
        "cpu_s": finite(spent.keep()),
        "versions": lab_versions(),
    }
    write_whole(folder / RESULT, [json.dumps(told, indent=1).encode() + b"\n"])


class Spent:
    """CPU seconds of a job, those of earlier stretches too: kept in its folder beside the work.

    What a stretch did after it last kept its work is lost, and its seconds with it. Where nobody
    counted, as in folders of an earlier version, they are unknown: NaN.
    """

    def __init__(self, folder: Path) -> None:
        self.path, self.begun = folder / SPENT, time.process_time()
        self.before = math.nan if reached(folder) >= 0 else 0.0
        if self.path.exists():
            told = json.loads(self.path.read_text(encoding="utf-8"))["cpu_s"]
            self.before = math.nan if told is None else told
        self.keep()

    def keep(self) -> float:
        """Write down, and return, how many there are by now."""
        now = self.before + time.process_time() - self.begun
        write_whole(self.path, [json.dumps({"cpu_s": finite(now)}).encode() + b"\n"])
        return now


def reached(folder: Path) -> int:
    """Return the step of the newest checkpoint; -1 without any."""
    return max((int(one.name[5:]) for one in folder.glob("step-*")), default=-1)


def evaluated(folder: Path, study: Study, args: grpo.Args, name: str, temperature: float) -> Path:
    """Return where `grpo.py` writes who succeeded."""
    return folder / f"{name}-t{temperature:g}-n{study.n}-step{args.steps}.jsonl"


def settle(out: Path, plain: dict[str, Any]) -> None:
    """Write the settings down, or make sure that the folder's are the same but for its seeds.

    Raises:
        SettingsDiffer: they are not.
        BadArgument: the folder holds other things.
    """
    path = out / "study.json"
    if not path.exists() and out.exists() and any(out.iterdir()):
        raise BadArgument(f"{out} holds other things; give a folder of its own.")
    out.mkdir(parents=True, exist_ok=True)
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        if odd := differences({**before, "seeds": 0}, {**plain, "seeds": 0}):
            raise SettingsDiffer(f"{out} holds a study with other settings:\n  " + "\n  ".join(odd))
    write_whole(path, [json.dumps(plain, indent=1).encode() + b"\n"])


def run(out: Path, study: Study, jobs: int = 2, *, quiet: bool = False) -> None:
    """Do what is missing, in processes with one thread each.

    Raises:
        RunError: jobs failed, all others being done.
    """
    todo = [job for job in study.jobs() if not (place(out, job) / RESULT).exists()]
    shown = watch(todo, len(study.jobs()) - len(todo), jobs, quiet)
    failed = []
    try:
        for event in work(todo, functools.partial(perform, os.fspath(out), study), jobs):
            shown.take(event)
            if event.kind == "failed" and event.job is not None:
                failed.append(f"{event.job.name}: {event.text}")
    finally:
        shown.close()
    if failed:
        raise RunError("Not done, and begun again by the same command:\n  " + "\n  ".join(failed))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="runs/ptgs-study", help="folder (default: %(default)s)")
    settings = Path(__file__).with_name("study.json")
    parser.add_argument("--config", default=settings, help="settings (default: study.json here)")
    parser.add_argument("--jobs", type=int, default=2, help="jobs at a time (default: 2)")
    parser.add_argument("--report", action="store_true", help="report what there is, run nothing")
    args = parser.parse_args(argv)
    try:
        study, plain = read_study(args.config)
        out = Path(args.out).resolve()
        if not args.report:
            if args.jobs < 1:
                raise BadArgument(f"Expected `jobs` of at least 1, got {args.jobs}.")
            settle(out, plain)
            run(out, study, args.jobs)
        from study_report import write_report

        print(write_report(out, study))
    except AgentEnvsError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
