"""One request for (the rest of) a file, with everything that a server may do wrong bounded."""

from __future__ import annotations

import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPMessage
from pathlib import Path
from typing import IO, Any

__all__ = ["DroppedError", "RefusedError", "append", "fetch"]

_CHUNK = 1 << 18
_REDIRECTS = 5
#: slower than this on the whole is as good as broken
_SLOWEST = 20_000
_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,200})", re.IGNORECASE)
_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15}|\*)")


class DroppedError(Exception):
    """The connection failed or broke off; another try may go on."""


class RefusedError(Exception):
    """The server answered, but not with the file."""


class _BeyondError(DroppedError):
    """The server has no such part of the file."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = _REDIRECTS

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Follow to http and https alone, and never from https back to http."""
        scheme = newurl.split(":", 1)[0].lower()
        if scheme not in ("http", "https") or (req.type == "https" and scheme == "http"):
            fp.close()
            raise RefusedError(f"redirects to {newurl[:200]!r}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def append(
    address: str, part: Path, size: int, timeout: float, told: Callable[[int], None]
) -> None:
    """Bring `part` up to `size` bytes with what lies at `address`.

    Args:
        address: an http or https address.
        part: the file; what it holds already is asked for no more, where the server knows
            ranges, and is dropped otherwise.
        size: bytes of the whole file; never more are written.
        timeout: seconds without a byte.
        told: is told the size reached.

    Raises:
        DroppedError: the connection failed or broke off.
        RefusedError: what came is not the file.
        OSError: `part` cannot be written.
    """
    have = part.stat().st_size if part.exists() else 0
    if have > size:
        part.unlink()
        have = 0
    if have == size:
        return
    deadline = time.monotonic() + 60.0 + (size - have) / _SLOWEST
    try:
        answer = _ask(address, have, timeout)
    except _BeyondError:
        part.unlink()
        raise
    with answer:
        begin = _begin(answer, have, size)
        first = _read(answer, min(_CHUNK, size - begin + 1))
        _refuse_pages(answer, first, begin)
        length = answer.length
        if length is not None and begin + len(first) + length != size:
            found = begin + len(first) + length
            raise RefusedError(f"has a file of {found:,} bytes, expected {size:,}")
        with open(part, "r+b" if begin else "wb") as target:
            target.seek(begin)
            chunk, done = first, begin
            while chunk:
                done += len(chunk)
                if done > size:
                    raise RefusedError(f"sends more than the expected {size:,} bytes")
                target.write(chunk)
                told(done)
                if time.monotonic() > deadline:
                    raise DroppedError(f"slower than {_SLOWEST / 1000:g} kB/s")
                chunk = _read(answer, min(_CHUNK, size - done + 1))
            target.truncate()
    if done < size:
        raise DroppedError(f"broke off after {done:,} of {size:,} bytes")


def fetch(
    address: str, target: Path, most: int, timeout: float, told: Callable[[int], None]
) -> None:
    """Fetch a file of unknown size into `target`.

    Args:
        address: an http or https address.
        target: the file; written anew.
        most: bytes above which it is refused.
        timeout: seconds without a byte.
        told: is told how many bytes have come.

    Raises:
        DroppedError: the connection failed or broke off.
        RefusedError: what came is not the file.
        OSError: `target` cannot be written.
    """
    begun = time.monotonic()
    with _ask(address, 0, timeout) as answer:
        _begin(answer, 0, 0)
        chunk = _read(answer, _CHUNK)
        _refuse_pages(answer, chunk, 0)
        done = 0
        with open(target, "wb") as stream:
            while chunk:
                done += len(chunk)
                if done > most:
                    raise RefusedError(f"sends more than {most:,} bytes")
                stream.write(chunk)
                told(done)
                if time.monotonic() - begun > 60.0 + done / _SLOWEST:
                    raise DroppedError(f"slower than {_SLOWEST / 1000:g} kB/s")
                chunk = _read(answer, _CHUNK)
        if answer.length:
            raise DroppedError(f"broke off after {done:,} bytes")


def _ask(address: str, have: int, timeout: float) -> Any:
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    headers = {"User-Agent": "agentenvs", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        answer = opener.open(urllib.request.Request(address, headers=headers), timeout=timeout)  # noqa: S310
    except urllib.error.HTTPError as error:
        with error:
            text = f"answers {error.code} {error.reason}"[:200]
        if error.code == 416 and have:
            raise _BeyondError(text) from None
        transient = error.code in (408, 425, 500, 502, 503, 504)
        raise (DroppedError if transient else RefusedError)(text) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DroppedError(f"cannot be reached ({error})"[:300]) from error
    if answer is None:
        raise RefusedError(f"is no http or https address: {address[:200]!r}")
    return answer


def _begin(answer: Any, have: int, size: int) -> int:
    """Return the place in the file at which the answer begins."""
    if answer.status == 206:
        given = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if not have or given is None or int(given[1]) != have:
            raise RefusedError("answers with another part of the file than was asked for")
        if given[3] not in ("*", str(size)):
            raise RefusedError(f"has a file of {int(given[3]):,} bytes, expected {size:,}")
        return have
    if answer.status != 200:
        raise RefusedError(f"answers {answer.status}")
    return 0


def _refuse_pages(answer: Any, first: bytes, begin: int) -> None:
    kind = answer.headers.get_content_type()
    if kind != "text/html" and (begin or not _HTML.match(first[:200])):
        return
    title = _TITLE.search(first)
    shown = " ".join(title[1].decode("utf-8", "replace").split()) if title else "without a title"
    raise RefusedError(
        f"sends a web page instead of the file ({shown!r}); Google Drive does so when a file's "
        "quota for the day is used up or it wants a confirmation"
    )


def _read(answer: Any, count: int) -> bytes:
    try:
        return bytes(answer.read1(count))
    except (OSError, http.client.HTTPException) as error:
        raise DroppedError(f"broke off ({error})"[:300]) from error
