"""A GRPOTrainer as the self-test of trainers takes it."""

from __future__ import annotations

import contextlib
import gc
import math
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs.selftest import Played, Trace, Trained
from agentenvs.harness.ptgs.trl.observed import Observer, unpadded
from agentenvs.harness.ptgs.trl.rows import FIELD, with_temperatures
from agentenvs.harness.ptgs.trl.sampled import limited
from agentenvs.harness.ptgs.trl.trainer import Tempered
from agentenvs.harness.ptgs.trl.verdicts import verdicts
from agentenvs.harness.ptgs.trl.version import library

__all__ = ["Subject"]

_SAVED = "checkpoint"
_MANY = 1_000_000


class Subject:
    """A trainer of TRL's, `tempered` or not, as `agentenvs.harness.ptgs.selftest` asks for it.

        report = selftest(lambda sampler: Subject(make_trainer(sampler=sampler)))

    Tokens are drawn by the trainer's `_generate_single_turn`, scored by its
    `_get_per_token_logps_and_entropies`, and a step is `train()` from the last checkpoint on to
    the next, over all updates that one generation feeds: nothing goes around the trainer. A
    trainer that has an attribute `row_temperatures` finds those asked for there.

    Args:
        trainer: freshly made, in one process, with transformers as its generation backend. Its
            `output_dir` becomes a temporary folder, `max_steps` large, and it prints no more.
        succeeded: as for `Tempered`; default the trainer's own.

    Raises:
        BadArgument: vLLM, or several processes.
    """

    def __init__(self, trainer: Any, succeeded: Callable[[Any], Any] | None = None) -> None:
        library()
        if trainer.use_vllm or trainer.accelerator.num_processes > 1:
            raise BadArgument(
                "Expected a trainer in one process that generates by transformers: what it draws "
                "is watched here."
            )
        from transformers import PrinterCallback, ProgressCallback

        self.trainer = trainer
        self._succeeded = succeeded or getattr(trainer, "succeeded", None)
        self._home = Path(tempfile.mkdtemp(prefix="agentenvs-"))
        weakref.finalize(self, shutil.rmtree, self._home, ignore_errors=True)
        self._last: Path | None = None
        trainer.args.output_dir = str(self._home)
        trainer.args.max_steps = _MANY
        for printer in (PrinterCallback, ProgressCallback):
            trainer.remove_callback(printer)
        args = trainer.args
        every, window = (
            args.steps_per_generation * args.num_iterations,
            args.gradient_accumulation_steps,
        )
        self._updates = math.lcm(every, window) // window
        self._stop = _stopper()
        trainer.add_callback(self._stop)
        self.vocabulary = int(trainer.model.config.get_text_config().vocab_size)
        ends = {trainer._tokenizer.pad_token_id, *trainer.eos_token_ids}
        self.tokens = [token for token in range(self.vocabulary) if token not in ends]

    def parameters(self) -> Iterable[Any]:
        """Return the tensors in training."""
        return self.trainer.model.parameters()  # type: ignore[no-any-return]

    def logits(self, ids: Any) -> Any:
        """Return (B, L, V) of a plain forward pass, in the precision of training."""
        with self.trainer.accelerator.autocast():
            return self.trainer.model(input_ids=ids.to(self._device), use_cache=False).logits

    def sample(self, prompts: Any, temperatures: Any, length: int) -> Any:
        """Return (B, length) tokens by the trainer's own generation, -1 behind an end."""
        import torch

        prompt_ids: Any = prompts.tolist()
        if isinstance(self.trainer, Tempered):
            prompt_ids = with_temperatures(prompt_ids, temperatures.tolist())
        # Within a training the prepared model does this by itself.
        autocast = self.trainer.accelerator.autocast()
        with autocast, self._at(temperatures), limited(self.trainer, length):
            drawn, _ = self.trainer._generate_single_turn(prompt_ids, None, {}, 1)
        return torch.tensor([[*ids, *[-1] * (length - len(ids))] for ids in drawn])

    def score(self, prompts: Any, completions: Any, temperatures: Any | None) -> tuple[Any, Any]:
        """Return log-probabilities and entropies, (B, L), by the trainer's own scoring."""
        import torch

        ids = torch.cat((prompts, completions), 1).to(self._device)
        with self._at(temperatures):
            logs, entropies, _ = self.trainer._get_per_token_logps_and_entropies(
                self.trainer.model,
                ids,
                torch.ones_like(ids),
                completions.shape[1],
                compute_entropy=True,
            )
        return logs, entropies

    def step(self) -> Trace:
        """Train from one generation to the next.

        Raises:
            BadArgument: the data has too few tasks.
        """
        trainer = self.trainer
        begin = int(trainer.state.global_step) if self._last is None else _step_of(self._last)
        self._stop.at = begin + self._updates
        with Observer(trainer, begin) as seen, _short_collection():
            trainer.train(resume_from_checkpoint=self._last and str(self._last))
        self._last = self._home / f"checkpoint-{self._stop.at}"
        if not self._last.is_dir():
            raise BadArgument(
                f"Expected the training to go on to step {self._stop.at}, got an end at "
                f"{trainer.state.global_step}: the data has too few tasks for one generation."
            )
        return Trace(list(self._played(seen)), list(_trained(seen)))

    def save(self, folder: str) -> None:
        """Copy the checkpoint behind the last step.

        Raises:
            BadArgument: there was no step yet.
        """
        if self._last is None:
            raise BadArgument("Expected a step before the first checkpoint, got none.")
        shutil.copytree(self._last, Path(folder) / _SAVED)

    def load(self, folder: str) -> None:
        """Go on from a saved checkpoint at the next step."""
        self._last = Path(shutil.copytree(Path(folder) / _SAVED, self._home / _SAVED))

    @property
    def _device(self) -> Any:
        return self.trainer.accelerator.device

    @contextlib.contextmanager
    def _at(self, temperatures: Any) -> Iterator[None]:
        if not hasattr(self.trainer, "row_temperatures"):
            yield
            return
        before = self.trainer.row_temperatures
        self.trainer.row_temperatures = temperatures
        try:
            yield
        finally:
            self.trainer.row_temperatures = before

    def _played(self, seen: Observer) -> Iterator[Played]:
        for batch in seen.batches:
            won = self._won(batch.rewards)
            for task, heat, ids, success in zip(
                batch.tasks, batch.temperatures, batch.ids, won, strict=True
            ):
                yield Played(task, heat, ids, success)

    def _won(self, rewards: Any) -> list[bool | None]:
        won, scored = verdicts(rewards, self.trainer.reward_weights, self._succeeded)
        return [bool(w) if s else None for w, s in zip(won, scored, strict=True)]


