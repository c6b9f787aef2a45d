"""The changes for verl against its own classes and a running TransferQueue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
FIELD = "ptgs_temperature"
HEAT = (0.67, 1.5)

# What other packages warn of as they are imported is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


class Scribe:
    """A server that notes how it was asked, and answers with one token."""

    def __init__(self, answer: Any) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answer = answer

    async def generate(self, **request: Any) -> Any:
        self.asked.append(dict(request["sampling_params"]))
        return self.answer


@pytest.fixture
def verl(recipe: Callable[[str], ModuleType]) -> Iterator[ModuleType]:
    """Return the module for verl; what it hooks into is as it was afterwards."""
    pytest.importorskip("verl", reason="needs verl")
    pytest.importorskip("transfer_queue", reason="needs TransferQueue")
    from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

    plain, sync = FSDPEngineWithLMHead.prepare_model_inputs, TRAINER_REGISTRY.get("sync")
    yield recipe("import transfer_queue as tq")
    FSDPEngineWithLMHead.prepare_model_inputs = plain
    TRAINER_REGISTRY["sync"] = sync


def verl_config() -> Any:
    import verl
    from hydra import compose, initialize_config_dir

    folder = Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose("ppo_trainer", ["data.train_batch_size=2"])


def test_verl_asks_its_server_at_the_temperature_of_the_row(verl: ModuleType) -> None:
    import torch
    from transformers import AutoTokenizer
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap, _agent_loop_registry
    from verl.utils.dataset.rl_dataset import RLHFDataset
    from verl.workers.rollout.replica import TokenOutput

    config = verl_config()
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "assets" / "lab" / "base")
    server = Scribe(TokenOutput(token_ids=[tokenizer.eos_token_id], log_probs=[-0.5]))

    async def played(**row: Any) -> Any:
        loop = verl.PTGSToolAgent(
            trainer_config=DictConfigWrap(config),
            server_manager=server,
            tokenizer=tokenizer,
            processor=None,
            dataset_cls=RLHFDataset,
            data_config=DictConfigWrap(config.data),
        )
        asked = {"temperature": 1.0, "top_p": 0.9}
        prompt = [{"role": "user", "content": "order"}]
        return await loop.run(asked, raw_prompt=prompt, **row), asked

    output, asked = asyncio.run(played(ptgs_temperature=torch.tensor(1.5), task_id="a"))
    asyncio.run(played(task_id="a"))
    assert [row["temperature"] for row in server.asked] == [1.5, 1.0]
    assert server.asked[0]["top_p"] == 0.9
    assert asked["temperature"] == 1.0
    assert len(output.response_ids) == 1
    assert _agent_loop_registry["ptgs_tool_agent"]["_target_"].endswith("PTGSToolAgent")


def verl_batch(sequences: list[list[int]], actions: int, heat: Any) -> Any:
    """Return rows as verl's driver makes them: padded both sides, then packed."""
    import torch
    from tensordict import TensorDict
    from verl.utils import tensordict_utils as tu
    from verl.workers.utils.padding import left_right_2_no_padding

    width = max(len(row) for row in sequences)
    ids = torch.tensor([[0] * (width - len(row)) + row for row in sequences])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in sequences])
    rows = {
        "input_ids": ids,
        "attention_mask": mask,
        "position_ids": (mask.cumsum(-1) - 1).clamp(min=0),
        "responses": ids[:, -actions:],
        "prompts": ids[:, :-actions],
        "response_mask": torch.ones(len(sequences), actions, dtype=torch.int64),
    }
    if heat is not None:
        rows[FIELD] = torch.tensor(heat)
    batch = TensorDict(rows, batch_size=len(sequences))
    tu.assign_non_tensor(batch, temperature=1.0)  # what the driver writes
    return left_right_2_no_padding(batch)


@pytest.mark.parametrize("packed", [False, True])
def test_verl_scores_rows_at_their_own_temperatures(
    verl: ModuleType, packed: bool, tiny: Callable[..., Any], expected: Callable[..., Any]
) -> None:
    import torch
    import verl.utils.torch_functional as functions
    from verl.utils import tensordict_utils as tu
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

    model, actions = tiny(), 3
    sequences = [[1, 5, 6, 7, 8], [1, 9, 10, 11, 12, 13, 14]]
    engine = object.__new__(FSDPEngineWithLMHead)
    engine.pad_to_length = engine.use_ulysses_sp = False
    engine.module = model
    engine.compute_entropy_from_logits = functions.entropy_from_logits
    engine.engine_config = SimpleNamespace(
        entropy_checkpointing=False, entropy_from_logits_with_chunking=False, pad_to_length=None
    )
    engine._get_packed_pad_size = lambda length: 0
    engine._gather_and_unpad_packed = lambda values, pad: values
    batch = verl_batch(sequences, actions, HEAT)
    tu.assign_non_tensor(batch, use_remove_padding=packed, calculate_entropy=True)
    inputs, arguments = engine.prepare_model_inputs(batch)
    rows = [model(torch.tensor([row])).logits[0] for row in sequences]
    # Without flash attention no model keeps packed rows apart.
    output = SimpleNamespace(logits=torch.cat(rows)[None]) if packed else model(**inputs)
    found = engine.prepare_model_outputs(output, arguments, batch, None)
    for i, row in enumerate(sequences):
        due = expected(model, torch.tensor([row]), actions, [HEAT[i]])
        log_probs = found["log_probs"][i][-actions - 1 : -1]
        entropies = found["entropy"][i][-actions - 1 : -1]
        torch.testing.assert_close(log_probs, due.log_probs[0], atol=2e-5, rtol=1e-4)
        torch.testing.assert_close(entropies, due.entropies[0], atol=2e-5, rtol=1e-4)


