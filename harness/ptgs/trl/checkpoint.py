"""What a trainer's checkpoint has besides weights: the sampler, and rollouts not yet used up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._ranges import shown
from agentenvs.harness.ptgs.protocol import Sampler
from agentenvs.harness.ptgs.state import read_state, write_state
from agentenvs.harness.ptgs.trl.rows import FIELD

__all__ = [
    "STATE",
    "read_rollouts",
    "read_sampler",
    "resume",
    "save",
    "write_rollouts",
    "write_sampler",
]

STATE = "ptgs.npz"
"""The sampler's file in a checkpoint."""

_SHAPING = ("num_generations", "num_iterations", "per_device_train_batch_size")
_PARTS = ("completion_ids", "prompt_ids", FIELD)


def save(trainer: Any, folder: str) -> None:
    """Write what one process of a tempered trainer has besides weights into a checkpoint."""
    os.makedirs(folder, exist_ok=True)
    args, processes = trainer.args, trainer.accelerator
    if args.should_save:
        # Written last, it says that all is there; an older run's would say so too early.
        (Path(folder) / "trainer_state.json").unlink(missing_ok=True)
    if trainer.sampler is not None and args.should_save:
        write_sampler(folder, trainer.sampler)
    under_way = trainer._step % (args.steps_per_generation * args.num_iterations)
    state = {
        "step": trainer._step,
        "processes": processes.num_processes,
        "settings": {name: getattr(args, name) for name in _SHAPING},
        "rollouts": trainer._buffered_inputs if under_way else None,
    }
    write_rollouts(folder, processes.process_index, state)


def resume(trainer: Any, folder: str) -> None:
    """Bring a tempered trainer to where a checkpoint was, but for its weights.

    Raises:
        BadArgument: the checkpoint is another trainer's, or lacks a part; as `read_sampler` and
            `read_rollouts`.
        SettingsDiffer: its sampler has other settings; names them.
    """
    read_sampler(folder, trainer.sampler)
    processes = trainer.accelerator
    state = read_rollouts(
        folder, processes.process_index, processes.num_processes, processes.device
    )
    if state is None:
        if trainer.sampler is not None:
            raise BadArgument(
                f"Expected the checkpoint {folder} to say which rollouts were under way, got no "
                "such file."
            )
        return
    rollouts = state["rollouts"]
    if rollouts is not None and len(rollouts) != trainer.args.steps_per_generation:
        raise BadArgument(
            f"Expected `steps_per_generation={len(rollouts)}` to go on from {folder}, got "
            f"{trainer.args.steps_per_generation}."
        )
    then = state["settings"] if rollouts is not None else {}
    for name, value in then.items():
        if value != getattr(trainer.args, name):
            raise BadArgument(
                f"Expected `{name}={value}` to go on from {folder}, got "
                f"{getattr(trainer.args, name)}: it was saved while rollouts were still to be "
                "trained on."
            )
    trainer._step, trainer._buffered_inputs = state["step"], rollouts


def write_sampler(folder: str, sampler: Sampler) -> None:
    """Write a sampler's state into a checkpoint's folder, whole or not at all."""
    write_state(Path(folder) / STATE, sampler.state_dict())


def read_sampler(folder: str, sampler: Sampler | None) -> None:
    """Bring a sampler to where a checkpoint was.

    Raises:
        BadArgument: the checkpoint has no sampler though there is one here, or the other way
            round, or that of another kind.
        SettingsDiffer: it was made with other settings; names them.
    """
    path = Path(folder) / STATE
    if sampler is None:
        if path.exists():
            raise BadArgument(
                f"Expected a sampler for the checkpoint {folder}, which was made with one, got "
                "`sampler=None`."
            )
        return
    if not path.exists():
        raise BadArgument(
            f"Expected the state of a sampler in the checkpoint {folder}, got no {STATE}: it was "
            "made without a sampler. Train on from its weights as a model instead."
        )
    sampler.load_state_dict(read_state(path))


def write_rollouts(folder: str, rank: int, state: Mapping[str, Any]) -> None:
    """Write what one process has under way, whole or not at all."""
    import torch

    target = Path(folder) / _name(rank)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        torch.save(dict(state), beside)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def read_rollouts(folder: str, rank: int, processes: int, device: Any) -> dict[str, Any] | None:
    """Return what a process had under way, or None where the checkpoint does not say.

    Raises:
        BadArgument: rollouts were under way in another number of processes, or those of this
            process are missing or damaged.
    """
    import torch

    own, first = (Path(folder) / _name(at) for at in (rank, 0))
    # Between two generations the first process knows what all know.
    path = own if own.exists() else first
    if not path.exists():
        return None
    what = f"Expected the rollouts of a checkpoint in {path}"
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # A damaged file makes torch, zipfile and pickle raise nearly everything there is.
        said = str(error).partition("\n")[0]
        raise BadArgument(f"{what}, got {type(error).__name__}: {said}") from error
    _check(state, what)
    if state["rollouts"] is not None and state["processes"] != processes:
        raise BadArgument(
            f"Expected {state['processes']} processes to go on from {folder}, got {processes}: "
            "it was saved while rollouts were still to be trained on. One saved between two "
            "generations can be resumed by any number."
        )
    if state["rollouts"] is not None and path != own:
        raise BadArgument(
            f"Expected the rollouts of process {rank} in {folder}, got no {own.name}: it was "
            "saved while they were still to be trained on."
        )
    # Older checkpoints do not name the settings.
    return {"settings": {}, **state, "rollouts": _moved(state["rollouts"], device)}


def _check(state: Any, what: str) -> None:
    """Raise a BadArgument where a file holds something else than `save` writes."""
    import torch

    if not isinstance(state, dict):
        raise BadArgument(f"{what}, got {type(state).__name__}.")
    for name, least in (("step", 0), ("processes", 1)):
        value = state.get(name)
        if type(value) is not int or value < least:
            raise BadArgument(f"{what}, got {shown(value)} for `{name}`.")
    settings = state.get("settings", {})
    if not isinstance(settings, dict) or not set(settings) <= set(_SHAPING):
        raise BadArgument(f"{what}, got {shown(settings)} for `settings`.")
    rollouts = state.get("rollouts", ...)
    if rollouts is None:
        return
    if not isinstance(rollouts, list):
        raise BadArgument(f"{what}, got {type(rollouts).__name__} for `rollouts`.")
    for at, part in enumerate(rollouts):
        if not isinstance(part, dict):
            raise BadArgument(f"{what}, got {type(part).__name__} for part {at}.")
        rows = {}
        for name in _PARTS:
            column = part.get(name)
            if not isinstance(column, torch.Tensor) or column.ndim < 1:
                raise BadArgument(f"{what}, got part {at} without rows of `{name}`.")
            rows[name] = len(column)
        if len(set(rows.values())) > 1:
            raise BadArgument(f"{what}, got part {at} with unlike numbers of rows: {rows}.")


def _moved(values: Any, device: Any) -> Any:
    """Return lists and dicts of tensors with the tensors on a device."""
    if isinstance(values, dict):
        return {name: _moved(value, device) for name, value in values.items()}
    if isinstance(values, list):
        return [_moved(value, device) for value in values]
    return values.to(device) if hasattr(values, "to") else values


def _name(rank: int) -> str:
    return f"ptgs_rollouts_{rank}.pt"
