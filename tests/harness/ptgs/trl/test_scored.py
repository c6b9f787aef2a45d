from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs.trl import scored
from agentenvs.harness.ptgs.trl.scored import RowScored

torch = pytest.importorskip("torch", reason="needs the extra `hf`")
trl = pytest.importorskip("trl", reason="needs the extra `trl`")


def ask(trainer: Any, ids: Any, mask: Any, keep: int, t: Any, **more: Any) -> Any:
    with trainer._at(t):
        return trainer._get_per_token_logps_and_entropies(
            trainer.model, ids, mask, keep, compute_entropy=True, **more
        )


def batch(rows: int = 6) -> tuple[Any, Any]:
    ids = torch.randint(6, 80, (rows, 9), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[0, :2] = 0
    mask[1, -2:] = 0
    return ids, mask


@pytest.mark.parametrize("t", [0.7, 1.0, 1.6])
def test_at_one_temperature_it_is_what_the_trainer_itself_gives(
    make: Callable[..., Any], t: float
) -> None:
    trainer = make(trl.GRPOTrainer, temperature=t)
    ids, mask = batch()
    theirs = trainer._get_per_token_logps_and_entropies(
        trainer.model, ids, mask, 4, compute_entropy=True
    )
    ours = ask(make(), ids, mask, 4, torch.full((6,), t))
    for one, two in zip(ours[:2], theirs[:2], strict=True):
        torch.testing.assert_close(one, two, atol=2e-6, rtol=1e-5)
    assert ours[0][1, -2:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("cast", [False, True])
def test_in_mixed_precision_it_is_what_the_trainer_itself_gives(
    make: Callable[..., Any], cast: bool, prepared: bool
) -> None:
    settings = {"bf16": True, "cast_lm_head_to_fp32": cast}
    theirs, ours = make(trl.GRPOTrainer, **settings), make(**settings)
    if prepared:
        for trainer in (theirs, ours):
            trainer.accelerator.prepare_model(trainer.model)
    ids, mask = batch()
    wanted = theirs._get_per_token_logps_and_entropies(
        theirs.model, ids, mask, 4, compute_entropy=True
    )
    got = ask(ours, ids, mask, 4, torch.ones(6))
    for one, two in zip(got[:2], wanted[:2], strict=True):
        # TRL's own head is in bfloat16 without the flag, and adds up in another order.
        torch.testing.assert_close(one[1:], two[1:], atol=3e-6 if cast else 0.03, rtol=1e-5)
        # Padded on the left: TRL turns it by other angles, which bfloat16 rounds otherwise.
        torch.testing.assert_close(one[:1], two[:1], atol=0.03, rtol=1e-5)


@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_a_head_in_float32_draws_in_float32_too(make: Callable[..., Any], beta: float) -> None:
    trainer = make(bf16=True, cast_lm_head_to_fp32=True, beta=beta)
    with trainer.accelerator.autocast():
        for net in filter(None, (trainer.model, trainer.ref_model)):
            logits = net(input_ids=batch()[0]).logits
            assert (logits != logits.bfloat16().float()).any()
    assert (trainer.ref_model is None) == (beta == 0)


def test_rows_in_chunks_keep_their_temperatures(make: Callable[..., Any]) -> None:
    trainer = make()
    ids, mask = batch()
    t = torch.tensor([0.5, 0.8, 1.0, 1.2, 1.5, 2.0])
    whole = ask(trainer, ids, mask, 4, t)
    parts = ask(trainer, ids, mask, 4, t, batch_size=4)
    torch.testing.assert_close(parts[0], whole[0])
    for at in range(6):
        alone = ask(trainer, ids[at : at + 1], mask[at : at + 1], 4, t[at : at + 1])
        torch.testing.assert_close(alone[0][0], whole[0][at])
        torch.testing.assert_close(alone[1][0], whole[1][at])


def test_large_batches_are_scored_in_parts_alike(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make()
    ids, mask = batch()
    t = torch.linspace(0.5, 2.0, 6)

    def gradients(most: int) -> list[Any]:
        monkeypatch.setattr(scored, "_MOST", most)
        logs, entropies, _ = ask(trainer, ids, mask, 4, t)
        numbers = torch.autograd.grad((logs - entropies).sum(), trainer.model.parameters())
        return [logs.detach(), entropies.detach(), *numbers]

    for one, two in zip(gradients(1 << 26), gradients(4 * 86 * 4), strict=True):
        torch.testing.assert_close(one, two, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("t", "message"),
    [(None, "got none"), (torch.ones(5), r"shape \(6,\)"), (torch.zeros(6), "above 0")],
)
def test_rows_without_a_temperature_each_are_refused(
    make: Callable[..., Any], t: Any, message: str
) -> None:
    with pytest.raises(BadArgument, match=message):
        ask(make(), *batch(), 4, t)


def test_a_batch_of_the_loss_without_temperatures_is_refused(make: Callable[..., Any]) -> None:
    trainer = make(max_steps=1)
    ids, mask = batch(8)
    inputs = {
        "prompt_ids": ids[:, :4],
        "prompt_mask": mask[:, :4],
        "completion_ids": ids[:, 4:],
        "completion_mask": mask[:, 4:],
        "advantages": torch.ones(8),
    }
    with pytest.raises(BadArgument, match="temperatures of the rows, got none"):
        trainer._compute_loss(trainer.model, inputs)


def test_a_model_that_gives_all_logits_is_read_at_their_end(make: Callable[..., Any]) -> None:
    trainer = make()
    ids, mask = batch()

    class Whole(torch.nn.Module):  # type: ignore[misc]
        def forward(self, input_ids: Any, attention_mask: Any, use_cache: Any = None) -> Any:
            return trainer.model(input_ids=input_ids, attention_mask=attention_mask)

    whole = Whole()
    t = torch.linspace(0.5, 2.0, 6)
    labels = ids.masked_fill(mask == 0, -100)
    got = RowScored(whole, whole, t, 4)(
        labels=labels, fused_lm_head=True, input_ids=ids, attention_mask=mask
    )
    torch.testing.assert_close(got.log_probs, ask(trainer, ids, mask, 4, t)[0])


def test_more_rows_than_temperatures_are_refused(make: Callable[..., Any]) -> None:
    model = make().model
    ids, mask = batch()
    before = RowScored(model, model, torch.ones(4), 4)
    with pytest.raises(BadArgument, match="got 4 for more than 5 rows"):
        before(labels=ids, fused_lm_head=True, input_ids=ids, attention_mask=mask)


def test_a_mixture_of_experts_keeps_its_balancing_loss(
    make: Callable[..., Any], model: Callable[..., Any]
) -> None:
    from transformers import MixtralConfig, MixtralForCausalLM

    tokenizer = model()[1]
    torch.manual_seed(0)
    net = MixtralForCausalLM(
        MixtralConfig(
            vocab_size=86,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            num_local_experts=4,
            eos_token_id=2,
            pad_token_id=0,
            bos_token_id=None,
        )
    )
    settings = {"parts": (net, tokenizer), "router_aux_loss_coef": 0.01}
    ids, mask = batch()
    theirs, ours = make(trl.GRPOTrainer, **settings), make(**settings)
    wanted = theirs._get_per_token_logps_and_entropies(
        theirs.model, ids, mask, 4, compute_aux_loss=True
    )
    got = ask(ours, ids, mask, 4, torch.ones(6), compute_aux_loss=True)
    torch.testing.assert_close(got[2], wanted[2])
    torch.testing.assert_close(got[0], wanted[0], atol=2e-6, rtol=1e-5)


def test_positions_are_counted_from_the_first_token_not_from_the_padding(
    make: Callable[..., Any], placed: Callable[..., Any]
) -> None:
    trainer = make(parts=placed())
    ids, mask = batch()
    mask[1, -2:] = 1
    mask[2, :4] = 0
    t = torch.linspace(0.5, 2.0, 6)
    got = ask(trainer, ids, mask, 4, t)[0]
    for at in range(6):
        row = ids[at][mask[at] == 1]
        logits = trainer.model(input_ids=row[None]).logits[0]
        wanted = (logits / t[at]).log_softmax(-1)[:-1].gather(1, row[1:, None])[-4:, 0]
        torch.testing.assert_close(got[at], wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("more", [{}, {"token_type_ids": 0}])
def test_a_model_that_places_images_places_its_text_itself(more: dict[str, Any]) -> None:
    heard: list[Any] = []
    ids, mask = batch()

    class Net(torch.nn.Module):  # type: ignore[misc]
        def forward(self, input_ids: Any, position_ids: Any = None, **_: Any) -> Any:
            heard.append(position_ids)
            return SimpleNamespace(logits=torch.zeros(*input_ids.shape, 86))

    net = Net()
    RowScored(net, net, torch.ones(6), 4)(
        labels=ids, fused_lm_head=True, input_ids=ids, attention_mask=mask, **more
    )
    assert (heard[0] is None) == bool(more)
