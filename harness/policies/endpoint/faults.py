"""What went wrong with a request: passing faults, refusals, and conversations too long."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx2

from agentenvs.errors import InfrastructureFault

__all__ = ["Fault", "Overflow", "Refused", "garbled", "of_status", "of_transport"]

#: statuses below 500 that pass by themselves
_PASSING = frozenset({408, 409, 425, 429})
#: statuses from 500 on that do not
_LASTING = frozenset({501, 505})
_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
# The words of OpenAI and vLLM; vLLM before a conversation's template is applied, and where it
# was given tokens; SGLang; llama.cpp.
_TOO_LONG = re.compile(
    r"maximum context length|longer than the maximum model length|too long to fit into the model"
    r"|longer than the model's context length|input length .{0,40}exceeds the maximum allowed"
    r"|exceeds the available context size|exceeds the context window",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    r"(?:context|model) (?:length|size|window)(?: of| is)?(?: only)?[ (:]*(\d[\d,]{0,30})",
    re.IGNORECASE,
)


class Fault(InfrastructureFault):
    """Raised within a try that may be repeated.

    Attributes:
        retry_after: seconds that the server asks to be left alone, or None.
    """

    def __init__(self, message: str, reason: str, retry_after: float | None = None) -> None:
        super().__init__(message, reason)
        self.retry_after = retry_after


class Refused(Exception):
    """Raised where a server will not answer a request, however often it is asked."""


class Overflow(Exception):
    """Raised where a conversation no longer fits a model's context."""


def garbled(what: str) -> Fault:
    """Return the fault of a reply that cannot be read."""
    return Fault(f"a garbled reply: {what}", "garbled_reply")


def of_transport(error: Exception, began: bool) -> Exception:
    """Return what an error of the transport amounts to.

    Args:
        error: from httpx2, a `TimeoutError`, or a `UnicodeError` out of a stream.
        began: whether the reply had begun.
    """
    told = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return Fault(f"no answer in time ({told})", "timeout")
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
        return Refused(told)
    if isinstance(error, httpx2.DecodingError | UnicodeError):
        return garbled(told)
    if began:
        return Fault(f"the reply was cut ({told})", "cut_reply")
    return Fault(f"no connection ({told})", "connection")


def of_status(
    status: int, body: str, max_tokens: int, retry_after: float | None = None
) -> Exception:
    """Return what a status other than success amounts to.

    A conversation is too long where it and `max_tokens` together exceed the context. Where
    `max_tokens` alone does, no conversation would fit, and that is a wrong setting.

    Args:
        status: of HTTP, or the code of an error within a stream.
        body: what the server said.
        max_tokens: what was asked for.
        retry_after: seconds that the server asks to be left alone, or None.

    Returns:
        A `Fault`, a `Refused` or an `Overflow`.
    """
    message, codes = _read(body)
    told = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    passing = status in _PASSING or (status >= 500 and status not in _LASTING)
    if (codes & _CODES or _TOO_LONG.search(message)) and status != 429:
        named = _LENGTH.search(message)
        if named and max_tokens >= int(named[1].replace(",", "")):
            return Refused(f"{told} (`max_tokens` is {max_tokens}, which leaves no room)")
        return Overflow(told)
    if passing and "insufficient_quota" not in codes:
        return Fault(told, f"http_{status}", retry_after)
    return Refused(told)


def _read(body: str) -> tuple[str, set[str]]:
    """Return the message of an error, and its codes, in any of the forms that servers use."""
    try:
        said: Any = json.loads(body)
    except (ValueError, RecursionError):
        return body, set()
    if isinstance(said, dict) and isinstance(said.get("error"), dict):
        said = said["error"]
    if not isinstance(said, dict):
        return body, set()
    codes = {str(said[name]) for name in ("code", "type") if said.get(name) is not None}
    for name in ("message", "detail", "error"):
        told = said.get(name)
        if told:
            return told if isinstance(told, str) else json.dumps(told), codes
    return body, codes
