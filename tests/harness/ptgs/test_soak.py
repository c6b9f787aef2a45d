from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agentenvs.harness.ptgs import PTGS, Events

pytestmark = pytest.mark.slow

PROMPTS = 1_000_000


@pytest.mark.parametrize("named", [False, True])
def test_a_million_prompts(named: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ids = [f"webshop/synthetic/{at}" for at in range(PROMPTS)] if named else np.arange(PROMPTS)
    sampler = PTGS(seed=1, keep_events=True)
    p = rng.beta(0.5, 1.5, PROMPTS)
    for _ in range(2):
        drawn = sampler.temperatures(ids)
        assert np.isfinite(drawn).all()
        sampler.update(ids, rng.binomial(16, p), 16)
    counts = sampler._memory.table
    assert counts.success.nbytes + counts.failure.nbytes == 8 * PROMPTS
    assert np.corrcoef(sampler.estimates(ids), p)[0, 1] > 0.95
    sampler.save(tmp_path / "state")
    resumed, replayed = PTGS(seed=1), PTGS(seed=1)
    resumed.load(tmp_path / "state")
    replayed.replay(Events.merge(sampler.events))
    picked = rng.permutation(PROMPTS)[:1000]
    some = [ids[at] for at in picked] if named else ids[picked]
    wanted = sampler.temperatures(some)
    assert (resumed.temperatures(some) == wanted).all()
    assert (replayed.temperatures(some) == wanted).all()
