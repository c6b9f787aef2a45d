from __future__ import annotations

import contextlib
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument, UnknownName
from agentenvs.harness.groups import describe_sampler
from agentenvs.harness.ptgs import PTGS, Gate, Ramp
from agentenvs.harness.samplers import SAMPLERS, make_sampler

PLAIN = {"ptgs": "", "heat-matched": "", "fixed": ":t=1.2", "spread": ":low=0.5,high=2"}


def test_a_spec_gives_the_settings_that_it_says() -> None:
    made = make_sampler("ptgs:tau=1.4,gamma=0.5,target=0.3,t_ref=0.7,ref_share=0.25,pilot=1,seed=9")
    wanted = PTGS(1.4, 0.5, 0.3, t_ref=0.7, ref_share=0.25, pilot=1, seed=9)
    assert describe_sampler(made) == describe_sampler(wanted)


def test_ramps_and_gates_have_a_form_of_their_own() -> None:
    made = make_sampler("ptgs:target=0.25:0.5:200,ref_share=0.5,gate=true", seed=3)
    wanted = PTGS(target=Ramp(0.25, 0.5, 200), ref_share=0.5, gate=Gate(), seed=3)
    assert describe_sampler(made) == describe_sampler(wanted)
    made = make_sampler("ptgs:target=0.25:0.5:8:visits,gate=false")
    wanted = PTGS(target=Ramp(0.25, 0.5, 8, by="visits"))
    assert describe_sampler(made) == describe_sampler(wanted)


def test_the_seed_is_that_of_the_spec_before_that_of_the_run() -> None:
    assert make_sampler("ptgs", seed=4).describe()["seed"] == 4
    assert make_sampler("ptgs:seed=7", seed=4).describe()["seed"] == 7
    # A run takes any integer.
    assert make_sampler("ptgs", seed=-1).describe()["seed"] == 2**64 - 1


@pytest.mark.parametrize(("text", "tau"), [("2", 2), ("2.", 2), ("1.5", 1.5), (".2e1", 2)])
def test_numbers_are_written_as_people_write_them(text: str, tau: float) -> None:
    assert make_sampler(f"ptgs:tau={text},target=.25").describe()["tau"] == tau


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_can_be_named(name: str) -> None:
    sampler = make_sampler(name + PLAIN[name], seed=1)
    assert sampler.temperatures(["a", "b"]).shape == (2,)
    with pytest.raises(BadArgument, match="takes no 'wat'"):
        make_sampler(f"{name}:wat=1")


def test_settings_of_what_evens_out_the_heat_are_those_of_its_sampler() -> None:
    told = make_sampler("heat-matched:tau=1.2", seed=2).describe()
    assert told["heat_matched"] == PTGS(1.2, seed=2).describe()


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("ptgs:tua=1", "takes no 'tua'. Did you mean 'tau'"),
        ("ptgs:keep_events=true", "takes no 'keep_events'"),
        ("ptgs:tau", "once, as KEY=VALUE, got 'tau'"),
        ("ptgs:tau=1.5,tau=1.4", "once, as KEY=VALUE, got 'tau=1.4'"),
        ("ptgs:tau=hot", "`tau` of a sampler to be a number, got 'hot'"),
        ("ptgs:tau=[1]", "got '\\[1\\]'"),
        ("ptgs:tau=", "got ''"),
        ("ptgs:tau=" + "9" * 5000, "a number, got"),
        ("ptgs:tau=" + "9" * 400, r"`tau` to be at least 1 and at most 1e\+06, got 9{50,}"),
        ("ptgs:tau=NaN", "tau"),
        ("ptgs:tau=1_0", "a number, got '1_0'"),
        (None, "the spec of a sampler to be a str, got None"),
        ("ptgs:tau=0.5", "tau"),
        ("ptgs:target=0.2:0.5", "START:END:TOTAL"),
        ("ptgs:target=0.2:0.5:9:days", "START:END:TOTAL"),
        ("ptgs:target=0.2:0.5:x", "`target` of a sampler to be a number, got 'x'"),
        ("ptgs:ref_share=0.5,gate=2", "true or false, got '2'"),
        ("ptgs:gate=true", "ref_share"),
        ("spread:low=1", "needs `high`"),
    ],
)
def test_what_makes_no_sense_is_refused(spec: Any, told: str) -> None:
    with pytest.raises(BadArgument, match=told):
        make_sampler(spec)


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'ptgs'"):
        make_sampler("ptg:tau=1")


@given(
    st.one_of(st.text(), st.text("ptgs:=,.0123456789aut[]{}\"'x", max_size=30).map("ptgs:".__add__))
)
def test_any_text_gives_a_sampler_or_a_clear_refusal(spec: str) -> None:
    with warnings.catch_warnings(), contextlib.suppress(BadArgument, UnknownName):
        warnings.simplefilter("ignore")
        assert make_sampler(spec).temperatures(["a"]).shape == (1,)
