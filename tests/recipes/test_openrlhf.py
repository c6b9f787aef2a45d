"""The changes for OpenRLHF against its own classes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument

FIELD = "ptgs_temperature"
HEAT = (0.67, 1.5)

# What other packages warn of as they are imported is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def openrlhf(recipe: Callable[[str], ModuleType]) -> ModuleType:
    """Return the module for OpenRLHF."""
    pytest.importorskip("openrlhf", reason="needs openrlhf")
    pytest.importorskip("deepspeed", reason="needs deepspeed")
    pytest.importorskip("vllm", reason="needs vllm")
    return recipe("from openrlhf.trainer import ppo_trainer")


def test_openrlhf_scores_rows_at_their_own_temperatures(
    openrlhf: ModuleType, tiny: Callable[..., Any], expected: Callable[..., Any]
) -> None:
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
    openrlhf: ModuleType,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    tiny: Callable[..., Any],
    expected: Callable[..., Any],
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


def test_openrlhf_keeps_the_posterior_beside_its_checkpoints(
    openrlhf: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from openrlhf.trainer.ppo_trainer import PPOTrainer, SamplesGenerator

    assert SamplesGenerator is openrlhf.PTGSGenerator
    saved: list[Any] = []
    theirs = openrlhf.plain(PPOTrainer)  # Ray's copy of the class, methods and all
    monkeypatch.setattr(theirs, "save_logs_and_checkpoints", lambda self, *args: saved.append(args))
    monkeypatch.setattr(theirs, "init_checkpoint_states", lambda self: {"global_step": 4})
    trainer = object.__new__(openrlhf.PTGSTrainer)
    folder = SimpleNamespace(path=str(tmp_path / "ckpt"), save_steps=2)
    trainer.args = SimpleNamespace(ckpt=folder)
    sampler = openrlhf.PTGS(tau=1.5)
    trainer.samples_generator = SimpleNamespace(sampler=sampler)
    sampler.update(["a"], 1, 4)
    for step in (3, 4):
        trainer.save_logs_and_checkpoints(step, {}, {"global_step": step})
    assert [path.name for path in (tmp_path / "ckpt").iterdir()] == ["ptgs_4.npz"]
    assert len(saved) == 2
    trainer.samples_generator = SimpleNamespace(sampler=openrlhf.PTGS(tau=1.5))
    assert trainer.init_checkpoint_states()["global_step"] == 4
    assert trainer.samples_generator.sampler.temperatures(["a"]) == sampler.temperatures(["a"])
