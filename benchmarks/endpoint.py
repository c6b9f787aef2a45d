"""What the endpoint policy adds to a plain HTTP client: requests a second, and CPU a request.

An echo server in a process of its own answers every request with the same short reply. 512
episodes at a time ask it, by a plain httpx2 loop that posts the same bytes and reads the JSON,
by the policy alone, and by the runner with everything recorded. Rounds of the three alternate, and
the best of each counts.

    python benchmarks/endpoint.py
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable

import gymnasium
import httpx2
from runner import ID, STEPS, TASKS, Echo

from agentenvs.harness import Request, run_async
from agentenvs.harness.policies.endpoint import EndpointPolicy
from agentenvs.harness.policies.endpoint.body import Body
from agentenvs.harness.policies.endpoint.servers import KINDS

MODEL = "benchmarks/echo"
REPLY = json.dumps(
    {
        "object": "chat.completion",
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "[write(name='report.txt')]"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 109},
    }
)
MODELS = json.dumps({"data": [{"id": MODEL, "owned_by": "vllm", "max_model_len": 100_000}]})
SAID = (
    {"role": "system", "content": "You write reports. " * 20},
    {"role": "user", "content": "Please write the report, one sentence at a time. " * 10},
)


async def serve() -> None:
    """Answer until standard input ends."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                _, _, rest = head.partition(b"content-length:")
                if rest:
                    await reader.readexactly(int(rest.partition(b"\r\n")[0]))
                content = (MODELS if head.startswith(b"get") else REPLY).encode()
                fields = f"Content-Type: application/json\r\nContent-Length: {len(content)}"
                writer.write(f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode() + content)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def plain(url: str, requests: int, concurrency: int) -> None:
    """Post the same bytes in the plainest loop that does the job."""
    body = Body(MODEL, "chat", KINDS["vllm"]).write(Request(SAID, seed=1))
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=concurrency)
    headers = {"Content-Type": "application/json"}
    async with httpx2.AsyncClient(limits=limits, headers=headers, trust_env=False) as client:

        async def ask() -> None:
            reply = await client.post(f"{url}/chat/completions", content=body)
            assert reply.json()["choices"][0]["message"]["content"]

        await together(ask, requests, concurrency)


async def policy(url: str, requests: int, concurrency: int) -> None:
    """Ask by the policy."""
    actor = EndpointPolicy(MODEL, url, concurrency=concurrency)
    request = Request(SAID, seed=1)

    async def ask() -> None:
        assert (await actor.generate(request)).text

    await together(ask, requests, concurrency)
    await actor.close()


async def run(url: str, requests: int, concurrency: int) -> None:
    """Play episodes by the runner, everything recorded."""
    actor = EndpointPolicy(MODEL, url, concurrency=concurrency)
    n = requests // STEPS // len(TASKS)
    with tempfile.TemporaryDirectory() as folder:
        await run_async(ID, actor, n=n, parser="native", concurrency=concurrency, out=folder)
    await actor.close()


async def together(ask: Callable[[], Awaitable[None]], requests: int, concurrency: int) -> None:
    """Ask so many times, so many at a time."""
    queue = iter(range(requests))

    async def slot() -> None:
        for _ in queue:
            await ask()

    await asyncio.gather(*(slot() for _ in range(concurrency)))


def main() -> None:
    parser = argparse.ArgumentParser(description="What the endpoint policy adds to a client.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=10_240)
    parser.add_argument("--concurrency", type=int, default=512)
    parser.add_argument("--serve", action="store_true", help="be the echo server")
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve())
        return
    gymnasium.register(id=ID, entry_point=Echo)
    command = [sys.executable, __file__, "--serve"]
    loops = (plain, policy, run)
    best = dict.fromkeys(itertools.product(loops, ("cpu", "wall")), float("inf"))
    with subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        for _, loop in itertools.product(range(args.rounds), loops):
            gc.collect()
            cpu, wall = time.process_time(), time.perf_counter()
            asyncio.run(loop(url, args.requests, args.concurrency))
            spent = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
            for which, seconds in spent.items():
                best[loop, which] = min(best[loop, which], seconds)
        server.stdin.close()
    for loop in loops:
        cpu, wall = best[loop, "cpu"], best[loop, "wall"]
        print(
            f"{loop.__name__}: {args.concurrency} at a time, {args.requests / wall:.0f} requests/s "
            f"({wall / best[plain, 'wall']:.2f} of plain's time), "
            f"{cpu / args.requests * 1e6:.0f} us of CPU a request "
            f"({cpu / best[plain, 'cpu']:.2f} of plain's)"
        )


if __name__ == "__main__":
    main()
