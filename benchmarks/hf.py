"""Speed of the transformers policy against other ways to run the same model, in the same run.

Run `python benchmarks/hf.py [MODEL] [--part lengths|turns|unrelated|pause] [--rows 16]`. MODEL is
a folder; without one a small model with random weights is made. Rates are new tokens a second of
the process's CPU time, which other work on the machine does not move, and of wall time.

- lengths: 64 live conversations whose replies have very different lengths, each replaced as it
  ends. The running batch against a batch that nobody joins until it has ended (same code), and
  against the continuous batching of transformers.
- turns: conversations of several turns with a long common opening, against `model.generate`, one
  at a time; with kept states and without.
- unrelated: one request each, nothing in common: what keeping states costs where it cannot pay.
- pause: the longest wait between two tokens of running rows while a long prompt is read.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import pairwise
from typing import Any

from agentenvs.harness.exchange import Completion, Request
from agentenvs.harness.policies.hf import HFPolicy
from agentenvs.harness.policies.hf_load import load

Generate = Callable[[Request], Awaitable[Completion]]
Rates = dict[str, tuple[float, float]]


def random_model() -> tuple[Any, Any]:
    import torch
    from transformers import ByT5Tokenizer, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=384,
        hidden_size=256,
        intermediate_size=1024,
        num_hidden_layers=8,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=8192,
        bos_token_id=None,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config).eval(), ByT5Tokenizer()


def timed(rates: Rates, label: str, work: Callable[[], int]) -> None:
    """Note tokens a CPU second and tokens a second."""
    wall, cpu = time.perf_counter(), time.process_time()
    tokens = work()
    rates[label] = tokens / (time.process_time() - cpu), tokens / (time.perf_counter() - wall)


def told(title: str, rates: Rates) -> None:
    print(f"\n{title:38s} tokens/CPU s          tokens/s")
    reference = next(iter(rates.values()))
    for label, (cpu, wall) in rates.items():
        ratios = cpu / reference[0], wall / reference[1]
        print(
            f"{label:38s} {cpu:9.1f} {ratios[0]:6.2f} x {wall:9.1f} {ratios[1]:6.2f} x", flush=True
        )


def words(seed: int, length: int) -> str:
    chance = random.Random(seed)
    return "".join(chance.choice("abcdefgh \n") for _ in range(length))


class Waves:
    """A batch that nobody joins: requests wait until all of the batch before have ended."""

    def __init__(self, policy: HFPolicy, rows: int) -> None:
        self.policy, self.rows = policy, rows
        self.waiting: list[tuple[Request, asyncio.Future[Completion]]] = []
        self.server: asyncio.Task[None] | None = None

    async def generate(self, request: Request) -> Completion:
        """Answer a request with the wave that it falls into."""
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self.waiting.append((request, future))
        if self.server is None or self.server.done():
            self.server = asyncio.create_task(self._serve())
        return await future

    async def _serve(self) -> None:
        while self.waiting:
            await asyncio.sleep(0.005)
            wave, self.waiting = self.waiting[: self.rows], self.waiting[self.rows :]
            made = await asyncio.gather(*(self.policy.generate(request) for request, _ in wave))
            for (_, future), completion in zip(wave, made, strict=True):
                future.set_result(completion)


class Theirs:
    """The continuous batching of transformers: one generator for all rows, no stop strings."""

    def __init__(self, manager: Any, tokenizer: Any) -> None:
        self.manager, self.tokenizer = manager, tokenizer

    async def generate(self, request: Request) -> Completion:
        """Answer a request; its seed is of no use here."""
        ids = self.tokenizer(request.prompt, add_special_tokens=False)["input_ids"]
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        name = f"{id(future)}"
        self.manager.register_result_handler(name, future.set_result)
        self.manager.add_request(ids, request_id=name, max_new_tokens=request.max_tokens)
        drawn = (await future).generated_tokens
        return Completion(self.tokenizer.decode(drawn), token_ids=tuple(drawn))


def lengths(seed: int, turns: int) -> list[int]:
    """Return lengths of replies: half of them short, a few very long."""
    chance = random.Random(seed)
    return [min(400, max(4, int(chance.lognormvariate(3.0, 1.2)))) for _ in range(turns)]


async def conversations(generate: Generate, count: int, live: int, opening: str) -> int:
    """Hold conversations of two turns, so many at a time; return the tokens that were drawn."""
    left, drawn = iter(range(count)), 0

    async def slot() -> None:
        nonlocal drawn
        for index in left:
            text = f"{opening}\nUser: {words(index, 60)}\n"
            for turn, new in enumerate(lengths(index, 2)):
                made = await generate(Request(prompt=text, max_tokens=new, seed=2 * index + turn))
                drawn += len(made.token_ids or ())
                text += f"{made.text}\nUser {turn}: and then?\n"

    await asyncio.gather(*(slot() for _ in range(live)))
    return drawn


def by_lengths(model: Any, tokenizer: Any, args: argparse.Namespace) -> None:
    from transformers import GenerationConfig
    from transformers.generation.configuration_utils import ContinuousBatchingConfig

    rates: Rates = {}
    opening = words(1, args.opening // 4)

    def played(generate: Generate) -> int:
        return asyncio.run(conversations(generate, args.episodes, args.live, opening))

    for label in (f"batches of {args.rows}", f"a running batch of {args.rows}"):
        policy = HFPolicy(model, tokenizer, max_batch=args.rows)
        policy.ends = frozenset()
        waves = Waves(policy, args.rows)
        generate = policy.generate if "running" in label else waves.generate
        timed(rates, label, partial(played, generate))
        asyncio.run(policy.close())
    sampling = GenerationConfig(do_sample=True, eos_token_id=-1, pad_token_id=0, max_new_tokens=400)
    paged = ContinuousBatchingConfig(
        max_batch_tokens=512, num_blocks=1024, page_size=32, max_requests_per_batch=args.rows
    )
    before = model.config._attn_implementation
    with model.continuous_batching_context_manager(
        sampling, continuous_batching_config=paged
    ) as manager:
        theirs = Theirs(manager, tokenizer)
        timed(rates, "transformers' continuous batching", partial(played, theirs.generate))
    model.set_attn_implementation(before)
    told(f"{args.live} live, replies of 4 to 400 tokens", rates)


async def turns_by_policy(policy: HFPolicy, openings: list[str], turns: int, new: int) -> int:
    async def conversation(index: int, text: str) -> int:
        drawn = 0
        for turn in range(turns):
            made = await policy.generate(
                Request(prompt=text, max_tokens=new, seed=index * turns + turn)
            )
            drawn += len(made.token_ids or ())
            text += made.text + f"\nUser {turn}: and then?\n"
        return drawn

    return sum(await asyncio.gather(*(conversation(i, t) for i, t in enumerate(openings))))


def by_generate(model: Any, tokenizer: Any, openings: list[str], turns: int, new: int) -> int:
    import torch

    drawn = 0
    for text in openings:
        for turn in range(turns):
            ids = torch.tensor([tokenizer(text, add_special_tokens=False)["input_ids"]])
            with torch.inference_mode():
                out = model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    do_sample=True,
                    max_new_tokens=new,
                    pad_token_id=0,
                )
            fresh = out[0, ids.shape[1] :].tolist()
            drawn += len(fresh)
            text += tokenizer.decode(fresh) + f"\nUser {turn}: and then?\n"
    return drawn


def by_turns(model: Any, tokenizer: Any, args: argparse.Namespace) -> None:
    rates: Rates = {}
    shared = words(0, args.opening)
    openings = [f"{shared}\nUser: task {i % 4}\n" for i in range(args.rows)]
    few = openings[: max(1, args.rows // 8)]
    timed(
        rates,
        "model.generate, one at a time",
        lambda: by_generate(model, tokenizer, few, args.turns, args.new),
    )
    for label, prefix_gb in (("policy, prompts read anew", 0.0), ("policy", 2.0)):
        policy = HFPolicy(model, tokenizer, max_batch=args.rows, prefix_gb=prefix_gb)
        made = turns_by_policy(policy, openings, args.turns, args.new)
        timed(rates, label, partial(asyncio.run, made))
        asyncio.run(policy.close())
    told(f"{args.rows} conversations of {args.turns} turns", rates)


def by_unrelated(model: Any, tokenizer: Any, args: argparse.Namespace) -> None:
    rates: Rates = {}
    prompts = [words(100 + i, args.opening // 4) for i in range(4 * args.rows)]
    for label, prefix_gb in (("nothing kept", 0.0), ("states kept in vain", 2.0)):
        policy = HFPolicy(model, tokenizer, max_batch=args.rows, prefix_gb=prefix_gb)
        made = turns_by_policy(policy, prompts, 1, args.new)
        timed(rates, label, partial(asyncio.run, made))
        asyncio.run(policy.close())
    told(f"{len(prompts)} unrelated requests", rates)


def by_pause(model: Any, tokenizer: Any, args: argparse.Namespace) -> None:
    """Time what each step of running rows takes, while a prompt of 4,000 characters is read."""
    print(f"\n{'reading 4,000 characters':38s} longest pause, CPU s")
    for label, chunk in (("512 tokens between steps", 512), ("all at once", 1 << 20)):
        policy = HFPolicy(model, tokenizer, max_batch=args.rows, chunk=chunk, prefix_gb=0)
        policy.ends = frozenset()
        ends: list[float] = []
        step = policy._loop._step

        def noted(step: Callable[[], None] = step, ends: list[float] = ends) -> None:
            step()
            ends.append(time.process_time())

        policy._loop._step = noted  # type: ignore[method-assign]

        async def main(policy: HFPolicy = policy, ends: list[float] = ends) -> None:
            asks = [Request(prompt=words(i, 40), max_tokens=60, seed=i) for i in range(4)]
            running = [asyncio.create_task(policy.generate(request)) for request in asks]
            while len(ends) < 5:
                await asyncio.sleep(0.002)
            await policy.generate(Request(prompt=words(9, 4000), max_tokens=2, seed=9))
            await asyncio.gather(*running)
            await policy.close()

        asyncio.run(main())
        pauses = [later - sooner for sooner, later in pairwise(ends)]
        print(f"{label:38s} {max(pauses):10.2f}", flush=True)


PARTS = {
    "lengths": by_lengths,
    "turns": by_turns,
    "unrelated": by_unrelated,
    "pause": by_pause,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", nargs="?", help="a folder; default a small random model")
    parser.add_argument("--part", choices=PARTS, action="append", help="default: all")
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--live", type=int, default=64)
    parser.add_argument("--episodes", type=int, default=96)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--new", type=int, default=32)
    parser.add_argument("--opening", type=int, default=1200, help="characters of the opening")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(args.threads)
    model, tokenizer = load(args.model, device="cpu")[:2] if args.model else random_model()
    for part in args.part or PARTS:
        PARTS[part](model, tokenizer, args)


if __name__ == "__main__":
    main()
