"""Where a server is, and the key that it wants."""

from __future__ import annotations

import ipaddress
import os
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from agentenvs.errors import PolicyError

__all__ = ["Address", "Key", "name_of", "read_spec"]

_SHOWN = 500


class Address(NamedTuple):
    """A server's address.

    Attributes:
        url: what the paths of requests are put behind, without a slash at its end.
        loopback: whether it is this machine, which no proxy is asked for.
    """

    url: str
    loopback: bool

    @property
    def root(self) -> str:
        """What paths that are no part of the API are put behind."""
        return self.url.removesuffix("/v1")

    @property
    def host(self) -> str:
        """The host, and the port where one was given."""
        return urlsplit(self.url).netloc

    @classmethod
    def of(cls, text: str) -> Address:
        """Read a URL; one without a path gets `/v1`.

        Raises:
            PolicyError: it is no address of a server, or has a user, a query or a fragment.
        """
        try:
            parts = urlsplit(text.strip())
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise PolicyError(f"Expected the URL of a server: {error}.") from None
        if parts.username is not None or parts.password is not None:
            # Not shown: it may hold a password.
            raise PolicyError(
                "Expected a URL without user information; keys come from the environment alone."
            )
        if parts.scheme not in ("http", "https") or not host:
            raise PolicyError(f"Expected a URL such as 'http://localhost:8000/v1', got {text!r}.")
        if parts.query or parts.fragment:
            raise PolicyError("Expected a URL without a query or a fragment.")
        path = parts.path.rstrip("/")
        if path.endswith("/completions"):
            raise PolicyError(f"Expected the URL up to '/v1' alone, got {text!r}.")
        bracketed = f"[{host}]" if ":" in host else host
        place = bracketed if port is None else f"{bracketed}:{port}"
        return cls(urlunsplit((parts.scheme, place, path or "/v1", "", "")), _is_loopback(host))


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_spec(rest: str) -> tuple[str, str]:
    """Split `MODEL@URL` at the last `@http`.

    Raises:
        PolicyError: a part is missing.
    """
    model, at, url = rest.rpartition("@http")
    if not at or not model:
        raise PolicyError(
            "Expected 'openai:MODEL@URL', such as "
            "'openai:Qwen/Qwen3-8B@http://localhost:8000/v1', where the URL begins with http."
        )
    return model, f"http{url}"


def name_of(model: str) -> str:
    """Return a model's name in tables: of a path its last part, without `.gguf`."""
    parts = model.replace("\\", "/").rstrip("/")
    is_path = parts.startswith((".", "/", "~")) or "\\" in model or parts.endswith(".gguf")
    if not is_path:
        return model
    return parts.rpartition("/")[2].removesuffix(".gguf") or model


class Key:
    """The key of a server, read from the environment when it is needed and kept nowhere.

    Args:
        variable: the environment variable that holds it.
    """

    def __init__(self, variable: str) -> None:
        self.variable = variable

    def headers(self) -> dict[str, str]:
        """Return the header that shows it, {} where there is none.

        Raises:
            PolicyError: what the variable holds can be no key.
        """
        key = self._read()
        if not key:
            return {}
        if not key.isascii() or not key.isprintable() or " " in key:
            raise PolicyError(f"Expected {self.variable} to hold a key: printable ASCII.")
        return {"Authorization": f"Bearer {key}"}

    def _read(self) -> str:
        return os.environ.get(self.variable, "").strip()

    def hide(self, text: str) -> str:
        """Return the beginning of a text from elsewhere, fit to be shown: one line, no key."""
        # Before it is cut, so that no part of a key is left at its end.
        key = self._read()
        hidden = text.replace(key, "***") if key else text
        line = " ".join(hidden.split())
        return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."
