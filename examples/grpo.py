"""GRPO in plain PyTorch: a temperature for each rollout, in sampling and in scoring alike.

A tiny transformer plays one of the environments and learns from who succeeded. Any sampler sets
the temperatures; a row sampled from softmax(z / T) is scored by log softmax(z / T) of its own T.

    python examples/grpo.py --env ToolLab --sampler ptgs:tau=1.5,gamma=0.95,target=0.5 --out runs/grpo

The same command goes on where it was killed. `--selftest` shows that sampling and scoring agree.
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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch

from agentenvs import registry
from agentenvs.errors import AgentEnvsError, BadArgument, SettingsDiffer
from agentenvs.harness.lab.model import TinyLM, load, save
from agentenvs.harness.policies.lab import folder as bundled
from agentenvs.harness.ptgs import Sampler
from agentenvs.harness.ptgs.state import read_state, write_state
from agentenvs.harness.samplers import make_sampler
from agentenvs.harness.seeds import derive
from agentenvs.harness.store.durable import write_whole
from agentenvs.harness.tax import pass_at_k

STARTS = {"ToolLab": "lab:base", "FrozenLakeText": "lab:lake"}
END = 2  # `<end>`, in the vocabulary of every one of them


def arg(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Args:
    env: str = arg("ToolLab", "ToolLab or FrozenLakeText")
    start: str = arg("", "model to start from: lab:NAME or a folder; default the env's own")
    sampler: str = arg("ptgs:tau=1.5,gamma=0.95,target=0.5", "who sets the temperatures")
    out: str = arg("runs/grpo", "folder of the run")
    seed: int = arg(0, "of everything that is drawn")
    steps: int = arg(200, "steps of training; 0 only evaluates the start")
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
    eval_sets: str = arg("train,heldout", "task sets to evaluate on")
    eval_temperatures: str = arg("1", "at which temperatures, as in 1,0.5,1.3")
    selftest: bool = arg(False, "test this trainer instead of running it")

    def __post_init__(self) -> None:
        if self.env not in STARTS:
            raise BadArgument(f"Expected `env` to be one of {', '.join(STARTS)}, got {self.env!r}.")
        for name in ("tasks", "group", "minibatches", "max_turn", "save_every", "steps", "eval_n"):
            least = 0 if name in ("steps", "eval_n") else 1
            if getattr(self, name) < least:
                raise BadArgument(f"Expected `{name}` of {least} up, got {getattr(self, name)}.")
        for name in ("lr", "max_norm", "length", "clip_low", "clip_high"):
            if not 0 < getattr(self, name) < math.inf:
                raise BadArgument(f"Expected `{name}` above 0, got {getattr(self, name)}.")

    @property
    def hots(self) -> list[float]:
        """The temperatures to evaluate at."""
        try:
            hots = [float(text) for text in self.eval_temperatures.split(",")]
        except ValueError:
            hots = []
        if not hots or not all(0 < hot < math.inf for hot in hots):
            told = self.eval_temperatures
            raise BadArgument(f"Expected `eval_temperatures` like 1,0.5, got {told!r}.")
        return hots


class Rollouts(NamedTuple):
    ids: Any  # (B, L) everything that was said, padded at the end
    drawn: Any  # (B, L) which tokens the policy drew
    log_probs: Any  # (B, L) theirs, at the row's temperature, as they were drawn
    temperatures: Any  # (B,)


Reply = Callable[[int, list[int]], list[int] | None]


class Played(NamedTuple):
    task: str
    temperature: float
    tokens: tuple[int, ...]
    success: bool


class Trained(NamedTuple):
    tokens: tuple[int, ...]
    temperature: float


class Trace(NamedTuple):
    played: list[Played]
    trained: list[Trained]


@torch.no_grad()
def generate(
    model: TinyLM,
    prompts: Iterable[Sequence[int]],
    temperatures: Any,
    reply: Reply,
    generator: torch.Generator,
    max_turn: int,
) -> Rollouts:
    """Let the model speak in B dialogues, all in step with one another, a token a row at a time.

    A row is fed what it was told; where that is at its end, it draws a token at its own T.
    `reply(row, turn)` says what follows a turn: the next tokens, or None for the end.
    """
    said = [list(prompt) for prompt in prompts]
    drawn: list[list[tuple[int, float]]] = [[] for _ in said]  # places and log-probabilities
    turns: list[list[int]] = [[] for _ in said]
    live, at, context = list(range(len(said))), 0, model.shape.context
    cache = model.start(len(live), context)
    while live:
        logits = model.step(torch.tensor([said[row][at] for row in live]), cache)
        at += 1
        due = [place for place, row in enumerate(live) if len(said[row]) == at]
        rows = [live[place] for place in due]
        over = set()
        if rows:
            scores = (logits[due] / temperatures[rows, None]).log_softmax(-1)
            tokens = torch.multinomial(scores.exp(), 1, generator=generator)
            chosen = scores.gather(1, tokens)[:, 0].tolist()
            for row, token, log_prob in zip(rows, tokens[:, 0].tolist(), chosen, strict=True):
                drawn[row].append((at, log_prob))
                said[row].append(token)
                turns[row].append(token)
                if token != END and len(turns[row]) < max_turn:
                    continue
                answer = reply(row, turns[row])
                # A turn that was cut off is closed by an `<end>` that nobody drew.
                answer = answer and [END][: token != END] + answer
                if answer is None or at + 1 + len(answer) + max_turn > context:
                    over.add(row)
                else:
                    said[row] += answer
                    turns[row] = []
        if over:
            left = [place for place, row in enumerate(live) if row not in over]
            live = [live[place] for place in left]
            cache = cache.take(torch.tensor(left, dtype=torch.int64))
    width = max(map(len, said))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in said])
    mask, log_probs = torch.zeros(ids.shape, dtype=torch.bool), torch.zeros(ids.shape)
    for row, pairs in enumerate(drawn):
        places, values = zip(*pairs, strict=True)
        mask[row, list(places)] = True
        log_probs[row, list(places)] = torch.tensor(values)
    return Rollouts(ids, mask, log_probs, temperatures)


class World:
    """Environments by the dozen, a rollout in each, spoken to in token ids."""

    def __init__(self, env: str) -> None:
        self.id = f"agentenvs/{env}-v0"
        self.module = importlib.import_module(registry.world(self.id).module)
        self.envs: list[Any] = []

    def play(
        self,
        model: TinyLM,
        tasks: Sequence[str],
        temperatures: Any,
        seeds: Sequence[int],
        generator: torch.Generator,
        max_turn: int,
    ) -> tuple[Rollouts, list[bool]]:
        """Play a rollout of each task (B,) and return it with who succeeded."""
        while len(self.envs) < len(tasks):
            self.envs.append(gymnasium.make(self.id, disable_env_checker=True))
        render, words = self.module.render, self.module.VOCABULARY
        success = [False] * len(tasks)

        def reply(row: int, turn: list[int]) -> list[int] | None:
            action = " ".join(words[token] for token in turn if token != END)
            _, _, terminated, truncated, info = self.envs[row].step(action)
            if terminated or truncated:
                success[row] = info["success"]
                return None
            told: list[int] = render(info["messages"], cue=True)
            return told

        prompts = [
            render(env.reset(seed=seed, options={"task": task})[1]["messages"], cue=True)
            for env, task, seed in zip(self.envs, tasks, seeds, strict=False)
        ]
        return generate(model, prompts, temperatures, reply, generator, max_turn), success


class GRPO:
    """The trainer: its model and optimizer, the sampler, the pool of tasks and one generator."""

    def __init__(self, args: Args, sampler: Sampler) -> None:
        self.args, self.sampler, self.world = args, sampler, World(args.env)
        start = args.start or STARTS[args.env]
        self.model = load(bundled(start[4:]) if start.startswith("lab:") else start)
        self.vocabulary = self.model.shape.vocabulary
        if self.vocabulary != len(self.world.module.VOCABULARY):
            raise BadArgument(f"Expected a model of the words of {args.env}, got {start}.")
        self.optimizer = torch.optim.AdamW(self.parameters(), lr=args.lr, weight_decay=0.0)
        self.generator = torch.Generator().manual_seed(derive(args.seed, "draws"))
        pool = registry.tasks(self.world.id, "train")
        if args.tasks > len(pool):
            raise BadArgument(f"Expected at most {len(pool)} `tasks`, got {args.tasks}.")
        order = np.random.default_rng(derive(args.seed, "pool")).permutation(len(pool))
        self.pool = [pool[at] for at in order]
        self.history: list[dict[str, float]] = []

    def parameters(self) -> list[Any]:
        return list(self.model.parameters())

    def logits(self, ids: Any) -> Any:
        return self.model(ids)

    def sample(self, prompts: Any, temperatures: Any, length: int) -> Any:
        """Draw one turn of up to `length` tokens after each prompt, (B, length); -1 behind it."""
        got = generate(
            self.model, prompts.tolist(), temperatures, lambda *_: None, self.generator, length
        )
        ids = got.ids.masked_fill(~got.drawn, -1)[:, prompts.shape[1] :]
        return torch.nn.functional.pad(ids, (0, length - ids.shape[1]), value=-1)

    def score_all(self, ids: Any, temperatures: Any) -> tuple[Any, Any]:
        """Return log-probabilities of all tokens but the first and the entropies there.

        Both (B, L - 1), each row's at its own temperature.
        """
        heat = temperatures
        scores = (self.model(ids[:, :-1]) / heat[:, None, None]).log_softmax(-1)
        chosen = scores.gather(-1, ids[:, 1:, None])[..., 0]
        return chosen, -(scores.exp() * scores).sum(-1)

    def score(self, prompts: Any, completions: Any, temperatures: Any) -> tuple[Any, Any]:
        ids = torch.cat((prompts, completions.clamp(min=0)), 1)
        log_probs, entropies = self.score_all(ids, temperatures)
        return log_probs[:, prompts.shape[1] - 1 :], entropies[:, prompts.shape[1] - 1 :]

    def step(self) -> Trace:
        """Play groups, tell the sampler, learn."""
        args, now = self.args, len(self.history)
        first = now * args.tasks
        tasks = [self.pool[(first + at) % len(self.pool)] for at in range(args.tasks)]
        heats = self.sampler.rollout_temperatures(tasks, args.group)
        flat = torch.from_numpy(np.asarray(heats, dtype=np.float32).reshape(-1))
        names = [task for task in tasks for _ in range(args.group)]
        seeds = [derive(args.seed, "episode", now, row) for row in range(len(names))]
        rollouts, won = self.world.play(
            self.model, names, flat, seeds, self.generator, args.max_turn
        )
        rewards = torch.tensor(won, dtype=torch.float32).view(-1, args.group)
        # The sampler hears of every group, those included that are dropped below.
        self.sampler.record(tasks, rewards.bool().numpy())

        mixed = rewards.min(1).values < rewards.max(1).values
        spread = rewards.std(1, keepdim=True) if args.group > 1 else 1.0
        advantages = ((rewards - rewards.mean(1, keepdim=True)) / (spread + 1e-6)).flatten()
        rows = mixed.repeat_interleave(args.group).nonzero()[:, 0]
        rows = rows[torch.randperm(len(rows), generator=self.generator)]
        sums = dict.fromkeys(("loss", "entropy", "clipped", "drift", "tokens"), 0.0)
        trained: list[Trained] = []
        for part in rows.tensor_split(args.minibatches):
            if len(part):
                batch = Rollouts(*(column[part] for column in rollouts))
                self.update(batch, advantages[part], sums)
                pairs = zip(batch.ids.tolist(), batch.temperatures.tolist(), strict=True)
                trained += [Trained(tuple(ids), heat) for ids, heat in pairs]
        tokens = sums.pop("tokens")
        self.history.append(
            {
                "step": now + 1,
                "success": float(rewards.mean()),
                "temperature": float(flat.log().mean().exp()),
                "zero_advantage": 1.0 - float(mixed.float().mean()),
                **{name: value / max(tokens, 1) for name, value in sums.items()},
            }
        )
        columns = zip(names, flat.tolist(), rollouts.ids.tolist(), won, strict=True)
        played = [Played(task, heat, tuple(ids), ok) for task, heat, ids, ok in columns]
        return Trace(played, trained)

    def update(self, batch: Rollouts, advantages: Any, sums: dict[str, float]) -> None:
        """Take one step of the optimizer on the clipped objective."""
        args, mine = self.args, batch.drawn[:, 1:]
        new, entropies = self.score_all(batch.ids, batch.temperatures)
        drift = new - batch.log_probs[:, 1:]  # both at the row's temperature
        ratio, gain = drift.exp(), advantages[:, None]
        plain, held = ratio * gain, ratio.clamp(1 - args.clip_low, 1 + args.clip_high) * gain
        # Divided by a fixed number: one that hung on the lengths would bend the gradient.
        scale = args.length * args.tasks * args.group / args.minibatches
        loss = -torch.minimum(plain, held)[mine].sum() / scale
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters(), args.max_norm)
        self.optimizer.step()
        sums["loss"] += float(loss.detach()) * scale
        sums["entropy"] += float(entropies.detach()[mine].sum())
        sums["clipped"] += int((held < plain)[mine].sum())
        sums["drift"] -= float(drift.detach()[mine].sum())
        sums["tokens"] += int(mine.sum())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a model folder that transformers loads, and beside it all that training needs."""
        save(self.model, folder, words=self.world.module.VOCABULARY)
        write_state(Path(folder, "sampler.npz"), self.sampler.state_dict())
        state = {"optimizer": self.optimizer.state_dict(), "draws": self.generator.get_state()}
        torch.save({**state, "history": self.history}, Path(folder, "trainer.pt"))

    def load(self, folder: str | os.PathLike[str]) -> None:
        self.model.load_state_dict(load(folder).state_dict())
        self.sampler.load_state_dict(read_state(Path(folder, "sampler.npz")))
        state = torch.load(Path(folder, "trainer.pt"), weights_only=True)
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["draws"])
        self.history = state["history"]


