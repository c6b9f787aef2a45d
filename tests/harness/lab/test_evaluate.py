from __future__ import annotations

import asyncio

import gymnasium
import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness import Episode, Sampling, run
from agentenvs.toollab import task_ids

pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("torch")]

WARM = 0.8


def outcomes(*arguments, **options):
    from agentenvs.harness.lab.evaluate import evaluate

    return evaluate(*arguments, **options)


@pytest.fixture(scope="module")
def saved(taught, tmp_path_factory):
    from agentenvs.harness.lab.model import save

    folder = tmp_path_factory.mktemp("taught")
    save(taught, folder)
    return folder


def policy_of(folder):
    from agentenvs.harness.policies.hf import from_spec

    return from_spec(str(folder), max_batch=64)


def test_there_is_an_outcome_for_each_rollout_of_each_task(taught, world, design):
    got = outcomes(taught, world, design.mini, 8)
    assert got.shape == (len(design.mini), 8)
    assert got.dtype == np.bool_
    assert 0 < got.sum() < got.size
    assert len(set(got.sum(1).tolist())) > 2


def test_the_same_seed_gives_the_same_outcomes(taught, world, design):
    one, two = (outcomes(taught, world, design.mini, 4, seed=3) for _ in range(2))
    assert (one == two).all()
    assert (one != outcomes(taught, world, design.mini, 4, seed=4)).any()


def test_heat_tells(taught, world, design):
    easy = design.mini[~design.is_exception(design.mini)]
    cold, hot = (outcomes(taught, world, easy, 32, t).mean() for t in (0.5, 2.0))
    assert cold > hot + 0.1


@pytest.mark.parametrize(
    "change", [{"n": 0}, {"n": True}, {"temperature": 0.0}, {"tasks": [1600]}, {"tasks": [[1]]}]
)
def test_odd_arguments_are_refused(taught, world, change):
    with pytest.raises(BadArgument):
        outcomes(taught, world, **{"tasks": [0], "n": 1, **change})


def test_the_saved_model_does_as_well_through_the_runner(taught, world, design, saved):
    n = 24
    mine = outcomes(taught, world, design.mini, 4 * n, WARM)
    played = run(
        "ToolLab",
        policy_of(saved),
        tasks="mini",
        n=n,
        harness="none",
        max_tokens=6,
        temperature=WARM,
        concurrency=64,
    ).counts()
    assert list(played.task_ids) == task_ids("mini")
    p = mine.mean(1)
    # Variance of both means, within tasks; the seeds are fixed, so this holds or it does not.
    sd = np.sqrt((p * (1 - p) * (1 / n + 1 / (4 * n))).sum()) / len(p)
    gap = played.c.sum() / played.n.sum() - p.mean()
    assert abs(gap) < 4 * sd
    # Task by task as well: chi-square with as many degrees of freedom as tasks.
    pooled = (played.c + mine.sum(1) + 1) / (5 * n + 2)
    spread = pooled * (1 - pooled) * (1 / n + 1 / (4 * n))
    assert ((played.c / n - p) ** 2 / spread).sum() < len(p) + 5 * np.sqrt(2 * len(p))


def test_the_policy_gives_its_tokens_the_log_probabilities_of_the_lab(torch, taught, saved):
    from agentenvs.harness.lab.rollouts import Rollouts, score

    env, policy = gymnasium.make("agentenvs/ToolLab-v0", tasks="mini"), policy_of(saved)
    sampling = Sampling(temperature=WARM, max_tokens=6)
    for seed, task in enumerate(task_ids("mini")):
        episode = Episode(env, "none", form="chat", sampling=sampling, task=task, seed=seed)
        while episode.request is not None:
            episode.respond(asyncio.run(policy.generate(episode.request)))
        ids, mask = episode.sequence()
        said = [x for turn in episode.token_turns() for x in turn.logprobs]
        one, heat = torch.zeros(1), torch.tensor([WARM])
        played = Rollouts(
            torch.tensor([ids]), torch.tensor([mask]).bool(), one, one, one, heat, one
        )
        logps, _ = score(taught, played, heat)
        torch.testing.assert_close(logps[played.agent], torch.tensor(said), atol=1e-4, rtol=1e-4)
    env.close()
