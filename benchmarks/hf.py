"""Speed of the transformers policy against `model.generate`, in the same run.

Run `python benchmarks/hf.py [MODEL] [--rows 16] [--turns 4] [--new 32] [--threads 1]`. MODEL is a
folder; without one a small model with random weights is made. Conversations of several turns
share a long opening, as the rollouts of one task do. The reference answers them one at a time
with `model.generate`, each prompt read anew.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from typing import Any

from agentenvs.harness.exchange import Request
from agentenvs.harness.policies.hf import HFPolicy
from agentenvs.harness.policies.hf_load import load


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


async def by_policy(policy: HFPolicy, openings: list[str], turns: int, new: int) -> int:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--new", type=int, default=32)
    parser.add_argument("--opening", type=int, default=1200, help="characters of the opening")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(args.threads)
    if args.model:
        model, tokenizer, _ = load(args.model, device="cpu")
    else:
        model, tokenizer = random_model()
    words = random.Random(0)
    shared = "".join(words.choice("abcdefgh \n") for _ in range(args.opening))
    openings = [f"{shared}\nUser: task {i % 4}\n" for i in range(args.rows)]

    rates: dict[str, float] = {}
    few = max(1, args.rows // 8)
    began = time.perf_counter()
    drawn = by_generate(model, tokenizer, openings[:few], args.turns, args.new)
    rates["model.generate, one at a time"] = drawn / (time.perf_counter() - began)
    for label, prefix_gb in (("policy, prompts read anew", 0.0), ("policy", 2.0)):
        policy = HFPolicy(model, tokenizer, max_batch=args.rows, prefix_gb=prefix_gb)
        began = time.perf_counter()
        drawn = asyncio.run(by_policy(policy, openings, args.turns, args.new))
        rates[label] = drawn / (time.perf_counter() - began)
        asyncio.run(policy.close())
    reference = next(iter(rates.values()))
    for label, rate in rates.items():
        print(f"{label:32s} {rate:9.1f} new tokens/s   {rate / reference:6.2f} x")


if __name__ == "__main__":
    main()
