"""How busy 64 decode slots are kept: the free-running pool against lock-step vectors.

A served model decodes up to 64 sequences side by side, a token each per tick. Both ways of
rolling out play the same episodes with the same reply lengths: turns are geometric with
mean 8, replies lognormal with mean 83 tokens, each drawn from the seed of its episode and step.
The vector asks for 64 replies, waits for the longest, steps, and begins finished episodes anew
by a masked reset. Decoding is simulated: instead of waiting for a tick the clock is put forward,
so that everything else, the runner's work and the environments', counts at its real speed.
What episodes would take in the runner's order if nothing but decoding cost time stands beside it:
near the end too few are left to fill the slots, which a run of more episodes feels less.

    python benchmarks/slots.py
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import math
import random
import selectors
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from agentenvs.core import TextEnv, Transition
from agentenvs.harness import Completion, Request, run_async
from agentenvs.harness.exchange import Form
from agentenvs.harness.seeds import derive, nth

ID = "benchmarks/Talk-v0"
TASKS = tuple(f"talk_{index}" for index in range(16))
TURNS, TOKENS, SPREAD = 8, 83, 0.8


class Talk(TextEnv):
    """Goes on for a number of turns that its seed draws."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(task_ids=TASKS, **kwargs)
        self._left = 0

    def _start(self, task: str, options: Mapping[str, Any]) -> Transition:
        self._left = int(self.np_random.geometric(1 / TURNS))
        return Transition("Go on.", [{"role": "user", "content": "Go on."}])

    def _act(self, action: str) -> Transition:
        self._left -= 1
        over = self._left <= 0
        news = [{"role": "user", "content": "Go on."}]
        return Transition("Go on.", news, terminated=over, success=True, score=1.0)

    def _save(self) -> Any:
        return self._left

    def _load(self, state: Any) -> None:
        self._left = state


def length(seed: int) -> int:
    """Return how many tokens a reply has, by its seed."""
    draw = random.Random(seed).lognormvariate(math.log(TOKENS) - SPREAD**2 / 2, SPREAD)
    return max(1, round(draw))


class Warped(asyncio.SelectorEventLoop):
    """An event loop that puts its clock forward where it would wait for a timer."""

    def __init__(self) -> None:
        self.ahead = 0.0
        super().__init__(_Impatient(self))

    def time(self) -> float:
        """Return seconds, those that were skipped included."""
        return time.perf_counter() + self.ahead


class _Impatient(selectors.DefaultSelector):
    def __init__(self, loop: Warped) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout:
            self._loop.ahead += timeout
        return super().select(0 if timeout is not None else None)


class Decoder:
    """Answers requests in so many slots, a tick a token."""

    name = "decoder"
    scripted = False
    form: Form = "completion"

    def __init__(self, slots: int, tick_s: float) -> None:
        self._free = asyncio.Semaphore(slots)
        self._tick_s = tick_s
        self.tokens = 0

    async def generate(self, request: Request) -> Completion:
        """Return a reply once its tokens would have been decoded."""
        tokens = length(request.seed or 0)
        async with self._free:
            await asyncio.sleep(tokens * self._tick_s)
        self.tokens += tokens
        return Completion("yes")

    def describe(self) -> Mapping[str, Any]:
        """Return nothing."""
        return {}

    async def close(self) -> None:
        """Nothing to free."""


def pool(args: argparse.Namespace, number: int) -> tuple[int, float]:
    """Return the tokens that the runner had decoded, and the seconds that it took."""
    loop = Warped()
    decoder = Decoder(args.slots, args.tick)
    with tempfile.TemporaryDirectory() as folder:
        rollouts = run_async(
            ID,
            decoder,
            n=number // len(TASKS),
            parser="native",
            out=folder,
            concurrency=args.slots,
        )
        began = loop.time()
        loop.run_until_complete(rollouts)
        took = loop.time() - began
    loop.close()
    return decoder.tokens, took


def lockstep(args: argparse.Namespace, number: int) -> tuple[int, float]:
    """Return the same of a vector environment whose members wait for one another."""
    queue = episodes(number)
    vector = SyncVectorEnv(
        [lambda: gymnasium.make(ID, disable_env_checker=True)] * args.slots,
        autoreset_mode=AutoresetMode.DISABLED,
    )
    tokens, ticks = 0, 0
    began = time.perf_counter()
    seeds = [next(queue) for _ in range(args.slots)]
    steps = np.zeros(args.slots, dtype=int)
    live = np.ones(args.slots, dtype=bool)
    # A task that is given is not drawn, so that the seed draws the turns alone, as in the runner.
    options = {"task": TASKS[0]}
    vector.reset(seed=[seed & 0xFFFFFFFF for seed in seeds], options=options)
    while live.any():
        lengths = [length(nth(seeds[at], int(steps[at]))) for at in live.nonzero()[0]]
        tokens += sum(lengths)
        ticks += max(lengths)
        _, _, terminated, truncated, _ = vector.step(["yes"] * args.slots)
        steps += 1
        ended = live & (terminated | truncated)
        for at in ended.nonzero()[0]:
            following = next(queue, None)
            live[at] = following is not None
            seeds[at], steps[at] = following or 0, 0
        # Members that have nothing more to play go on as they are, and count for nothing.
        again = terminated | truncated
        if again.any():
            options = {"task": TASKS[0], "reset_mask": again}
            vector.reset(seed=[seed & 0xFFFFFFFF for seed in seeds], options=options)
    vector.close()
    return tokens, time.perf_counter() - began + ticks * args.tick


def episodes(number: int) -> Iterator[int]:
    """Yield the seeds of the runner's episodes."""
    for task in TASKS:
        for rollout in range(number // len(TASKS)):
            yield derive(0, task, rollout)


def decoding_alone(args: argparse.Namespace, number: int) -> tuple[int, float]:
    """Return the same of episodes that take the slot which is free first, at no other cost."""
    free = [0] * args.slots
    tokens = 0
    for seed in episodes(number):
        env = gymnasium.make(ID, disable_env_checker=True).unwrapped
        env.reset(seed=seed & 0xFFFFFFFF, options={"task": TASKS[0]})
        needs = sum(length(nth(seed, step)) for step in range(env._left))
        tokens += needs
        heapq.heappush(free, heapq.heappop(free) + needs)
    return tokens, max(free) * args.tick


def main() -> None:
    parser = argparse.ArgumentParser(description="How busy decode slots are kept.")
    parser.add_argument("--episodes", type=int, nargs="+", default=[1024, 6400])
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--tick", type=float, default=0.02, help="seconds a token")
    args = parser.parse_args()
    gymnasium.register(id=ID, entry_point=Talk)
    ways = {
        "lock-step vector": lockstep,
        "free-running pool": pool,
        "decoding alone": decoding_alone,
    }
    for number in args.episodes:
        found = {name: way(args, number) for name, way in ways.items()}
        if len({tokens for tokens, _ in found.values()}) > 1:
            raise SystemExit(f"not the same workload: {found}")
        for name, (tokens, seconds) in found.items():
            busy = tokens * args.tick / (seconds * args.slots)
            print(f"{number} episodes, {name}: {seconds:.0f} s, {args.slots} slots {busy:.1%} busy")
        ratio = found["lock-step vector"][1] / found["free-running pool"][1]
        print(f"{ratio:.2f} times as fast (aim: 90 % busy against about 20 %)")


if __name__ == "__main__":
    main()
