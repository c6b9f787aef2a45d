from __future__ import annotations

import contextlib
import gc
import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentenvs.harness.policies.lab import folder

ORDERS = ("order lamp seven", "return chair two", "repair table one", "order shelf two")


def odd(completions: Sequence[str], **_: Any) -> list[float]:
    """Reward what depends on every token, so that groups are mixed."""
    return [float(sum(map(len, text.split())) % 2) for text in completions]


@pytest.fixture(scope="session", autouse=True)
def _short_searches_for_garbage() -> Iterator[None]:
    """Keep what the libraries loaded out of the collection that each training begins with."""
    with contextlib.suppress(ImportError):
        import trl

        assert trl.GRPOTrainer
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the libraries warn of their own old names and of what is experimental."""
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@pytest.fixture
def model() -> Callable[..., tuple[Any, Any]]:
    """Return the bundled model, a little flatter than it is, and its tokenizer."""

    def made(name: str = "base", flat: float = 0.4) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        found = AutoModelForCausalLM.from_pretrained(folder(name))
        with torch.no_grad():
            found.lm_head.weight.mul_(flat)
        return found, AutoTokenizer.from_pretrained(folder(name), padding_side="left")

    return made


@pytest.fixture
def placed(model: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    """Return what makes a model with a table of positions, and the tokenizer."""

    def made(name: str = "base", positions: int = 64, dropout: float = 0.0) -> tuple[Any, Any]:
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel

        tokenizer = model(name)[1]
        torch.manual_seed(0)
        net = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=len(tokenizer),
                n_positions=positions,
                n_embd=16,
                n_layer=1,
                n_head=2,
                resid_pdrop=dropout,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                bos_token_id=None,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
        with torch.no_grad():
            net.transformer.wpe.weight.mul_(50)
        return net, tokenizer

    return made


@pytest.fixture
def make(tmp_path: Path, model: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    """Return what makes trainers: by default tempered, four tasks, two groups of four a batch."""
    number = itertools.count()

    def made(
        cls: Any = None,
        *,
        world: Any = None,
        rows: dict[str, list[Any]] | None = None,
        reward: Any = odd,
        out: str | None = None,
        given: dict[str, Any] | None = None,
        parts: tuple[Any, Any] | None = None,
        **settings: Any,
    ) -> Any:
        from datasets import Dataset
        from transformers import PrinterCallback
        from trl import GRPOConfig

        from agentenvs.harness.ptgs.trl import tempered

        net, tokenizer = parts or model(flat=0.4 if world is None else 1.0)
        columns = rows or {
            "prompt": [f"<user> {order} <agent>" for order in ORDERS],
            "task_id": list(ORDERS),
        }
        config = {
            "output_dir": str(tmp_path / (out or f"run{next(number)}")),
            "per_device_train_batch_size": 8,
            "num_generations": 4,
            "max_completion_length": 5,
            "max_steps": 2,
            "learning_rate": 1e-2,
            "report_to": [],
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "disable_tqdm": True,
            "save_strategy": "no",
            "logging_steps": 1,
        }
        play = (
            {
                "train_dataset": world.dataset(),
                "rollout_func": world.rollout,
                "reward_funcs": world.reward,
            }
            if world is not None
            else {"train_dataset": Dataset.from_dict(columns), "reward_funcs": reward}
        )
        trainer = (cls or tempered())(
            model=net,
            args=GRPOConfig(**{**config, **settings}),
            processing_class=tokenizer,
            **{**play, **(given or {})},
        )
        trainer.remove_callback(PrinterCallback)
        trainer.create_model_card = lambda **_: None
        return trainer

    return made


@pytest.fixture
def same_weights() -> Callable[[Any, Any], bool]:
    """Return whether two trainers have the same weights, bit by bit."""

    def compared(one: Any, two: Any) -> bool:
        pairs = zip(one.model.parameters(), two.model.parameters(), strict=True)
        return all(bool((a == b).all()) for a, b in pairs)

    return compared
