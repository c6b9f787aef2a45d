from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument, SettingsDiffer
from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.ptgs.trl import checkpoint

torch = pytest.importorskip("torch", reason="needs the extra `hf`")
trl = pytest.importorskip("trl", reason="needs the extra `trl`")

SAVING = {"save_strategy": "steps", "save_steps": 1, "max_steps": 2}


@pytest.mark.parametrize(
    "settings",
    [
        {"max_steps": 3},
        {"steps_per_generation": 2, "per_device_train_batch_size": 4, "max_steps": 4},
        {
            "num_iterations": 2,
            "steps_per_generation": 3,
            "gradient_accumulation_steps": 2,
            "per_device_train_batch_size": 4,
            "max_steps": 4,
            "beta": 0.1,
        },
    ],
    ids=str,
)
def test_a_resumed_training_is_the_uninterrupted_one_bit_by_bit(
    make: Callable[..., Any],
    same_weights: Callable[[Any, Any], bool],
    same: Callable[[Any, Any], None],
    settings: dict[str, Any],
) -> None:
    whole = make(
        given={"sampler": PTGS(seed=3, keep_events=True)}, out="a", **{**SAVING, **settings}
    )
    start = [p.detach().clone() for p in whole.model.parameters()]
    whole.train()
    assert not all(
        bool((a == b).all()) for a, b in zip(start, whole.model.parameters(), strict=True)
    )
    last = whole.state.global_step
    for step in (1, last - 1):
        other = make(given={"sampler": PTGS(seed=3, keep_events=True)}, **{**SAVING, **settings})
        other.train(resume_from_checkpoint=f"{whole.args.output_dir}/checkpoint-{step}")
        assert same_weights(whole, other)
        same(whole.sampler.state_dict(), other.sampler.state_dict())
        told = list(other.sampler.events.rows())
        assert told == list(whole.sampler.events.rows())[len(whole.sampler.events) - len(told) :]


def test_a_checkpoint_between_two_uses_of_rollouts_holds_them(make: Callable[..., Any]) -> None:
    trainer = make(given={"sampler": PTGS()}, out="a", **SAVING, steps_per_generation=2)
    trainer.train()
    kept = [
        checkpoint.read_rollouts(f"{trainer.args.output_dir}/checkpoint-{n}", 0, 1, "cpu")
        for n in (1, 2)
    ]
    assert [one["step"] for one in kept if one] == [1, 2]
    assert [one["rollouts"] and len(one["rollouts"]) for one in kept if one] == [2, None]


@pytest.fixture
def saved(make: Callable[..., Any]) -> Path:
    """Return a checkpoint that was saved between two uses of rollouts."""
    trainer = make(given={"sampler": PTGS()}, out="a", **SAVING, steps_per_generation=2)
    trainer.train()
    return Path(trainer.args.output_dir) / "checkpoint-1"


def resume(make: Callable[..., Any], folder: Path, sampler: Any, **settings: Any) -> None:
    trainer = make(given={"sampler": sampler}, **{**SAVING, "steps_per_generation": 2, **settings})
    trainer.train(resume_from_checkpoint=str(folder))


def test_a_checkpoint_without_the_sampler_is_refused(make: Callable[..., Any], saved: Path) -> None:
    (saved / checkpoint.STATE).unlink()
    with pytest.raises(BadArgument, match=r"got no ptgs\.npz"):
        resume(make, saved, PTGS())


def test_a_checkpoint_of_the_trainer_itself_is_refused(make: Callable[..., Any]) -> None:
    trainer = make(trl.GRPOTrainer, out="a", **SAVING)
    trainer.train()
    with pytest.raises(BadArgument, match="made without a sampler"):
        resume(make, Path(trainer.args.output_dir) / "checkpoint-1", PTGS())
    resume(make, Path(trainer.args.output_dir) / "checkpoint-1", None)


def test_a_checkpoint_of_other_settings_is_refused(make: Callable[..., Any], saved: Path) -> None:
    with pytest.raises(SettingsDiffer, match="tau is 1.4 here, 1.5 there"):
        resume(make, saved, PTGS(tau=1.4))


def test_a_checkpoint_with_a_sampler_is_not_resumed_without(
    make: Callable[..., Any], saved: Path
) -> None:
    with pytest.raises(BadArgument, match="`sampler=None`"):
        resume(make, saved, None)


def test_rollouts_under_way_go_on_in_as_many_parts(make: Callable[..., Any], saved: Path) -> None:
    with pytest.raises(BadArgument, match="`steps_per_generation=2` to go on"):
        resume(make, saved, PTGS(), steps_per_generation=4)


def test_rollouts_under_way_go_on_in_as_many_processes(saved: Path) -> None:
    with pytest.raises(BadArgument, match="Expected 1 processes to go on"):
        checkpoint.read_rollouts(str(saved), 1, 2, "cpu")
    later = saved.with_name("checkpoint-2")
    state = checkpoint.read_rollouts(str(later), 1, 2, "cpu")
    assert state is not None
    assert state["step"] == 2


def test_a_checkpoint_that_lost_its_rollouts_is_refused(
    make: Callable[..., Any], saved: Path
) -> None:
    (saved / "ptgs_rollouts_0.pt").unlink()
    with pytest.raises(BadArgument, match="which rollouts were under way"):
        resume(make, saved, PTGS())


def part(**columns: Any) -> dict[str, Any]:
    row = torch.tensor([[1]])
    given = {"prompt_ids": row, "completion_ids": row, "ptgs_temperature": torch.ones(1)}
    return {**given, **columns}


