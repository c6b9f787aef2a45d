"""A model behind an OpenAI-compatible server as a policy."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2

from agentenvs.errors import BadArgument, InfrastructureFault, PolicyError, did_you_mean
from agentenvs.harness.exchange import Completion, Form, Request
from agentenvs.harness.policies.endpoint.address import Address, Key, name_of, read_spec
from agentenvs.harness.policies.endpoint.backoff import Backoff
from agentenvs.harness.policies.endpoint.body import MAX_TOKENS_FIELDS, Body
from agentenvs.harness.policies.endpoint.faults import Fault, Overflow, Refused
from agentenvs.harness.policies.endpoint.outage import Outage
from agentenvs.harness.policies.endpoint.questions import ask_for_model, ask_version
from agentenvs.harness.policies.endpoint.replies import read_completion
from agentenvs.harness.policies.endpoint.servers import KINDS
from agentenvs.harness.policies.endpoint.transport import Transport
from agentenvs.harness.policies.endpoint.tries import Tries
from agentenvs.harness.prompts import FORMS

__all__ = ["EndpointPolicy", "from_spec"]

_PATHS = {"chat": "/chat/completions", "completion": "/completions"}


class EndpointPolicy:
    """Lets a model act that an OpenAI-compatible server runs.

    Requests that are awaited at the same time are under way at the same time, up to
    `concurrency`. Every sampling field is pinned; what a server does not take is named by
    `describe`. A request that fails in passing is sent again as it was, with the same seed; a
    server that is gone is waited for.

        >>> policy = EndpointPolicy("Qwen/Qwen3-8B", "http://localhost:8000/v1")  # doctest: +SKIP
        >>> agentenvs.harness.run("BFCLv4", policy, tasks="mini")                 # doctest: +SKIP

    The server is asked once, as the policy is made, whether it has the model. One policy may
    serve several event loops, one after another.

    Args:
        model: the model's name, as the server lists it.
        url: of the server; one without a path gets `/v1`.
        form: "chat" or "completion".
        server: "auto" (as it tells itself), "openai", "vllm", "sglang", "llamacpp" or
            "transformers": which sampling fields it takes beyond OpenAI's.
        context: most tokens of prompt and completion together; default what the server says.
        key_env: the environment variable with the key; without one none is sent.
        concurrency: most requests at a time; default 256, and 1 for "transformers", whose seeds
            do not hold otherwise.
        stream: whether answers are sent in pieces, so that a stalled one is noticed early.
        native_tools: whether tools are offered in OpenAI's form as well.
        token_ids: whether token ids and their log-probabilities are asked for (vLLM).
        max_tokens_field: "max_tokens" or "max_completion_tokens".
        extra: further fields of each request.
        timeout: seconds for a whole answer.
        read_timeout: seconds without a byte of it; default `timeout`.
        connect_timeout: seconds for a connection.
        retries: how often a request is sent again.
        outage: seconds that a server is waited for which refuses connections, or loses them
            before any byte of an answer; that counts as no retry, unless this is 0.
        backoff: the first wait before that, in seconds; each further one is twice as long.
        longest_wait: the longest of them, whatever a server asks for.
        seed: of the jitter of these waits.
        name: recorded with a run and printed in tables; default `openai:` and the model, of a
            path its last part.

    Raises:
        BadArgument: an argument out of range.
        PolicyError: there is no such server, it wants another key, or it has no such model.
    """

    scripted = False

    def __init__(
        self,
        model: str,
        url: str,
        *,
        form: Form = "chat",
        server: str = "auto",
        context: int | None = None,
        key_env: str = "OPENAI_API_KEY",
        concurrency: int | None = None,
        stream: bool = False,
        native_tools: bool = False,
        token_ids: bool = False,
        max_tokens_field: str = "max_tokens",
        extra: Mapping[str, Any] | None = None,
        timeout: float = 600.0,
        read_timeout: float | None = None,
        connect_timeout: float = 10.0,
        retries: int = 5,
        outage: float = 600.0,
        backoff: float = 0.5,
        longest_wait: float = 60.0,
        seed: int = 0,
        name: str | None = None,
    ) -> None:
        if form not in FORMS:
            raise BadArgument(f"Expected `form` to be 'chat' or 'completion', got {form!r}.")
        if server != "auto" and server not in KINDS:
            hint = did_you_mean(server, ["auto", *KINDS])
            raise BadArgument(f"There is no kind of server {server!r}.{hint}")
        if max_tokens_field not in MAX_TOKENS_FIELDS:
            raise BadArgument(
                f"Expected `max_tokens_field` to be one of {MAX_TOKENS_FIELDS}, "
                f"got {max_tokens_field!r}."
            )
        if native_tools and form != "chat":
            raise BadArgument("`native_tools` needs form='chat'.")
        waits = {"timeout": timeout, "connect_timeout": connect_timeout}
        waits["read_timeout"] = timeout if read_timeout is None else read_timeout
        _check_numbers(waits, above=True)
        rests = {"backoff": backoff, "longest_wait": longest_wait, "outage": outage}
        _check_numbers(rests, above=False)
        _check_count("retries", retries, 0)
        _check_count("concurrency", concurrency, 1)
        _check_count("context", context, 2)
        if name is not None and (not isinstance(name, str) or not name.strip()):
            raise BadArgument(f"Expected `name` to be a text, got {name!r}.")
        self.model = model
        self.form: Form = form
        self.name = name or f"openai:{name_of(model)}"
        self.retries = retries
        self._key = Key(key_env)
        self._backoff = Backoff(backoff, longest_wait, seed)
        # Requests of one outage come at least so often.
        self._outage = Outage(outage, quiet=longest_wait + 60.0)
        address = Address.of(url)
        self._transport = Transport(address, self._key, concurrency or 1, **waits)
        offer = ask_for_model(self._transport, model, retries, self._backoff)
        self.kind = KINDS[(offer.kind or "openai") if server == "auto" else server]
        self._transport.concurrency = concurrency or self.kind.at_once
        self.context = offer.context if context is None else context
        self._told = offer.kind
        self._version = ask_version(self._transport, self.kind.name)
        self._stream = stream
        self._body = Body(
            model,
            form,
            self.kind,
            stream=stream,
            native_tools=native_tools,
            token_ids=token_ids,
            max_tokens_field=max_tokens_field,
            extra=extra,
        )

    async def generate(self, request: Request) -> Completion:
        """Answer one request.

        Returns:
            A completion; `finish_reason` is "context" where the prompt and `max_tokens` together
            exceed the model's context. Calls that the server has parsed are its `tool_calls`.

        Raises:
            InfrastructureFault: it still failed after all retries.
            PolicyError: the server refuses the request.
        """
        limit = self.context
        if limit is not None and request.max_tokens >= limit:
            raise PolicyError(
                f"Expected `max_tokens` to leave room within the context of {limit} tokens, "
                f"got {request.max_tokens}."
            )
        body, path = self._body.write(request), _PATHS[self.form]
        session = await self._transport.session()
        with Tries(self.retries, self._backoff, self._outage) as tries:
            async with session.client() as client:
                while True:
                    try:
                        return await self._ask(client, path, body, request)
                    except Fault as fault:
                        wait = tries.wait_after(fault)
                        if wait is None:
                            told = f"{self._shown(fault)}{tries.end}"
                            raise InfrastructureFault(told, reason=fault.reason) from None
                    await asyncio.sleep(wait)

    async def _ask(
        self, client: httpx2.AsyncClient, path: str, body: bytes, request: Request
    ) -> Completion:
        try:
            reply = await self._transport.ask(client, path, body, request.max_tokens)
            completion = read_completion(reply, self.form, request, self.context)
        except Overflow:
            completion = Completion(finish_reason="context")
        except Refused as refused:
            self._outage.answered()
            raise PolicyError(self._shown(refused)) from None
        self._outage.answered()
        return completion

    def _shown(self, error: Exception) -> str:
        return f"{self.name}: {self._key.hide(str(error))}"

    def waiting(self) -> str:
        """Return whom requests wait for, where a server is gone; else ""."""
        return self._outage.told(self._transport.address.host)

    def describe(self) -> Mapping[str, Any]:
        """Return the settings that a run records: all that shapes an answer."""
        body = self._body
        return {
            "policy": "openai",
            "model": self.model,
            "server": self.kind.name,
            "server_told": self._told,
            "context": self.context,
            "form": self.form,
            "sent": list(body.sent),
            "pinned": dict(body.pins),
            "left_to_server": list(self.kind.left),
            "native_tools": body.native_tools,
            "extra": body.extra,
        }

    def transport(self) -> Mapping[str, Any]:
        """Return the settings that change nothing in an answer."""
        transport = self._transport
        return {
            "url": transport.address.url,
            "stream": self._stream,
            "concurrency": transport.concurrency,
            **transport.waits,
            "retries": self.retries,
            "outage": self._outage.most,
            "backoff": self._backoff.base,
            "longest_wait": self._backoff.longest,
            "server_version": self._version,
        }

    async def close(self) -> None:
        """Close the connections of the running event loop; those of others close with it."""
        await self._transport.close()


def _check_numbers(numbers: Mapping[str, Any], *, above: bool) -> None:
    for name, value in numbers.items():
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or not (0 < value < 1e9 or (value == 0 and not above)):
            bound = "above 0" if above else "of at least 0"
            raise BadArgument(f"Expected `{name}` to be seconds, {bound}, got {value!r}.")


def _check_count(name: str, value: int | None, least: int) -> None:
    if value is None and name != "retries":
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadArgument(f"Expected `{name}` to be an int of at least {least}, got {value!r}.")


def from_spec(rest: str, **settings: Any) -> EndpointPolicy:
    """Return the policy of the spec `openai:MODEL@URL`; see `EndpointPolicy` for settings.

    Raises:
        PolicyError: the spec lacks a part, or see `EndpointPolicy`.
        BadArgument: an argument out of range.
    """
    model, url = read_spec(rest)
    Address.of(url)
    return EndpointPolicy(model, url, **settings)
