"""Random histories, played by the sampler and by a plain one that shares nothing with it."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentenvs.harness.ptgs import PTGS, Events, Gate, Ramp

_spec = importlib.util.spec_from_file_location(
    "agentenvs_tests_plain", Path(__file__).with_name("plain.py")
)
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)


def drawn_settings(pick: random.Random) -> dict[str, Any]:
    ramps = [(0.05, 0.9, 5, "step"), (0.9, 0.2, 3, "visits"), (0.25, 0.5, 30, "step")]
    settings: dict[str, Any] = {
        "tau": pick.choice([1, 1.2, 1.5, 3.0, 1e3]),
        "gamma": pick.choice([0, 0.3, 0.8, 0.95, 1]),
        "target": pick.choice([0.05, 0.25, 0.5, 0.9, *ramps]),
        "t_ref": pick.choice([1.0, 0.7]),
        "seed": pick.choice([0, 2**63, 2**64 - 1, pick.getrandbits(64)]),
        "ref_share": pick.choice([0.0, 0.1, 0.5, 0.9]),
        "pilot": pick.choice([0, 0, 1, 3]),
        "gate": None,
    }
    if settings["ref_share"]:
        settings["gate"] = {
            "confidence": pick.choice([0.51, 0.95]),
            "margin": pick.choice([0.0, 0.3]),
            "groups": pick.choice([2, 5]),
            "keep": pick.choice([1.0, 0.9, 0.5]),
            "probe": pick.choice([0.0, 0.2, 1.0]),
        }
    return settings


def real(settings: dict[str, Any]) -> PTGS:
    target, gate = settings["target"], settings["gate"]
    told = settings | {
        "target": target if isinstance(target, float) else Ramp(*target),
        "gate": Gate(**gate) if gate else None,
    }
    return PTGS(**told, keep_events=True)


def pooled(sampler: PTGS, settings: dict[str, Any], ids: list[Any], won: Any, step: int) -> Events:
    """Two workers with copies of the sampler each play every other rollout of all groups."""
    first = sampler.settings.ref_count(won.shape[1])
    parts = []
    for start in (0, 1):
        worker = real(settings)
        worker.load_state_dict(sampler.state_dict())
        mine = won[:, start::2]
        at_ref = len(range(start, first, 2))
        told = {"ref_successes": mine[:, :at_ref].sum(axis=1), "ref_n": at_ref} if first else {}
        parts.append(worker.report(ids, mine.sum(axis=1), mine.shape[1], step=step, **told))
    return Events.merge(*parts[::-1])


@pytest.mark.parametrize("seed", range(24))
def test_the_sampler_does_what_the_plain_one_does(seed: int, tmp_path: Path) -> None:
    pick = random.Random(seed)
    settings = drawn_settings(pick)
    sampler, plain = real(settings), _module.Plain(**settings)
    named = [f"{pick.choice(['x', 'ü', chr(0x1F600), 'a b'])} {at}" for at in range(15)]
    tasks: list[Any] = pick.choice([named, pick.sample(range(200), 15)])
    logs, step = [], 0

    def ask(ids: list[Any], drawn: Any) -> None:
        wanted = [plain.temperature(task, step) for task in ids]
        np.testing.assert_allclose(drawn, wanted, rtol=1e-6)
        # What is a digit off now must not add up.
        for task, heat in zip(ids, drawn.tolist(), strict=True):
            plain.of(task)["held"] = heat

    for _ in range(pick.randint(4, 14)):
        step += pick.choice([1, 1, 3]) if not step or pick.random() < 0.7 else 0
        early = [pick.choice(tasks) for _ in range(pick.randint(0, 6))]
        ask(early, sampler.temperatures(early, step=step))
        ids = pick.sample(tasks, pick.randint(1, 8))
        n = pick.choice([2, 3, 8, 16])
        first = sampler.settings.ref_count(n)
        if pick.random() < 0.8:
            rolled = sampler.rollout_temperatures(ids, n, step=step)
            assert (rolled[:, :first] == np.float32(settings["t_ref"])).all()
            assert (rolled[:, first:] == rolled[:, -1:]).all()
            ask(ids, rolled[:, -1])
        won = np.random.default_rng(pick.getrandbits(32)).random((len(ids), n)) < pick.random()
        s, ref_s = won.sum(axis=1), won[:, :first].sum(axis=1)
        way = pick.choice(["record", "update", "workers"])
        if way == "workers" and first != 1:
            sampler.replay(pooled(sampler, settings, ids, won, step))
        elif way == "update":
            told = {"ref_successes": ref_s, "ref_n": first} if first else {}
            sampler.update(ids, s.tolist(), n, step=step, **told)
        else:
            sampler.record(ids, won, step=step)
        for task, one, two in zip(ids, s.tolist(), ref_s.tolist(), strict=True):
            plain.tell(task, step, one, n, two, first)
        if pick.random() < 0.3:
            logs.append(sampler.events)
            sampler.save(tmp_path / "state")
            sampler = real(settings)
            sampler.load(tmp_path / "state")
        shapes = [plain.shapes(task, step + 1)[:2] for task in tasks]
        np.testing.assert_allclose(np.transpose(sampler.posterior(tasks)), shapes, rtol=1e-5)
        assert sampler.visits(tasks).tolist() == [plain.of(task)["visits"] for task in tasks]

    Events.join([*logs, sampler.events]).write(tmp_path / "log")
    other = real(settings)
    other.replay(Events.read(tmp_path / "log"))
    # Tasks that were asked for and never told are in no log.
    for one in (sampler, other):
        one.temperatures(tasks, step=step)
    for name in ("success", "failure", "visits", "tally"):
        np.testing.assert_array_equal(other.state_dict()[name], sampler.state_dict()[name])