WHOLE = {"step": 1, "processes": 1, "rollouts": None}


@pytest.mark.parametrize(
    "state",
    [
        [1],
        {},
        {**WHOLE, "step": "1"},
        {**WHOLE, "step": True},
        {**WHOLE, "processes": None},
        {"step": 1, "processes": 1},
        {**WHOLE, "rollouts": 3},
        {**WHOLE, "rollouts": [3]},
        {**WHOLE, "rollouts": [part(ptgs_temperature=None)]},
        {**WHOLE, "rollouts": [part(completion_ids=torch.ones(2, 1))]},
        {**WHOLE, "settings": 3},
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, state: Any) -> None:
    torch.save(state, tmp_path / "ptgs_rollouts_0.pt")
    with pytest.raises(BadArgument, match="Expected the rollouts of a checkpoint in"):
        checkpoint.read_rollouts(str(tmp_path), 0, 1, "cpu")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    checkpoint.write_rollouts(str(tmp_path), 0, {**WHOLE, "rollouts": [part()]})
    file = tmp_path / "ptgs_rollouts_0.pt"
    whole = file.read_bytes()
    assert checkpoint.read_rollouts(str(tmp_path), 0, 1, "cpu") is not None
    for damaged in (b"", whole[:50], whole[:-50], b"text", b"\x80\x02}", b"\xff" * 99):
        file.write_bytes(damaged)
        with pytest.raises(BadArgument, match="Expected the rollouts of a checkpoint in"):
            checkpoint.read_rollouts(str(tmp_path), 0, 1, "cpu")


@pytest.fixture
def host(tmp_path: Path) -> Callable[..., Any]:
    """Return what makes a trainer as far as a checkpoint asks it, half-way through rollouts."""

    def make(**settings: Any) -> Any:
        given = {
            "num_generations": 2,
            "num_iterations": 1,
            "per_device_train_batch_size": 4,
            "steps_per_generation": 2,
            "should_save": True,
        }
        return SimpleNamespace(
            args=SimpleNamespace(**{**given, **settings}),
            accelerator=SimpleNamespace(num_processes=1, process_index=0, device="cpu"),
            sampler=None,
            _step=1,
            _buffered_inputs=[part(), part()],
        )

    return make


@pytest.mark.parametrize(
    "other",
    [{"num_generations": 4}, {"num_iterations": 2}, {"per_device_train_batch_size": 2}],
    ids=str,
)
def test_rollouts_under_way_go_on_in_the_same_shape(
    host: Callable[..., Any], tmp_path: Path, other: dict[str, int]
) -> None:
    checkpoint.save(host(), str(tmp_path))
    checkpoint.resume(host(), str(tmp_path))
    (name,) = other
    with pytest.raises(BadArgument, match=f"Expected `{name}=.` to go on from"):
        checkpoint.resume(host(**other), str(tmp_path))
    between = host()
    between._step = 2
    checkpoint.save(between, str(tmp_path))
    checkpoint.resume(host(**other), str(tmp_path))


def test_a_checkpoint_that_does_not_name_its_settings_is_read(
    host: Callable[..., Any], tmp_path: Path
) -> None:
    state = {**WHOLE, "rollouts": [part(), part()]}
    checkpoint.write_rollouts(str(tmp_path), 0, state)
    resumed = host(num_generations=4)
    resumed._buffered_inputs = None
    checkpoint.resume(resumed, str(tmp_path))
    assert len(resumed._buffered_inputs) == 2


def test_an_older_checkpoint_counts_as_whole_no_more_once_it_is_written_over(
    host: Callable[..., Any], tmp_path: Path
) -> None:
    done = tmp_path / "trainer_state.json"
    done.write_text("{}")
    other = host(should_save=False)
    checkpoint.save(other, str(tmp_path))
    assert done.exists()
    checkpoint.save(host(), str(tmp_path))
    assert not done.exists()


def test_a_process_does_not_go_on_with_the_rollouts_of_another(tmp_path: Path) -> None:
    for rank in (0, 1):
        under_way = [part(prompt_ids=torch.tensor([[rank]]))]
        state = {"step": 3, "processes": 2, "rollouts": under_way}
        checkpoint.write_rollouts(str(tmp_path), rank, state)
    state_of_1 = checkpoint.read_rollouts(str(tmp_path), 1, 2, "cpu")
    assert state_of_1 is not None
    assert state_of_1["rollouts"][0]["prompt_ids"].tolist() == [[1]]
    (tmp_path / "ptgs_rollouts_1.pt").unlink()
    with pytest.raises(BadArgument, match=r"rollouts of process 1 .* got no ptgs_rollouts_1\.pt"):
        checkpoint.read_rollouts(str(tmp_path), 1, 2, "cpu")


def test_rollouts_are_read_without_running_what_a_file_says(saved: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (shutil.rmtree, (str(saved),))

    torch.save({"rollouts": Evil()}, saved / "ptgs_rollouts_0.pt")
    with pytest.raises(BadArgument, match="Weights only"):
        checkpoint.read_rollouts(str(saved), 0, 1, "cpu")
    assert saved.is_dir()


def test_the_state_is_that_of_the_sampler(saved: Path) -> None:
    sampler = PTGS()
    sampler.load(saved / checkpoint.STATE)
    assert sampler.step == 1
    assert np.isfinite(sampler.stats()["mean_T"])
