"""GRPO in plain PyTorch: a temperature for each rollout, in sampling and in scoring alike.

A tiny transformer plays one of the environments and learns from who succeeded. Any sampler sets
the temperatures; a row sampled from softmax(z / T) is scored by log softmax(z / T), its own T.

    python examples/grpo.py --env ToolLab --sampler ptgs:tau=1.5,gamma=0.95,target=0.5

The same command goes on where it was stopped. `--selftest` puts sampling and scoring to the test.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch

from agentenvs import registry
from agentenvs.errors import AgentEnvsError, BadArgument, SettingsDiffer
from agentenvs.harness.lab.model import load, save
from agentenvs.harness.policies.lab import folder as bundled
from agentenvs.harness.ptgs import Sampler, drawing
from agentenvs.harness.ptgs.scoring import check_temperatures
from agentenvs.harness.ptgs.selftest import Played, Trace, Trained, selftest
from agentenvs.harness.ptgs.state import read_state, write_state
from agentenvs.harness.samplers import make_sampler
from agentenvs.harness.seeds import derive
from agentenvs.harness.store.durable import write_whole
from agentenvs.harness.tax import pass_at_k

STARTS = {"ToolLab": "lab:base", "FrozenLakeText": "lab:lake"}
LEAST = {"seed": 0, "steps": 0, "eval_n": 0, "group": 2}
END = 2  # the id of `<end>`, in both worlds


def arg(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Args:
    """What the command takes."""

    env: str = arg("ToolLab", "ToolLab or FrozenLakeText")
    start: str = arg("", "model to start from: lab:NAME or a folder; the env's own without")
    sampler: str = arg("ptgs:tau=1.5,gamma=0.95,target=0.5", "who sets the temperatures")
    out: str = arg("runs/grpo", "folder of the run")
    seed: int = arg(0, "of everything that is drawn")
    steps: int = arg(200, "steps of training; 0 to evaluate the start alone")
    tasks: int = arg(8, "tasks a step, from a finite pool that is cycled")
    group: int = arg(16, "rollouts of each task")
    lr: float = arg(5e-4, "learning rate of AdamW")
    minibatches: int = arg(2, "updates a step")
    clip_low: float = arg(0.2, "the ratio is clipped to 1 - clip_low ...")
    clip_high: float = arg(0.28, "... and 1 + clip_high")
    max_norm: float = arg(1.0, "gradients are cut to this length")
    length: float = arg(12.0, "the loss is a sum over tokens, divided by rollouts times this")
    max_turn: int = arg(6, "most tokens a turn")
    save_every: int = arg(20, "steps between checkpoints")
    eval_n: int = arg(64, "rollouts a task at the end; 0 for no evaluation")
    eval_sets: tuple[str, ...] = arg(("train", "heldout"), "task sets to evaluate on")
    eval_temperatures: tuple[float, ...] = arg((1.0,), "at which temperatures")
    selftest: bool = arg(False, "test this trainer in place of a run")

    def __post_init__(self) -> None:
        if self.env not in STARTS:
            raise BadArgument(f"Expected `env` to be one of {', '.join(STARTS)}, got {self.env!r}.")
        for one in fields(self):
            value, least = getattr(self, one.name), LEAST.get(one.name, 1)
            if type(one.default) is int and value < least:
                raise BadArgument(f"Expected `{one.name}` of {least} up, got {value}.")
            if isinstance(one.default, float) and not 0 < value < math.inf:
                raise BadArgument(f"Expected `{one.name}` above 0, got {value}.")


class Rollouts(NamedTuple):
    """B dialogues of up to L tokens."""

    ids: Any  # (B, L) everything that was said, padded at its end
    drawn: Any  # (B, L) which tokens the policy drew
    log_probs: Any  # (B, L) of these, at the row's temperature
    temperatures: Any  # (B,)


class GRPO:
    """A model in training, and all that its next step hangs on.

    It has the methods that `agentenvs.harness.ptgs.selftest` asks of a trainer.
    """

    def __init__(self, args: Args, sampler: Sampler) -> None:
        self.args, self.sampler = args, sampler
        self.env = f"agentenvs/{args.env}-v0"
        self.envs: list[Any] = []
        self.world = importlib.import_module(registry.world(self.env).module)
        start = args.start or STARTS[args.env]
        self.model = load(bundled(start[4:]) if start.startswith("lab:") else start)
        self.vocabulary = self.model.shape.vocabulary
        if self.vocabulary != len(self.world.VOCABULARY):
            raise BadArgument(f"Expected a model of the words of {args.env}, got {start}.")
        self.optimizer = torch.optim.AdamW(self.parameters(), lr=args.lr, weight_decay=0.0)
        self.generator = torch.Generator().manual_seed(derive(args.seed, "draws"))
        pool = registry.tasks(self.env, "train")
        if args.tasks > len(pool):
            raise BadArgument(f"Expected at most {len(pool)} `tasks`, got {args.tasks}.")
        order = np.random.default_rng(derive(args.seed, "pool")).permutation(len(pool))
        self.pool = [pool[at] for at in order]
        self.history: list[dict[str, float]] = []

    def parameters(self) -> list[Any]:
        """Return the weights in training."""
        return list(self.model.parameters())

    def logits(self, ids: Any) -> Any:
        """Return the logits of each next token, (B, L, V), at T = 1."""
        return self.model(ids)

    @torch.no_grad()
    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        temperatures: Any,
        reply: Callable[[int, list[int]], list[int] | None],
        max_turn: int,
        generator: torch.Generator,
    ) -> Rollouts:
        """Let the model speak in B dialogues, in step with one another, a token a row at a time.

        A row is fed what it was told; at the end of that it draws a token, at its own temperature.
        `reply(row, turn)` says what follows a turn: the next tokens, or None at the end.
        """
        said, context = [list(prompt) for prompt in prompts], self.model.shape.context
        turns: list[list[int]] = [[] for _ in said]
        drawn = torch.zeros(len(said), context + 1, dtype=torch.bool)
        log_probs = torch.zeros(drawn.shape)
        live, at = list(range(len(said))), 0
        cache = self.model.start(len(live), context)
        while live:
            logits = self.model.step(torch.tensor([said[row][at] for row in live]), cache)
            at += 1
            due = [place for place, row in enumerate(live) if len(said[row]) == at]
            if not due:
                continue
            rows = [live[place] for place in due]
            scores = (logits[due] / temperatures[rows, None]).log_softmax(-1)
            tokens = torch.multinomial(scores.exp(), 1, generator=generator)
            drawn[rows, at] = True
            log_probs[rows, at] = scores.gather(1, tokens)[:, 0]
            over = set()
            for row, token in zip(rows, tokens[:, 0].tolist(), strict=True):
                said[row].append(token)
                turns[row].append(token)
                if token == END or len(turns[row]) == max_turn:
                    answer = reply(row, turns[row])
                    turns[row] = []
                    # A turn that was cut off is closed by an `<end>` that nobody drew.
                    said[row] += [END] if token != END and answer is not None else []
                    said[row] += answer or []
                    if answer is None or len(said[row]) + max_turn > context:
                        over.add(row)
            if over:
                left = [place for place, row in enumerate(live) if row not in over]
                live = [live[place] for place in left]
                cache = cache.take(torch.tensor(left, dtype=torch.int64))
        width = max(map(len, said))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in said])
        return Rollouts(ids, drawn[:, :width], log_probs[:, :width], temperatures)

    def play(
        self, tasks: Sequence[str], temperatures: Any, seed: int, generator: torch.Generator
    ) -> tuple[Rollouts, list[bool]]:
        """Play a rollout of each task (B,), each in an environment of its own: text in, text out.

        Returns:
            What was said, and who succeeded, (B,). Who runs out of context has failed.
        """
        while len(self.envs) < len(tasks):
            self.envs.append(gymnasium.make(self.env, disable_env_checker=True))
        world, success = self.world, [False] * len(tasks)

        def reply(row: int, turn: list[int]) -> list[int] | None:
            action = " ".join(world.VOCABULARY[token] for token in turn if token != END)
            _, _, terminated, truncated, info = self.envs[row].step(action)
            if terminated or truncated:
                success[row] = info["success"]
                return None
            told: list[int] = world.render(info["messages"], cue=True)
            return told

        prompts = []
        for row, task in enumerate(tasks):
            options = {"task": task}
            _, info = self.envs[row].reset(seed=derive(seed, row), options=options)
            prompts.append(world.render(info["messages"], cue=True))
        played = self.generate(prompts, temperatures, reply, self.args.max_turn, generator)
        return played, success

    def sample(self, prompts: Any, temperatures: Any, length: int) -> Any:
        """Draw one turn of up to `length` tokens after each prompt, (B, length), -1 behind it."""
        rows, before = prompts.tolist(), prompts.shape[1]
        got = self.generate(rows, temperatures, lambda *_: None, length, self.generator)
        turn = got.ids.masked_fill(~got.drawn, -1)[:, before:]
        return torch.nn.functional.pad(turn, (0, length - turn.shape[1]), value=-1)

    def score_all(self, ids: Any, temperatures: Any) -> tuple[Any, Any]:
        """Return log-probabilities of all tokens but the first, and the entropies there.

        Both are (B, L - 1), each row's at its own temperature: the one that it was sampled at.
        """
        heat = check_temperatures(temperatures, len(ids))
        scores = (self.model(ids[:, :-1]) / heat[:, None, None]).log_softmax(-1)
        chosen = scores.gather(-1, ids[:, 1:, None])[..., 0]
        return chosen, -(scores.exp() * scores).sum(-1)

    def score(self, prompts: Any, completions: Any, temperatures: Any) -> tuple[Any, Any]:
        """Return log-probabilities and entropies of completions, both (B, L)."""
        whole = torch.cat((prompts, completions.clamp(min=0)), 1)
        log_probs, entropies = self.score_all(whole, temperatures)
        return log_probs[:, prompts.shape[1] - 1 :], entropies[:, prompts.shape[1] - 1 :]

    def step(self) -> Trace:
        """Ask the sampler, play, tell the sampler, learn."""
        args, now = self.args, len(self.history)
        tasks = [self.pool[(now * args.tasks + at) % len(self.pool)] for at in range(args.tasks)]
        rows = [task for task in tasks for _ in range(args.group)]
        heats = self.sampler.rollout_temperatures(tasks, args.group)  # (tasks, group)
        flat = torch.from_numpy(np.asarray(heats, dtype=np.float32).reshape(-1))
        rollouts, won = self.play(rows, flat, derive(args.seed, "play", now), self.generator)
        # The sampler hears of every group, those too that are dropped below.
        self.sampler.record(tasks, np.reshape(won, (args.tasks, args.group)))

        rewards = torch.tensor(won, dtype=torch.float32).view(args.tasks, args.group)
        mixed = rewards.amin(1) < rewards.amax(1)
        centred = rewards - rewards.mean(1, keepdim=True)
        advantages = (centred / (rewards.std(1, keepdim=True) + 1e-6)).flatten()
        kept = mixed.repeat_interleave(args.group).nonzero()[:, 0]
        order = kept[torch.randperm(len(kept), generator=self.generator)]
        trained: list[Trained] = []
        for update, part in enumerate(order.tensor_split(args.minibatches)):
            if len(part):
                batch = Rollouts(*(column[part] for column in rollouts))
                trained += self.update(batch, advantages[part], update)

        self.history.append(
            {
                "step": now + 1,
                "success": float(rewards.mean()),
                "temperature": float(flat.log().mean().exp()),
                "zero_advantage": 1.0 - float(mixed.float().mean()),
                "entropy": -float(rollouts.log_probs[rollouts.drawn].mean()),  # an estimate
            }
        )
        columns = zip(rows, flat.tolist(), rollouts.ids.tolist(), won, strict=True)
        return Trace([Played(*one) for one in columns], trained)

    def update(self, batch: Rollouts, advantages: Any, update: int) -> list[Trained]:
        """Take one step of the optimizer on the clipped objective; tell what the loss saw."""
        args, mine = self.args, batch.drawn[:, 1:]
        new, _ = self.score_all(batch.ids, batch.temperatures)
        old, gain = batch.log_probs[:, 1:], advantages[:, None]
        ratio = (new - old).exp()  # both at the row's temperature
        plain, held = ratio * gain, ratio.clamp(1 - args.clip_low, 1 + args.clip_high) * gain
        # Divided by a fixed number: one that hung on the lengths would bend the gradient.
        scale = args.length * args.tasks * args.group / args.minibatches
        loss = -torch.minimum(plain, held)[mine].sum() / scale
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters(), args.max_norm)
        self.optimizer.step()

        new = new.detach()
        trained = []
        for row, temperature in enumerate(batch.temperatures.tolist()):
            ids, places = batch.ids[row].tolist(), mine[row].nonzero()[:, 0]
            logs = new[row, places].tolist(), old[row, places].tolist()
            trained.append(Trained(ids, temperature, *logs, (places + 1).tolist(), update))
        return trained

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a model folder that transformers loads, and into it what training needs."""
        save(self.model, folder, words=self.world.VOCABULARY)
        write_state(Path(folder, "sampler.npz"), self.sampler.state_dict())
        state = {"optimizer": self.optimizer.state_dict(), "draws": self.generator.get_state()}
        torch.save({**state, "history": self.history}, Path(folder, "trainer.pt"))

    def load(self, folder: str | os.PathLike[str]) -> None:
        """Take over what `save` wrote."""
        self.model.load_state_dict(load(folder).state_dict())
        self.sampler.load_state_dict(read_state(Path(folder, "sampler.npz")))
        state = torch.load(Path(folder, "trainer.pt"), weights_only=True)
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["draws"])
        self.history = state["history"]


