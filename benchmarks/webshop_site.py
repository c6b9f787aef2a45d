"""The shop's site and browser against the same steps as text, in the same run.

Every round plays the same plans three times: by the environment alone, by requests over one
connection to the site, and, where Chromium is installed, by the browser environment. The ratio
says how many steps as text go into one of the other kind.

    python benchmarks/webshop_site.py [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from http.client import HTTPConnection

from agentenvs.errors import BrowserError
from agentenvs.webshop import WebShopBrowserEnv, WebShopEnv, gold_actions
from agentenvs.webshop.paths import Place, path
from agentenvs.webshop.site import Site

Plans = Sequence[tuple[str, list[str]]]


def by_environment(env: WebShopEnv, plans: Plans) -> Callable[[], float]:
    """Return a function that plays the plans and says how long a step took, in seconds."""

    def play() -> float:
        begun, steps = time.perf_counter(), 0
        for task, actions in plans:
            env.reset(options={"task": task})
            for action in actions:
                env.step(action)
                steps += 1
        return (time.perf_counter() - begun) / steps

    return play


def by_requests(site: Site, plans: Plans) -> Callable[[], float]:
    """Return the same for the pages of the plans, asked for over one connection."""
    pages = []
    for task, actions in plans:
        env = WebShopEnv(tasks="mini")
        env.reset(options={"task": task})
        for action in actions:
            env.step(action)
            state = env.snapshot().state.state
            place = Place.of(state)
            pages.append(path(place))
    connection = HTTPConnection("127.0.0.1", site.port)

    def play() -> float:
        begun = time.perf_counter()
        for page in pages:
            connection.request("GET", page)
            reply = connection.getresponse()
            reply.read()
            assert reply.status == 200, (reply.status, page)
        return (time.perf_counter() - begun) / len(pages)

    return play


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    text = WebShopEnv(tasks="mini")
    plans = [(task, gold_actions(task)) for task in text.task_ids[:10]]
    with Site("mini", "mini") as site:
        ways = {"text": by_environment(text, plans), "site": by_requests(site, plans)}
        try:
            browser = WebShopBrowserEnv(tasks="mini")
            ways["browser"] = by_environment(browser, plans)
        except BrowserError as missing:
            browser = None
            print(f"no browser: {missing}")
        times: dict[str, list[float]] = {way: [] for way in ways}
        for play in ways.values():
            play()
        for _ in range(rounds):
            for way, play in ways.items():
                times[way].append(play())
        if browser is not None:
            browser.close()
    base = statistics.median(times["text"])
    for way, taken in times.items():
        step = statistics.median(taken)
        print(f"{way:8} {1e3 * step:9.3f} ms a step   {step / base:8.1f} steps as text")


if __name__ == "__main__":
    main()
