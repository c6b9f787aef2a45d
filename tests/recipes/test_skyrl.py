"""The changes for SkyRL against its own classes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from agentenvs.errors import BadArgument

ROOT = Path(__file__).resolve().parents[2]
FIELD = "ptgs_temperature"
HEAT = (0.67, 1.5)

# What other packages warn of as they are imported is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def skyrl(recipe: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module for SkyRL; its workers find a GPU that is the CPU."""
    pytest.importorskip("skyrl", reason="needs skyrl")
    import torch
    from skyrl.backends.skyrl_train.workers.worker_utils import BaseBatchIterator

    known = staticmethod(BaseBatchIterator.batch_to_experience)
    monkeypatch.setattr(BaseBatchIterator, "batch_to_experience", known)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: "cpu")
    return recipe("from skyrl.train.trainer")


def test_skyrl_asks_its_engine_at_the_temperature_of_the_task(skyrl: ModuleType) -> None:
    from skyrl.train.config.config import SkyRLTrainConfig
    from skyrl.train.generators.base import BatchMetadata, TrajectoryID
    from transformers import AutoTokenizer

    config = SkyRLTrainConfig()
    config.generator.batched = False
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "assets" / "lab" / "base")
    tokenizer.chat_template = "{% for one in messages %}{{ one['content'] }} {% endfor %}"
    asked: list[dict[str, Any]] = []

    class Engine:
        weight_version = None

        async def generate(self, request: Mapping[str, Any], model: str | None = None) -> Any:
            asked.append(request["sampling_params"])
            ids = [[tokenizer.eos_token_id]]
            return {"responses": ["#### 4"], "response_ids": ids, "stop_reasons": ["stop"]}

        async def finish_session(self, name: str) -> None:
            pass

    generator = skyrl.PTGSGenerator(
        generator_cfg=config.generator,
        skyrl_gym_cfg=config.environment.skyrl_gym,
        inference_engine_client=Engine(),
        tokenizer=tokenizer,
    )

    def batch(phase: str) -> dict[str, Any]:
        return {
            "prompts": [[{"role": "user", "content": "order"}]] * 4,
            "env_classes": ["gsm8k"] * 4,
            "env_extras": [{"reward_spec": {"ground_truth": truth}} for truth in "4455"],
            "sampling_params": {"temperature": 1.0, "logprobs": None, "top_p": 1.0},
            "trajectory_ids": [TrajectoryID(task, i) for task in "ab" for i in range(2)],
            "batch_metadata": BatchMetadata(global_step=1, training_phase=phase),
        }

    heat = generator.sampler.temperatures(["a", "b"])
    output = asyncio.run(generator.generate(batch("train"), disable_tqdm=True))
    assert sorted(row["temperature"] for row in asked) == sorted(heat.repeat(2))
    assert len(output["response_ids"]) == 4
    won, _ = generator.sampler.posterior(["a", "b"])
    assert won[0] == won[1] + 2
    asked.clear()
    asyncio.run(generator.generate(batch("eval"), disable_tqdm=True))
    assert [row["temperature"] for row in asked] == [1.0] * 4
    assert generator.sampler.step == 1


def skyrl_batch(skyrl: ModuleType) -> tuple[Any, Any]:
    import torch

    sequences = torch.tensor([[0, 0, 1, 5, 6, 7, 8], [1, 9, 10, 11, 12, 13, 14]])
    batch = skyrl.Carrying(
        {
            "sequences": sequences,
            "attention_mask": (sequences > 0).long(),
            FIELD: torch.tensor(HEAT),
        }
    )
    batch.metadata = {"response_length": 3, "more": 1}
    return batch, sequences


