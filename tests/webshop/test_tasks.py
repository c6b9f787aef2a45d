"""Task sets by name, over catalogs of any size."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentenvs
from agentenvs.core import TaskIds
from agentenvs.errors import AgentEnvsError, BadArgument, SourceMissing, UnknownName
from agentenvs.webshop import tasks
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.sets import SETS, home_of, parse_task
from agentenvs.webshop.tasks import GoalIds, all_ids, data_version, task_ids, task_sets


class Sized:
    """Stands for a catalog of which the numbers of goals alone count."""

    name = "own"
    digest = "0123456789abcdef"
    version = "0123456789abcdef-heuristic"

    def __init__(self, synthetic: int, human: int) -> None:
        self._sizes = {"synthetic": range(synthetic), "human": range(human)}

    def goals(self, kind: str) -> range:
        return self._sizes[kind]


@pytest.fixture
def sized(monkeypatch: pytest.MonkeyPatch) -> type[Sized]:
    """Let such a stand-in be opened."""
    plain_open = tasks.open_catalog

    def opened(catalog: Any = None, named: Any = None) -> Any:
        return catalog if isinstance(catalog, Sized) else plain_open(catalog, named)

    monkeypatch.setattr(tasks, "open_catalog", opened)
    return Sized


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AGENTENVS_OFFLINE", "1")
    for name in ("AGENTENVS_DATA", "AGENTENVS_WEBSHOP_1K", "AGENTENVS_WEBSHOP_FULL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "first", "last", "size"),
    [
        ("paper", "1k/synthetic/0", "1k/synthetic/499", 500),
        ("test", "full/human/0", "full/human/499", 500),
        ("dev", "full/human/500", "full/human/1499", 1000),
        ("train", "full/human/1500", "full/human/12086", 10_587),
    ],
)
def test_pinned_sets_are_known_without_their_data(
    no_data: None, name: str, first: str, last: str, size: int
) -> None:
    ids = task_ids(name)
    assert (ids[0], ids[-1], len(ids)) == (first, last, size)
    assert isinstance(ids, TaskIds)
    assert agentenvs.tasks("WebShop", tasks=name) == list(ids)


def test_the_splits_are_disjoint_and_complete(no_data: None) -> None:
    ids = [task for name in ("test", "dev", "train") for task in task_ids(name)]
    assert ids == [f"full/human/{index}" for index in range(12_087)]


def test_mini_is_bundled(no_data: None) -> None:
    ids = task_ids()
    assert list(ids) == list(task_ids("mini")) == agentenvs.tasks("WebShop")
    assert len(set(ids)) == 100
    assert ids[0] == "mini/human/0"
    assert ids[-1].startswith("mini/synthetic/")


def test_every_set_has_a_line() -> None:
    assert task_sets() == {name: entry.text for name, entry in SETS.items()}
    assert list(task_sets()) == ["mini", "paper", "test", "dev", "train", "synthetic", "human"]
    assert all(text and "\n" not in text for text in task_sets().values())


def test_sets_are_taken_from_a_given_catalog(sized: Any) -> None:
    catalog = sized(600, 1600)
    assert task_ids("paper", catalog=catalog)[499] == "own/synthetic/499"
    assert task_ids("dev", catalog=catalog)[0] == "own/human/500"
    assert len(task_ids("synthetic", catalog=catalog)) == 600
    assert len(task_ids("human", catalog=catalog)) == 1600
    assert len(task_ids(catalog=catalog)) == 600
    assert task_ids(catalog=catalog)[0] == "own/synthetic/0"
    assert data_version("paper", catalog=catalog) == catalog.version


@pytest.mark.parametrize(
    ("human", "synthetic", "first", "last"),
    [
        (60, 900, "own/human/0", "own/synthetic/45"),
        (13, 900, "own/human/0", "own/synthetic/86"),
        (0, 100, "own/synthetic/0", "own/synthetic/99"),
    ],
)
def test_mini_of_another_catalog(
    sized: Any, human: int, synthetic: int, first: str, last: str
) -> None:
    ids = task_ids("mini", catalog=sized(synthetic, human))
    assert (ids[0], ids[-1], len(ids)) == (first, last, 100)


def test_a_catalog_of_human_goals_alone(sized: Any) -> None:
    ids = task_ids(catalog=sized(0, 7))
    assert list(ids) == [f"own/human/{index}" for index in range(7)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("paper", r"500 synthetic goals for 'paper' \(goals 0 to 499\)"),
        ("test", "500 human goals for 'test'"),
        ("train", r"12,087 human goals for 'train' \(goals 1500 to 12086\)"),
        ("human", "a catalog with human goals"),
        ("mini", "100 goals, at most 54 of them human"),
    ],
)
def test_a_set_that_a_catalog_cannot_fill_names_the_sizes(sized: Any, name: str, said: str) -> None:
    with pytest.raises(BadArgument, match=f"{said}.*'own' has 99 synthetic and 0 human goals"):
        task_ids(name, catalog=sized(99, 0))


def test_a_catalog_without_goals_has_no_tasks(sized: Any) -> None:
    with pytest.raises(BadArgument, match="0 synthetic and 0 human"):
        task_ids(catalog=sized(0, 0))


def test_one_task_or_a_list_is_checked(sized: Any) -> None:
    catalog = sized(3, 2)
    assert task_ids("own/human/1", catalog=catalog) == ["own/human/1"]
    wanted = ["own/synthetic/2", "own/human/0", "own/synthetic/2"]
    assert task_ids(wanted, catalog=catalog) == wanted
    assert task_ids(all_ids(catalog), catalog=catalog) == list(all_ids(catalog))


@pytest.mark.parametrize(
    ("wanted", "error", "said"),
    [
        ("own/human/2", UnknownName, "no task 'own/human/2'.* 3 synthetic and 2 human"),
        (["own/human/0", "own/synthetic/3"], UnknownName, "no task 'own/synthetic/3'"),
        ("1k/human/0", UnknownName, "'own' has no tasks of '1k'"),
        ("papr", UnknownName, "Did you mean 'paper'"),
        ("own/human/01", UnknownName, "looks like"),
        (["paper"], UnknownName, "'paper': it is a task set"),
        ([], BadArgument, "at least one task"),
        (["own/human/0", "1k/human/0"], BadArgument, "of one catalog, got some of own, 1k"),
        ([3], BadArgument, "a str, got <class 'int'>"),
        (3, BadArgument, "a name or a list of ids, got <class 'int'>"),
        ({"own/human/0"}, BadArgument, "got <class 'set'>"),
    ],
)
def test_what_is_no_task_is_an_error(
    sized: Any, wanted: Any, error: type[AgentEnvsError], said: str
) -> None:
    with pytest.raises(error, match=said):
        task_ids(wanted, catalog=sized(3, 2))


def test_a_task_of_missing_data_says_how_to_get_it(no_data: None) -> None:
    with pytest.raises(SourceMissing, match="agentenvs data pull webshop-1k"):
        task_ids("1k/synthetic/3")
    with pytest.raises(SourceMissing, match="agentenvs data pull webshop-1k"):
        task_ids("synthetic")


@pytest.mark.parametrize(
    "task",
    [
        "",
        "mini-",
        "mini/human",
        "mini/human/",
        "mini/human/-1",
        "mini/human/1 ",
        "mini/human/\u0661",
        "/human/1",
        "../human/1",
        "a/b/human/1",
        "mini/Human/1",
        "M/human/1",
        "mini/human/1\n",
        "mini/human/1234567890",
    ],
)
def test_other_forms_are_no_ids(task: str) -> None:
    with pytest.raises(UnknownName, match="looks like"):
        parse_task(task)


def test_an_id_is_taken_apart() -> None:
    assert parse_task("my-shop.2/human/0") == ("my-shop.2", "human", 0)
    assert home_of(None) == "mini"


@given(
    stretches=st.lists(
        st.tuples(st.sampled_from(["synthetic", "human"]), st.integers(0, 9), st.integers(0, 20)),
        max_size=4,
    ),
    index=st.integers(-100, 100),
    cut=st.slices(50),
)
def test_lazy_ids_behave_like_a_list(stretches: Any, index: int, cut: slice) -> None:
    ids = GoalIds("own", stretches)
    plain = [f"own/{kind}/{i}" for kind, start, stop in stretches for i in range(start, stop)]
    assert isinstance(ids, Sequence)
    assert list(ids) == plain
    assert len(ids) == len(plain)
    assert list(ids[cut]) == plain[cut]
    assert bool(ids) == bool(plain)
    if -len(plain) <= index < len(plain):
        assert ids[index] == plain[index]
        assert ids[index] in ids
    else:
        with pytest.raises(IndexError):
            ids[index]
    for other in ("own/human/20", "mini/human/0", "own/human/00", "", None, 3, ["own/human/0"]):
        assert (other in ids) == (other in plain)
    assert pickle.loads(pickle.dumps(ids)) == ids  # noqa: S301
    assert copy.deepcopy(ids) is ids
    assert hash(GoalIds("own", stretches)) == hash(ids)


def test_membership_does_not_go_through_the_ids() -> None:
    ids = GoalIds("own", [("human", 0, 900_000_000)])
    assert "own/human/899999999" in ids
    assert "own/human/900000000" not in ids
    assert repr(ids) == "<900000000 tasks of own: human 0 to 899999999>"
    assert ids != ["own/human/0"]


def test_the_thousand_products(shop_catalog: Catalog) -> None:
    assert len(task_ids("synthetic", catalog=shop_catalog)) == 6910
    assert len(task_ids("human", catalog=shop_catalog)) == 13
    assert list(task_ids("paper", catalog=shop_catalog)) == list(task_ids("paper"))
    with pytest.raises(BadArgument, match="6,910 synthetic and 13 human"):
        task_ids("test", catalog=shop_catalog)
    known = all_ids(shop_catalog)
    assert len(known) == 6923
    assert known[6910] == "1k/human/0"
