from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.errors import BadArgument, PolicyError
from agentenvs.harness import Completion, Request, make_policy, run
from agentenvs.harness.policies import CallablePolicy


def ask(policy: CallablePolicy, *prompts: str) -> list[str]:
    async def gather() -> list[Completion]:
        requests = [Request(prompt=prompt) for prompt in prompts]
        return await asyncio.gather(*(policy.generate(request) for request in requests))

    return [completion.text for completion in asyncio.run(gather())]


def test_a_function_gets_the_prompt_as_text() -> None:
    assert ask(CallablePolicy(str.upper), "a", "b") == ["A", "B"]


def test_an_async_function_is_awaited() -> None:
    async def answer(prompt: str) -> str:
        await asyncio.sleep(0)
        return prompt * 2

    assert ask(CallablePolicy(answer), "a") == ["aa"]


def test_a_chat_function_gets_messages() -> None:
    seen: list[Any] = []

    def answer(messages: list[dict[str, str]]) -> Completion:
        seen.extend(messages)
        return Completion("yes")

    policy = CallablePolicy(answer, form="chat")
    request = Request(messages=({"role": "user", "content": "hi"},))
    assert asyncio.run(policy.generate(request)).text == "yes"
    assert seen == [{"role": "user", "content": "hi"}]


def test_a_batch_holds_whoever_is_ready() -> None:
    sizes: list[int] = []

    def answer(prompts: list[str]) -> list[str]:
        sizes.append(len(prompts))
        return [prompt.upper() for prompt in prompts]

    policy = CallablePolicy(answer, batch=True, max_batch=4)
    assert ask(policy, *"abcdefghij") == list("ABCDEFGHIJ")
    assert sizes == [4, 4, 2]
    assert ask(policy, "x") == ["X"]


def test_a_run_keeps_batches_full(ledger: ModuleType) -> None:
    sizes: list[int] = []

    def answer(prompts: list[str]) -> list[str]:
        sizes.append(len(prompts))
        return ["No."] * len(prompts)

    run(ledger.ID, answer, n=8, concurrency=16, policy_kwargs={"batch": True})
    assert sizes == [16] * 12


def test_a_batch_function_may_be_async() -> None:
    async def answer(prompts: list[str]) -> list[str]:
        await asyncio.sleep(0)
        return prompts

    assert ask(CallablePolicy(answer, batch=True), "a", "b") == ["a", "b"]


def test_a_batch_of_the_wrong_length_is_an_error() -> None:
    with pytest.raises(PolicyError, match="2 replies"):
        ask(CallablePolicy(lambda prompts: ["one"], batch=True), "a", "b")


def test_a_failing_batch_fails_each_request(ledger: ModuleType) -> None:
    def answer(prompts: list[str]) -> list[str]:
        raise OSError("no device")

    policy = CallablePolicy(answer, batch=True)
    for _ in range(2):
        with pytest.raises(PolicyError, match="no device"):
            run(ledger.ID, policy)


def test_a_stopped_run_does_not_block_the_next() -> None:
    policy = CallablePolicy(lambda prompts: prompts, batch=True)

    async def stopped() -> None:
        task = asyncio.create_task(policy.generate(Request(prompt="a")))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(stopped())
    assert ask(policy, "b") == ["b"]


def test_blocking_functions_run_in_threads() -> None:
    names: set[str] = set()
    both = threading.Barrier(2, timeout=10)

    def answer(prompt: str) -> str:
        both.wait()
        names.add(threading.current_thread().name)
        time.sleep(0)
        return prompt

    policy = CallablePolicy(answer, threads=2)
    assert ask(policy, "a", "b") == ["a", "b"]
    assert len(names) == 2
    asyncio.run(policy.close())


def test_the_whole_request_can_be_had() -> None:
    policy = CallablePolicy(lambda request: str(request.temperature), request=True)
    assert ask(policy, "a") == ["1.0"]


def test_a_reply_that_is_no_text_is_an_error() -> None:
    with pytest.raises(PolicyError, match="NoneType"):
        ask(CallablePolicy(lambda prompt: None), "a")


def test_functions_go_by_module_or_file(tmp_path: Path) -> None:
    assert make_policy("callable:textwrap:dedent").name == "callable:textwrap:dedent"
    file = tmp_path / "mine.py"
    file.write_text(
        "class A:\n    @staticmethod\n    def f(prompt):\n        return prompt + '!'\n"
    )
    policy = make_policy(f"callable:{file}:A.f")
    assert isinstance(policy, CallablePolicy)
    assert ask(policy, "a") == ["a!"]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("callable", "MODULE:FUNCTION"),
        ("callable:textwrap", "MODULE:FUNCTION"),
        ("callable:no_such_module:f", "no module"),
        ("callable:no_such_file.py:f", "no file"),
        ("callable:textwrap:no_such", "no function"),
    ],
)
def test_what_is_not_there_is_named(spec: str, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        make_policy(spec)


MINE = """
from agentenvs.harness import Completion


class Mine:
    name, form, scripted = "mine", "chat", False

    def __init__(self, words="No."):
        self.words = words

    async def generate(self, request):
        return Completion(self.words)

    def describe(self):
        return {"words": self.words}

    async def close(self):
        pass


class Half:
    form, scripted = "chat", False
    generate = Mine.generate


class Plain:
    def __call__(self, prompt):
        return prompt + "?"


class Needy(Mine):
    def __init__(self, url):
        pass


class Broken(Mine):
    def __init__(self):
        raise OSError("no device")


built, plain, number = Mine("Built."), Plain(), 5
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return f"callable:{file}"


def test_a_class_of_policies_is_made_and_an_object_taken(ledger: ModuleType, mine: str) -> None:
    assert make_policy(f"{mine}:Mine").describe() == {"words": "No."}
    assert make_policy(f"{mine}:Mine", words="Yes.").describe() == {"words": "Yes."}
    assert make_policy(f"{mine}:built").describe() == {"words": "Built."}
    assert make_policy(type(make_policy(f"{mine}:Mine"))).name == "mine"
    outcomes = run(ledger.ID, f"{mine}:Mine", tasks=ledger.TASKS[:1], n=2)
    assert (len(outcomes), outcomes.policy) == (2, "mine")


def test_an_object_that_is_called_is_a_function(mine: str) -> None:
    policy = make_policy(f"{mine}:plain")
    assert isinstance(policy, CallablePolicy)
    assert ask(policy, "a") == ["a?"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Half", "Half makes no policy: it lacks name, describe, close"),
        ("Plain", "Plain is a class that makes no policy: it lacks `generate`"),
        ("Needy", "Needy cannot be made: TypeError: .*'url'"),
        ("Broken", r"Broken cannot be made \(mine.py, line 38\): OSError: no device"),
        ("number", "neither a function nor a policy, but <class 'int'>; as a policy it lacks name"),
    ],
)
def test_what_is_no_policy_is_refused_at_once(mine: str, name: str, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        make_policy(f"{mine}:{name}")


@pytest.mark.parametrize("name", ["Mine", "built"])
def test_settings_that_a_policy_does_not_take(mine: str, name: str) -> None:
    with pytest.raises(BadArgument, match="'form'"):
        make_policy(f"{mine}:{name}", form="chat")


def test_a_class_of_replies_is_a_function() -> None:
    policy = make_policy(str)
    assert isinstance(policy, CallablePolicy)
    assert ask(policy, "a") == ["a"]


@pytest.mark.parametrize("settings", [{"form": "x"}, {"max_batch": 0}, {"threads": -1}])
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(BadArgument):
        CallablePolicy(str.upper, **settings)
