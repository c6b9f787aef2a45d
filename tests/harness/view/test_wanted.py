from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import AgentEnvsError
from agentenvs.harness.view import Run, Wanted, choose, parse_wanted
from agentenvs.harness.view.entries import KINDS


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", "mini_0#0 mini_0#1 mini_1#0 desk_7#0 desk_8#0"),
        ("task=mini_*", "mini_0#0 mini_0#1 mini_1#0"),
        ("task=mini_0 rollout=1", "mini_0#1"),
        ("outcome=failure", "mini_0#1 desk_7#0"),
        ("outcome=context_overflow", "mini_1#0"),
        ("outcome=void", "desk_8#0"),
        ("reason=*state", "mini_0#1"),
        ("reason=timeout*", "desk_8#0"),
        ("repair=fence", "mini_0#1"),
        ("repair=fence outcome=success", ""),
        ("rescued", "mini_0#1"),
        ("malformed", "mini_1#0"),
        ("text=seen", "mini_0#1"),
        ("text='NO answer'", "desk_8#0"),
        ("text=[red]", "desk_7#0"),
    ],
)
def test_filters(run: Path, line: str, found: str) -> None:
    chosen = choose(Run(run), parse_wanted(line))
    assert " ".join(f"{e.task}#{e.rollout}" for e in chosen) == found


def test_a_task_is_found_by_its_name_though_it_looks_like_a_pattern(
    runs: ModuleType, tmp_path: Path
) -> None:
    rollouts = [runs.played(task, 0, [runs.step("x")]) for task in ("a[1]", "a1")]
    run = Run(runs.write_run(tmp_path, rollouts))
    assert [e.task for e in choose(run, Wanted(task="a[1]"))] == ["a[1]", "a1"]


@pytest.mark.parametrize(
    ("sort", "reverse", "first"),
    [
        (None, False, "mini_0#0"),
        (None, True, "desk_8#0"),
        ("task", False, "desk_7#0"),
        ("steps", False, "mini_0#0"),
        ("steps", True, "mini_1#0"),
        ("tokens", False, "mini_0#1"),
        ("seconds", False, "desk_8#0"),
        ("reason", True, "mini_0#1"),
        ("outcome", False, "mini_1#0"),
    ],
)
def test_orders(run: Path, sort: str | None, reverse: bool, first: str) -> None:
    entry = choose(Run(run), Wanted(), sort, reverse)[0]
    assert f"{entry.task}#{entry.rollout}" == first


def test_what_is_not_known_comes_last_in_either_order(run: Path) -> None:
    for reverse in (False, True):
        assert choose(Run(run), Wanted(), "tokens", reverse)[-1].task == "desk_8"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("outcom=failure", "Did you mean 'outcome'"),
        ("outcome=fail", "Did you mean 'failure'"),
        ("rollout=two", "rollout=NUMBER"),
        ("rescued=yes", "without a value"),
        ("task=", "task=VALUE"),
        ("text='open", "No closing quotation"),
    ],
)
def test_what_is_no_filter_is_refused(line: str, told: str) -> None:
    with pytest.raises(AgentEnvsError, match=told):
        parse_wanted(line)


texts = st.none() | st.text(min_size=1)


@given(
    st.builds(
        Wanted,
        task=texts,
        rollout=st.none() | st.integers(0, 10**6),
        outcome=st.none() | st.sampled_from(KINDS),
        reason=texts,
        repair=texts,
        text=texts,
        rescued=st.booleans(),
        malformed=st.booleans(),
    )
)
def test_filters_are_read_as_they_are_shown(wanted: Wanted) -> None:
    assert parse_wanted(str(wanted)) == wanted
