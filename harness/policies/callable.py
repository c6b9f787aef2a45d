"""Any function as a policy: text to text, batch to batch, or asynchronous."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib
import importlib.util
import inspect
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument, PolicyError
from agentenvs.harness.exchange import Completion, Form, Request
from agentenvs.harness.policies.base import Policy, is_policy_class, lacking, made_of
from agentenvs.harness.prompts import FORMS

__all__ = ["CallablePolicy", "find", "from_spec"]


class CallablePolicy:
    """Wraps a function that answers prompts.

        >>> from agentenvs.harness import run
        >>> outcomes = run("BFCLv4", lambda prompt: "I cannot.", tasks="mini")

    Args:
        function: takes the prompt as one text (form "completion") or as a list of messages
            (form "chat") and returns the reply, a `str` or a `Completion`; it may be async.
            With `batch`, takes a list of those and returns a list of replies.
        form: "completion" or "chat".
        batch: the function takes whatever requests are ready together.
        max_batch: most requests in one batch.
        threads: 0 calls a plain function within the event loop, where episodes wait for it;
            more call it in so many threads, for functions that block.
        request: hand over the whole `Request` (temperature, seed, stop, ...) instead.
        name: recorded with a run; default the function's own.

    Raises:
        BadArgument: an argument out of range.
    """

    scripted = False

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        form: Form = "completion",
        batch: bool = False,
        max_batch: int = 256,
        threads: int = 0,
        request: bool = False,
        name: str | None = None,
    ) -> None:
        if not callable(function):
            raise BadArgument(f"Expected `function` to be callable, got {type(function)}.")
        if form not in FORMS:
            raise BadArgument(f"Expected `form` to be 'chat' or 'completion', got {form!r}.")
        if max_batch < 1 or threads < 0:
            raise BadArgument(
                f"Expected `max_batch` >= 1 and `threads` >= 0, got {max_batch} and {threads}."
            )
        self.function = function
        self.form: Form = form
        self.batch = batch
        self.max_batch = max_batch
        self.threads = threads
        self.request = request
        self.name = name or f"callable:{_name(function)}"
        self._pool = ThreadPoolExecutor(threads) if threads else None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[tuple[Request, asyncio.Future[Completion]]] = []
        self._running: set[asyncio.Task[None]] = set()

    async def generate(self, request: Request) -> Completion:
        """Return what the function answers."""
        if not self.batch:
            return _completion(await self._call(self._shown(request)))
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # What an earlier, stopped run left behind belongs to a loop that is gone.
            self._loop, self._waiting = loop, []
        future: asyncio.Future[Completion] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._gather, 0)
        self._waiting.append((request, future))
        return await future

    def _shown(self, request: Request) -> Any:
        if self.request:
            return request
        return request.prompt if self.form == "completion" else list(request.messages or ())

    async def _call(self, argument: Any) -> Any:
        if self._pool is not None:
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._pool, self.function, argument)
        else:
            answer = self.function(argument)
        return await answer if isinstance(answer, Awaitable) else answer

    def _gather(self, before: int) -> None:
        """Wait until a turn of the loop brings no further request, then start the batch."""
        self._waiting = [(r, f) for r, f in self._waiting if not f.done()]
        if before < len(self._waiting) < self.max_batch:
            asyncio.get_running_loop().call_soon(self._gather, len(self._waiting))
            return
        while self._waiting:
            batch, self._waiting = (
                self._waiting[: self.max_batch],
                self._waiting[self.max_batch :],
            )
            task = asyncio.create_task(self._answer(batch))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _answer(self, batch: Sequence[tuple[Request, asyncio.Future[Completion]]]) -> None:
        try:
            replies = await self._call([self._shown(request) for request, _ in batch])
            if len(replies) != len(batch):
                raise PolicyError(
                    f"Expected {len(batch)} replies from {self.name}, got {len(replies)}."
                )
            completions = [_completion(reply) for reply in replies]
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), completion in zip(batch, completions, strict=True):
            if not future.done():
                future.set_result(completion)

    def describe(self) -> dict[str, Any]:
        """Return the settings that a run records, a hash of the function's source with them."""
        return {
            "function": _name(self.function),
            "source": _source_hash(self.function),
            "batch": self.batch,
            "request": self.request,
        }

    async def close(self) -> None:
        """End the threads."""
        for task in list(self._running):
            task.cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _completion(reply: Any) -> Completion:
    if isinstance(reply, str):
        return Completion(reply)
    if isinstance(reply, Completion):
        return reply
    hint = " A function from a list to a list needs batch=True." if isinstance(reply, list) else ""
    raise PolicyError(f"Expected a reply to be a str or a Completion, got {type(reply)}.{hint}")


def _name(function: Callable[..., Any]) -> str:
    kind = function if inspect.isroutine(function) or inspect.isclass(function) else type(function)
    return f"{getattr(kind, '__module__', 'builtins')}:{kind.__qualname__}"


def _source_hash(function: Callable[..., Any]) -> str | None:
    """Return a hash of what the function says, or None where its source is out of reach."""
    while isinstance(function, functools.partial):
        function = function.func
    kind = function if inspect.isroutine(function) or inspect.isclass(function) else type(function)
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        return None
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def from_spec(rest: str, **settings: Any) -> Policy:
    """Return the policy of the spec `callable:MODULE:NAME` or `callable:FILE.py:NAME`.

    What has the name is a function, a policy, or a class of policies; settings are arguments of
    `CallablePolicy` or of the class.

    Raises:
        PolicyError: there is no such module or name, or it is none of these.
        BadArgument: settings for a policy that is built already.
    """
    found = find(rest)
    if is_policy_class(found):
        return made_of(found, rest, settings)
    if isinstance(found, Policy):
        if settings:
            raise BadArgument(f"{rest} is a policy that is built already: no {min(settings)!r}.")
        return found
    return CallablePolicy(found, **{"name": f"callable:{rest}", **settings})


def find(rest: str) -> Any:
    """Return the function, policy or class that MODULE:NAME or FILE.py:NAME says.

    Raises:
        PolicyError: there is no such module or name, or it is none of these.
    """
    where, _, name = rest.rpartition(":")
    if not where or not name:
        raise PolicyError(f"Expected 'callable:MODULE:FUNCTION', got 'callable:{rest}'.")
    found: Any = _load(where)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise PolicyError(f"{where} has no function {name!r}.")
    if not callable(found) and not isinstance(found, Policy):
        raise PolicyError(
            f"{rest} is neither a function nor a policy, but {type(found)}; as a policy it lacks "
            f"{lacking(found)}."
        )
    return found


def _load(where: str) -> Any:
    if where.endswith(".py"):
        path = Path(where)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise PolicyError(f"There is no file {where!r}.")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise PolicyError(f"{where} does not load: {type(error).__name__}: {error}.") from error
        return module
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        raise PolicyError(
            f"There is no module {where!r} ({error}); a file is named 'callable:FILE.py:FUNCTION'."
        ) from None
