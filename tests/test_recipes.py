"""The recipes' snippets, run against the classes of the frameworks that they are for.

What is not installed is skipped: of these continuous integration has transformers alone.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "docs" / "recipes.md", ROOT / "docs" / "recipes_trainers.md"]
FIELD = "ptgs_temperature"
HEAT = (0.67, 1.5)

# What other packages warn of as they are imported is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def recipe(tmp_path: Path) -> Iterator[Callable[[str], ModuleType]]:
    """Return what imports the block that holds a text, as a user's module would be."""
    names = []

    def imported(holds: str) -> ModuleType:
        found = [
            text
            for page in PAGES
            for text in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
            if holds in text
        ]
        assert len(found) == 1, holds
        name = f"agentenvs_recipe_{len(names)}"
        names.append(name)
        path = tmp_path / f"{name}.py"
        path.write_text(found[0], "utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    yield imported
    for name in names:
        sys.modules.pop(name, None)


def tiny(vocabulary: int = 29, **more: Any) -> Any:
    """Return a small random language model."""
    torch = pytest.importorskip("torch", reason="needs the extra `hf`")
    transformers = pytest.importorskip("transformers", reason="needs the extra `hf`")
    with torch.random.fork_rng():
        torch.manual_seed(3)
        config = transformers.LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            initializer_range=1.0,
            **more,
        )
        return transformers.LlamaForCausalLM(config).eval()


def expected(model: Any, sequences: Any, actions: int, heat: Any) -> Any:
    """Return `row_scores` of the last `actions` tokens of unpadded rows."""
    from agentenvs.harness.ptgs.scoring import row_scores

    logits = model(sequences).logits[:, -actions - 1 : -1]
    return row_scores(logits, sequences[:, -actions:], heat)


# -- transformers --


@pytest.mark.hf
def test_continuous_batching_draws_each_rollout_at_its_own_temperature(
    recipe: Callable[[str], ModuleType],
) -> None:
    model, prompt = tiny(eos_token_id=None, pad_token_id=0), [1, 5, 6]
    play = recipe("continuous_batching_context_manager").play
    limits = {"num_blocks": 64, "max_batch_tokens": 256, "seed": 5}
    rows = play(model, [prompt] * 600, HEAT * 300, max_new_tokens=1, **limits)
    torch = pytest.importorskip("torch")
    logits = model(torch.tensor([prompt])).logits[0, -1]
    for heat, drawn in zip(HEAT, (rows[::2], rows[1::2]), strict=True):
        seen = torch.bincount(torch.tensor(drawn)[:, 0], minlength=29)
        chances = {t: (logits / t).softmax(-1) for t in HEAT}
        fit = {t: float((seen * p.log()).sum()) for t, p in chances.items()}
        assert max(fit, key=lambda t: fit[t]) == heat
        assert_drawn_from(seen, chances[heat])


def assert_drawn_from(seen: Any, chances: Any) -> None:
    """Fail where counts are further from chances than one time in a million."""
    from mpmath import gammainc

    due = chances * seen.sum()
    often = due > 5
    parts = [(int(s), float(d)) for s, d in zip(seen[often], due[often], strict=True)]
    parts.append((int(seen[~often].sum()), float(due[~often].sum())))
    square = sum((s - d) ** 2 / d for s, d in parts if d > 0)
    assert gammainc((len(parts) - 1) / 2, square / 2, regularized=True) > 1e-6


# -- servers --


