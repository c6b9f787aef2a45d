import asyncio
import threading

import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.policies.hf_batching import MicroBatcher


def doubler(batches):
    def work(jobs):
        batches.append([job.question for job in jobs])
        return [2 * job.question for job in jobs]

    return work


def test_concurrent_questions_share_batches_in_order_of_arrival():
    batches = []
    batcher = MicroBatcher(doubler(batches), 4)

    async def main():
        return await asyncio.gather(*map(batcher.ask, range(10)))

    assert asyncio.run(main()) == [2 * i for i in range(10)]
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    batcher.close()


def test_one_batch_at_a_time_while_the_loop_stays_free():
    running, most, beats = 0, 0, 0
    release = threading.Event()

    def work(jobs):
        nonlocal running, most
        running += 1
        most = max(most, running)
        assert release.wait(10)
        running -= 1
        return [job.question for job in jobs]

    batcher = MicroBatcher(work, 2)

    async def main():
        nonlocal beats
        asked = asyncio.gather(*map(batcher.ask, range(6)))
        for _ in range(50):
            await asyncio.sleep(0)
            beats += 1
        release.set()
        return await asked

    assert asyncio.run(main()) == list(range(6))
    assert (most, beats) == (1, 50)
    batcher.close()


def test_the_next_batch_is_whoever_became_ready_meanwhile():
    batches = []
    batcher = MicroBatcher(doubler(batches), 8)

    async def chain(start):
        value = start
        for _ in range(3):
            value = await batcher.ask(value)
        return value

    async def main():
        return await asyncio.gather(*map(chain, (1, 10, 100)))

    assert asyncio.run(main()) == [8, 80, 800]
    assert batches == [[1, 10, 100], [2, 20, 200], [4, 40, 400]]
    batcher.close()


def test_an_exception_answers_its_own_question_alone():
    def work(jobs):
        return [ValueError(job.question) if job.question == 1 else job.question for job in jobs]

    batcher = MicroBatcher(work, 4)

    async def main():
        return await asyncio.gather(*map(batcher.ask, range(3)), return_exceptions=True)

    first, second, third = asyncio.run(main())
    assert (first, third) == (0, 2)
    assert isinstance(second, ValueError)
    batcher.close()


def test_a_failing_worker_fails_its_batch_and_no_later_one():
    calls = []

    def work(jobs):
        calls.append(len(jobs))
        if len(calls) == 1:
            raise RuntimeError("broken")
        return [job.question for job in jobs]

    batcher = MicroBatcher(work, 2)

    async def main():
        return await asyncio.gather(*map(batcher.ask, range(4)), return_exceptions=True)

    answers = asyncio.run(main())
    assert [type(a) for a in answers[:2]] == [RuntimeError, RuntimeError]
    assert answers[2:] == [2, 3]
    batcher.close()


def test_cancelled_questions_are_left_out_and_the_worker_is_told():
    told, started, release = [], threading.Event(), threading.Event()

    def work(jobs):
        started.set()
        assert release.wait(10)
        told.append([(job.question, job.cancelled) for job in jobs])
        return [job.question for job in jobs]

    batcher = MicroBatcher(work, 2, wait=0)

    async def main():
        tasks = [asyncio.create_task(batcher.ask(i)) for i in range(4)]
        while not started.is_set():
            await asyncio.sleep(0.001)
        tasks[1].cancel()
        tasks[2].cancel()
        await asyncio.sleep(0)
        release.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(main())
    assert (answers[0], answers[3]) == (0, 3)
    assert told == [[(0, False), (1, True)], [(3, False)]]
    batcher.close()


def test_it_serves_one_event_loop_after_another_and_after_close():
    batches = []
    batcher = MicroBatcher(doubler(batches), 4)
    assert asyncio.run(batcher.ask(1)) == 2
    assert asyncio.run(batcher.ask(2)) == 4
    batcher.close()
    assert asyncio.run(batcher.ask(3)) == 6
    batcher.close()


@pytest.mark.parametrize(("max_batch", "wait"), [(0, 0.0), (True, 0.0), (1.5, 0.0), (1, -1.0)])
def test_bad_arguments(max_batch, wait):
    with pytest.raises(BadArgument, match="Expected"):
        MicroBatcher(doubler([]), max_batch, wait)