@contextlib.contextmanager
def _short_collection() -> Iterator[None]:
    """Keep what is there out of the search for garbage with which each training begins."""
    if gc.get_freeze_count():  # somebody else keeps things out, and would lose that
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _trained(seen: Observer) -> Iterator[Trained]:
    for part in seen.parts:
        inputs = part.inputs
        heat = inputs.get(FIELD)
        mask = inputs["completion_mask"] * inputs.get("tool_mask", 1)
        old = inputs.get("old_per_token_logps")
        old = part.log_probs if old is None else old
        for at, ids in enumerate(unpadded(inputs)):
            places = mask[at].nonzero()[:, 0]
            start = int(inputs["prompt_mask"][at].sum())
            yield Trained(
                ids,
                seen.temperature if heat is None else float(heat[at]),
                part.log_probs[at, places].tolist(),
                old[at, places].tolist(),
                [start + int(place) for place in places],
                part.update,
            )


def _step_of(folder: Path) -> int:
    from transformers import TrainerState

    return int(TrainerState.load_from_json(str(folder / "trainer_state.json")).global_step)


def _stopper() -> Any:
    from transformers import TrainerCallback

    class Stop(TrainerCallback):  # type: ignore[misc]
        """Saves and stops at one step."""

        at = 0

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
            control.should_save = state.global_step == self.at
            control.should_training_stop |= state.global_step >= self.at
            return control

    return Stop()