@pytest.fixture
def echo() -> Iterator[Any]:
    """Return a server on loopback that says the same to everything and keeps what it was sent."""
    path = ROOT / "tests" / "harness" / "policies" / "endpoint" / "fake.py"
    spec = importlib.util.spec_from_file_location("agentenvs_tests_recipes_endpoint", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    server = module.Server()
    yield SimpleNamespace(server=server, model=module.MODEL)
    server.stop()


def test_each_request_to_a_server_has_its_tasks_temperature(
    recipe: Callable[[str], ModuleType], echo: Any, tmp_path: Path
) -> None:
    evaluate = recipe("def evaluate(").evaluate
    out = evaluate(echo.model, echo.server.url, tmp_path / "run", rollouts=4)
    sent = [seen.body["temperature"] for seen in echo.server.seen]
    by_task: dict[str, list[float]] = {}
    for task, heat_of_one in zip(out.column("task_id"), out.column("temperature"), strict=True):
        by_task.setdefault(task, []).append(heat_of_one)
    heat = np.array([sorted(row, key=lambda t: t != 1.0) for row in by_task.values()])
    assert set(sent) == set(heat.ravel())
    assert (heat[:, :2] == 1).all()
    # Nothing succeeds, so the second round is hot, each task at a temperature of its own.
    assert (heat[:, 2] == heat[:, 3]).all()
    assert len(set(heat[:, 2])) > len(heat) // 2
    assert heat[:, 2].mean() > 1.1


# -- engines --


@pytest.mark.parametrize(("package", "holds"), [("vllm", "from vllm"), ("sglang", "sglang.srt")])
def test_engines_take_a_list_of_settings(
    recipe: Callable[[str], ModuleType], package: str, holds: str
) -> None:
    pytest.importorskip(package, reason=f"needs {package}")
    module = recipe(holds)
    made = module.sampling(np.array(HEAT), 4)
    as_dicts = [
        row if isinstance(row, dict) else {"temperature": row.temperature, "n": row.n}
        for row in made
    ]
    assert [(row["temperature"], row["n"]) for row in as_dicts] == [(0.67, 4), (1.5, 4)]
    with pytest.raises(Exception, match="temperature"):
        module.sampling([-1.0], 4)


# -- verl --


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
def test_verl_scores_rows_at_their_own_temperatures(verl: ModuleType, packed: bool) -> None:
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


# -- SkyRL --


@pytest.fixture
def skyrl(recipe: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module for SkyRL; its workers find a GPU that is the CPU."""
    pytest.importorskip("skyrl", reason="needs skyrl")
    import torch
    from skyrl.backends.skyrl_train.workers.worker_utils import BaseBatchIterator

    known = staticmethod(BaseBatchIterator.batch_to_experience)
    monkeypatch.setattr(BaseBatchIterator, "batch_to_experience", known)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: "cpu")
    return recipe("from skyrl.train")


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
def test_skyrl_scores_rows_at_their_own_temperatures(skyrl: ModuleType, worker: str) -> None:
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


# -- OpenRLHF --


@pytest.fixture
def openrlhf(recipe: Callable[[str], ModuleType]) -> ModuleType:
    """Return the module for OpenRLHF."""
    pytest.importorskip("openrlhf", reason="needs openrlhf")
    pytest.importorskip("deepspeed", reason="needs deepspeed")
    pytest.importorskip("vllm", reason="needs vllm")
    return recipe("from openrlhf.trainer")


def test_openrlhf_scores_rows_at_their_own_temperatures(openrlhf: ModuleType) -> None:
    import torch
    from openrlhf.models.actor import Actor

    model = tiny()
    actor = Actor(model)
    actor.packing_samples = False
    sequences = torch.tensor([[0, 0, 1, 5, 6, 7, 8], [1, 9, 10, 11, 12, 13, 14]])
    mask = (sequences > 0).long()
    actions = torch.ones(2, 3)
    with openrlhf.scored_at(actor, HEAT):
        log_probs, output = actor(
            sequences, actions, attention_mask=mask, return_output=True, return_entropy=True
        )
    for i, row in enumerate(sequences):
        due = expected(model, row[row > 0][None], 3, [HEAT[i]])
        torch.testing.assert_close(log_probs[i], due.log_probs[0], atol=2e-5, rtol=1e-4)
        entropies = output.entropy[i, -3:]
        torch.testing.assert_close(entropies, due.entropies[0], atol=2e-5, rtol=1e-4)
    log_probs.sum().backward()
    plain = actor(sequences, actions, attention_mask=mask)
    due = expected(model, sequences[1:], 3, [1.0])
    torch.testing.assert_close(plain[1], due.log_probs[0], atol=2e-5, rtol=1e-4)
    with pytest.raises(BadArgument, match="got None"), openrlhf.scored_at(actor, None):
        actor(sequences, actions, attention_mask=mask)
    actor.temperature = 0.9
    with pytest.raises(ValueError, match="temperature 1.0"), openrlhf.scored_at(actor, HEAT):
        pass


class Remote:
    """Stands for a Ray actor of an engine, and for Ray: what is asked is answered at once."""

    def __init__(self, answers: list[float]) -> None:
        self.asked: list[Any] = []
        self.answers = answers
        self.get_num_unfinished_requests = SimpleNamespace(remote=lambda: 0)
        self.generate_responses = SimpleNamespace(remote=self.respond)

    def respond(self, *, prompt: str, label: str, **request: Any) -> list[dict[str, Any]]:
        self.asked.append((prompt, json.loads(label), request["sampling_params"].temperature))
        scores = [self.answers.pop(0) for _ in range(request["num_samples"])]
        return [
            {
                "prompt": prompt,
                "label": label,
                "observation_tokens": [1, 5, 6, 7],
                "action_ranges": [(2, 4)],
                "reward": score,
                "scores": score,
                "rollout_log_probs": None,
            }
            for score in scores
        ]


def test_openrlhf_plays_each_prompt_at_its_temperature_and_tells_before_the_filter(
    openrlhf: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray
    import torch
    from openrlhf.trainer.ppo_utils.experience import (
        make_experience_batch,
        remove_padding_in_sequences,
        split_experience_batch,
    )

    monkeypatch.setattr(ray, "get", lambda refs: refs)
    monkeypatch.setattr(
        ray, "wait", lambda refs, num_returns, timeout: (refs[:num_returns], refs[num_returns:])
    )
    arguments = SimpleNamespace(
        algo=SimpleNamespace(
            advantage=SimpleNamespace(is_correction_level="off"), dynamic_filtering_range=(0.0, 1.0)
        ),
        rollout=SimpleNamespace(n_samples_per_prompt=2),
    )
    labels = [json.dumps({"task": task, "answer": 4}) for task in "abc"]
    prompts = [
        (None, [f"{task}?"], [label], [None]) for task, label in zip("abc", labels, strict=True)
    ]
    engine = Remote([0.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    strategy = SimpleNamespace(args=arguments)
    generator = openrlhf.PTGSGenerator(strategy, prompts, [], None, [engine])
    heat = generator.sampler.temperatures(["a", "b", "c"])
    kept, consumed, _ = generator._generate_vllm(iter(prompts), 2, True)
    # a and c are all alike and filtered; b is kept.
    assert consumed == 3
    assert [told[2] for told in engine.asked] == list(heat)
    assert [json.loads(row.labels[0])["task"] for row in kept] == ["b", "b"]
    fresh = openrlhf.PTGS(tau=1.5)
    fresh.update(["a", "b", "c"], [0, 1, 2], 2)
    got, due = generator.sampler.posterior(["a", "b", "c"]), fresh.posterior(["a", "b", "c"])
    np.testing.assert_array_equal(np.stack(got), np.stack(due))

    # Rows keep their T through the replay buffer's own split, shuffle and batching.
    other = Remote([0.0, 1.0, 0.0, 0.0])
    generator.vllm_engines = [other]
    more, *_ = generator._generate_vllm(iter(prompts[:1]), 1, False)
    rows = [row for one in [*kept, *more] for row in split_experience_batch(one)]
    rows = remove_padding_in_sequences(rows)
    batch = make_experience_batch([rows[2], rows[0], rows[3], rows[1]])
    again = other.asked[0][2]
    assert openrlhf.heat_of(batch).tolist() == pytest.approx([again, heat[1], again, heat[1]])
    assert batch.sequences.shape == (4, 4)
    assert torch.equal(batch.rewards, torch.tensor([0.0, 1.0, 1.0, 0.0]))

    generator.evaluating = True
    generator._dispatch_prompts_to_vllm(["a?"], labels[:1], temperature=0.6)
    assert other.asked[-1] == ("a?", {"task": "a", "answer": 4}, 0.6)


def test_openrlhf_hands_temperatures_to_the_policy_and_the_reference(openrlhf: ModuleType) -> None:
    import torch

    sent: list[tuple[str, dict[str, Any]]] = []

    class Group:
        def __init__(self, name: str) -> None:
            self.name = name

        def async_run_method_batch(self, method_name: str, **kwargs: Any) -> None:
            sent.append((self.name, kwargs))

    maker = object.__new__(openrlhf.PTGSExperienceMaker)
    maker.actor_model_group, maker.initial_model_group = Group("policy"), Group("reference")
    maker.critic_model_group = critic = Group("critic")
    maker.heat = [torch.tensor([0.7]), torch.tensor([1.4])]
    for group in (maker.actor_model_group, maker.initial_model_group, critic):
        maker._dispatch_forward(group, False, sequences=[1, 2])
    assert [(name, "temperatures" in kwargs) for name, kwargs in sent] == [
        ("policy", True),
        ("reference", True),
        ("critic", False),
    ]


@pytest.mark.parametrize("name", ["PTGSPolicy", "PTGSReference"])
def test_openrlhf_workers_score_what_they_are_sent(
    openrlhf: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from openrlhf.models.actor import Actor

    monkeypatch.setattr(torch.cuda, "current_device", lambda: "cpu")
    model = tiny()
    worker = object.__new__(getattr(openrlhf, name))
    worker.actor = worker.model = Actor(model)
    worker.actor.packing_samples = False
    worker.strategy = SimpleNamespace(ring_attn_group=None)
    sequences = torch.tensor([[1, 5, 6, 7, 8], [1, 9, 10, 11, 12]])
    rows = {"sequences": sequences, "attention_mask": torch.ones_like(sequences)}
    found = worker.forward(**rows, action_mask=torch.ones(2, 3), temperatures=torch.tensor(HEAT))
    due = expected(model, sequences, 3, HEAT)
    torch.testing.assert_close(found, due.log_probs, atol=2e-5, rtol=1e-4)
    with pytest.raises(BadArgument, match="got None"):
        worker.forward(**rows, action_mask=torch.ones(2, 3))
