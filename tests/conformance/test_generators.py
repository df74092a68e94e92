"""Tasks that stream their items."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading

import pytest
from fray import JobContext, ObjectRef, TaskCancelledError, get_job_context

from tests.conformance.actors import Meeting
from tests.conformance.gates import Journal


def count(n):
    yield from range(n)


def endless():
    yield from itertools.count()


def two_then_fail():
    yield 1
    yield 2
    raise ValueError("third")


def count_in_event_loops(n):
    async def give(number):
        await asyncio.sleep(0)
        return number

    for number in range(n):
        yield asyncio.run(give(number))


class Quiet:
    """A journal that keeps nothing."""

    def add(self, line):
        pass


def first_then_wait(gate):
    yield "first"
    gate.wait()
    yield "second"


def first_then_announce(gate, started):
    yield "first"
    gate.announce_and_wait(started)
    yield "second"


def one_at_each(gates):
    for number, gate in enumerate(gates):
        gate.wait()
        yield number


def journalled(journal, n, payload):
    for number in range(n):
        journal.add(number)
        yield payload


@pytest.mark.behaviour("D6")
def test_items_come_in_order_then_the_end(ctx: JobContext):
    ref = ctx.run(count, 40)
    assert [ctx.get(next(ref)) for _ in range(40)] == list(range(40))
    with pytest.raises(StopIteration):
        next(ref)
    with pytest.raises(StopIteration):
        next(ref)
    assert ctx.get(list(ctx.run(count, 3))) == [0, 1, 2]
    assert list(ctx.run(count, 0)) == []


@pytest.mark.behaviour("D6")
def test_items_are_refs(ctx: JobContext):
    ref = ctx.run(count, 2)
    item = next(ref)
    assert isinstance(item, ObjectRef)
    assert item.result() == ctx.get(item) == 0
    assert ctx.get(ctx.run(int.__add__, next(ref), 5)) == 6

    def refs():
        yield get_job_context().put("held")

    assert ctx.get(ctx.get(next(ctx.run(refs)))) == "held"


@pytest.mark.behaviour("T010", "T007")
def test_item_is_there_before_the_end(ctx: JobContext, gate):
    door = gate()
    ref = ctx.run(first_then_wait, door)
    assert ctx.get(next(ref)) == "first"
    door.open()
    assert ctx.get(next(ref)) == "second"


@pytest.mark.behaviour("T010")
def test_endless_generator_can_be_read(ctx: JobContext):
    def forever():
        number = 0
        while True:
            yield number
            number += 1

    ref = ctx.run(forever)
    assert [ctx.get(next(ref)) for _ in range(5)] == [0, 1, 2, 3, 4]
    ctx.cancel(ref)


@pytest.mark.behaviour("T011")
def test_producer_waits_for_its_reader(ctx: JobContext, tmp_path):
    journal = Journal(str(tmp_path / "journal"))
    payload = b"x" * (1 << 20)
    ref = ctx.run(journalled, journal, 2000, payload)
    assert ctx.get(next(ref)) == payload
    # The engine is free to do other work while the producer waits, and the producer stays where it is.
    ctx.get([ctx.run(len, "abc") for _ in range(200)])
    ahead = len(journal.lines())
    assert ahead < 1000, f"the producer ran {ahead} items of 1 MiB ahead of a reader that took one"
    ctx.cancel(ref)


@pytest.mark.behaviour("T012")
def test_dropping_the_ref_ends_the_producer(ctx: JobContext, gate, tmp_path):
    ended = Journal(str(tmp_path / "ended"))

    def endless():
        try:
            while True:
                yield b"x" * 100_000
        finally:
            ended.add("closed")

    ref = ctx.run(endless)
    next(ref)
    del ref
    gc.collect()
    while not ended.lines():
        ctx.get(ctx.run(len, "abc"))
    assert ended.lines() == ["closed"]


@pytest.mark.behaviour("T013")
def test_failure_comes_at_its_place(ctx: JobContext):
    ref = ctx.run(two_then_fail)
    assert ctx.get([next(ref), next(ref)]) == [1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="third"):
            next(ref)


@pytest.mark.behaviour("T013")
def test_get_of_a_failing_generator_raises(ctx: JobContext):
    with pytest.raises(ValueError, match="third"):
        ctx.get(ctx.run(two_then_fail))


@pytest.mark.behaviour("T014")
def test_get_is_the_list_of_items_not_taken(ctx: JobContext):
    ref = ctx.run(count, 300)
    assert ctx.get(next(ref)) == 0
    assert ctx.get(ref) == list(range(1, 300))
    assert ctx.get(ref) == list(range(1, 300))
    assert ctx.get(next(ref)) == 1
    assert ctx.get([ctx.run(count, 2), ctx.run(count, 3)]) == [[0, 1], [0, 1, 2]]


@pytest.mark.behaviour("T014", "T015")
def test_all_items_of_a_generator_can_be_asked_for_before_it_begins(ctx: JobContext):
    def large_items():
        return ctx.run(journalled, Quiet(), 24, b"x" * (1 << 20))

    assert len(ctx.get(large_items())) == 24
    assert ctx.get(ctx.run(len, large_items())) == 24


@pytest.mark.behaviour("T014", "T060")
def test_await_of_a_generator_is_the_list_of_its_items_however_large_they_are(ctx: JobContext):
    async def main():
        return await ctx.run(journalled, Quiet(), 24, b"x" * (1 << 20))

    assert [len(item) for item in asyncio.run(main())] == [1 << 20] * 24


@pytest.mark.behaviour("T015")
def test_generator_argument_is_the_list_of_its_items(ctx: JobContext):
    assert ctx.get(ctx.run(sum, ctx.run(count, 100))) == 4950


@pytest.mark.behaviour("T016")
def test_wait_counts_the_next_item(ctx: JobContext):
    refs = [ctx.run(count, 3) for _ in range(3)]
    ready, others = ctx.wait(refs, num_returns=3)
    assert (ready, others) == (refs, [])
    assert ctx.get([next(ref) for ref in refs]) == [0, 0, 0]


@pytest.mark.behaviour("T017")
def test_next_of_a_plain_task_says_so(ctx: JobContext):
    with pytest.raises(TypeError, match="generator"):
        next(ctx.run(len, "abc"))


@pytest.mark.behaviour("D6")
def test_several_threads_may_read_one_generator(ctx: JobContext, gate):
    *doors, last = [gate() for _ in range(8)]
    ref = ctx.run(one_at_each, [*doors, last])
    taken: list[ObjectRef] = []

    def read():
        for item in ref:
            taken.append(item)

    threads = [threading.Thread(target=read, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for door in doors:
        door.open()
    assert all(thread.is_alive() for thread in threads), "a thread has read the end before the last item was there"
    last.open()
    for thread in threads:
        thread.join()
    assert sorted(ctx.get(taken)) == list(range(8))


@pytest.mark.behaviour("T018")
def test_async_for_gives_the_items_in_order_then_the_end(ctx: JobContext):
    async def main():
        ref = ctx.run(count, 40)
        found = [await item async for item in ref]
        for _ in range(2):
            with pytest.raises(StopAsyncIteration):
                await anext(ref)
        return found, [item async for item in ctx.run(count, 0)]

    assert asyncio.run(main()) == (list(range(40)), [])


@pytest.mark.behaviour("T018")
def test_async_for_goes_on_where_next_has_stopped(ctx: JobContext):
    async def main(ref):
        item = await anext(ref)
        assert isinstance(item, ObjectRef)
        return ctx.get(item)

    ref = ctx.run(count, 5)
    assert ctx.get(next(ref)) == 0
    assert asyncio.run(main(ref)) == 1
    assert ctx.get(ref) == [2, 3, 4]
    assert asyncio.run(main(ref)) == 2


@pytest.mark.behaviour("T018", "T013")
def test_async_for_raises_a_failure_at_its_place(ctx: JobContext):
    async def main():
        ref = ctx.run(two_then_fail)
        assert [await (await anext(ref)), await (await anext(ref))] == [1, 2]
        for _ in range(2):
            with pytest.raises(ValueError, match="third"):
                await anext(ref)

    asyncio.run(main())


@pytest.mark.behaviour("T018")
def test_a_generator_that_coroutines_read_may_run_an_event_loop_itself(ctx: JobContext):
    async def main():
        return [await item async for item in ctx.run(count_in_event_loops, 3)]

    assert asyncio.run(main()) == [0, 1, 2]


@pytest.mark.behaviour("T018")
def test_several_coroutines_may_read_one_generator(ctx: JobContext):
    async def items_of(ref):
        return [await item async for item in ref]

    async def main():
        ref = ctx.run(count, 60)
        one, other = await asyncio.gather(items_of(ref), items_of(ref))
        return [*one, *other]

    assert sorted(asyncio.run(main())) == list(range(60))


@pytest.mark.behaviour("T018")
def test_reading_an_endless_generator_lets_the_other_coroutines_run(ctx: JobContext):
    async def main():
        ref = ctx.run(endless)
        first = await (await anext(ref))

        async def read_all():
            async for _ in ref:
                pass

        reading = asyncio.create_task(read_all())
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        return first

    for _ in range(20):  # whether the worker is always ahead of its reader is a matter of chance
        assert asyncio.run(main()) == 0


@pytest.mark.behaviour("T018", "T109", "T112")
def test_async_methods_read_generators(ctx: JobContext):
    meeting = ctx.create_actor(Meeting)

    async def main():
        return [await item async for item in meeting.squares(20)]

    assert ctx.get([meeting.sum_of_items(n) for n in (1, 20, 300)]) == [0, 190, 44850]
    assert asyncio.run(main()) == [number * number for number in range(20)]


@pytest.mark.behaviour("T018", "T017")
def test_async_for_over_a_plain_task_says_so(ctx: JobContext):
    async def main():
        with pytest.raises(TypeError, match="generator"):
            await anext(ctx.run(len, "abc"))

    asyncio.run(main())


@pytest.mark.behaviour("T019")
def test_cancelled_wait_for_an_item_loses_none(ctx: JobContext, gate):
    door = gate()

    async def main():
        ref = ctx.run(first_then_wait, door)
        assert await (await anext(ref)) == "first"
        for _ in range(2):
            waiting = asyncio.ensure_future(anext(ref))
            await asyncio.sleep(0)  # the coroutine begins to wait
            assert not waiting.done()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        waiting = asyncio.ensure_future(anext(ref))
        await asyncio.to_thread(door.open)
        return await (await waiting)

    assert asyncio.run(main()) == "second"


@pytest.mark.behaviour("T039")
def test_wait_for_an_item_ends_when_its_task_is_cancelled(ctx: JobContext, gate):
    door, started = gate(), gate()

    async def main():
        ref = ctx.run(first_then_announce, door, started)
        await anext(ref)
        waiting = asyncio.ensure_future(anext(ref))
        await asyncio.to_thread(started.wait)
        ctx.cancel(ref)
        with pytest.raises(TaskCancelledError):
            await waiting

    asyncio.run(main())
    door.open_if_waited_for()
