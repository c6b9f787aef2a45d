"""Bytes from a socket with a bound on how many and on how long one request may take."""

from __future__ import annotations

import socket
import time

__all__ = ["BoundedReader", "TooMuch"]

_CHUNK = 65_536


class TooMuch(Exception):
    """Raised when a request has more bytes than a server takes."""


class BoundedReader:
    """The reading end of a connection, as `http.server` wants it.

    A plain buffered file renews its timeout with every byte, so a client that sends one byte
    now and then would hold a thread for ever; here one deadline covers a whole request.

    Args:
        connection: the socket; its timeout is set here.
        idle: seconds to wait for the first byte of a request.
        whole: seconds from that byte to the request's last one.
        limit: the most bytes that one request may have.
    """

    def __init__(self, connection: socket.socket, idle: float, whole: float, limit: int) -> None:
        self._connection = connection
        self._idle = idle
        self._whole = whole
        self._limit = limit
        self._buffer = b""
        self._taken = 0
        self._deadline = 0.0
        self.closed = False

    def begin(self) -> bool:
        """Wait for the first byte of a request; False where the client leaves or stays quiet."""
        self._taken = 0
        if not self._buffer:
            self._deadline = time.monotonic() + self._idle
            try:
                if not self._receive():
                    return False
            except OSError:
                return False
        self._deadline = time.monotonic() + self._whole
        return True

    def readline(self, size: int = -1) -> bytes:
        """Return bytes up to a line feed, `size` bytes or the end of the stream."""
        searched = 0
        while True:
            end = self._buffer.find(b"\n", searched) + 1
            if end == 0 and 0 <= size <= len(self._buffer):
                end = size
            if end:
                return self._take(end if size < 0 else min(end, size))
            searched = len(self._buffer)
            if not self._receive():
                return self._take(len(self._buffer))

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer only at the end of the stream."""
        while len(self._buffer) < size and self._receive():
            pass
        return self._take(min(size, len(self._buffer)))

    def close(self) -> None:
        """Forget what was read; the socket is its server's to close."""
        self._buffer = b""
        self.closed = True

    def flush(self) -> None:
        """Do nothing: there is nothing to write."""

    def _take(self, size: int) -> bytes:
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        self._taken += size
        return taken

    def _receive(self) -> bool:
        if self._taken + len(self._buffer) > self._limit:
            raise TooMuch
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        chunk = self._connection.recv(_CHUNK)
        self._buffer += chunk
        return bool(chunk)
