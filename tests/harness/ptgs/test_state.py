from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument, SettingsDiffer
from agentenvs.harness.ptgs import PTGS, Gate, Ramp

SETTINGS = {
    "target": Ramp(0.25, 0.5, 20),
    "ref_share": 0.25,
    "gate": Gate(groups=3, confidence=0.6),
    "seed": 2**64 - 1,
}


def play(sampler: PTGS, steps: int, rng: np.random.Generator, numbers: bool) -> list[float]:
    drawn = []
    for _ in range(steps):
        picked = rng.choice(30, 6, replace=False).tolist()
        ids: Any = picked if numbers else [f"täsk {at}" for at in picked]
        heat = sampler.rollout_temperatures(ids, 8)
        drawn += heat.ravel().tolist()
        sampler.record(ids, rng.random((6, 8)) < 0.4 / heat)
    return drawn


@pytest.mark.parametrize("numbers", [False, True])
def test_a_resumed_sampler_draws_what_it_would_have_drawn(
    numbers: bool, tmp_path: Path, same: Callable[..., None]
) -> None:
    whole, rng = PTGS(**SETTINGS), np.random.default_rng(0)
    play(whole, 8, rng, numbers)
    waiting: Any = [31, 33] if numbers else ["waits", "waits too"]
    held = whole.temperatures(waiting)
    path = tmp_path / "sampler.npz"
    whole.save(path)
    resumed = PTGS(**SETTINGS)
    resumed.load(path)
    same(resumed.state_dict(), whole.state_dict())
    assert str(resumed.stats()) == str(whole.stats())
    assert (resumed.temperatures(waiting) == held).all()
    other = np.random.default_rng()
    other.bit_generator.state = rng.bit_generator.state
    assert play(resumed, 8, other, numbers) == play(whole, 8, rng, numbers)
    same(resumed.state_dict(), whole.state_dict())
    assert [one.name for one in tmp_path.iterdir()] == ["sampler.npz"]


def test_a_state_is_a_copy(same: Callable[..., None]) -> None:
    sampler = PTGS()
    sampler.update(["a"], 1, 8)
    state = sampler.state_dict()
    kept = {name: np.copy(value) for name, value in state.items() if name != "header"}
    other = PTGS()
    other.load_state_dict(state)
    for one in (sampler, other):
        one.update(["a", "b"], 1, 8)
    for name, value in kept.items():
        np.testing.assert_array_equal(state[name], value)
    same(sampler.state_dict(), other.state_dict())


def test_the_file_is_arrays_and_a_header_in_json(tmp_path: Path) -> None:
    sampler = PTGS()
    sampler.update(["b", "a"], [1, 2], 8)
    sampler.save(tmp_path / "state")
    with np.load(tmp_path / "state", allow_pickle=False) as file:
        header = json.loads(file["header"].tobytes())
        assert file["success"].tolist() == [2, 1]
    assert header["ids"] == ["a", "b"]
    assert header["settings"] == sampler.describe()
    json.dumps(sampler.state_dict()["header"])


def test_other_settings_are_named(tmp_path: Path) -> None:
    PTGS(target=Ramp(0.25, 0.5, 100)).save(tmp_path / "state")
    other = PTGS(tau=1.2, target=Ramp(0.25, 0.5, 200), keep_events=True)
    with pytest.raises(SettingsDiffer, match=r"tau is 1.2 here, 1.5 there; target is .*200.*100"):
        other.load(tmp_path / "state")


