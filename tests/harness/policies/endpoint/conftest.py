"""A server that is not one: it answers as each test says."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.harness.exchange import Completion, Request
from agentenvs.harness.policies.endpoint import EndpointPolicy


@pytest.fixture(scope="session")
def fake() -> ModuleType:
    """Return the module of the server, which is beside this file and in no package."""
    spec = importlib.util.spec_from_file_location(
        "agentenvs_tests_fake_endpoint", Path(__file__).with_name("fake.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a server that has one model and says hello."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    running = fake.Server()
    yield running
    running.stop()


@pytest.fixture
def connect(fake: ModuleType, server: Any) -> Callable[..., EndpointPolicy]:
    """Return what makes a policy of the server, impatient so that tests are quick."""

    def made(model: str = fake.MODEL, **settings: Any) -> EndpointPolicy:
        quick = {"backoff": 0.001, "longest_wait": 0.02, "read_timeout": 5.0, "outage": 0.0}
        return EndpointPolicy(model, server.url, **{**quick, **settings})

    return made


@pytest.fixture
def ask() -> Callable[..., Completion]:
    """Return what asks a policy one thing in an event loop of its own."""

    def asked(policy: EndpointPolicy, **fields: Any) -> Completion:
        if policy.form == "chat":
            fields.setdefault("messages", ({"role": "user", "content": "Say hello."},))
        else:
            fields.setdefault("prompt", "Hello, ")

        async def once() -> Completion:
            try:
                return await policy.generate(Request(**fields))
            finally:
                await policy.close()

        return asyncio.run(once())

    return asked