def build(sampler: Sampler, args: Args | None = None) -> GRPO:
    """Return a trainer in its initial state."""
    return GRPO(args or Args(), sampler)


def train(args: Args) -> Path:
    """Train, or go on with it, evaluate, and return the folder of the model."""
    trainer, out = build(make_sampler(args.sampler, seed=args.seed), args), Path(args.out)
    check_temperatures(args.eval_temperatures, len(args.eval_temperatures))
    for name in args.eval_sets:
        registry.tasks(trainer.env, name)
    out.mkdir(parents=True, exist_ok=True)
    same_settings(args, out / "args.json")
    if found := sorted(out.glob("step-*")):
        trainer.load(found[-1])
        print(f"goes on from {found[-1]}", flush=True)
    folder, begun, since = keep(trainer, out), len(trainer.history), time.perf_counter()
    for now in range(begun + 1, args.steps + 1):
        trainer.step()
        if now % args.save_every == 0 or now == args.steps:
            folder = keep(trainer, out)
        if now % 10 == 0 or now == args.steps:
            row, left = trainer.history[-1], (args.steps - now) / (now - begun)
            shown = "  ".join(f"{name} {row[name]:.3f}" for name in CURVES)
            eta = left * (time.perf_counter() - since)
            print(f"step {now}/{args.steps}  {shown}  ETA {eta:.0f} s", flush=True)
    evaluate(trainer, out)
    return folder


