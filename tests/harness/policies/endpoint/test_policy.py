from __future__ import annotations

import asyncio
import gc
import json
import pickle
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from agentenvs.core import ToolCall
from agentenvs.errors import BadArgument, InfrastructureFault, PolicyError
from agentenvs.harness.exchange import Completion, Request
from agentenvs.harness.policies import Policy, make_policy
from agentenvs.harness.policies.endpoint import EndpointPolicy

Connect = Callable[..., EndpointPolicy]
Ask = Callable[..., Completion]
KEY = "sk-very-secret-0123"


def test_a_spec_makes_a_policy(server: Any, fake: ModuleType, ask: Ask) -> None:
    policy = make_policy(f"openai:{fake.MODEL}@{server.url}")
    assert isinstance(policy, Policy)
    assert (policy.name, policy.form, policy.scripted) == ("openai:tests/model", "chat", False)
    assert ask(policy).text == "Hello."
    assert server.seen[0].path == "/v1/chat/completions"
    assert [seen.path for seen in server.gets] == ["/v1/models"]


def test_the_form_completion(server: Any, connect: Connect, ask: Ask) -> None:
    assert ask(connect(form="completion"), stop=("\n",)).text == "Hello."
    assert server.seen[0].path == "/v1/completions"
    assert server.seen[0].body["prompt"] == "Hello, "


@pytest.mark.parametrize("form", ["chat", "completion"])
def test_a_stream(server: Any, fake: ModuleType, connect: Connect, ask: Ask, form: str) -> None:
    server.answer = lambda seen: fake.Answer(events=fake.events("Hello there.", form))
    assert ask(connect(stream=True, form=form)) == Completion("Hello there.", new_tokens=3)
    assert server.seen[0].body["stream_options"] == {"include_usage": True}


def test_a_server_that_ignores_streaming(connect: Connect, ask: Ask) -> None:
    assert ask(connect(stream=True)).text == "Hello."


def test_what_a_run_records(connect: Connect) -> None:
    policy = connect(extra={"user": "ada"}, native_tools=True)
    settings = policy.describe()
    assert settings["server"] == "vllm"
    assert settings["context"] == 100_000
    assert settings["pinned"]["top_k"] == -1
    assert settings["left_to_server"] == []
    assert settings["extra"] == {"user": "ada"}
    assert {"temperature", "top_p", "seed", "stop", "max_tokens", "n", "user"} <= set(
        settings["sent"]
    )
    json.dumps([settings, policy.transport()])


def test_what_a_server_may_default_is_named(connect: Connect) -> None:
    settings = connect(server="openai").describe()
    assert settings["left_to_server"] == ["min_p", "repetition_penalty", "top_k"]


def test_transport_may_differ_and_says_where(
    connect: Connect, server: Any, fake: ModuleType
) -> None:
    told = connect(stream=True, retries=2, concurrency=7).transport()
    assert told["url"] == server.url
    assert (told["stream"], told["retries"], told["concurrency"]) == (True, 2, 7)
    assert told["outage"] == 0.0
    assert EndpointPolicy(fake.MODEL, server.url).transport()["outage"] == 600.0
    assert connect().transport()["concurrency"] == 256
    assert connect(server="transformers").transport()["concurrency"] == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"form": "talk"},
        {"server": "vlm"},
        {"max_tokens_field": "tokens"},
        {"form": "completion", "native_tools": True},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"read_timeout": "long"},
        {"backoff": -1},
        {"retries": -1},
        {"retries": True},
        {"outage": -1},
        {"name": " "},
        {"name": 5},
        {"concurrency": 0},
        {"context": 1},
        {"extra": {"temperature": 1}},
    ],
)
def test_arguments_out_of_range(connect: Connect, settings: dict[str, Any]) -> None:
    with pytest.raises(BadArgument):
        connect(**settings)


def test_a_name_for_tables(fake: ModuleType, server: Any, connect: Connect) -> None:
    assert connect(name="small").name == "small"
    path = "/models/smol/SmolLM2.Q4_K_M.gguf"
    server.models = fake.Answer({"data": [{"id": path}]})
    policy = connect(path)
    assert policy.name == "openai:SmolLM2.Q4_K_M"
    assert policy.describe()["model"] == path


