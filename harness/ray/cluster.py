"""A connection to Ray that leaves everything as it was."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from agentenvs.errors import BadArgument, RunError

__all__ = ["Cluster", "load_ray"]

_ANSWER_S = 10.0
_STORE_BYTES = 256 << 20
#: longer ones leave no room for the names of sockets, which end at 103 bytes
_LONGEST_TEMP = 30


def load_ray() -> Any:
    """Return the package `ray`.

    Raises:
        BadArgument: it is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise BadArgument(
            f"The engine 'ray' needs the package ray ({error}): pip install 'agentenvs[ray]'"
        ) from None


class Cluster:
    """A Ray cluster: the caller's own, one that runs already, or one that ends with this object.

    In this order: a Ray that the caller has initialised is used and left running; else the
    cluster at `address`, or the one that runs on this machine; else one is started, whose
    files lie in a folder of its own below the system's folder for temporary files (or where
    `RAY_TMPDIR` says). It keeps no files elsewhere, sends no statistics, and does as it is told
    only by those who know a random token, which stays in the environment of this process.

    Args:
        address: "HOST:PORT" of a cluster, "auto" for one that has to run here already, "local"
            for one that is started, or None.
        cpus: how many to start one with; None for those of the machine.

    Raises:
        BadArgument: Ray is not installed, or the address is one of a Ray client.
        RunError: there is no cluster at the address, or none can be started.
    """

    def __init__(self, address: str | None = None, cpus: int | None = None) -> None:
        self.ray = load_ray()
        connected = self.ray.is_initialized()
        client = connected and self.ray.util.client.ray.is_connected()
        if client or (address is not None and address.startswith("ray://")):
            raise BadArgument(
                "Expected a Ray cluster that this machine belongs to, HOST:PORT as `address`, got "
                f"{'a Ray client' if client else repr(address)}; a client cannot follow what "
                "workers report."
            )
        with contextlib.ExitStack() as stack:
            if not connected:
                stack.enter_context(_signals())
                self._connect(address, cpus, stack)
            self._exit = stack.pop_all()

    def _connect(self, address: str | None, cpus: int | None, stack: contextlib.ExitStack) -> None:
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            if address != "local":
                _reach(address or os.environ.get("RAY_ADDRESS", ""))
                try:
                    stack.callback(self.ray.shutdown)
                    self.ray.init(address=address or "auto", **quiet)
                except ConnectionError:
                    if address is not None:
                        raise
                    address = "local"
            if address == "local":
                self._start(cpus, quiet, stack)
        except Exception as error:
            text = str(error).strip().partition("\n")[0]
            raise RunError(f"There is no Ray cluster ({type(error).__name__}: {text}).") from error

    def _start(
        self, cpus: int | None, quiet: Mapping[str, Any], stack: contextlib.ExitStack
    ) -> None:
        settings: dict[str, Any] = {"object_store_memory": _STORE_BYTES, "include_dashboard": False}
        if "RAY_TMPDIR" not in os.environ:
            usual = tempfile.gettempdir()
            base = usual if len(usual) <= _LONGEST_TEMP else "/tmp"  # noqa: S108
            settings["_temp_dir"] = tempfile.mkdtemp(prefix="ray-", dir=base)
            stack.callback(shutil.rmtree, settings["_temp_dir"], ignore_errors=True)
        # Ray listens beyond this machine, remembers one token for as long as the process lives,
        # and would write one that it makes itself into the home folder.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        stack.callback(self.ray.shutdown)
        with _setting("RAY_USAGE_STATS_ENABLED", "0"):
            self.ray.init(address="local", num_cpus=cpus, **settings, **quiet)

    def room(self, resources: Mapping[str, float]) -> int:
        """Return for how many times these resources the cluster is large enough.

        Raises:
            RunError: not even for once.
        """
        there = self.ray.cluster_resources()
        asked = {name: amount for name, amount in resources.items() if amount}
        fits = [math.floor(there.get(name, 0) / amount) for name, amount in asked.items()]
        if fits and min(fits) < 1:
            raise RunError(f"A worker asks for {asked}; the Ray cluster has {_shown(there)}.")
        return min(fits, default=os.cpu_count() or 1)

    def free(self) -> str:
        """Return which resources are free, as text."""
        return _shown(self.ray.available_resources())

    def close(self) -> None:
        """Leave the cluster, and end it where it was started here; harmless when repeated."""
        self._exit.close()


def _reach(address: str) -> None:
    """Raise OSError where nobody answers, which Ray would find out after minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_ANSWER_S).close()


def _shown(resources: Mapping[str, float]) -> str:
    """Return the resources that workers ask for."""
    return str({name: resources.get(name, 0.0) for name in ("CPU", "GPU")})


@contextlib.contextmanager
def _setting(name: str, value: str) -> Iterator[None]:
    """Give a variable of the environment a value for a while."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Bring back the handler that Ray replaces."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
