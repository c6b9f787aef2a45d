"""Speed of the lab's own model and world against transformers and the runner, in the same run.

Run `python benchmarks/lab.py [FOLDER] [--rows 1024] [--threads 1]`. FOLDER holds a model that the
lab saved; without one a model is trained for a minute. Three ratios: drawing tokens one after the
other, learning a batch of dialogues, and playing rollouts of ToolLab's training tasks (there the
reference is the runner with the `hf` policy, on fewer rollouts).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from transformers import AutoModelForCausalLM, DynamicCache

from agentenvs.harness import run
from agentenvs.harness.lab import TensorWorld, load, sample, save
from agentenvs.harness.lab.pretrain import pretrain
from agentenvs.harness.policies.hf import from_spec
from agentenvs.toollab import Design, demonstrations


def seconds(work: Callable[[], Any], times: int) -> float:
    work()
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def own(model: Any, ids: Any) -> None:
    cache = model.start(*ids.shape)
    for column in ids.unbind(1):
        model.step(column, cache)


@torch.no_grad()
def theirs(model: Any, ids: Any) -> None:
    cache = DynamicCache()
    for column in ids.unbind(1):
        model(input_ids=column[:, None], cache=cache, use_cache=True)


def learner(logits: Callable[[Any], Any], model: Any, ids: Any) -> Callable[[], None]:
    def learn() -> None:
        model.zero_grad()
        scores = logits(ids[:, :-1]).flatten(0, 1)
        functional.cross_entropy(scores, ids[:, 1:].flatten(), ignore_index=0).backward()

    return learn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    design = Design.of(0)
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or made
        if not options.folder:
            save(pretrain(design, 0, steps=400), folder)
        model = load(folder)
        other = AutoModelForCausalLM.from_pretrained(folder)
        policy = from_spec(folder, max_batch=128, threads=options.threads)

    demos = demonstrations(design, 128, np.random.default_rng(0))
    ids = torch.from_numpy(demos.ids.astype(np.int64))
    step = [seconds(lambda s=s, m=m: s(m, ids), 5) for s, m in ((own, model), (theirs, other))]
    print(f"stepping 128 dialogues: {step[0] * 1e3:.0f} ms, {step[1] / step[0]:.2f} times as fast")
    learn = [
        seconds(learner(logits, m, ids), 10)
        for logits, m in ((model, model), (lambda x: other(x).logits, other))
    ]
    print(f"learning them: {learn[0] * 1e3:.0f} ms, {learn[1] / learn[0]:.2f} times as fast")

    world = TensorWorld(design)
    tasks = torch.from_numpy(design.train.copy())[torch.arange(options.rows) % len(design.train)]
    heat = torch.ones(options.rows)
    play = seconds(lambda: sample(model, world, tasks, heat, torch.Generator().manual_seed(0)), 3)
    began = time.process_time()
    count = len(
        run("ToolLab", policy, n=2, harness="none", max_tokens=6, concurrency=256).column("task_id")
    )
    slow = (time.process_time() - began) / count * options.rows
    print(
        f"{options.rows} rollouts: {play:.2f} s, {options.rows / play:.0f} a second; "
        f"{options.rows / slow:.0f} a second through the runner, {slow / play:.1f} times as fast"
    )


if __name__ == "__main__":
    main()