@pytest.mark.parametrize("worker", ["PTGSPolicyWorker", "PTGSRefWorker"])
def test_skyrl_scores_rows_at_their_own_temperatures(
    skyrl: ModuleType, worker: str, tiny: Callable[..., Any], expected: Callable[..., Any]
) -> None:
    import torch
    from skyrl.backends.skyrl_train.workers.model_wrapper import HFModelWrapper
    from skyrl.backends.skyrl_train.workers.worker_utils import BaseBatchIterator

    model = tiny()
    batch, sequences = skyrl_batch(skyrl)
    rows = batch.select(keys=["sequences", "attention_mask"], metadata_keys=["response_length"])
    scorer = object.__new__(getattr(skyrl, worker))
    scorer.cfg = SimpleNamespace(algorithm=SimpleNamespace(temperature=1.0))
    scorer.model = HFModelWrapper(model)
    found = [scorer._forward_micro_batch(chunk)["output"] for chunk in rows.chunk(1)]
    found.append(scorer._forward_micro_batch(rows)["output"])
    for scores in (torch.cat(found[:2]), found[2]):
        for i, row in enumerate(sequences):
            due = expected(model, row[row > 0][None], 3, [HEAT[i]])
            torch.testing.assert_close(scores[i], due.log_probs[0], atol=2e-5, rtol=1e-4)

    experience = BaseBatchIterator.batch_to_experience(batch)
    assert experience.info[FIELD].tolist() == pytest.approx(HEAT)
    with skyrl.scored_at(scorer.model, experience.info[FIELD]):
        log_probs, output = scorer.model(
            sequences, 3, experience.attention_mask, return_output=True, compute_entropy=True
        )
    for i, row in enumerate(sequences):
        due = expected(model, row[row > 0][None], 3, [HEAT[i]])
        torch.testing.assert_close(log_probs[i], due.log_probs[0], atol=2e-5, rtol=1e-4)
        entropies = output["entropy"][i, -4:-1]
        torch.testing.assert_close(entropies, due.entropies[0], atol=2e-5, rtol=1e-4)
    log_probs.sum().backward()
    wrong = skyrl.scored_at(scorer.model, torch.ones(3))
    with pytest.raises(BadArgument, match="one temperature a row"), wrong:
        scorer.model(sequences, 3, experience.attention_mask)


def test_skyrl_rows_without_a_temperature_are_refused(skyrl: ModuleType) -> None:
    batch, _ = skyrl_batch(skyrl)
    del batch[FIELD]
    with pytest.raises(KeyError, match=FIELD):
        batch.select(keys=["sequences"])


def test_skyrl_puts_the_temperatures_beside_the_rows_and_saves_the_posterior(
    skyrl: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import torch
    from skyrl.backends.skyrl_train.training_batch import (
        TrainingInputBatch,
        pad_training_input_batch,
    )
    from skyrl.train.trainer import RayPPOTrainer

    def made(self: Any, output: Any, uids: list[str]) -> Any:
        batch = TrainingInputBatch({"sequences": torch.arange(3)[:, None].repeat(1, 4)})
        batch.metadata = {"uids": uids}
        return pad_training_input_batch(batch, 1)

    monkeypatch.setattr(RayPPOTrainer, "convert_to_training_input", made)
    monkeypatch.setattr(RayPPOTrainer, "save_checkpoints", lambda self: "there")
    monkeypatch.setattr(
        RayPPOTrainer, "load_checkpoints", lambda self: (2, str(tmp_path / "global_step_2"))
    )
    trainer = object.__new__(skyrl.PTGSTrainer)
    sampler = skyrl.PTGS(tau=1.5)
    trainer.generator = SimpleNamespace(heat={"a": 0.7, "b": 1.3}, sampler=sampler)
    trainer.cfg = SimpleNamespace(trainer=SimpleNamespace(ckpt_path=str(tmp_path)))
    trainer.global_step = 2
    batch = trainer.convert_to_training_input({}, ["b", "a", "a"])
    assert batch[FIELD].tolist() == pytest.approx([1.3, 0.7, 0.7, 1.3])
    assert batch.metadata["uids"] == ["b", "a", "a", "pad0"]
    sampler.update(["a"], 1, 4)
    trainer.save_checkpoints()
    trainer.generator.sampler = skyrl.PTGS(tau=1.5)
    assert trainer.load_checkpoints()[0] == 2
    assert trainer.generator.sampler.temperatures(["a"]) == sampler.temperatures(["a"])
