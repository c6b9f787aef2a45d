from __future__ import annotations

import itertools

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.frozenlake import VOCABULARY, best_moves, success_probability, task_ids
from agentenvs.frozenlake import vocabulary as v
from agentenvs.frozenlake.lakes import Lake, rows_of
from agentenvs.frozenlake.tasks import seed_of
from agentenvs.harness.lab.lake import (
    LENGTH,
    Demonstrators,
    Lakes,
    demonstrations,
    other_maps,
    train_maps,
)

SEEDS = [seed_of(task) for task in task_ids("mini")]
ALIKE = {"planners": 0.0, "nearsighted": 0.0, "errs": 0.0}
N = 4000


@pytest.fixture(scope="module")
def lakes():
    return Lakes.of(SEEDS)


def shown(lakes, who=None, n=N, seed=0):
    return demonstrations(lakes, n, np.random.default_rng(seed), who)


def turns(row):
    """Split a dialogue into (map's words, moves' words), turn by turn."""
    words = [VOCABULARY[token] for token in row if token != v.PAD]
    marks = [at for at, word in enumerate(words) if word in ("<user>", "<tool>")]
    for begin, end in itertools.pairwise([*marks, len(words)]):
        cut = words.index("<agent>", begin)
        assert words[end - 1] == "<end>"
        yield words[begin], words[begin + 1 : cut], words[cut + 1 : end - 1]


def test_a_dialogue_is_one_that_the_world_could_have_with_somebody(lakes):
    from agentenvs.frozenlake.lakes import MOVES

    found = shown(lakes, n=300)
    ended = set()
    for row, at, success in zip(found.ids, found.map, found.success, strict=True):
        lake, cells = Lake.of(SEEDS[at], 0.8), {0}
        told = list(turns(row))
        assert [mark for mark, _, _ in told] == ["<user>", *["<tool>"] * (len(told) - 1)]
        for _, words, moves in told:
            here = words.index("P")
            assert words == lake.shown[here].split()
            assert here in cells
            cells, over = {here}, set()
            for move in moves:
                reached = [lake.table[cell][MOVES.index(move)] for cell in cells - over]
                after = {(to, end) for one in reached for p, to, _, end in one if p > 0}
                over |= {to for to, end in after if end}
                cells = {to for to, _ in after} | over
        reasons = {lake.cells[cell] for cell in over}
        assert len(told) == 5 or (reasons & {"G"} if success else reasons & {"O"})
        ended.add((len(told) == 5, bool(success)))
    assert {(False, True), (False, False), (True, False)} <= ended


def test_planners_make_the_best_moves(lakes):
    found = shown(lakes, Demonstrators(**{**ALIKE, "planners": 1.0}), n=200)
    ids = task_ids("mini")
    for row, at in zip(found.ids, found.map, strict=True):
        for turn, (_, words, moves) in enumerate(turns(row)):
            assert tuple(moves) == best_moves(ids[at], words.index("P"), 5 - turn)


def test_planners_succeed_as_often_as_anybody_can(lakes):
    found = shown(lakes, Demonstrators(**{**ALIKE, "planners": 1.0}), n=20_000)
    best = np.mean([success_probability(task) for task in task_ids("mini")])
    assert abs(found.success.mean() - best) < 0.02


def test_who_looks_ahead_further_succeeds_more_often(lakes):
    means = [
        shown(lakes, Demonstrators(**{**ALIKE, **more})).success.mean()
        for more in ({"errs": 1.0}, {}, {"nearsighted": 1.0}, {"planners": 1.0})
    ]
    assert means == sorted(means)
    assert np.diff(means).min() > 0.05


def test_the_hasty_go_right_and_down_whatever_is_there(lakes):
    found = shown(lakes, Demonstrators(**ALIKE), n=500)
    made = {move for row in found.ids for _, _, moves in turns(row) for move in moves}
    assert made == {"right", "down"}


def test_the_nearsighted_mean_to_enter_no_hole_before_them(lakes):
    found = shown(lakes, Demonstrators(**{**ALIKE, "nearsighted": 1.0}), n=500)
    steps = {"left": -1, "right": 1, "up": -4, "down": 4}
    for row in found.ids:
        for _, words, moves in turns(row):
            cell = words.index("P")
            for move in moves:
                edge = (move == "left" and cell % 4 == 0) or (move == "up" and cell < 4)
                cell += 0 if edge else steps[move]
                if words[cell] == "O":
                    # They step back without a look.
                    assert move in ("left", "up")
                    break


def test_shares_are_what_they_say(lakes):
    errs = shown(lakes, Demonstrators(**{**ALIKE, "errs": 0.2}))
    made = [move for row in errs.ids for _, _, moves in turns(row) for move in moves]
    # One in two of the moves drawn at random is none of a hasty one's.
    assert abs(np.mean([move in ("left", "up") for move in made]) - 0.1) < 0.01


def test_every_map_comes_alike_often(lakes):
    counts = np.bincount(shown(lakes).map, minlength=len(SEEDS))
    assert abs(counts / N - 1 / len(SEEDS)).max() < 0.01


def test_the_generator_decides_alone(lakes):
    one, two, other = shown(lakes, n=50), shown(lakes, n=50), shown(lakes, n=50, seed=1)
    assert (one.ids == two.ids).all()
    assert (one.ids != other.ids).any()


def test_nothing_may_be_asked_for(lakes):
    assert shown(lakes, n=0).ids.shape == (0, LENGTH)
    with pytest.raises(BadArgument, match="`n`"):
        shown(lakes, n=-1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"planners": 1.5}, "`planners`"),
        ({"errs": True}, "`errs`"),
        ({"planners": 0.6, "nearsighted": 0.6}, "1 together"),
    ],
)
def test_odd_demonstrators_are_refused(settings, said):
    with pytest.raises(BadArgument, match=said):
        Demonstrators(**settings)


def test_other_maps_are_of_no_task():
    known = {rows_of(seed_of(task)) for name in ("train", "heldout") for task in task_ids(name)}
    others = [rows_of(seed) for seed in other_maps(60, 100_000)]
    assert len(set(others)) == 60
    assert not known & set(others)
    assert len(train_maps()) == 200


def test_more_maps_than_there_are_have_an_end():
    assert len(other_maps(9, 100_000, tries=20)) == 9
    with pytest.raises(BadArgument, match=r"the 20 seeds from 100000 on hold .* 9, got 10"):
        other_maps(10, 100_000, tries=20)
    assert other_maps(0, 100_000, tries=0) == []
