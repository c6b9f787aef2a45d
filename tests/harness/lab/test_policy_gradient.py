import math

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs.baselines import Fixed
from agentenvs.harness.ptgs.sampler import PTGS

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]
pytest.importorskip("torch")

from agentenvs.harness.lab.policy_gradient import PGConfig, train  # noqa: E402

SMALL = {"steps": 3, "tasks": 4, "group": 8}
COLUMNS = {
    *("step", "rollouts", "groups", "success", "mixed", "temperature", "surprise"),
    *("loss", "clipped", "drift", "kl", "norm", "updates", "critic"),
}


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(torch, one, two):
    return all(torch.equal(one[name], two[name]) for name in one)


ARMS = {
    "grpo": ({}, lambda: Fixed(1.0)),
    "grpo-ptgs": ({}, lambda: PTGS(seed=5)),
    "grpo-ref": ({}, lambda: PTGS(seed=5, ref_share=0.5)),
    "grpo-kl-bonus": ({"kl": 0.1, "entropy": 0.01}, lambda: Fixed(1.2)),
    "grpo-refill": ({"refill": 2}, lambda: Fixed(1.0)),
    "ppo-ptgs": ({"algorithm": "ppo"}, lambda: PTGS(seed=5)),
    "ppo-gae": ({"algorithm": "ppo", "lam": 0.9, "epochs": 2}, lambda: Fixed(1.0)),
}


@pytest.mark.parametrize("name", ARMS)
def test_every_arm_trains_and_repeats_itself_bit_for_bit(torch, able, world, pool, name):
    options, sampler = ARMS[name]
    before = weights(able)
    config = PGConfig(**SMALL, **options)
    one, history = train(able, world, pool, config, sampler(), 3)
    two, again = train(able, world, pool, config, sampler(), 3)
    other, _ = train(able, world, pool, config, sampler(), 4)
    assert same(torch, weights(one), weights(two))
    np.testing.assert_equal(history, again)
    assert not same(torch, weights(one), weights(other))
    assert same(torch, weights(able), before)
    assert [set(row) for row in history] == [COLUMNS] * 3
    assert math.isnan(history[0]["critic"]) == (config.algorithm == "grpo")
    assert all(math.isfinite(row["loss"]) for row in history)
    # Training hands over weights that nothing else holds on to.
    assert all(value.isfinite().all() for value in one.state_dict().values())


def test_the_sampler_hears_of_every_rollout_before_any_is_dropped(torch, able, world, pool):
    class Spy(Fixed):
        def __init__(self):
            super().__init__(1.0)
            self.told = []

        def record(self, ids, outcomes):
            self.told.append(np.array(outcomes))

    spy = Spy()
    _, history = train(able, world, pool, PGConfig(**SMALL, refill=2), spy, 0)
    assert sum(table.size for table in spy.told) == sum(row["rollouts"] for row in history)
    success = [row["success"] * row["rollouts"] for row in history]
    assert sum(int(table.sum()) for table in spy.told) == pytest.approx(sum(success))
    mixed = [bool(row.any() and not row.all()) for table in spy.told for row in table]
    assert sum(mixed) == pytest.approx(sum(row["mixed"] * row["groups"] for row in history))


def test_a_posterior_holds_what_was_played(torch, able, world, pool):
    sampler = PTGS(seed=1, gamma=1.0, keep_events=True)
    _, history = train(able, world, pool, PGConfig(**SMALL), sampler, 0)
    assert sampler.step == 3
    visits = sampler.visits(pool)
    assert int(visits.sum()) == 12
    assert sorted(set(visits.tolist())) == [1]
    played = sum(row["rollouts"] for row in history)
    a, b = sampler.posterior(pool)
    assert float(np.sum(a + b) - 2 * len(pool)) == pytest.approx(played)
    won = sum(row["success"] * row["rollouts"] for row in history)
    assert float(np.sum(a) - len(pool)) == pytest.approx(won)


