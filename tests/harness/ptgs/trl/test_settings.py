from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS, Spread
from agentenvs.harness.ptgs.trl import tempered
from agentenvs.harness.ptgs.trl.settings import check_settings

trl = pytest.importorskip("trl", reason="needs the extra `trl`")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top_p": 0.9}, "top_p=0.9"),
        ({"top_k": 5}, "top_k=5"),
        ({"min_p": 0.1}, "min_p=0.1"),
        ({"repetition_penalty": 1.1}, "repetition_penalty=1.1"),
        ({"generation_kwargs": {"typical_p": 0.9}}, r"generation_kwargs\['typical_p'\]"),
        ({"generation_kwargs": {"temperature": 0.9}}, r"generation_kwargs\['temperature'\]"),
        ({"generation_kwargs": {"seed": 1}}, "without 'seed', got 1: .* rows of one group"),
        ({"generation_kwargs": {"logprobs": 5}}, "without 'logprobs', got 5"),
        (
            {"generation_kwargs": {"stop_strings": ["x"]}},
            "without 'stop_strings'.* calls it `stop`",
        ),
        ({"vllm_structured_outputs_regex": "yes|no"}, "`vllm_structured_outputs_regex=None`"),
        ({"temperature": 0.0}, "`temperature` above 0"),
    ],
)
def test_what_else_shapes_the_distribution_is_refused(
    make: Callable[..., Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadArgument, match=message):
        make(**settings)


def test_continuous_batching_and_other_kernels_are_refused() -> None:
    plain = {
        "top_p": 1.0,
        "top_k": 0,
        "min_p": None,
        "repetition_penalty": 1.0,
        "generation_kwargs": {"max_new_tokens": 4, "top_p": 1.0},
        "use_transformers_continuous_batching": False,
        "use_liger_kernel": False,
        "vllm_structured_outputs_regex": None,
        "temperature": 1.0,
    }
    check_settings(SimpleNamespace(**plain))
    for name in ("use_transformers_continuous_batching", "use_liger_kernel"):
        with pytest.raises(BadArgument, match=name):
            check_settings(SimpleNamespace(**{**plain, name: True}))


def test_a_missing_column_is_named(make: Callable[..., Any]) -> None:
    rows = {"prompt": ["<user> order lamp seven <agent>"] * 4}
    with pytest.raises(BadArgument, match="column `task_id` in the training data"):
        make(rows=rows, given={"sampler": PTGS()})
    assert make(rows=rows).sampler is None


def test_another_release_of_trl_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trl, "__version__", "1.17.0")
    with pytest.raises(BadArgument, match=r"trl >= 1.16 and < 1.17, got 1.17.0.*1.16.0 was read"):
        tempered()


def test_a_missing_trl_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "trl", None)
    with pytest.raises(BadArgument, match="extra `trl`"):
        tempered()


@pytest.mark.parametrize("base", [int, "GRPOTrainer"])
def test_something_else_than_a_trainer_is_refused(base: object) -> None:
    with pytest.raises(BadArgument, match="subclass of GRPOTrainer"):
        tempered(base)


def test_a_trainer_is_tempered_once() -> None:
    with pytest.raises(BadArgument, match="not tempered yet"):
        tempered(tempered())


def test_a_subclass_of_a_trainer_is_tempered_too(make: Callable[..., Any]) -> None:
    class Own(trl.GRPOTrainer):  # type: ignore[misc]
        heat: Any = None

        def _compute_loss(self, model: Any, inputs: Any) -> Any:
            self.heat = [*(self.heat or []), *inputs["ptgs_temperature"].tolist()]
            return super()._compute_loss(model, inputs)

    assert tempered(Own).__name__ == "TemperedOwn"
    trainer = make(tempered(Own), given={"sampler": Spread(0.5, 2.0)}, max_steps=1)
    trainer.train()
    assert isinstance(trainer, Own)
    assert sorted(trainer.heat) == pytest.approx(
        [0.5] * 2 + [2 ** (-1 / 3)] * 2 + [2 ** (1 / 3)] * 2 + [2.0] * 2
    )


def test_dropout_is_warned_of(make: Callable[..., Any], placed: Callable[..., Any]) -> None:
    with pytest.warns(UserWarning, match=r"at work in transformer.h.0.attn.resid_dropout"):
        make(parts=placed(dropout=0.1))
    make(parts=placed(dropout=0.1), disable_dropout=True)
    make(parts=placed())
