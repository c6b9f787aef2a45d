"""What each of several processes does in `test_processes`; run by torch.distributed.run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig

from agentenvs.harness.policies.lab import folder
from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.ptgs.trl import TextWorld, tempered


def odd(completions: list[str], **_: Any) -> list[float]:
    return [float(sum(map(len, text.split())) % 2) for text in completions]


def build(out: str, many_turns: bool) -> Any:
    net = AutoModelForCausalLM.from_pretrained(folder("base"))
    orders = [f"{verb} lamp {n}" for verb in ("order", "return") for n in ("two", "six")]
    world = TextWorld("ToolLab", max_tokens=8)
    play = (
        {
            "train_dataset": world.dataset(),
            "rollout_func": world.rollout,
            "reward_funcs": world.reward,
        }
        if many_turns
        else {
            "train_dataset": Dataset.from_dict(
                {"prompt": [f"<user> {o} <agent>" for o in orders], "task_id": orders}
            ),
            "reward_funcs": odd,
        }
    )
    return tempered()(
        model=net,
        processing_class=AutoTokenizer.from_pretrained(folder("base"), padding_side="left"),
        sampler=PTGS(seed=3, keep_events=True),
        args=GRPOConfig(
            output_dir=out,
            per_device_train_batch_size=2,
            num_generations=4,
            steps_per_generation=2,
            max_completion_length=48,
            max_steps=4,
            learning_rate=1e-2,
            beta=0.05,
            report_to=[],
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
            save_steps=1,
            logging_steps=1,
        ),
        **play,
    )


def told(trainer: Any) -> dict[str, Any]:
    return {
        "events": list(trainer.sampler.events.rows()),
        "weights": [float(p.double().sum()) for p in trainer.model.parameters()],
        "header": trainer.sampler.state_dict()["header"],
    }


def main(out: str, many_turns: bool) -> None:
    torch.set_num_threads(1)
    whole = build(f"{out}/whole", many_turns)
    whole.train()
    rank = whole.accelerator.process_index
    found = {"whole": told(whole), "wrapped": type(whole.model_wrapped).__name__}
    for step in (1, 2, 3):
        other = build(f"{out}/again{step}", many_turns)
        other.train(resume_from_checkpoint=f"{out}/whole/checkpoint-{step}")
        found[f"again{step}"] = told(other)
    Path(f"{out}/rank{rank}.json").write_text(json.dumps(found))
    whole.accelerator.end_training()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "many")
