"""Training as TRL does it, but for the temperatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS, Fixed, Spread
from agentenvs.harness.ptgs.trl import tempered

torch = pytest.importorskip("torch", reason="needs the extra `hf`")
trl = pytest.importorskip("trl", reason="needs the extra `trl`")

LOSSES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo")
SETTINGS: list[dict[str, Any]] = [
    {"beta": 0.1, "num_iterations": 2, "steps_per_generation": 2, "temperature": 1.3},
    {"top_entropy_quantile": 0.5, "gradient_accumulation_steps": 2, "temperature": 0.8},
    {"scale_rewards": "batch", "steps_per_generation": 2, "entropy_coef": 0.01},
    {"scale_rewards": "none", "importance_sampling_level": "sequence"},
    {"multi_objective_aggregation": "normalize_then_sum", "mask_truncated_completions": True},
    {"gradient_checkpointing": True, "use_adaptive_entropy": True, "entropy_coef": 0.01},
]
QUICK = [{"loss_type": "grpo", **SETTINGS[0]}, {"loss_type": "dapo", **SETTINGS[1]}]
SLOW = [{"loss_type": loss, **SETTINGS[0]} for loss in LOSSES] + SETTINGS[1:]


class Watched(tempered()):  # type: ignore[misc]
    """Keeps what reached the loss, and how rows were drawn."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.batches: list[Any] = []
        self.seen: list[Any] = []

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        out = super()._generate_and_score_completions(inputs)
        self.batches.append((bool(self.model.training), inputs, out))
        return out

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        self.seen.append(inputs)
        return super()._compute_loss(model, inputs)


def both(
    make: Callable[..., Any], settings: dict[str, Any], sampler: Any = None, **given: Any
) -> None:
    """Train TRL's own trainer and ours at one temperature, and compare all that they log."""
    settings = {"optim": "sgd", "learning_rate": 1.0, "max_grad_norm": 0.1, **settings}
    torch.manual_seed(0)
    theirs = make(trl.GRPOTrainer, given=given, **settings)
    before = [p.detach().clone() for p in theirs.model.parameters()]
    theirs.train()
    torch.manual_seed(0)
    ours = make(given={"sampler": sampler, **given}, **settings)
    ours.train()
    moved = 0.0
    for was, one, two in zip(
        before, ours.model.parameters(), theirs.model.parameters(), strict=True
    ):
        torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-4)
        moved = max(moved, float((one.detach() - was).abs().max()))
    assert moved > 3e-3
    for mine, other in zip(ours.state.log_history[:-1], theirs.state.log_history[:-1], strict=True):
        for name in other.keys() - {"step_time"}:
            assert mine[name] == pytest.approx(other[name], rel=2e-3, abs=2e-5, nan_ok=True), name


@pytest.mark.parametrize("settings", QUICK, ids=str)
def test_at_one_temperature_it_trains_as_the_trainer_itself(
    make: Callable[..., Any], settings: dict[str, Any]
) -> None:
    both(make, settings, Fixed(settings["temperature"]))


@pytest.mark.slow
@pytest.mark.parametrize("settings", SLOW, ids=str)
def test_all_losses_train_as_in_the_trainer_itself(
    make: Callable[..., Any], settings: dict[str, Any]
) -> None:
    both(make, {"max_steps": 4, **settings})


@pytest.mark.slow
@pytest.mark.parametrize("settings", [SETTINGS[0], {"bf16": True, "cast_lm_head_to_fp32": True}])
def test_an_adapter_trains_as_in_the_trainer_itself(
    make: Callable[..., Any], settings: dict[str, Any]
) -> None:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    adapter = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    both(make, settings, peft_config=adapter)


