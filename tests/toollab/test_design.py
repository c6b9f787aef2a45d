from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.toollab import design as words
from agentenvs.toollab.design import (
    CHANNELS,
    CODES,
    COUNTS,
    ERRANDS,
    ITEMS,
    KINDS,
    LABELS,
    TAGS,
    TASKS,
    Design,
)
from agentenvs.toollab.tasks import task_ids

WORLDS = st.integers(0, 300)


def test_words_are_distinct_lower_case_single_tokens() -> None:
    lists = (ERRANDS, ITEMS, COUNTS, TAGS, CHANNELS, LABELS, CODES)
    every = [word for group in lists for word in group]
    assert list(map(len, lists)) == [4, 40, 10, 10, 4, 4, 4]
    assert len(set(every)) == len(every) == 76
    assert all(word.isascii() and word.isalnum() and word == word.lower() for word in every)
    assert not {"find", "ok", "error", "unknown", "it"} & set(every)


def test_a_world_stays_what_it_is() -> None:
    # Held over versions of Python and NumPy: recorded runs and checkpoints name it.
    assert Design.of(0).digest == "e317280d8710"
    assert Design.of(1).digest == "0616531a28b2"


def test_a_world_is_drawn_once_and_shared() -> None:
    assert Design.of(2) is Design.of(2)
    assert copy.deepcopy(Design.of(2)) is Design.of(2)
    assert len({Design.of(world).digest for world in range(20)}) == 20


def test_worlds_have_numbers_that_ids_can_name() -> None:
    with pytest.raises(BadArgument, match="below 10"):
        Design.of(10**19)
    assert task_ids("mini", 10**19 - 1)[0].startswith("9999999999999999999/")


@pytest.mark.parametrize("world", [-1, True, 1.0, "0", None])
def test_what_is_no_world(world: Any) -> None:
    with pytest.raises(BadArgument, match="`world` to be an int >= 0"):
        Design.of(world)


def test_arrays_are_read_only() -> None:
    for name in ("kind", "canonical", "truth", "exception", "known", "counted", "train", "mini"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(Design.of(0), name)[...] = 0


@settings(max_examples=25, deadline=None)
@given(WORLDS)
def test_exceptions_differ_in_one_or_two_fields_and_nothing_else_does(world: int) -> None:
    design = Design.of(world)
    differing = (design.truth != design.canonical[:, design.kind]).sum(axis=-1)
    assert np.array_equal(differing > 0, design.exception)
    assert set(np.unique(differing)) <= {0, 1, 2}
    for kind in range(len(KINDS)):
        assert (design.exception[:, design.kind == kind].sum(axis=1) == 4).all()
    assert design.truth.min() == 0
    assert (design.truth < [len(CHANNELS), len(LABELS), len(CODES)]).all()


@settings(max_examples=25, deadline=None)
@given(WORLDS)
def test_canonical_pairs_are_known_to_all_and_labels_permute_the_counts(world: int) -> None:
    design = Design.of(world)
    assert (design.known[~design.exception] == 1.0).all()
    assert ((design.known >= 0.0) & (design.known < 1.0))[design.exception].all()
    assert (np.sort(design.counted, axis=1) == np.arange(len(COUNTS))).all()


def test_the_chance_that_an_exception_is_known_is_beta() -> None:
    known = np.concatenate([d.known[d.exception] for d in map(Design.of, range(100))])
    # Beta(.6, 7): mean a / (a + b), variance ab / ((a + b)^2 (a + b + 1)).
    mean, spread = 0.6 / 7.6, (0.6 * 7 / (7.6**2 * 8.6)) ** 0.5
    assert abs(known.mean() - mean) < 4 * spread / len(known) ** 0.5
    assert abs(known.std() - spread) < 0.005
    assert abs(np.median(known) - 0.045) < 0.004


@settings(max_examples=25, deadline=None)
@given(WORLDS)
def test_sets_share_no_pair_and_have_their_exceptions(world: int) -> None:
    design = Design.of(world)
    pairs = {
        name: np.unique(getattr(design, name) // len(COUNTS))
        for name in ("train", "heldout", "mini")
    }
    assert list(map(len, pairs.values())) == [100, 60, 24]
    assert not set(pairs["train"]) & set(pairs["heldout"])
    assert set(design.mini) <= set(design.train)
    for name, tasks, special in (("train", 200, 80), ("heldout", 120, 48), ("mini", 24, 10)):
        indices = getattr(design, name)
        assert len(set(indices)) == tasks
        assert (np.diff(indices) > 0).all()
        assert design.is_exception(indices).sum() == special
        assert (np.bincount(design.parts(indices)[0]) == tasks // len(ERRANDS)).all()


@given(st.integers(0, TASKS - 1))
def test_an_index_is_its_parts(index: int) -> None:
    design = Design.of(0)
    parts = design.task(index)
    assert design.index(*parts) == index
    assert parts == tuple(int(part[0]) for part in design.parts(np.array([index])))


@pytest.mark.parametrize("index", [-1, TASKS])
def test_no_such_index(index: int) -> None:
    with pytest.raises(BadArgument, match="task index from 0 to 1599"):
        Design.of(0).task(index)


def test_fields_are_named_in_the_order_of_the_arrays() -> None:
    assert words.FIELDS == ("channel", "label", "code")
