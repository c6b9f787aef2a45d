import asyncio
import threading

import pytest

from agentenvs.errors import BadArgument, PolicyError
from agentenvs.harness.policies.hf_batching import Desk


def doubling(batches, most=4):
    def work(desk):
        while True:
            desk.gather(most)
            jobs = desk.take(most)
            if not jobs:
                return
            batches.append([job.question for job in jobs])
            for job in jobs:
                job.answer(2 * job.question)

    return work


def closing(desk, main):
    async def closed():
        try:
            return await main()
        finally:
            await desk.close()

    return asyncio.run(closed())


def test_questions_are_taken_in_order_of_arrival():
    batches = []
    desk = Desk(doubling(batches))

    async def main():
        return await asyncio.gather(*map(desk.ask, range(10)))

    assert closing(desk, main) == [2 * i for i in range(10)]
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_question_that_arrives_at_work_is_taken_by_the_same_work():
    seen, first, second = [], threading.Event(), threading.Event()

    def work(desk):
        (job,) = desk.take(1)
        first.set()
        assert second.wait(10)
        (late,) = desk.take(5)
        seen.append((job.question, late.question))
        late.answer("late")
        job.answer("first")

    desk = Desk(work)

    async def main():
        one = asyncio.create_task(desk.ask(1))
        while not first.is_set():
            await asyncio.sleep(0.001)
        two = asyncio.create_task(desk.ask(2))
        await asyncio.sleep(0)
        second.set()
        return await two, await one

    assert closing(desk, main) == ("late", "first")
    assert seen == [(1, 2)]


def test_the_loop_stays_free_while_one_thread_works():
    running, most, beats = 0, 0, 0
    release = threading.Event()

    def work(desk):
        nonlocal running, most
        running += 1
        most = max(most, running)
        assert release.wait(10)
        for job in desk.take(100):
            job.answer(job.question)
        running -= 1

    desk = Desk(work)

    async def main():
        nonlocal beats
        asked = asyncio.gather(*map(desk.ask, range(6)))
        for _ in range(50):
            await asyncio.sleep(0)
            beats += 1
        release.set()
        return await asked

    assert closing(desk, main) == list(range(6))
    assert (most, beats) == (1, 50)


def test_gathering_takes_whoever_is_ready_together():
    batches = []
    desk = Desk(doubling(batches, most=8))

    async def chain(start):
        value = start
        for _ in range(3):
            value = await desk.ask(value)
        return value

    async def main():
        return await asyncio.gather(*map(chain, (1, 10, 100)))

    assert closing(desk, main) == [8, 80, 800]
    assert batches == [[1, 10, 100], [2, 20, 200], [4, 40, 400]]


def test_an_exception_answers_its_own_question_alone():
    def work(desk):
        for job in desk.take(9):
            job.answer(ValueError(job.question) if job.question == 1 else job.question)

    desk = Desk(work)

    async def main():
        return await asyncio.gather(*map(desk.ask, range(3)), return_exceptions=True)

    first, second, third = closing(desk, main)
    assert (first, third) == (0, 2)
    assert isinstance(second, ValueError)


def test_failing_work_fails_whoever_waits_and_no_later_one():
    calls = []

    def work(desk):
        calls.append(1)
        if len(calls) == 1:
            desk.gather(4)
            desk.take(2)
            raise RuntimeError("broken")
        for job in desk.take(9):
            job.answer(job.question)

    desk = Desk(work)

    async def main():
        broken = await asyncio.gather(*map(desk.ask, range(4)), return_exceptions=True)
        return broken, await desk.ask(9)

    broken, later = closing(desk, main)
    assert [type(answer) for answer in broken] == [RuntimeError] * 4
    assert later == 9


def test_cancelled_questions_are_left_out_and_the_worker_is_told():
    told, started, release = [], threading.Event(), threading.Event()

    def work(desk):
        jobs = desk.take(2)
        started.set()
        assert release.wait(10)
        told.append([(job.question, job.cancelled) for job in jobs])
        for job in jobs:
            job.answer(job.question)

    desk = Desk(work, wait=0)

    async def main():
        tasks = [asyncio.create_task(desk.ask(i)) for i in range(4)]
        await asyncio.sleep(0)
        while not started.is_set():
            await asyncio.sleep(0.001)
        tasks[1].cancel()
        tasks[2].cancel()
        await asyncio.sleep(0)
        release.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = closing(desk, main)
    assert (answers[0], answers[3]) == (0, 3)
    assert [question for batch in told for question in batch if question[0] != 1] == [
        (0, False),
        (3, False),
    ]
    assert all(cancelled for batch in told for number, cancelled in batch if number == 1)


def test_closing_answers_who_waits_and_lets_the_worker_end():
    started, ended = threading.Event(), threading.Event()

    def work(desk):
        jobs = desk.take(1)
        started.set()
        while not all(job.cancelled for job in jobs):
            ended.wait(0.001)
        assert not desk.take(9)
        ended.set()

    desk = Desk(work)

    async def main():
        tasks = [asyncio.create_task(desk.ask(i)) for i in range(3)]
        await asyncio.sleep(0)
        while not started.is_set():
            await asyncio.sleep(0.001)
        await desk.close()
        assert ended.is_set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(main())
    assert [str(answer) for answer in answers] == [
        "The policy was closed while a request waited."
    ] * 3
    assert all(isinstance(answer, PolicyError) for answer in answers)


def test_it_serves_one_event_loop_after_another_and_after_close():
    batches = []
    desk = Desk(doubling(batches))
    assert asyncio.run(desk.ask(1)) == 2
    assert asyncio.run(desk.ask(2)) == 4

    async def main():
        return await desk.ask(3)

    assert closing(desk, main) == 6
    assert closing(desk, main) == 6


def test_a_loop_that_is_gone_is_told_to_the_worker_and_harms_no_other():
    release, seen = threading.Event(), []

    def work(desk):
        jobs = desk.take(1)
        assert release.wait(10)
        for job in [*jobs, *desk.take(9)]:
            seen.append((job.question, job.cancelled))
            job.answer(job.question)

    desk = Desk(work)
    abandoned = asyncio.new_event_loop()
    task = abandoned.create_task(desk.ask(1))
    abandoned.run_until_complete(asyncio.sleep(0))
    task._log_destroy_pending = False
    abandoned.close()

    async def main():
        asked = asyncio.create_task(desk.ask(2))
        await asyncio.sleep(0)
        release.set()
        return await asked

    assert closing(desk, main) == 2
    assert [entry for entry in seen if entry[0] == 2] == [(2, False)]
    assert (1, False) not in seen


def test_two_event_loops_at_once():
    batches = []
    desk = Desk(doubling(batches))
    answers = {}

    def other():
        answers["other"] = asyncio.run(desk.ask(5))

    thread = threading.Thread(target=other)
    thread.start()
    answers["own"] = asyncio.run(desk.ask(4))
    thread.join()
    assert answers == {"own": 8, "other": 10}
    asyncio.run(desk.close())


@pytest.mark.parametrize("wait", [-1.0, float("nan")])
def test_bad_arguments(wait):
    with pytest.raises(BadArgument, match="Expected"):
        Desk(doubling([]), wait)