@pytest.mark.parametrize(
    ("kind", "path", "body", "version"),
    [
        ("vllm", "/version", {"version": "0.19.0"}, "0.19.0"),
        ("sglang", "/get_server_info", {"model_path": "m", "version": "0.5.9"}, "0.5.9"),
        ("sglang", "/server_info", {"version": "0.6.0"}, "0.6.0"),
        ("llamacpp", "/props", {"build_info": "b9310-2f8a1"}, "b9310-2f8a1"),
        ("vllm", "/version", {"version": "  1.0\n(" + "x" * 900}, "1.0 (" + "x" * 95),
        ("vllm", "/version", {"version": 3}, None),
        ("vllm", "/version", [], None),
        ("openai", "/version", {"version": "0.19.0"}, None),
    ],
)
def test_the_version_of_a_server_is_recorded(
    server: Any,
    fake: ModuleType,
    connect: Connect,
    kind: str,
    path: str,
    body: Any,
    version: str | None,
) -> None:
    server.told[path] = fake.Answer(body)
    assert connect(server=kind).transport()["server_version"] == version
    assert path in server.questions or kind == "openai"


def test_a_server_that_does_not_tell_its_version_is_not_waited_for(
    server: Any, fake: ModuleType, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentenvs.harness.policies.endpoint import questions

    monkeypatch.setattr(questions, "_SOON_S", 0.05)
    server.told["/version"] = fake.Answer(stall=True)
    assert connect().transport()["server_version"] is None
    assert server.questions == ["/version"]


def test_a_server_that_is_not_there(server: Any, fake: ModuleType) -> None:
    server.stop()
    with pytest.raises(PolicyError, match=r"127\.0\.0\.1:\d+/v1 does not answer: no connection"):
        EndpointPolicy(fake.MODEL, server.url)


def test_a_model_that_is_not_there(connect: Connect) -> None:
    with pytest.raises(PolicyError, match="no model 'tests/modell'.* Did you mean 'tests/model'"):
        connect("tests/modell")


def test_a_server_that_wants_another_key(server: Any, fake: ModuleType, connect: Connect) -> None:
    server.models = fake.Answer({"error": {"message": "Incorrect API key."}}, 401)
    with pytest.raises(PolicyError, match="HTTP 401: Incorrect API key"):
        connect()


def test_a_model_whose_listed_name_holds_the_key(
    server: Any, fake: ModuleType, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.models = fake.Answer({"data": [{"id": f"x{KEY}"}]})
    with pytest.raises(PolicyError, match=r"no model 'tests/model'.*'x\*\*\*'"):
        connect()


def test_a_list_of_models_that_never_comes(
    server: Any, fake: ModuleType, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentenvs.harness.policies.endpoint import transport

    monkeypatch.setattr(transport, "_SOON_S", 0.05)
    server.models = fake.Answer(stall=True)
    with pytest.raises(PolicyError, match=r"no answer in time \(within 0\.05 s\)"):
        connect(retries=1)
    assert len(server.gets) == 2


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_that_lists_no_models(
    server: Any, fake: ModuleType, connect: Connect, status: int
) -> None:
    server.models = fake.Answer("Not Found", status)
    policy = connect("any/model")
    assert policy.describe()["server"] == "openai"
    assert policy.describe()["context"] is None


def test_a_server_that_still_loads_its_model_is_waited_for(
    server: Any, fake: ModuleType, connect: Connect
) -> None:
    listed = server.models
    turns = iter([fake.Answer({"error": {"message": "Loading model"}}, 503)] * 2)
    server.models = lambda seen: next(turns, listed)
    assert connect().context == 100_000
    assert len(server.gets) == 3


def test_calls_of_the_server_are_taken_offered_or_not(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask
) -> None:
    function = {"name": "tool_0", "arguments": '{"n": 1}'}
    message = {"content": None, "tool_calls": [{"type": "function", "function": function}]}
    server.answer = lambda seen: fake.Answer(fake.chat(None, message=message))
    assert ask(connect()).tool_calls == (ToolCall("tool_0", {"n": 1}),)
    tools = ({"name": "预约", "description": "", "parameters": {"type": "object"}},)
    completion = ask(connect(native_tools=True), tools=tools)
    assert completion.tool_calls == (ToolCall("预约", {"n": 1}),)
    assert server.seen[-1].body["tools"][0]["function"]["name"] == "tool_0"


def test_a_conversation_that_is_too_long_is_an_answer(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask
) -> None:
    told = {"error": {"message": "too long", "type": "exceed_context_size_error", "code": 400}}
    server.answer = lambda seen: fake.Answer(told, 400)
    assert ask(connect()) == Completion(finish_reason="context")
    assert ask(connect(context=600), max_tokens=500).finish_reason == "context"
    server.answer = lambda seen: fake.Answer(fake.chat())
    assert ask(connect(context=506), max_tokens=500).finish_reason == "context"
    assert ask(connect(context=507), max_tokens=500).finish_reason == "stop"


def test_max_tokens_that_leave_no_room_for_any_prompt(connect: Connect, ask: Ask) -> None:
    with pytest.raises(PolicyError, match="leave room within the context of 500"):
        ask(connect(context=500), max_tokens=500)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_told_at_once(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask, status: int
) -> None:
    server.answer = lambda seen: fake.Answer({"error": {"message": "No: " + "x" * 900}}, status)
    with pytest.raises(PolicyError, match=f"HTTP {status}: No") as refused:
        ask(connect())
    assert len(str(refused.value)) < 540
    assert len(server.seen) == 1


def faults(fake: ModuleType) -> list[tuple[Any, str]]:
    answer = fake.Answer
    return [
        (answer("x", 500), "http_500"),
        (answer({}, 429, {"Retry-After": "0.001"}), "http_429"),
        (answer(fake.chat(), cut=30), "cut_reply"),
        (answer(b"{"), "garbled_reply"),
        (answer({"choices": []}), "garbled_reply"),
        (answer(drop=True), "connection"),
        (answer(events=fake.events("a", finish=None, done=False)), "cut_reply"),
        (answer(events=fake.events("a"), cut=0), "cut_reply"),
    ]


@pytest.mark.parametrize("which", range(8))
def test_a_fault_is_tried_again_and_then_given_up(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask, which: int
) -> None:
    answer, reason = faults(fake)[which]
    server.answer = lambda seen: answer
    with pytest.raises(
        InfrastructureFault, match=r"openai:tests/model: .* \(tries: 3, as the policy"
    ) as given:
        ask(connect(retries=2), seed=5)
    assert given.value.reason == reason
    assert len({seen.content for seen in server.seen}) == 1
    # Before that, a request on a connection that was kept may have been sent anew by the client.
    assert len(server.seen) == 3


def test_a_fault_that_passes_changes_nothing(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask
) -> None:
    turns = [answer for answer, _ in faults(fake)]
    server.answer = lambda seen: turns.pop(0) if turns else fake.Answer(fake.chat("At last."))
    assert ask(connect(retries=8)).text == "At last."


def test_a_server_that_is_gone_is_waited_for_whatever_the_retries(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask
) -> None:
    gone, loads = fake.Answer(drop=True), fake.Answer({"error": "Loading model"}, 503)
    turns = [gone] * 9 + [loads] * 9
    server.answer = lambda seen: turns.pop(0) if turns else fake.Answer(fake.chat("Back."))
    assert ask(connect(retries=0, outage=600.0), seed=5).text == "Back."
    assert len({seen.content for seen in server.seen}) == 1


def test_a_server_that_stays_away_is_given_up_by_the_clock(server: Any, connect: Connect) -> None:
    policy = connect(retries=0, outage=0.05)
    server.stop()
    request = Request(messages=({"role": "user", "content": "Hi."},))

    async def several() -> list[Any]:
        asked = [policy.generate(request) for _ in range(3)]
        return await asyncio.gather(*asked, return_exceptions=True)

    for fault in asyncio.run(several()):
        assert isinstance(fault, InfrastructureFault)
        assert fault.reason == "connection"
        assert "no connection (ConnectError" in str(fault)
        assert "gone for 0 s, and the policy's `outage` is 0.05 s" in str(fault)
    assert policy.waiting() == ""


def test_a_request_that_breaks_each_connection_is_given_up_where_others_are_answered(
    server: Any, fake: ModuleType, connect: Connect
) -> None:
    policy = connect(retries=2, outage=600.0)
    usual = server.answer
    server.answer = lambda seen: (
        fake.Answer(drop=True) if b"poison" in seen.content else usual(seen)
    )

    def request(text: str) -> Request:
        return Request(messages=({"role": "user", "content": text},))

    async def both() -> None:
        bad = asyncio.create_task(policy.generate(request("poison")))
        while not bad.done():
            assert (await policy.generate(request("Hi."))).text == "Hello."
        with pytest.raises(InfrastructureFault, match=r"\(tries: \d+, as the policy's `retries`"):
            await bad
        await policy.close()

    asyncio.run(both())


def test_whoever_waits_for_a_server_says_so_and_can_be_stopped(
    server: Any, fake: ModuleType, connect: Connect
) -> None:
    policy = connect(outage=600.0, backoff=500.0, longest_wait=500.0)
    server.answer = lambda seen: fake.Answer(drop=True)
    request = Request(messages=({"role": "user", "content": "Hi."},))
    host = server.url.removeprefix("http://").removesuffix("/v1")
    assert policy.waiting() == ""

    async def stop() -> None:
        tasks = [asyncio.create_task(policy.generate(request)) for _ in range(2)]
        while "2 requests" not in policy.waiting():
            await asyncio.sleep(0.001)
        assert policy.waiting() == f"no answer from {host} for 0:00, waiting (2 requests)"
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(end) for end in ends] == [asyncio.CancelledError] * 2

    asyncio.run(stop())
    assert policy.waiting() == ""


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_falls_silent(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask, stream: bool
) -> None:
    events = fake.events("a", finish=None, done=False) if stream else None
    server.answer = lambda seen: fake.Answer(events=events, stall=True)
    with pytest.raises(InfrastructureFault, match="no answer in time") as silent:
        ask(connect(read_timeout=0.05, retries=1, stream=stream))
    assert silent.value.reason == "timeout"


def test_a_whole_answer_has_a_time(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask
) -> None:
    server.answer = lambda seen: fake.Answer(stall=True)
    with pytest.raises(InfrastructureFault) as slow:
        ask(connect(timeout=0.05, retries=0))
    assert slow.value.reason == "timeout"
    assert "tries" not in str(slow.value)


def test_a_stream_in_letters_that_are_none(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask
) -> None:
    headers = {"Content-Type": "text/event-stream; charset=utf-16"}
    server.answer = lambda seen: fake.Answer(b"data: \xff{}\n\n", headers=headers)
    with pytest.raises(InfrastructureFault) as odd:
        ask(connect(retries=0))
    assert odd.value.reason == "garbled_reply"


def test_a_reply_without_end(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentenvs.harness.policies.endpoint import transport

    monkeypatch.setattr(transport, "_MOST", 10_000)
    for answer in (
        fake.Answer(fake.chat("x" * 20_000)),
        fake.Answer(events=fake.events("x" * 20_000)),
    ):
        server.answer = lambda seen, answer=answer: answer
        with pytest.raises(InfrastructureFault, match="of over 10000 bytes") as endless:
            ask(connect(retries=0))
        assert endless.value.reason == "garbled_reply"


def test_so_many_requests_at_a_time_on_connections_that_are_kept(
    server: Any, connect: Connect
) -> None:
    policy = connect(concurrency=4)
    before = server.connections

    async def many() -> None:
        request = Request(messages=({"role": "user", "content": "Hi."},))
        await asyncio.gather(*(policy.generate(request) for _ in range(40)))
        await policy.close()

    asyncio.run(many())
    assert len(server.seen) == 40
    assert 1 <= server.most <= 4
    assert server.connections - before <= 4


def test_several_event_loops_one_after_another(server: Any, connect: Connect) -> None:
    policy = connect()
    request = Request(messages=({"role": "user", "content": "Hi."},))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert asyncio.run(policy.generate(request)).text == "Hello."
        gc.collect()
    asyncio.run(policy.close())


def test_a_request_that_is_no_longer_wanted_closes_its_connection(
    server: Any, fake: ModuleType, connect: Connect
) -> None:
    asked = asyncio.Event()

    def answer(seen: Any) -> Any:
        loop.call_soon_threadsafe(asked.set)
        return fake.Answer(stall=True)

    server.answer = answer
    policy = connect()
    server.closed.clear()

    async def give_up() -> bool:
        nonlocal loop
        loop = asyncio.get_running_loop()
        request = Request(messages=({"role": "user", "content": "Hi."},))
        task = asyncio.create_task(policy.generate(request))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.to_thread(server.closed.wait, 5)

    loop: Any = None
    assert asyncio.run(give_up())


def test_the_key_is_sent_and_never_told(
    server: Any,
    fake: ModuleType,
    connect: Connect,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    caplog.set_level("DEBUG")
    policy = connect(key_env="MY_KEY", retries=0)
    ask(policy)
    for seen in (*server.gets, *server.seen):
        assert seen.headers["authorization"] == f"Bearer {KEY}"
    told = [repr(policy), str(vars(policy)), json.dumps([policy.describe(), policy.transport()])]
    for status in (400, 500):
        server.answer = lambda seen, status=status: fake.Answer(f"bad key {KEY}", status)
        with pytest.raises((PolicyError, InfrastructureFault)) as refused:
            ask(policy)
        told.append(str(refused.value))
        assert "bad key ***" in str(refused.value)
    assert KEY not in "".join(told) + caplog.text


def test_a_policy_travels_to_another_process_without_its_key(
    connect: Connect, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    policy = connect()
    request = Request(messages=({"role": "user", "content": "Hi."},))
    asyncio.run(policy.generate(request))
    packed = pickle.dumps(policy)
    assert KEY.encode() not in packed
    assert ask(pickle.loads(packed)).text == "Hello."  # noqa: S301


def test_redirects_are_not_followed(
    server: Any, fake: ModuleType, connect: Connect, ask: Ask
) -> None:
    policy = connect()
    server.answer = lambda seen: fake.Answer("", 307, {"Location": f"{server.url}/elsewhere"})
    with pytest.raises(PolicyError, match="HTTP 307"):
        ask(policy)
    assert len(server.seen) == 1


def test_no_key_no_header(server: Any, connect: Connect, ask: Ask) -> None:
    ask(connect())
    assert "authorization" not in server.seen[0].headers


def test_proxies_of_the_environment_are_not_asked_for_this_machine(
    connect: Connect, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(connect()).text == "Hello."