def keep(trainer: GRPO, out: Path) -> Path:
    """Write a checkpoint, there whole or not at all, and let go of those before."""
    part, whole = out / ".part", out / f"step-{len(trainer.history):06d}"
    if not whole.exists():
        shutil.rmtree(part, ignore_errors=True)
        trainer.save(part)
        part.rename(whole)
    for other in out.glob("step-*"):
        if other != whole:
            shutil.rmtree(other)
    write_rows(out / "history.jsonl", trainer.history)
    if trainer.history:
        draw(trainer.history, trainer.args, out / "curves.png")
    return whole


def write_rows(path: Path, rows: Sequence[Any]) -> None:
    write_whole(path, [json.dumps(row).encode() + b"\n" for row in rows])


def same_settings(args: Args, path: Path) -> None:
    """Write the settings down, or compare with those that the run was begun with."""
    free = ("out", "steps", "save_every", "eval_n", "eval_sets", "eval_temperatures", "selftest")
    mine = {name: value for name, value in asdict(args).items() if name not in free}
    theirs = json.loads(path.read_text()) if path.exists() else mine
    if odd := [name for name in mine if mine[name] != theirs.get(name)]:
        told = ", ".join(f"{name} {theirs.get(name)!r}, not {mine[name]!r}" for name in odd)
        raise SettingsDiffer(f"{path.parent} holds a run with {told}. Give it another --out.")
    write_whole(path, [json.dumps(mine, indent=1).encode() + b"\n"])


