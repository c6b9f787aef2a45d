"""A GRPOTrainer that samples and scores each row at its own temperature.

Overridden of trl's GRPOTrainer: `_generate_and_score_completions`, `_tokenize_prompts`,
`_generate_single_turn`, `_get_per_token_logps_and_entropies`, `_compute_loss`,
`_calculate_rewards`, `_save_checkpoint`, `_load_optimizer_and_scheduler`, `_get_train_sampler`
and `_set_signature_columns_if_needed`.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs.protocol import Sampler
from agentenvs.harness.ptgs.trl import checkpoint
from agentenvs.harness.ptgs.trl.groups import ask, tell
from agentenvs.harness.ptgs.trl.order import Order
from agentenvs.harness.ptgs.trl.rows import FIELD, temperatures_of, with_temperatures
from agentenvs.harness.ptgs.trl.sampled import by_transformers, by_vllm
from agentenvs.harness.ptgs.trl.scored import RowScored, head_in_float32
from agentenvs.harness.ptgs.trl.settings import check_server, check_settings, drops_out
from agentenvs.harness.ptgs.trl.verdicts import verdicts
from agentenvs.harness.ptgs.trl.version import library

__all__ = ["COLUMN", "Tempered", "tempered"]

COLUMN = "task_id"
"""The column of a data set that names each row's task."""


def tempered(base: Any = None) -> Any:
    """Return a GRPOTrainer that plays and scores every row at its own temperature.

    Its temperatures come from `sampler=`, see `Tempered`.

    Args:
        base: `trl.GRPOTrainer` (default) or a subclass of it.

    Raises:
        BadArgument: trl is missing or of another release, or `base` is no such class.
    """
    trl = library()
    base = trl.GRPOTrainer if base is None else base
    if not isinstance(base, type) or not issubclass(base, trl.GRPOTrainer):
        raise BadArgument(f"Expected `base` to be a subclass of GRPOTrainer, got {base!r}.")
    if issubclass(base, Tempered):
        raise BadArgument(f"Expected a `base` that is not tempered yet, got {base.__name__}.")
    return type(f"Tempered{base.__name__}", (Tempered, base), {"__doc__": Tempered.__doc__})


