"""A server on loopback that answers as a test says, over plain sockets so that it can also fail."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

MODEL = "tests/model"
ROW = {"id": MODEL, "object": "model", "owned_by": "vllm", "max_model_len": 100_000}


@dataclass
class Seen:
    """A request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.content)


@dataclass
class Answer:
    """What to send: a status, headers and a body; `cut` bytes of it and no more, or nothing."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    stall: bool = False
    events: list[str] | None = None
    drop: bool = False


def chat(text: str | None = "Hello.", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **more.pop("choice", {})}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {"object": "chat.completion", "choices": [choice], "usage": usage, **more}


def completion(text: str = "Hello.", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "text": text, "finish_reason": "stop", **more.pop("choice", {})}
    return {"object": "text_completion", "choices": [choice], **more}


def events(text: str, form: str = "chat", finish: str | None = "stop", done: bool = True) -> list:
    """Return the data of a stream that says a text, two characters at a time."""
    said = [
        {"delta": {"content": text[at : at + 2]}} if form == "chat" else {"text": text[at : at + 2]}
        for at in range(0, len(text), 2)
    ]
    rows = [{"choices": [{"index": 0, "finish_reason": None, **piece}]} for piece in said]
    if finish:
        last = {"delta": {}} if form == "chat" else {"text": ""}
        rows.append({"choices": [{"index": 0, "finish_reason": finish, **last}]})
        rows.append({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
    return [json.dumps(row) for row in rows] + (["[DONE]"] if done else [])


class Server:
    """Listens on loopback in a thread of its own.

    Attributes:
        seen: every request that is no `GET`.
        gets: every `GET` of the models; `questions` has the paths of all others.
        answer: what to do with one of them.
        models: what `GET /v1/models` brings, or a function that says.
        told: path -> answer, for what else is got.
        most: the most requests that were under way together.
    """

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.gets: list[Seen] = []
        self.questions: list[str] = []
        self.told: dict[str, Answer] = {}
        self.connections = 0
        self.closed = threading.Event()
        self.most = self._now = 0
        self.models: Any = Answer({"object": "list", "data": [ROW]})
        self.answer: Callable[[Seen], Answer] = lambda seen: Answer(
            chat() if seen.path.endswith("/chat/completions") else completion()
        )
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                method, path, *_ = head.decode().split(" ")
                lines = head.decode().split("\r\n")[1:]
                headers = {k.lower(): v.strip() for k, _, v in (x.partition(":") for x in lines)}
                content = await reader.readexactly(int(headers.get("content-length", 0)))
                seen = Seen(method, path, headers, content)
                if method == "GET" and not path.endswith("/models"):
                    self.questions.append(path)
                    answer = self.told.get(path, Answer("Not Found", 404))
                elif method == "GET":
                    self.gets.append(seen)
                    answer = self.models(seen) if callable(self.models) else self.models
                else:
                    self.seen.append(seen)
                    answer = self.answer(seen)
                self._now += 1
                self.most = max(self.most, self._now)
                try:
                    if not await self._send(answer, reader, writer):
                        return
                finally:
                    self._now -= 1
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.closed.set()
            writer.close()

    async def _send(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Send an answer; return whether the connection goes on."""
        if answer.drop:
            return False
        if answer.events is not None:
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            for data in answer.events:
                piece = f"data: {data}\n\n".encode()
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
            if answer.stall:
                await self._stall(reader)
                return False
            if answer.cut is not None:
                return False
            writer.write(b"0\r\n\r\n")
            return True
        if answer.stall:
            await self._stall(reader)
            return False
        text = answer.body if isinstance(answer.body, bytes | str) else json.dumps(answer.body)
        content = text if isinstance(text, bytes) else text.encode()
        fields = {"Content-Type": "application/json", "Content-Length": str(len(content))}
        head = "".join(f"{k}: {v}\r\n" for k, v in {**fields, **answer.headers}.items())
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{head}\r\n".encode() + content[: answer.cut])
        await writer.drain()
        return answer.cut is None

    async def _stall(self, reader: asyncio.StreamReader) -> None:
        """Say nothing until the other side has gone."""
        await reader.read()


def ledger_model(seen: Seen) -> str:
    """Play the ledger by its words, with a slip in some replies, as the seed says."""
    body = seen.body
    said = body["messages"][-1]["content"] if "messages" in body else body["prompt"][-200:]
    slip = int(random.Random(body["seed"]).random() < 0.15)
    if found := re.search(r"Deposit (\d+), then 1", said):
        return f"[deposit(amount={int(found[1]) + slip}), deposit(amount=1)]"
    if found := re.search(r"Now withdraw (\d+)", said):
        return f"[withdraw(amount={int(found[1]) + slip})]"
    return "Done."


class Faulty:
    """Answers like a model, but for a share of tries that fail, as content and try decide.

    Args:
        model: gives the text for a request.
        share: how many of the tries fail.
        stream: whether it answers in pieces.
    """

    KINDS = ("timeout", "http_429", "http_500", "cut", "garbled", "dropped")

    def __init__(self, model: Callable[[Seen], str], share: float, stream: bool = False) -> None:
        self.model = model
        self.share = share
        self.stream = stream
        self.tries: Counter[bytes] = Counter()
        self.faults: Counter[str] = Counter()

    def __call__(self, seen: Seen) -> Answer:
        attempt = self.tries[seen.content]
        self.tries[seen.content] += 1
        seed = hashlib.sha256(seen.content + str(attempt).encode()).digest()
        draw = random.Random(seed)
        text = self.model(seen)
        if draw.random() >= self.share:
            return Answer(events=events(text)) if self.stream else Answer(chat(text))
        kind = draw.choice(self.KINDS)
        self.faults[kind] += 1
        if kind == "timeout":
            return Answer(stall=True)
        if kind == "http_429":
            return Answer({"error": "busy"}, 429, {"Retry-After": "0.01"})
        if kind == "http_500":
            return Answer("it broke", 500)
        if kind == "cut":
            if self.stream:
                return Answer(events=events(text, finish=None, done=False), cut=0)
            return Answer(chat(text), cut=40)
        if kind == "garbled":
            return Answer(b'{"choices": [' + bytes(draw.randrange(256) for _ in range(20)))
        return Answer(drop=True)