def build(sampler: Sampler, args: Args | None = None) -> GRPO:
    """Return a trainer in its initial state, as the self-test asks for it."""
    return GRPO(args or Args(tasks=4, group=8), sampler)


def train(args: Args) -> Path:
    """Train, or go on, evaluate, and return the folder of the trained model."""
    trainer = build(make_sampler(args.sampler, seed=derive(args.seed, "sampler")), args)
    hots, out = args.hots, Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    same_settings(out / "args.json", args)
    found = sorted(out.glob("step-*"))
    if found:
        trainer.load(found[-1])
    begun, since = len(trainer.history), time.perf_counter()
    folder = found[-1] if found else keep(trainer, out)
    while (now := len(trainer.history)) < args.steps:
        trainer.step()
        now += 1
        if now % args.save_every == 0 or now == args.steps:
            folder = keep(trainer, out)
        if now % 10 == 0 or now == args.steps:
            eta = (time.perf_counter() - since) / (now - begun) * (args.steps - now)
            row = trainer.history[-1]
            told = "  ".join(f"{k} {row[k]:.3f}" for k in ("success", "temperature"))
            mixed = f"zero advantage {row['zero_advantage']:.2f}  entropy {row['entropy']:.2f}"
            print(f"step {now}/{args.steps}  {told}  {mixed}  ETA {eta:.0f} s", flush=True)
    if trainer.history:
        draw_curves(trainer.history, args, out / "curves.png")
    for name in filter(None, args.eval_sets.split(",") if args.eval_n else ()):
        tasks = registry.tasks(trainer.world.id, name)
        for hot in hots:
            path = out / f"{name}-t{hot:g}-step{len(trainer.history)}.jsonl"
            if not path.exists():
                flags = evaluate(trainer, tasks, args.eval_n, hot)
                rows = zip(tasks, flags.tolist(), strict=True)
                lines = [json.dumps({"task_id": task, "pass_flags": row}) for task, row in rows]
                write_whole(path, [f"{line}\n".encode() for line in lines])
            flags = np.array([json.loads(line)["pass_flags"] for line in path.open()])
            c, n = flags.sum(1), flags.shape[1]
            solved = "  ".join(
                f"pass@{k} {pass_at_k(c, n, k).mean():.3f}" for k in sorted({1, min(8, n), n})
            )
            print(f"{name} at T = {hot:g}  {solved}  {path}", flush=True)
    return folder


