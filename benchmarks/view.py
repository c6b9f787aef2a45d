"""What looking at a run costs: a list, an episode, a search, against reading every transcript.

`python benchmarks/view.py [TASKS ROLLOUTS STEPS]` writes a run (default: 200 tasks, 32 rollouts,
20 steps, about 120 MB of transcripts before packing), then opens it as `agentenvs view` does.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agentenvs.harness import OutcomeWriter, read_transcripts
from agentenvs.harness.episode import Step
from agentenvs.harness.outcomes import write_settings
from agentenvs.harness.records import Played
from agentenvs.harness.store.transcripts import TranscriptWriter
from agentenvs.harness.view import Run, Wanted, choose
from agentenvs.harness.view.app import App

WORDS = ("find", "order", "shelf", "courier", "lamp", "price", "cart", "search", "click", "error")


def played(task: str, rollout: int, steps: int, draw: random.Random) -> Played:
    made = []
    for _ in range(steps):
        repairs = ["fence"] if draw.random() < 0.1 else []
        parse = {
            "status": "calls",
            "reason": "",
            "repairs": repairs,
            "strict": not repairs,
            "format": "pylist",
            "calls": 1,
            "mode": "relaxed",
        }
        news = ({"role": "tool", "content": " ".join(draw.choices(WORDS, k=90))},)
        made.append(Step(" ".join(draw.choices(WORDS, k=40)), news, parse, "stop", 0.0))
    opening = ({"role": "system", "content": f"You act. {task}"},)
    fields = {"score": 0.0, "reason": "wrong", "steps": steps, "parse": {"calls": steps}}
    return Played(task, rollout, 0, False, "wrong", opening, made, fields)


def write(folder: Path, tasks: int, rollouts: int, steps: int) -> None:
    draw = random.Random(0)
    write_settings(folder, {"policy": {"name": "generated"}})
    writer = TranscriptWriter(folder)
    with OutcomeWriter(folder) as outcomes:
        for task in range(tasks):
            for rollout in range(rollouts):
                one = played(f"task_{task}", rollout, steps, draw)
                writer.write(one, 1.0)
                outcomes.write(one.task, one.rollout, one.success, **one.fields)
    writer.close()


@contextmanager
def timed(what: str, reference: float | None = None) -> Iterator[Callable[[], float]]:
    start = time.perf_counter()
    taken = 0.0
    yield lambda: taken
    taken = time.perf_counter() - start
    ratio = f"  {taken / reference:.3f} of the reference" if reference else ""
    print(f"{what:<44} {taken:7.3f} s{ratio}")


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or [200, 32, 20]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, *sizes)
        with timed("reference: read_transcripts, every row") as reference:
            assert sum(1 for _ in read_transcripts(folder)) == sizes[0] * sizes[1]
        full = reference()
        with timed("open the list, first screen", full):
            run = Run(folder)
            app = App([run])
            app.frame(80, 24)
        with timed("first episode, first screen", full):
            app.press("enter")
            app.frame(80, 24)
        with timed("last episode (looks through all)", full):
            for key in ("esc", "G", "enter"):
                app.press(key)
            app.frame(80, 24)
        with timed("next episode", full):
            app.press("[")
            app.frame(80, 24)
        with timed("filter by a repair", full):
            assert choose(run, Wanted(repair="fence"))
        with timed("search for a text that is nowhere", full):
            assert not choose(run, Wanted(text="nowhere"))
        with timed("search for a text that is everywhere", full):
            assert len(choose(run, Wanted(text="shelf"))) == len(run.entries)
        tracemalloc.start()
        opened = Run(folder)
        list(opened.transcripts.search("nowhere", opened.by_key))
        held, peak = (size / 2**20 for size in tracemalloc.get_traced_memory())
        print(f"after a search: {held:.0f} MiB held, {peak:.0f} MiB at most")


if __name__ == "__main__":
    main()
