from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Completion
from agentenvs.toollab import EXPERT, Demos, Design, Quality, demonstrations, success_probability
from agentenvs.toollab import vocabulary as v
from agentenvs.toollab.demos import LENGTH
from agentenvs.toollab.design import (
    CHANNELS,
    CODES,
    COUNTS,
    ERRANDS,
    ITEMS,
    LABELS,
    TAGS,
    TASKS,
)
from agentenvs.toollab.env import ToolLabEnv
from agentenvs.toollab.tasks import all_ids
from agentenvs.toollab.vocabulary import VOCABULARY, render

QUALITIES = [Quality(), EXPERT, Quality(careless=0.9, perturb=1.0, known_boost=0.3)]


def draw(n: int, seed: int = 0, quality: Quality | None = None, world: int = 0) -> Demos:
    return demonstrations(Design.of(world), n, np.random.default_rng(seed), quality)


def turns(row: Any) -> list[str]:
    """Return the agent's turns of a dialogue."""
    words = " ".join(VOCABULARY[at] for at in row if at != v.PAD)
    return [part.split(" <end>")[0].strip() for part in words.split("<agent>")[1:]]


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("world", [0, 4])
def test_the_environment_plays_demonstrations_to_the_same_end(
    quality: Quality, world: int, seeds: Mapping[str, int]
) -> None:
    demos = draw(150, 7, quality, world)
    env = gymnasium.make("agentenvs/ToolLab-v0", world=world, disable_env_checker=True)
    for ids, agent, task, success in zip(*demos, strict=True):
        episode = Episode(env, "none", task=all_ids(world)[task], seed=seeds[VOCABULARY[ids[9]]])
        for text in turns(ids):
            episode.respond(Completion(text))
        rendered = render(episode.messages)
        assert rendered == ids[ids != v.PAD].tolist()
        assert episode.done
        assert episode.success == success
        own = np.zeros(LENGTH, dtype=bool)
        speaking = False
        for at, token in enumerate(rendered):
            own[at] = speaking
            speaking = token == v.AGENT or (speaking and token != v.END)
        assert np.array_equal(agent, own)


def test_padding_is_at_the_end_alone() -> None:
    demos = draw(500)
    padded = demos.ids == v.PAD
    assert (padded[:, :-1] <= padded[:, 1:]).all()
    assert set(np.unique((~padded).sum(axis=1))) == {21, 26, LENGTH}
    assert not demos.agent[padded].any()
    assert demos.ids.dtype == np.int16
    assert demos.agent.dtype == np.bool_
    assert v.UNK not in demos.ids
    assert v.UNKNOWN not in demos.ids


def test_the_same_seed_gives_the_same_dialogues() -> None:
    one, same, other = draw(50, 1), draw(50, 1), draw(50, 2)
    for name in Demos._fields:
        assert np.array_equal(getattr(one, name), getattr(same, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))


def test_no_dialogues() -> None:
    assert [len(part) for part in draw(0)] == [0] * 4
    assert success_probability(Design.of(0)).shape == (TASKS,)


@pytest.mark.parametrize("n", [-1, 1.5, True, None])
def test_what_is_no_number_of_dialogues(n: Any) -> None:
    with pytest.raises(BadArgument, match="`n` to be an int >= 0"):
        draw(n)


def test_tasks_and_tags_are_uniform() -> None:
    demos = draw(80_000, 3)
    for drawn, size in ((demos.task, TASKS), (demos.ids[:, 9] - v.TAG, len(TAGS))):
        counts = np.bincount(drawn, minlength=size)
        assert len(counts) == size
        mean = len(drawn) / size
        # A chi square of size - 1 degrees of freedom.
        assert ((counts - mean) ** 2 / mean).sum() < size + 4 * (2 * size) ** 0.5


def surprise(wins: Any, seen: Any, p: Any) -> Any:
    """Return seen * KL(wins / seen, p): as many or more successes have probability < exp(-it)."""
    rate = wins / seen
    with np.errstate(divide="ignore", invalid="ignore"):
        won = np.where(rate > 0, rate * np.log(rate / p), 0.0)
        lost = np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - p)), 0.0)
    return seen * (won + lost)


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("world", [0, 1])
def test_success_is_as_probable_as_stated(quality: Quality, world: int) -> None:
    design = Design.of(world)
    demos = draw(300_000, 11 + world, quality, world)
    chance = success_probability(design, quality)
    special = design.is_exception(np.arange(TASKS))
    edges = np.quantile(chance[special], [0.25, 0.5, 0.75])
    quarter = np.where(special, 1 + np.searchsorted(edges, chance), 0)
    pair = np.arange(TASKS) // len(COUNTS)
    for group in (np.zeros(TASKS, int), special.astype(int), quarter, pair, np.arange(TASKS)):
        of = group[demos.task]
        seen, wins = np.bincount(of), np.bincount(of, demos.success)
        p = np.bincount(of, chance[demos.task]) / seen
        # Chernoff: over all groups here not one run in a hundred would go beyond it by chance.
        assert surprise(wins, seen, p).max() < np.log(2 * len(seen)) + 7.0


