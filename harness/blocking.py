"""Functions that block, made from asynchronous ones."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from agentenvs.errors import RunError

__all__ = ["blocking"]

P = ParamSpec("P")
R = TypeVar("R")


def blocking(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    """Return a function that does the same in an event loop of its own.

    Args:
        function: its name ends in `_async`, which that of the other one lacks.

    Raises:
        RunError: when the other one is called where an event loop is running.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop()
            raise RunError(f"An event loop is running here: use `await {function.__name__}(...)`.")
        return asyncio.run(function(*args, **kwargs))

    call.__name__ = call.__qualname__ = function.__name__.removesuffix("_async")
    return call