def evaluate(trainer: GRPO, out: Path) -> None:
    """Play each task `eval_n` times at fixed temperatures; write and tell who succeeded."""
    args, n = trainer.args, trainer.args.eval_n
    for name, heat in product(args.eval_sets if n else (), args.eval_temperatures):
        tasks, won = registry.tasks(trainer.env, name), []
        seed = derive(args.seed, "evaluate", name, f"{heat:g}")
        generator = torch.Generator().manual_seed(seed)
        rows = [task for task in tasks for _ in range(n)]
        for at in range(0, len(rows), 512):
            part = rows[at : at + 512]
            same = torch.full((len(part),), heat)
            won += trainer.play(part, same, derive(seed, at), generator)[1]
        flags = np.reshape(won, (len(tasks), n))
        table = zip(tasks, flags.tolist(), strict=True)
        path = out / f"{name}-t{heat:g}-n{n}-step{len(trainer.history)}.jsonl"
        write_rows(path, [{"task_id": task, "pass_flags": row} for task, row in table])
        solved = {k: pass_at_k(flags.sum(1), n, k).mean() for k in sorted({1, min(8, n), n})}
        shown = "  ".join(f"pass@{k} {share:.3f}" for k, share in solved.items())
        print(f"{name} at T = {heat:g}  {shown}  {path}", flush=True)