def dialogues(
    design: Design, task: int, tag: str, quality: Quality
) -> Iterator[tuple[Fraction, list[str]]]:
    """Yield every way that a demonstration may go, with its probability."""
    exact = {name: Fraction(getattr(quality, name)) for name in ("careless", "perturb")}
    errand, item, count = design.task(task)
    known = Fraction(float(quality.known(design)[errand, item]))
    beliefs = [
        (known, design.truth[errand, item]),
        (1 - known, design.canonical[errand, design.kind[item]]),
    ]
    for chance, (channel, label, code) in beliefs:
        plain: tuple[Any, ...] = (tag, count, code)
        slips = [(1 - exact["careless"], plain)]
        for at, values in enumerate((TAGS, range(10), range(4))):
            for value in values:
                changed = (*plain[:at], value, *plain[at + 1 :])
                slips.append((exact["careless"] / 3 / len(values), changed))
        firsts = [(1 - exact["perturb"], (channel, label))]
        for shift in (1, 2, 3):
            for first in (((channel + shift) % 4, label), (channel, (label + shift) % 4)):
                firsts.append((exact["perturb"] / 6, first))
        for (slip, (said, heard, last)), (way, first) in product(slips, firsts):
            calls = [
                f"{CHANNELS[ch]} {said} {LABELS[la]} {COUNTS[design.counted[la, heard]]}"
                for ch, la in (first, (channel, label))
            ]
            yield chance * slip * way, [f"find {ITEMS[item]}", *calls, CODES[last]]


def succeeds(env: ToolLabEnv, texts: list[str]) -> bool:
    find, first, second, code = texts
    env.step(find)
    reply, _, over, _, info = env.step(first)
    if reply == "error":
        reply, _, over, _, info = env.step(second)
    if not over:
        info = env.step(code)[-1]
    return bool(info["success"])


@pytest.mark.parametrize("quality", QUALITIES[::2])
def test_a_single_task_by_all_that_may_happen(quality: Quality, seeds: Mapping[str, int]) -> None:
    design = Design.of(0)
    env = ToolLabEnv()
    chance = success_probability(design, quality)
    differing = (design.truth != design.canonical[:, design.kind]) @ np.array([1, 2, 4])
    for mask in np.unique(differing):
        errand, item = np.argwhere(differing == mask)[0]
        task = design.index(int(errand), int(item), 6)
        total = solved = Fraction(0)
        for weight, texts in dialogues(design, task, "k7", quality):
            env.reset(seed=seeds["k7"], options={"task": all_ids(0)[task]})
            total += weight
            solved += weight * succeeds(env, texts)
        assert total == 1
        assert float(solved) == pytest.approx(chance[task], abs=1e-12)


def test_the_stated_numbers() -> None:
    design = Design.of(0)
    chance = success_probability(design)
    special = design.is_exception(np.arange(TASKS))
    # .5 + (.5 / 3) (1/10 + 1/10 + 1/4)
    assert np.allclose(chance[~special], 0.575)
    assert chance[special].max() < 0.5
    assert np.median(chance[special]) < 0.1
    assert np.array_equal(chance.reshape(-1, 10).min(1), chance.reshape(-1, 10).max(1))
    assert np.allclose(success_probability(design, EXPERT), 0.9745)
    assert (success_probability(design, Quality(0.0, 0.0, 1.0)) == 1.0).all()


@pytest.mark.parametrize("name", ["careless", "perturb", "known_boost"])
@pytest.mark.parametrize("value", [-0.1, 1.1, True, "0.5", float("nan")])
def test_qualities_out_of_range(name: str, value: Any) -> None:
    with pytest.raises(BadArgument, match=f"`{name}` to be a number within 0 to 1"):
        Quality(**{name: value})


def test_errands_open_as_users_say_them() -> None:
    demos = draw(20)
    for ids, task in zip(demos.ids, demos.task, strict=True):
        errand, item, count = Design.of(0).task(int(task))
        words = [VOCABULARY[at] for at in ids[:4]]
        assert words == ["<user>", ERRANDS[errand], ITEMS[item], COUNTS[count]]