def test_verl_raises_where_a_row_has_no_temperature(verl: ModuleType) -> None:
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead

    engine = object.__new__(FSDPEngineWithLMHead)
    engine.pad_to_length = engine.use_ulysses_sp = False
    with pytest.raises(KeyError, match="at what temperature"):
        engine.prepare_model_inputs(verl_batch([[1, 5, 6, 7, 8]], 3, None))


@pytest.fixture
def queue() -> Iterator[Any]:
    """Return a running TransferQueue, verl's store of rollouts."""
    ray = pytest.importorskip("ray", reason="needs ray")
    tq = pytest.importorskip("transfer_queue", reason="needs TransferQueue")
    ray.init(num_cpus=16, include_dashboard=False, log_to_driver=False)
    tq.init()
    yield tq
    tq.close()
    ray.shutdown()


@pytest.mark.slow
def test_verl_tells_every_group_before_the_filter_and_keeps_the_field(
    verl: ModuleType, queue: Any, tmp_path: Path
) -> None:
    import torch
    from tensordict import TensorDict
    from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY, PPOTrainer
    from verl.utils import tensordict_utils as tu
    from verl.utils.transferqueue_utils import _meta_to_realdata

    assert TRAINER_REGISTRY["sync"] is verl.PTGSTrainer
    config = verl_config()
    config.trainer.default_local_dir = str(tmp_path)
    trainer = object.__new__(verl.PTGSTrainer)
    trainer.config, trainer.trainer_mode, trainer.global_steps = config, "sync", 1
    config.algorithm.filter_groups = {"enable": True, "metric": "reward"}
    trainer.replay_buffer = buffer = trainer._build_replay_buffer()
    tasks = np.array(["a", "b"], dtype=object)
    fetched = {"task_id": tasks, "uid": np.array(["u1", "u2"], dtype=object)}
    trainer._fetch_one_gen_batch = lambda: tu.get_tensordict(dict(fetched))
    batch = trainer._next_train_batch(2)
    heat = batch[FIELD].tolist()
    assert heat == pytest.approx(trainer.sampler.temperatures(["a", "b"]), abs=1e-6)

    # As `AgentLoopWorkerTQ` stores two sessions each: all of u1 fail, u2 is mixed.
    rewards = {"u1_0_0": 0.0, "u1_1_0": 0.0, "u2_0_0": 1.0, "u2_1_0": 0.0}
    for i, uid in enumerate(["u1", "u2"]):
        tag = {"is_prompt": True, "status": "finished", "global_steps": 1}
        queue.kv_put(key=uid, partition_id="train", tag=tag)
        for key in (key for key in rewards if key.startswith(uid)):
            scores = torch.zeros(3)
            scores[-1] = rewards[key]
            row = {"rm_scores": scores, "input_ids": torch.arange(4), FIELD: batch[FIELD][i]}
            fields = tu.list_of_dict_to_tensordict([{**row, "task_id": str(tasks[i])}])
            queue.kv_batch_put(
                keys=[key], partition_id="train", fields=fields, tags=[{"status": "success"}]
            )
    buffer._sync_metadata_from_transfer_queue()
    assert buffer._dapo_filtered_keys("train")[0] == {"u1"}
    successes, failures = trainer.sampler.posterior(["a", "b"])
    fresh = type(trainer.sampler)(tau=1.5)
    fresh.update(["a", "b"], [0, 1], 2)
    np.testing.assert_array_equal(np.stack([successes, failures]), fresh.posterior(["a", "b"]))
    buffer._sync_metadata_from_transfer_queue()
    np.testing.assert_array_equal(successes, trainer.sampler.posterior(["a", "b"])[0])

    # The scalar that the driver writes stands beside the field; the hook chooses.
    from transfer_queue import KVBatchMeta

    meta = KVBatchMeta(partition_id="train", keys=list(rewards), tags=[{}] * 4)
    meta.extra_info["temperature"] = 1.0
    data = _meta_to_realdata(meta)
    assert data["temperature"] == 1.0
    assert data[FIELD].reshape(-1).tolist() == [heat[0], heat[0], heat[1], heat[1]]
    assert isinstance(data, TensorDict)

    # Saving and loading around the trainer's own.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PPOTrainer, "_save_checkpoint", lambda self: None)
        patch.setattr(PPOTrainer, "_load_checkpoint", lambda self: None)
        trainer._save_checkpoint()
        after = trainer.sampler.temperatures(["a", "b"])
        trainer.sampler = type(trainer.sampler)(tau=1.5)
        trainer._load_checkpoint()
        np.testing.assert_array_equal(trainer.sampler.temperatures(["a", "b"]), after)
