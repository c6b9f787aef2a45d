import math

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.toollab import EXPERT, Quality, demonstrations

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]
torch = pytest.importorskip("torch")

from agentenvs.harness.lab.examples import (  # noqa: E402
    Examples,
    mixed_demonstrations,
    own_successes,
)
from agentenvs.harness.lab.imitation import (  # noqa: E402
    ImitationConfig,
    distil,
    rejection_sampling,
    sft,
)
from agentenvs.harness.lab.losses import agent_scores, exact_kl  # noqa: E402
from agentenvs.harness.lab.rollouts import sample  # noqa: E402

SMALL = ImitationConfig(
    steps=4, batch=16, lr=3e-3, rollouts=480, rounds=2, tasks=4, group=8, keep=4
)


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(one, two):
    return all(torch.equal(one[name], two[name]) for name in one)


@pytest.fixture(scope="module")
def shown(design):
    return demonstrations(design, 200, np.random.default_rng(3), EXPERT)


@pytest.fixture(scope="module")
def learn(able, taught, world, pool, shown):
    """Run a trainer by its name: (trained model, history)."""
    ways = {
        "sft": lambda seed, **rest: sft(able, shown, SMALL, seed, **rest),
        "rejection": lambda seed, **rest: rejection_sampling(
            able, world, pool, SMALL, seed, **rest
        ),
        "distil": lambda seed, **rest: distil(taught, able, world, pool, SMALL, seed, **rest),
    }
    return lambda name, seed, **rest: ways[name](seed, **rest)


WAYS = ("sft", "rejection", "distil")


@pytest.mark.parametrize("way", WAYS)
def test_a_seed_gives_the_same_weights_bit_for_bit(learn, able, taught, way):
    before = weights(able), weights(taught)
    (one, history), (two, again) = learn(way, 1), learn(way, 1)
    assert same(weights(one), weights(two))
    np.testing.assert_equal(history, again)
    assert not same(weights(one), weights(learn(way, 2)[0]))
    assert same(weights(able), before[0])
    assert same(weights(taught), before[1])


@pytest.mark.parametrize("way", WAYS)
def test_on_step_sees_every_step(learn, way):
    seen = []

    def watch(step, model, history):
        seen.append((step, history[-1]["step"], weights(model)))

    model, history = learn(way, 1, on_step=watch)
    assert [(step, last) for step, last, _ in seen] == [(n, n) for n in (1, 2, 3, 4)]
    assert same(seen[-1][2], weights(model))
    assert len(history) == 4


def test_fine_tuning_lowers_the_loss_on_the_agents_tokens(able, shown):
    config = ImitationConfig(steps=40, batch=50, lr=3e-3)
    model, history = sft(able, shown, config, 0)
    assert history[-1]["loss"] < 0.7 * history[0]["loss"]
    ids, agent = torch.as_tensor(shown.ids).long(), torch.as_tensor(shown.agent)

    def loss(model):
        with torch.no_grad():
            return -float(agent_scores(model, ids, agent, torch.ones(len(ids))).chosen.mean())

    assert loss(model) < 0.7 * loss(able)


def test_tokens_that_are_not_the_agents_are_not_imitated(able, shown):
    ids, agent = torch.as_tensor(shown.ids).long(), torch.as_tensor(shown.agent)
    cut = ids.clone()
    # What follows the agent's last token is nobody's business.
    last = (agent * torch.arange(agent.shape[1])).amax(1)
    cut[torch.arange(agent.shape[1]) > last[:, None]] = 77
    config = ImitationConfig(steps=2, batch=50)
    one, two = (sft(able, Examples(x, agent), config, 0)[0] for x in (ids, cut))
    assert same(weights(one), weights(two))


def test_every_example_comes_before_any_comes_again(able, shown):
    rows = Examples(torch.as_tensor(shown.ids[:6]).long(), torch.as_tensor(shown.agent[:6]))
    config = ImitationConfig(steps=3, batch=2, lr=1e-12)
    losses = [row["loss"] for row in sft(able, rows, config, 0)[1]]
    whole = ImitationConfig(steps=1, batch=6, lr=1e-12)
    tokens = int(rows.agent.sum())
    with torch.no_grad():
        alone = [
            -float(agent_scores(able, rows.ids[[i]], rows.agent[[i]], torch.ones(1)).chosen.sum())
            for i in range(6)
        ]
    assert sft(able, rows, whole, 0)[1][0]["loss"] == pytest.approx(sum(alone) / tokens, rel=1e-5)
    pairs = {
        (alone[i] + alone[j]) / int(rows.agent[[i, j]].sum()): {i, j}
        for i in range(6)
        for j in range(i)
    }
    drawn = [next(who for value, who in pairs.items() if abs(value - got) < 1e-5) for got in losses]
    assert set.union(*drawn) == set(range(6))


def test_nothing_to_imitate_is_an_error(able):
    empty = Examples(torch.zeros(0, 9).long(), torch.zeros(0, 9).bool())
    with pytest.raises(BadArgument, match="got none"):
        sft(able, empty, SMALL, 0)


