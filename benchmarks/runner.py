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

from agentenvs.core import Outcome, TextEnv, Tool
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

    def _start(self, task: str, options: Mapping[str, Any]) -> Outcome:
        self._step = 0
        text = "Please write the report, one sentence at a time, and tell me when it is done."
        info = {"system": "You write reports.", "tools": [TOOL]}
        return Outcome(text, [{"role": "user", "content": text}], info=info)

    def _act(self, action: str) -> Outcome:
        self._step += 1
        return Outcome(
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
        if self.wait_s:
            await asyncio.sleep(self.wait_s)
        return self._reply

    def describe(self) -> Mapping[str, Any]:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=2048)
    args = parser.parse_args()
    gymnasium.register(id=ID, entry_point=Echo)
    steps = args.episodes * STEPS
    for form in ("completion", "chat"):
        policy = Steady(form)
        pairs = [
            (
                measure(plain, policy, args.episodes, 64)[0],
                measure(ours, policy, args.episodes, 64)[0],
            )
            for _ in range(args.rounds)
        ]
        base, full = min(p for p, _ in pairs), min(o for _, o in pairs)
        print(
            f"{form}: plain {base / steps * 1e6:.1f} us a step, runner {full / steps * 1e6:.1f} us: "
            f"{(full - base) / steps * 1e6:.1f} us of CPU added a step (aim 10), "
            f"ratio {full / base:.2f}"
        )
    policy = Steady("completion", 0.005)
    pairs = [
        (
            measure(plain, policy, args.episodes, 128)[1],
            measure(ours, policy, args.episodes, 128)[1],
        )
        for _ in range(args.rounds)
    ]
    base, full = min(p for p, _ in pairs), min(o for _, o in pairs)
    print(
        f"128 environments, 5 ms a step: plain {steps / base:.0f} steps/s, "
        f"runner {steps / full:.0f} steps/s: {base / full:.1%} of the plain loop (aim 90 %)"
    )


if __name__ == "__main__":
    main()
