"""What the runner adds to a plain asyncio loop: CPU a step, and throughput where steps wait.

Both loops play the same episodes of a small text environment (10 steps, about 100 characters
each way) with the same policy in the same process. The plain loop keeps nothing; the runner
renders prompts, derives seeds, and records outcomes and transcripts in a folder. Rounds of the
two alternate, and the smallest CPU time of each counts.

    python benchmarks/runner.py
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium

from agentenvs.core import TextEnv, Tool, Transition
from agentenvs.harness import Completion, Request, run_async
from agentenvs.harness.exchange import Form

ID = "benchmarks/Echo-v0"
STEPS = 10
TASKS = tuple(f"echo_{index}" for index in range(64))
REPLY = (
    "[write(name='report.txt', text='the quick brown fox jumps over the lazy dog', mode='append')]"
)
RESULT = '{"written": 43, "name": "report.txt", "folder": "/home/ada/papers", "free": 918273}'
TOOL = Tool("write", "Write to a file.", {"type": "object", "properties": {}}).schema()


class Echo(TextEnv):
    """Answers every action with the same result; ends after `STEPS` steps."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(task_ids=TASKS, **kwargs)
        self._step = 0

    def _start(self, task: str, options: Mapping[str, Any]) -> Transition:
        self._step = 0
        text = "Please write the report, one sentence at a time, and tell me when it is done."
        info = {"system": "You write reports.", "tools": [TOOL]}
        return Transition(text, [{"role": "user", "content": text}], info=info)

    def _act(self, action: str) -> Transition:
        self._step += 1
        return Transition(
            RESULT,
            [{"role": "tool", "content": RESULT, "name": "write"}],
            terminated=self._step == STEPS,
            success=True,
            score=1.0,
            info={"parse": {"status": "calls", "repairs": []}},
        )

    def _save(self) -> Any:
        return self._step

    def _load(self, state: Any) -> None:
        self._step = state


class Steady:
    """Gives the same reply at once, or after `wait_s` seconds."""

    name = "steady"
    scripted = False

    def __init__(self, form: Form, wait_s: float = 0.0) -> None:
        self.form: Form = form
        self.wait_s = wait_s
        self._reply = Completion(REPLY)

    async def generate(self, request: Request) -> Completion:
        """Return the reply."""
        if self.wait_s:
            await asyncio.sleep(self.wait_s)
        return self._reply

    def describe(self) -> Mapping[str, Any]:
        """Return nothing."""
        return {}

    async def close(self) -> None:
        """Nothing to free."""


async def plain(policy: Steady, episodes: int, concurrency: int) -> None:
    """Play episodes in the plainest loop that does the job."""

    async def slot(queue: Iterator[int]) -> None:
        env = gymnasium.make(ID, disable_env_checker=True)
        for index in queue:
            observation, _ = env.reset(seed=index, options={"task": TASKS[index % len(TASKS)]})
            over = False
            while not over:
                reply = await policy.generate(Request(prompt=observation))
                observation, _, terminated, truncated, _ = env.step(reply.text)
                over = terminated or truncated

    queue = iter(range(episodes))
    await asyncio.gather(*(slot(queue) for _ in range(concurrency)))


async def ours(policy: Steady, episodes: int, concurrency: int) -> None:
    """Play them with the runner, everything recorded."""
    with tempfile.TemporaryDirectory() as folder:
        await run_async(
            ID,
            policy,
            n=episodes // len(TASKS),
            parser="native",
            concurrency=concurrency,
            out=folder,
        )


def measure(loop: Any, policy: Steady, episodes: int, concurrency: int) -> tuple[float, float]:
    """Return CPU and wall seconds."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    asyncio.run(loop(policy, episodes, concurrency))
    return time.process_time() - cpu, time.perf_counter() - wall


def compare(policy: Steady, args: argparse.Namespace, concurrency: int, which: int) -> list[float]:
    """Return the least of several rounds of the plain loop and of the runner."""
    rounds = [
        [measure(loop, policy, args.episodes, concurrency)[which] for loop in (plain, ours)]
        for _ in range(args.rounds)
    ]
    return [min(times) for times in zip(*rounds, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description="What the runner adds to a plain asyncio loop.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--episodes", type=int, default=4096)
    args = parser.parse_args()
    gymnasium.register(id=ID, entry_point=Echo)
    steps = args.episodes * STEPS
    for form in ("completion", "chat"):
        base, full = (time / steps * 1e6 for time in compare(Steady(form), args, 64, 0))
        print(
            f"{form}: plain {base:.1f} us, runner {full:.1f} us of CPU a step: "
            f"{full - base:.1f} us added (aim 10), ratio {full / base:.2f}"
        )
    base, full = (steps / time for time in compare(Steady("completion", 0.005), args, 128, 1))
    print(
        f"128 environments, 5 ms a step: plain {base:.0f} steps/s, runner {full:.0f} steps/s: "
        f"{full / base:.1%} of the plain loop (aim 90 %)"
    )


if __name__ == "__main__":
    main()