def keep(trainer: GRPO, out: Path) -> Path:
    """Write a checkpoint, there whole or not at all, and let go of the one before."""
    part, whole = out / ".part", out / f"step-{len(trainer.history):06d}"
    shutil.rmtree(part, ignore_errors=True)
    trainer.save(part)
    part.rename(whole)
    for old in out.glob("step-*"):
        if old != whole:
            shutil.rmtree(old)
    rows = [json.dumps(row) for row in trainer.history]
    write_whole(out / "history.jsonl", [f"{row}\n".encode() for row in rows])
    return whole


def same_settings(path: Path, args: Args) -> None:
    """Write the settings down, or compare them with those that the folder was made with."""
    free = ("out", "steps", "save_every", "eval_n", "eval_sets", "eval_temperatures", "selftest")
    mine = {name: value for name, value in asdict(args).items() if name not in free}
    if not path.exists():
        write_whole(path, [json.dumps(mine, indent=1).encode(), b"\n"])
    theirs = json.loads(path.read_text())
    for name in {**mine, **theirs}:
        if mine.get(name) != theirs.get(name):
            raise SettingsDiffer(
                f"{path.parent} holds a run with `{name}` {theirs.get(name)!r}; expected the same, "
                f"got {mine.get(name)!r}. Give another --out."
            )