def test_the_first_update_is_on_policy_at_every_temperature(torch, able, world, pool):
    config = PGConfig(**{**SMALL, "steps": 1}, minibatches=1)
    sampler = PTGS(seed=2, tau=1.5)
    _, (row,) = train(able, world, pool, config, sampler, 0)
    assert row["temperature"] != 1.0
    assert row["drift"] == pytest.approx(0, abs=1e-5)
    assert row["clipped"] == 0


def test_groups_all_alike_change_nothing(torch, able, world, pool):
    # At a temperature this low every rollout of a task ends as the others do.
    config = PGConfig(**{**SMALL, "group": 2, "steps": 2})
    model, history = train(able, world, pool, config, Fixed(1e-4), 0)
    alike = [row for row in history if row["mixed"] == 0]
    assert alike
    assert all(row["updates"] == 0 for row in alike)
    if len(alike) == len(history):
        assert same(torch, weights(model), weights(able))


def test_no_mixed_group_after_all_refills_means_no_update(torch, able, world, pool):
    config = PGConfig(**{**SMALL, "group": 1, "steps": 2}, refill=2)
    model, history = train(able, world, pool, config, Fixed(1.0), 0)
    assert [row["groups"] for row in history] == [12, 12]
    assert [row["updates"] for row in history] == [0, 0]
    assert same(torch, weights(model), weights(able))


def test_on_step_sees_the_model_as_it_is_then(torch, able, world, pool):
    seen = []

    def watch(step, model, history):
        seen.append((step, len(history), weights(model)))

    model, _ = train(able, world, pool, PGConfig(**SMALL), Fixed(1.0), 0, on_step=watch)
    assert [(step, rows) for step, rows, _ in seen] == [(1, 1), (2, 2), (3, 3)]
    assert same(torch, seen[-1][2], weights(model))
    assert not same(torch, seen[0][2], seen[-1][2])


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_outcomes_are_learnt_from(torch, able, world, pool, algorithm):
    config = PGConfig(algorithm=algorithm, steps=12, tasks=12, group=16, lr=3e-3)
    _, history = train(able, world, pool, config, Fixed(1.0), 0)
    success = [row["success"] for row in history]
    assert np.mean(success[-3:]) > np.mean(success[:3]) + 0.1


def test_a_strong_kl_keeps_the_policy_near(torch, able, world, pool):
    def drawn_away(kl):
        config = PGConfig(**{**SMALL, "steps": 8}, kl=kl)
        return train(able, world, pool, config, Fixed(1.0), 0)[1][-1]["kl"]

    assert 0 < drawn_away(10.0) < drawn_away(1e-6)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"algorithm": "dpo"}, "`algorithm` 'grpo' or 'ppo', got 'dpo'"),
        ({"steps": 0}, "`steps` to be an int of 1 up, got 0"),
        ({"group": 2.0}, "`group` to be an int"),
        ({"refill": True}, "`refill` to be an int of 0 up, got True"),
        ({"refill": -1}, "`refill`"),
        ({"lr": 0}, "`lr` above 0"),
        ({"kl": math.nan}, "`kl` to be a number of 0 up"),
        ({"entropy": "much"}, "`entropy`"),
        ({"clip_low": 1.5}, "`clip_low` of at most 1"),
        ({"gamma": 1.01}, "`gamma` of at most 1"),
        ({"tasks": 1, "group": 2, "minibatches": 3}, "at most 2 minibatches"),
    ],
)
def test_settings_are_checked(options, what):
    with pytest.raises(BadArgument, match=what):
        PGConfig(**options)


def test_a_pool_smaller_than_a_step_is_refused(torch, able, world, design):
    with pytest.raises(BadArgument, match="1 to 3 tasks at a time, got 4"):
        train(able, world, design.train[:3], PGConfig(**SMALL), Fixed(1.0), 0)