def test_files_that_are_no_state(tmp_path: Path) -> None:
    sampler = PTGS()
    with pytest.raises(BadArgument, match=r"the state of a sampler at .*none: no file"):
        sampler.load(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.save(tmp_path / "one.npy", np.zeros(3))
    np.savez(tmp_path / "objects.npz", header=np.array([{}], dtype=object))
    (tmp_path / "empty").touch()
    sampler.save(tmp_path / "cut")
    whole = (tmp_path / "cut").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    deep = np.frombuffer(b"[" * 100_000, dtype=np.uint8)
    np.savez(tmp_path / "deep.npz", header=deep)
    names = ("text", "other.npz", "one.npy", "objects.npz", ".", "empty", "cut", "deep.npz")
    for name in names:
        with pytest.raises(BadArgument, match="the state of a sampler at"):
            sampler.load(tmp_path / name)


def test_any_damage_to_a_file_is_told_or_harmless(tmp_path: Path) -> None:
    sampler, path, rng = PTGS(), tmp_path / "state", np.random.default_rng(0)
    sampler.update(["a", "b"], 1, 8)
    sampler.save(path)
    whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    refused = 0
    for _ in range(150):
        damaged = whole[: rng.integers(len(whole))] if rng.random() < 0.3 else whole.copy()
        if len(damaged) == len(whole):
            damaged[rng.integers(len(whole), size=3)] ^= rng.integers(1, 256, 3, dtype=np.uint8)
        path.write_bytes(damaged.tobytes())
        other = PTGS()
        try:
            other.load(path)
        except (BadArgument, SettingsDiffer):
            refused += 1
            assert len(other) == 0
        else:
            assert np.isfinite(other.temperatures(["a", "b", "c"])).all()
    assert refused > 75


def test_a_state_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "state", "."):
        with pytest.raises(BadArgument, match="a file in a folder that is there, got"):
            PTGS().save(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"header": None}, "the state of a PTGS, got None"),
        ({"header": {"sampler": "Fixed"}}, "the state of a PTGS, got 'Fixed'"),
        ({"version": 99}, "version 1 of a state, got 99"),
        ({"step": None}, "a step, a kind and a size in the header, got None"),
        ({"kind": "float"}, "a step, a kind and a size"),
        ({"size": 2}, "2 different task ids"),
        ({"step": -1}, "a step, a kind and a size in the header, got -1"),
        ({"step": 2**40}, "a step, a kind and a size in the header"),
        ({"kind": None, "ids": []}, "a step, a kind and a size in the header"),
        ({"settings": [1]}, r"`settings` in the header of a state, got \[1\]"),
        ({"success": np.full(3, np.nan, np.float32)}, "`success` .* discounted counts, got nan"),
        ({"failure": np.full(3, -1, np.float32)}, r"`failure` .* discounted counts, got -1\.0"),
        ({"held": np.full(3, 1.6, np.float32)}, "temperatures of 0.666667 to 1.5, got 1.6"),
        ({"held": np.full(3, np.inf, np.float32)}, "temperatures of 0.666667 to 1.5, got inf"),
        ({"tally": np.full((2, 9), np.nan)}, "`tally` of the state to hold finite sums, got nan"),
        ({"contrast_step": np.array(1e300)}, "`contrast_step` .* finite sums, got 1e.300"),
        ({"success": np.zeros(2, np.float32)}, r"`success` .* of shape \(3,\), got .*\(2,\)"),
        ({"ids": ["a", "a"]}, "3 different task ids"),
        ({"ids": ["a", "b", 3]}, "3 different task ids"),
        ({"success": np.zeros(3)}, "`success` of the state to be float32 .*, got float64"),
        ({"held": None}, "`held` of the state to be float32"),
        ({"tally": np.zeros(3)}, r"`tally` of the state to hold numbers of shape \(2, 9\)"),
        ({"contrast_step": np.zeros(2)}, "`contrast_step` of the state to hold numbers"),
        ({"contrast_settled": "x"}, "`contrast_settled` of the state to hold numbers"),
    ],
)
def test_states_that_do_not_fit_change_nothing(
    change: dict[str, Any], message: str, same: Callable[..., None]
) -> None:
    sampler = PTGS()
    sampler.update(["a", "b", "c"], 1, 8)
    state = sampler.state_dict()
    for name, value in change.items():
        if name in state:
            state[name] = value
        else:
            state["header"][name] = value
    target = PTGS()
    target.update(["d"], 1, 8)
    before = target.state_dict()
    with pytest.raises(BadArgument, match=message):
        target.load_state_dict(state)
    same(target.state_dict(), before)


@pytest.mark.parametrize("name", ["success", "drawn", "tally", "tally_step", "contrast_pending"])
def test_states_that_lack_something(name: str) -> None:
    state = PTGS().state_dict()
    del state[name]
    with pytest.raises(BadArgument, match=f"the state to have `{name}`, got "):
        PTGS().load_state_dict(state)
