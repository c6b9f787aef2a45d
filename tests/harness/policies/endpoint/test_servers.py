from __future__ import annotations

import json
from typing import Any

import pytest

from agentenvs.errors import PolicyError
from agentenvs.harness.policies.endpoint.servers import KINDS, Offer, find_model


def listed(**row: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "other"}, {"id": "m", **row}]}


@pytest.mark.parametrize(
    ("row", "offer"),
    [
        ({"owned_by": "vllm", "max_model_len": 4096}, Offer("vllm", 4096)),
        ({"owned_by": "sglang", "max_model_len": 8192}, Offer("sglang", 8192)),
        (
            {"owned_by": "llamacpp", "meta": {"n_ctx": 512, "n_ctx_train": 8192}},
            Offer("llamacpp", 512),
        ),
        ({"owned_by": "local", "status": {"value": "loaded"}}, Offer("transformers")),
        ({"owned_by": "system"}, Offer("openai")),
        ({"owned_by": "somebody", "max_model_len": "4096"}, Offer()),
        ({"meta": None, "max_model_len": True}, Offer()),
        ({}, Offer()),
    ],
)
def test_a_server_tells_its_kind_and_the_context(row: dict[str, Any], offer: Offer) -> None:
    assert find_model(listed(**row), "m") == offer


def test_a_model_may_go_by_another_name() -> None:
    assert find_model(listed(aliases=["alias"], owned_by="llamacpp"), "alias").kind == "llamacpp"


def test_a_model_that_is_not_listed() -> None:
    with pytest.raises(PolicyError, match=r"no model 'n'\. Known: 'other', 'm'\."):
        find_model(listed(), "n")
    with pytest.raises(PolicyError, match="Did you mean 'other'"):
        find_model(listed(), "othr")


@pytest.mark.parametrize("reply", [{}, {"data": None}, {"data": []}, {"data": [1, {"id": 2}]}, "x"])
def test_a_list_that_tells_nothing(reply: Any) -> None:
    assert find_model(reply, "m") == Offer()


def test_every_kind_pins_fields_that_json_can_write() -> None:
    for name, kind in KINDS.items():
        assert kind.name == name
        json.dumps(kind.fields(1.0), allow_nan=False)


def test_transformers_samples_only_where_it_is_told_to() -> None:
    kind = KINDS["transformers"]
    warm, cold = (json.loads(kind.fields(t)["generation_config"]) for t in (0.7, 0.0))
    assert warm["do_sample"] is True
    assert cold["do_sample"] is False
    assert warm["top_k"] == 0