class Tempered:
    """What `tempered` puts before a GRPOTrainer.

    In training each group's temperatures are asked from the sampler, its rows are drawn at them
    (all turns of a rollout at the same one), the old, the reference's and the current
    log-probabilities and the entropies are taken at them, and the sampler is told how every
    group went, before anything is left out of the loss. In evaluation all rows are at
    `args.temperature`, and the sampler is neither asked nor told.

    Attributes:
        sampler: see below.
        row_temperatures: of the rows at work, (B,), or None outside of a batch.

    Args:
        args, kwargs: those of GRPOTrainer.
        sampler: gives temperatures and learns; every row of the training data then names its
            task in the column `task_id`. None plays all at `args.temperature`.
        succeeded: takes rewards (B, F), NaN where a function gave None, and returns which rows
            succeeded, (B,); default those whose weighted sum is 1, where it is 0 or 1 for all.

    Raises:
        BadArgument: no column `task_id`, or settings under which tokens would be scored
            otherwise than they were drawn.
    """

    accelerator: Any
    args: Any
    generation_config: Any
    model: Any
    model_wrapped: Any
    num_generations: int
    ref_model: Any
    reward_weights: Any
    state: Any
    temperature: float
    train_dataset: Any
    use_vllm: bool
    vllm_generation: Any
    _buffered_inputs: Any
    _metrics: Any
    _signature_columns: Any
    _step: int

    def __init__(
        self,
        *args: Any,
        sampler: Sampler | None = None,
        succeeded: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.sampler: Any = sampler
        self.succeeded = succeeded
        self.row_temperatures: Any = None
        self._tasks: list[Any] = []
        above: Any = super()
        above.__init__(*args, **kwargs)
        check_settings(self.args)
        check_server(self)
        if not self.args.disable_dropout and (layer := drops_out(self.model)) is not None:
            warnings.warn(
                f"Dropout is at work in {layer}: what is drawn and what is scored are different "
                "networks then. Set `disable_dropout=True`.",
                UserWarning,
                stacklevel=2,
            )
        if self.args.cast_lm_head_to_fp32:
            for model in (self.model, self.ref_model):
                if model is not None:
                    head_in_float32(self.accelerator.unwrap_model(model))
        if sampler is not None:
            columns = getattr(self.train_dataset, "column_names", None)
            if columns is not None and COLUMN not in columns:
                raise BadArgument(
                    f"Expected a column `{COLUMN}` in the training data, a stable name of each "
                    f"row's task (not its prompt: templates change), got {sorted(columns)}."
                )

    def _set_signature_columns_if_needed(self) -> None:
        above: Any = super()
        above._set_signature_columns_if_needed()
        if COLUMN not in self._signature_columns:
            self._signature_columns = [*self._signature_columns, COLUMN]

    def _get_train_sampler(self, dataset: Any = None) -> Any:
        from trl.trainer.utils import RepeatSampler

        above: Any = super()
        sampler = above._get_train_sampler(dataset)
        return Order(sampler, self) if type(sampler) is RepeatSampler else sampler

    @contextlib.contextmanager
    def _at(self, temperatures: Any) -> Iterator[None]:
        """Let the rows at work have these temperatures."""
        before, self.row_temperatures = self.row_temperatures, temperatures
        try:
            yield
        finally:
            self.row_temperatures = before

    def _generate_and_score_completions(self, inputs: Sequence[Mapping[str, Any]]) -> Any:
        import torch

        above: Any = super()
        given = self._ask(inputs) if self._learns else np.full(len(inputs), self.temperature)
        heat = torch.tensor(given, dtype=torch.float32, device=self.accelerator.device)
        with self._at(heat):
            out = above._generate_and_score_completions(inputs)
        if len(out["completion_ids"]) != len(inputs):
            raise BadArgument(
                f"Expected one completion for each of {len(inputs)} rows, got "
                f"{len(out['completion_ids'])}."
            )
        out[FIELD] = heat
        return out

    @property
    def _learns(self) -> bool:
        return self.sampler is not None and bool(self.model.training)

    def _ask(self, inputs: Sequence[Mapping[str, Any]]) -> Any:
        from accelerate.utils import gather_object

        for at, row in enumerate(inputs):
            if COLUMN not in row:
                raise BadArgument(
                    f"Expected `{COLUMN}` in row {at} of the batch, got {sorted(row)}."
                )
            task = row[COLUMN]
            if task is None:
                raise BadArgument(f"Expected `{COLUMN}` in row {at} of the batch, got None.")
            if not isinstance(task, Hashable):
                raise BadArgument(
                    f"Expected `{COLUMN}` in row {at} of the batch to be a string or a whole "
                    f"number, got {type(task).__name__}."
                )
        # Every process asks for the whole batch, so that all their samplers stay the same.
        self._tasks = gather_object([row[COLUMN] for row in inputs])
        whole = ask(self.sampler, self._tasks, self.num_generations)
        first = self.accelerator.process_index * len(inputs)
        return whole[first : first + len(inputs)]

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        above: Any = super()
        rewards = above._calculate_rewards(*args, **kwargs)
        if self._learns:
            self._tell(rewards)
        return rewards

    def _tell(self, rewards: Any) -> None:
        """Tell the sampler of all processes' rows; `rewards` has those, (N, F)."""
        won, scored = verdicts(rewards, self.reward_weights, self.succeeded)
        silent = tell(self.sampler, self._tasks, self.num_generations, won, scored)
        metrics = self._metrics["train"]
        metrics["ptgs/untold"].append(float(silent))
        if scored.any():
            metrics["ptgs/success"].append(float(won[scored].mean()))
        for name, value in self.sampler.stats().items():
            # TRL logs the mean of a list; what counts from the start on has no mean over steps.
            kept = metrics[f"ptgs/{name}"] if name.startswith("last/") else []
            metrics[f"ptgs/{name}"] = [*kept, float(value)]

    def _tokenize_prompts(self, prompts: list[Any]) -> Any:
        above: Any = super()
        prompt_ids, images, fields = above._tokenize_prompts(prompts)
        return with_temperatures(prompt_ids, self._needed().tolist()), images, fields

    def _generate_single_turn(
        self,
        prompt_ids: Sequence[Any],
        images: Any,
        multimodal_fields: Any,
        num_generations: int,
        has_tool_images: bool = False,
    ) -> Any:
        above: Any = super()
        heat = temperatures_of(prompt_ids)
        if self.use_vllm:
            how = by_vllm(self.vllm_generation)
        else:
            model = self.accelerator.unwrap_model(self.model_wrapped)
            how = by_transformers(model, self.generation_config, heat)
        with how:
            # Each row is a prompt of its own, also where several have the same text.
            return above._generate_single_turn(
                prompt_ids, images, multimodal_fields, 1, has_tool_images
            )

    def _needed(self) -> Any:
        if self.row_temperatures is None:
            raise BadArgument(
                "Expected the temperatures of the rows, got none: rows are sampled and scored "
                "within a batch that this trainer made."
            )
        return self.row_temperatures

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: Any,
        attention_mask: Any,
        logits_to_keep: int,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        from agentenvs.harness.ptgs.scoring import check_temperatures

        above: Any = super()
        heat = check_temperatures(self._needed(), len(input_ids), device=input_ids.device)
        inner = self.accelerator.unwrap_model(model)
        inner = getattr(inner, "module", inner)  # FSDP stays around it
        inner = inner.get_base_model() if hasattr(inner, "get_base_model") else inner
        scored = RowScored(model, inner, heat, logits_to_keep)
        return above._get_per_token_logps_and_entropies(
            scored, input_ids, attention_mask, logits_to_keep, *args, **kwargs
        )

    def _compute_loss(self, model: Any, inputs: Mapping[str, Any]) -> Any:
        above: Any = super()
        with self._at(inputs.get(FIELD)):
            return above._compute_loss(model, inputs)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

        above: Any = super()
        where: Any = self
        folder = os.path.join(
            where._get_output_dir(trial=trial), f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        )
        # Before the rest: a checkpoint counts as whole from its last file on.
        checkpoint.save(self, folder)
        above._save_checkpoint(model, trial)

    def _load_optimizer_and_scheduler(self, checkpoint_folder: str | None) -> None:
        above: Any = super()
        above._load_optimizer_and_scheduler(checkpoint_folder)
        if checkpoint_folder is not None:
            checkpoint.resume(self, checkpoint_folder)