def evaluate(trainer: GRPO, tasks: Sequence[str], n: int, temperature: float) -> Any:
    """Return who succeeds in `n` rollouts of each task at one temperature, (T, n) bool."""
    args = trainer.args
    generator = torch.Generator().manual_seed(derive(args.seed, "evaluate", f"{temperature:g}"))
    names = [task for task in tasks for _ in range(n)]
    won: list[bool] = []
    for at in range(0, len(names), 512):
        part = names[at : at + 512]
        seeds = [derive(args.seed, "evaluate", at + row) for row in range(len(part))]
        heat = torch.full((len(part),), float(temperature))
        won += trainer.world.play(trainer.model, part, heat, seeds, generator, args.max_turn)[1]
    return np.array(won).reshape(len(tasks), n)


def draw_curves(history: list[dict[str, float]], args: Args, path: Path) -> None:
    """Paint success, temperature and groups without advantage over the steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 6.4), layout="constrained")
    figure.suptitle(f"GRPO on {args.env}, {args.sampler}", fontsize=10)
    steps = [row["step"] for row in history]
    window = max(1, min(25, len(history)))
    for axes, name in zip(
        figure.subplots(3, sharex=True), ("success", "temperature", "zero_advantage"), strict=True
    ):
        values = [row[name] for row in history]
        axes.plot(steps, values, color="#bbbbbb", linewidth=0.8)
        smooth = np.convolve(values, np.ones(window) / window, "valid")
        axes.plot(steps[window - 1 :], smooth, color="#0072b2", linewidth=1.8)
        axes.set_ylabel(name.replace("_", " "))
        axes.grid(alpha=0.3)
    axes.set_xlabel(f"step (blue: mean of the last {window})")
    figure.savefig(path, dpi=130)


def parse(argv: Sequence[str] | None = None) -> Args:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for one in fields(Args):
        kind: Any = (
            {"action": "store_true"} if one.default is False else {"type": type(one.default)}
        )
        help = f"{one.metadata['help']} (default: {one.default})".replace("%", "%%")
        parser.add_argument(
            f"--{one.name.replace('_', '-')}", default=one.default, help=help, **kind
        )
    try:
        return Args(**vars(parser.parse_args(argv)))
    except AgentEnvsError as error:
        parser.error(str(error))


def main(argv: Sequence[str] | None = None) -> int:
    args = parse(argv)
    if args.selftest:
        from agentenvs.harness.ptgs.selftest import selftest

        small = replace(args, tasks=4, group=8)
        report = selftest(lambda sampler: build(sampler, small), seed=args.seed)
        print(report)
        return 0 if report.passed else 1
    try:
        print(train(args))
    except AgentEnvsError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