def test_groups_are_played_at_what_the_sampler_gives_and_told_to_it(
    make: Callable[..., Any],
) -> None:
    sampler = PTGS(seed=5, keep_events=True)
    trainer = make(Watched, given={"sampler": sampler}, max_steps=3, steps_per_generation=2)
    trainer.train()
    ledger = PTGS(seed=5)
    for _, inputs, out in trainer.batches:
        ids = [row["task_id"] for row in inputs]
        tasks = list(dict.fromkeys(ids))
        given = dict(zip(tasks, ledger.temperatures(tasks), strict=True))
        heat = np.array([given[i] for i in ids], dtype=np.float32)
        np.testing.assert_array_equal(out["ptgs_temperature"].numpy(), heat)
        texts = trainer._tokenizer.batch_decode(out["completion_ids"], skip_special_tokens=True)
        won = [sum(map(len, text.split())) % 2 for text in texts]
        ledger.record(tasks, np.array(won).reshape(len(tasks), 4))
    assert len(trainer.batches) == 2
    assert list(sampler.events.rows()) != []
    np.testing.assert_array_equal(
        np.array(sampler.posterior(tasks)), np.array(ledger.posterior(tasks))
    )


def test_rows_of_one_group_may_differ(make: Callable[..., Any]) -> None:
    trainer = make(Watched, given={"sampler": Spread(0.5, 2.0)}, max_steps=1)
    trainer.train()
    heat = trainer.batches[0][2]["ptgs_temperature"]
    torch.testing.assert_close(heat.view(2, 4)[1], torch.tensor([0.5, 0.7937005, 1.259921, 2.0]))


def test_rows_keep_their_temperature_through_shuffles_and_splits(
    make: Callable[..., Any],
) -> None:
    trainer = make(
        Watched,
        given={"sampler": Spread(0.5, 2.0)},
        steps_per_generation=2,
        num_iterations=2,
        beta=0.1,
        max_steps=4,
    )
    trainer.train()
    out = trainer.batches[0][2]
    # The old log-probabilities were taken before the shuffle, so that they name the row.
    was = {
        tuple(r.tolist()): float(t)
        for r, t in zip(out["old_per_token_logps"], out["ptgs_temperature"], strict=True)
    }
    assert len(was) > 8
    rows = [
        (tuple(r.tolist()), float(t))
        for inputs in trainer.seen
        for r, t in zip(inputs["old_per_token_logps"], inputs["ptgs_temperature"], strict=True)
    ]
    assert len(rows) == 32
    assert all(was[row] == t for row, t in rows)


def test_evaluation_is_at_one_temperature_and_teaches_nothing(make: Callable[..., Any]) -> None:
    sampler = PTGS(seed=5)
    trainer = make(Watched, given={"sampler": sampler}, temperature=0.9)
    trainer.eval_dataset = trainer.train_dataset
    before = sampler.state_dict()["header"]
    logged = trainer.evaluate()
    assert sampler.state_dict()["header"] == before
    assert [training for training, _, _ in trainer.batches] == [False] * len(trainer.batches)
    heat = torch.cat([out["ptgs_temperature"] for _, _, out in trainer.batches])
    torch.testing.assert_close(heat, torch.full_like(heat, 0.9))
    assert "eval_reward" in logged


def test_a_model_that_cuts_its_own_tail_is_drawn_from_whole(
    make: Callable[..., Any], model: Callable[..., Any]
) -> None:
    net, tokenizer = model(flat=0.01)
    net.generation_config.min_p = 0.9
    net.generation_config.top_k = 1
    net.generation_config.do_sample = True
    trainer = make(parts=(net, tokenizer), max_completion_length=20)
    prompts = trainer._tokenize_prompts
    with trainer._at(torch.ones(8)):
        ids, _, _ = prompts(["<user> order lamp seven <agent>"] * 8)
        drawn, _ = trainer._generate_single_turn(ids, None, {}, 4)
    assert len({token for row in drawn for token in row}) > 40
    assert net.generation_config.min_p == 0.9
    assert "generate" not in vars(net)


def test_a_wrapper_passes_the_config_of_what_it_wraps(
    make: Callable[..., Any], model: Callable[..., Any]
) -> None:
    from agentenvs.harness.ptgs.trl.sampled import by_transformers

    net, _ = model()
    net.generation_config.min_p = 0.9

    class Wrapper(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = net

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.module, name)

    wrapper = Wrapper()
    with by_transformers(wrapper, make().generation_config, [1.0]):
        assert net.generation_config.min_p is None
        assert wrapper.generate is not net.generate
    assert net.generation_config.min_p == 0.9
    assert wrapper.generate == net.generate


