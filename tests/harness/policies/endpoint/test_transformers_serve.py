"""A real `transformers serve` with a real model (extra `hf`, and `transformers[serving]`)."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentenvs.harness import run
from agentenvs.harness.exchange import Completion, Request
from agentenvs.harness.policies.endpoint import EndpointPolicy

pytestmark = [pytest.mark.hf, pytest.mark.model, pytest.mark.slow]


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, str]]:
    """Return the URL of a server, and the name of its model."""
    for package in ("transformers", "fastapi", "uvicorn", "openai"):
        pytest.importorskip(package, reason="needs transformers[serving]")
    model = Path(os.environ.get("AGENTENVS_MODELS", ".")) / "smollm2-135m-instruct"
    if not model.is_dir():
        pytest.skip("no model: AGENTENVS_MODELS names no folder made by scripts/models")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(model)]
    options = ["--device", "cpu", "--dtype", "float32", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(
        [*command, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    ) as server:
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(1200):
                try:
                    if httpx2.get(f"{url}/health", trust_env=False).is_success:
                        break
                except httpx2.HTTPError:
                    assert server.poll() is None, "the server did not start"
                    time.sleep(0.1)
            yield url, str(model)
        finally:
            server.terminate()


def policy(address: tuple[str, str], **settings: Any) -> EndpointPolicy:
    url, model = address
    return EndpointPolicy(model, url, **settings)


def answers(actor: EndpointPolicy, *requests: Request) -> list[Completion]:
    async def together() -> list[Completion]:
        try:
            return list(await asyncio.gather(*map(actor.generate, requests)))
        finally:
            await actor.close()

    return asyncio.run(together())


def said(text: str, **fields: Any) -> Request:
    return Request(messages=({"role": "user", "content": text},), **fields)


def test_the_server_is_recognised(address: tuple[str, str]) -> None:
    told = policy(address).describe()
    assert told["server"] == "transformers"
    assert "generation_config" in told["sent"]


def test_it_samples_and_the_same_seed_draws_the_same(address: tuple[str, str]) -> None:
    # Its seed is the whole process's: requests have to come one by one.
    requests = [said("Name an animal.", seed=seed, max_tokens=6) for seed in (1, 2, 3, 1, 2, 3)]
    for stream in (False, True):
        texts = [done.text for done in answers(policy(address, stream=stream), *requests)]
        assert texts[:3] == texts[3:]
        assert len(set(texts)) == 3


def test_a_stop_string_that_it_leaves_in_the_text(address: tuple[str, str]) -> None:
    request = Request(prompt="One, two, three, four,", temperature=0.0, max_tokens=9, stop=("six",))
    (completion,) = answers(policy(address, form="completion"), request)
    assert "five" in completion.text
    assert "six" not in completion.text
    assert completion.finish_reason == "stop"


def test_a_conversation_that_is_too_long_for_a_context_that_it_does_not_tell(
    address: tuple[str, str],
) -> None:
    request = said("Name an animal.", max_tokens=4)
    assert policy(address).context is None
    assert answers(policy(address, context=16), request) == [Completion(finish_reason="context")]


def test_a_mini_task(address: tuple[str, str], tmp_path: Path) -> None:
    outcomes = run(
        "ACEBench",
        policy(address),
        tasks=["mini/normal_single_turn_parallel_function_1"],
        n=2,
        max_tokens=8,
        max_requests=1,
        out=tmp_path / "run",
    )
    assert sum(outcomes.counts().n) == 2
    assert outcomes.voids == []
    assert all(0 < tokens <= 8 for tokens in outcomes.column("new_tokens"))