def test_own_successes_are_successes_without_repeats_and_capped(able, world, pool):
    every, success = own_successes(able, world, pool, 24, 5)
    few, again = own_successes(able, world, pool, 24, 5, keep=2)
    assert success == again
    assert 0 < success < 1
    texts = [tuple(row) for row in every.ids.tolist()]
    assert len(set(texts)) == len(texts) <= round(success * 24 * len(pool))
    by_task = {}
    for row in few.ids.tolist():
        by_task[tuple(row[1:4])] = by_task.get(tuple(row[1:4]), 0) + 1
    assert set(by_task.values()) <= {1, 2}
    assert {tuple(row) for row in _stripped(few)} <= {tuple(row) for row in _stripped(every)}
    codes = set(range(len(_vocabulary()) - 4, len(_vocabulary())))
    last = (every.agent * torch.arange(every.agent.shape[1])).amax(1)
    # A success ends with a closing word and <end>.
    closing = every.ids[torch.arange(len(last)), last - 1].tolist()
    assert set(closing) <= codes


def _stripped(examples):
    return [[word for word in row if word] for row in examples.ids.tolist()]


def _vocabulary():
    from agentenvs.toollab.vocabulary import VOCABULARY

    return VOCABULARY


def test_rejection_sampling_spends_its_budget_in_rounds(learn, pool):
    _, history = learn("rejection", 0)
    assert [row["round"] for row in history] == [1, 1, 2, 2]
    assert [row["rollouts"] for row in history] == [240, 0, 240, 0]
    assert [math.isnan(row["success"]) for row in history] == [False, True, False, True]
    assert all(0 < row["kept"] <= 4 * len(pool) for row in history)


def test_rejection_sampling_learns_from_its_successes(able, world, pool):
    config = ImitationConfig(steps=40, batch=48, lr=3e-3, rollouts=1920, rounds=4, keep=8)
    _, history = rejection_sampling(able, world, pool, config, 0)
    success = [row["success"] for row in history if row["rollouts"]]
    assert len(success) == 4
    assert success[-1] > success[0] + 0.1


def test_a_round_without_success_trains_nothing(taught, world, pool):
    # Far above any sensible temperature, the closing word never follows an accepted call.
    config = ImitationConfig(steps=2, rollouts=24, rounds=1, temperature=1e4)
    model, history = rejection_sampling(taught, world, pool, config, 0)
    assert [row["kept"] for row in history] == [0, 0]
    assert same(weights(model), weights(taught))


def test_too_few_rollouts_for_a_round_are_refused(taught, world, pool):
    config = ImitationConfig(rollouts=20, rounds=2)
    with pytest.raises(BadArgument, match="at least one of each task and round, 24, got 20"):
        rejection_sampling(taught, world, pool, config, 0)


def test_a_round_needs_a_step(taught, world, pool):
    config = ImitationConfig(steps=3, rounds=4)
    with pytest.raises(BadArgument, match="a step or more for each of 4 rounds, got 3"):
        rejection_sampling(taught, world, pool, config, 0)


def test_distillation_comes_closer_to_the_teacher(able, taught, world, pool):
    config = ImitationConfig(steps=15, lr=5e-3, tasks=4, group=8)
    model, history = distil(taught, able, world, pool, config, 0)
    assert history[-1]["loss"] < 0.5 * history[0]["loss"]
    assert {row["rollouts"] for row in history} == {32}
    assert history[-1]["success"] > history[0]["success"]

    def apart(student):
        rows = torch.from_numpy(np.repeat(pool, 8))
        draw = torch.Generator().manual_seed(9)
        played = sample(student, world, rows, torch.ones(len(rows)), draw)
        with torch.no_grad():
            views = [
                agent_scores(one, played.ids, played.agent, played.temperatures).log_probs
                for one in (student, able)
            ]
        return float(exact_kl(*views).mean())

    assert apart(model) < 0.5 * apart(taught)


def test_a_teacher_who_is_the_student_teaches_nothing(able, world, pool):
    _, history = distil(able, able, world, pool, SMALL, 0)
    assert history[0]["loss"] < 1e-3


def test_demonstrations_are_mixed_in_the_shares_asked_for(design):
    clumsy = Quality(careless=0.0, perturb=1.0)
    smooth = Quality(careless=0.0, perturb=0.0, known_boost=1.0)
    made = mixed_demonstrations(design, 1000, 0, (0.9, smooth), (0.1, clumsy))
    assert len(made.ids) == len(made.agent) == 1000
    from agentenvs.toollab.vocabulary import ID

    # Only who errs on purpose is refused at first.
    refused = (made.ids == ID["error"]).any(1)
    assert not refused[:900].any()
    assert refused[900:].float().mean() > 0.5
    again = mixed_demonstrations(design, 1000, 0, (0.9, smooth), (0.1, clumsy))
    assert torch.equal(made.ids, again.ids)


def test_shares_add_up_to_one(design):
    with pytest.raises(BadArgument, match=r"add up to 1, got \[0.9\]"):
        mixed_demonstrations(design, 10, 0, (0.9, EXPERT))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"steps": 0}, "`steps` to be an int of 1 up, got 0"),
        ({"keep": None}, "`keep` to be an int"),
        ({"batch": True}, "`batch` to be an int"),
        ({"lr": 0.0}, "`lr` to be a number above 0"),
        ({"temperature": math.inf}, "`temperature` to be a number above 0"),
    ],
)
def test_settings_are_checked(options, what):
    with pytest.raises(BadArgument, match=what):
        ImitationConfig(**options)