def test_what_else_a_subclass_asks_of_generate_is_refused(make: Callable[..., Any]) -> None:
    from agentenvs.harness.ptgs.trl.sampled import by_transformers

    trainer = make()
    ids = torch.tensor([[3, 10, 14]])
    with by_transformers(trainer.model, trainer.generation_config, [1.0]):
        for name in ("logits_processor", "prefix_allowed_tokens_fn", "custom_generate"):
            with pytest.raises(BadArgument, match=f"`generate` without `{name}`"):
                trainer.model.generate(ids, **{name: [lambda ids, scores: scores]})


def test_a_generation_config_is_put_back(make: Callable[..., Any]) -> None:
    from agentenvs.harness.ptgs.trl.sampled import by_transformers

    trainer = make(temperature=0.7)
    config = trainer.generation_config
    with by_transformers(trainer.model, config, [1.0]):
        assert config.temperature == 1.0
    assert config.temperature == 0.7


def test_success_is_what_the_caller_says(make: Callable[..., Any]) -> None:
    heard: list[Any] = []

    def succeeded(rewards: Any) -> Any:
        heard.append(rewards)
        return rewards[:, 0] > 5

    def length(completions: list[str], **_: Any) -> list[float | None]:
        return [None if at == 0 else 6.0 for at, _ in enumerate(completions)]

    sampler = PTGS(keep_events=True)
    trainer = make(given={"sampler": sampler, "succeeded": succeeded}, reward=length, max_steps=1)
    trainer.train()
    assert heard[0].shape == (8, 1)
    assert [(row["s"], row["n"]) for row in sampler.events.rows()] == [(3, 3), (4, 4)]
    assert trainer.state.log_history[0]["ptgs/zero_advantage"] == 1.0
    assert trainer.state.log_history[0]["ptgs/untold"] == 0.0
    assert trainer.state.log_history[0]["ptgs/success"] == 1.0


@pytest.mark.parametrize("wrong", [lambda r: r[:, 0], lambda r: r > 0])
def test_success_has_to_be_booleans(make: Callable[..., Any], wrong: Any) -> None:
    trainer = make(given={"sampler": PTGS(), "succeeded": wrong})
    with pytest.raises(BadArgument, match="`succeeded` to return 8 booleans"):
        trainer.train()


def test_a_row_without_a_task_is_named(make: Callable[..., Any]) -> None:
    rows: dict[str, list[Any]] = {"prompt": ["<user> order lamp seven <agent>"] * 2}
    rows["task_id"] = ["a", None]
    with pytest.raises(BadArgument, match=r"`task_id` in row \d of the batch, got None"):
        make(rows=rows, given={"sampler": PTGS()}).train()
    rows["task_id"] = [["a"], ["b"]]
    with pytest.raises(BadArgument, match=r"a string or a whole number, got list"):
        make(rows=rows, given={"sampler": PTGS()}).train()


def test_columns_are_kept_where_others_are_dropped(make: Callable[..., Any]) -> None:
    sampler = PTGS()
    make(given={"sampler": sampler}, remove_unused_columns=True, max_steps=1).train()
    assert sampler.step == 1


def test_a_stream_of_rows_is_trained_on_too(make: Callable[..., Any]) -> None:
    from datasets import IterableDataset

    rows = [{"prompt": f"<user> order lamp {n} <agent>", "task_id": n} for n in ("two", "six")]
    sampler = PTGS()
    stream = IterableDataset.from_generator(lambda: iter(rows))
    make(given={"sampler": sampler, "train_dataset": stream}, max_steps=2).train()
    assert sampler.visits(["two", "six"]).tolist() == [2, 2]


def test_prompts_without_temperatures_are_refused(make: Callable[..., Any]) -> None:
    trainer = make()
    with pytest.raises(BadArgument, match="none with prompt 0"):
        trainer._generate_single_turn([[3, 10, 14]], None, {}, 1)
    with pytest.raises(BadArgument, match="temperatures of the rows, got none"):
        trainer._tokenize_prompts(["<user> order lamp seven <agent>"])
