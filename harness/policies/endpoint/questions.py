"""What a server is asked before anything is played: its models, and its software's version."""

from __future__ import annotations

import time
from collections.abc import Mapping

from agentenvs.errors import PolicyError
from agentenvs.harness.policies.endpoint.backoff import Backoff
from agentenvs.harness.policies.endpoint.faults import Fault, of_status
from agentenvs.harness.policies.endpoint.replies import read_object
from agentenvs.harness.policies.endpoint.servers import Offer, find_model
from agentenvs.harness.policies.endpoint.transport import Transport

__all__ = ["ask_for_model", "ask_version"]

_SOON_S = 3.0
_LONGEST = 100
#: kind of server -> where it tells, and in which field
_PLACES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "vllm": (("/version", "version"),),
    "sglang": (("/get_server_info", "version"), ("/server_info", "version")),
    "llamacpp": (("/props", "build_info"),),
}


def ask_for_model(transport: Transport, model: str, retries: int, backoff: Backoff) -> Offer:
    """Return what the server tells of the model; one that lists no models tells nothing.

    Args:
        transport: to the server.
        model: the model's name.
        retries: how often it is asked again.
        backoff: gives the waits before.

    Raises:
        PolicyError: there is no such server, it wants another key, or it has no such model.
    """
    for attempt in range(retries + 1):
        wait: float | None = None
        try:
            status, text, wait = transport.get("/models")
            if status == 200:
                return _find(transport, text, model)
            if status in (404, 405, 501):
                return Offer()
            problem = of_status(status, text, 0)
        except Fault as fault:
            problem = fault
        told = transport.key.hide(str(problem))
        # A server that nobody runs stays away; one that still loads its model says so.
        refused = not isinstance(problem, Fault) or problem.reason == "connection"
        if refused or attempt == retries:
            raise PolicyError(f"{transport.address.url} does not answer: {told}.")
        time.sleep(backoff.wait(attempt, wait))
    raise AssertionError("a request has at least one try")


def _find(transport: Transport, text: str, model: str) -> Offer:
    try:
        listed = read_object(text)
    except Fault:
        return Offer()
    try:
        return find_model(listed, model)
    except PolicyError as error:
        raise PolicyError(transport.key.hide(str(error))) from None


def ask_version(transport: Transport, kind: str) -> str | None:
    """Return the version or build of a server's software, None where it does not tell at once.

    Args:
        transport: to the server.
        kind: of the server, a name from `KINDS`.
    """
    for path, field in _PLACES.get(kind, ()):
        try:
            status, text, _ = transport.get(path, of_api=False, within=_SOON_S)
            told = read_object(text).get(field) if status == 200 else None
        except (Fault, PolicyError):
            continue
        if isinstance(told, str) and told.strip():
            return transport.key.hide(told)[:_LONGEST]
    return None