CURVES = ("success", "temperature", "zero_advantage", "entropy")


def draw(history: Sequence[dict[str, float]], args: Args, path: Path) -> None:
    """Paint what a run was like: each step, and the mean of the last 25, a turn of the pool."""
    with drawing.blank((6.4, 7.2)) as figure:
        figure.suptitle(f"{path.parent.name}: {args.env}, {args.sampler}")
        steps, window = [row["step"] for row in history], min(25, len(history))
        for axes, name in zip(figure.subplots(len(CURVES), sharex=True), CURVES, strict=True):
            values = [row[name] for row in history]
            axes.plot(steps, values, color=drawing.GRID, linewidth=1)
            mean = np.convolve(values, np.full(window, 1 / window), "valid")
            axes.plot(steps[window - 1 :], mean, color=drawing.COLOURS[0], linewidth=2)
            axes.set_ylabel(name.replace("_", " "))
        axes.set_xlabel(f"step (line: mean of the last {window})")
        figure.savefig(path, dpi=100)


def parse(argv: Sequence[str] | None = None) -> Args:
    """Return the arguments of a command; a bad one ends the process and says what was expected."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for one in fields(Args):
        kind: dict[str, Any] = {"type": type(one.default)}
        if isinstance(one.default, tuple):
            kind = {"type": type(one.default[0]), "nargs": "+"}
        elif isinstance(one.default, bool):
            kind = {"action": "store_true"}
        help = f"{one.metadata['help']} (default: {one.default})"
        name = "--" + one.name.replace("_", "-")
        parser.add_argument(name, default=one.default, help=help, **kind)
    try:
        return Args(**vars(parser.parse_args(argv)))
    except AgentEnvsError as error:
        parser.exit(2, f"{error}\n")


def main(argv: Sequence[str] | None = None) -> int:
    args = parse(argv)
    torch.set_num_threads(1)  # products as small as these are quickest so
    try:
        if not args.selftest:
            print(train(args))
            return 0
        report = selftest(lambda sampler: build(sampler, args), seed=args.seed)
        print(report)
        return int(not report.passed)
    except AgentEnvsError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
