"""`fray.ActorQueue`: waits that are given up, and its end."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import fray
import pytest
from fray.actor_queue import QueueActor


@pytest.fixture(autouse=True)
def context() -> Iterator[fray.JobContext]:
    with fray.ThreadContext(max_workers=2) as context, fray.fray_default_job_ctx(context):
        yield context


def test_a_get_that_nobody_waits_for_any_more_takes_no_item() -> None:
    async def main() -> list[Any]:
        queue = fray.ActorQueue()
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(queue.get_async(), 0.01)
        for number in range(3):
            await queue.put_async(number)
        return [await queue.get_async() for _ in range(3)]

    assert asyncio.run(main()) == [0, 1, 2]


@pytest.mark.parametrize("kind", ["thread", "sync", "local"])
def test_an_item_that_is_handed_out_to_a_get_that_is_cancelled_stays_in_the_queue(kind: str) -> None:
    async def main(queue: fray.ActorQueue, block: bool) -> None:
        for number in range(20):
            if not block:
                queue.put_nowait_batch([number, "next"])
            get = asyncio.create_task(queue.get_async(block=block))
            await asyncio.sleep(0)
            if block:
                queue.put_nowait_batch([number, "next"])
            get.cancel()
            got = (await asyncio.gather(get, return_exceptions=True))[0]
            if isinstance(got, asyncio.CancelledError):
                got = await queue.get_async(timeout=60)
            assert got == number
            assert await queue.get_async(timeout=60) == "next"

    with fray.create_job_ctx(kind) as context, fray.fray_default_job_ctx(context):
        for block in (True, False):
            asyncio.run(main(fray.ActorQueue(2), block))


@pytest.mark.parametrize("kind", ["thread", "local"])
@pytest.mark.parametrize("block", [True, False])
def test_gets_that_are_cancelled_together_leave_the_order_as_it_was(kind: str, block: bool) -> None:
    async def main(queue: fray.ActorQueue) -> None:
        for _ in range(10):
            queue.put_nowait_batch(range(6))
            gets = [asyncio.create_task(queue.get_async(block=block)) for _ in range(4)]
            await asyncio.sleep(0)
            for get in gets:
                get.cancel()
            got = await asyncio.gather(*gets, return_exceptions=True)
            kept = {value for value in got if not isinstance(value, BaseException)}
            left = [await queue.get_async(timeout=60) for _ in range(6 - len(kept))]
            assert left == [number for number in range(6) if number not in kept]

    with fray.create_job_ctx(kind) as context, fray.fray_default_job_ctx(context):
        asyncio.run(main(fray.ActorQueue()))


def test_items_that_are_put_back_go_first_also_where_there_is_no_room() -> None:
    async def main() -> list[Any]:
        items = QueueActor(2, fray.ActorQueue.Empty, fray.ActorQueue.Full)
        items.put_nowait_batch(["a", "b"])
        taken = await items.get_unless_given_up(b"name", None)
        items.put_nowait_batch(["c"])
        items.put_back(taken)
        assert not items.put_nowait_batch(["d"])
        assert items.put_nowait_batch([])
        return [await items.get() for _ in range(3)]

    assert asyncio.run(main()) == ["a", "b", "c"]


@pytest.mark.parametrize("put_back", list(itertools.permutations(range(3))))
def test_items_that_several_gets_put_back_have_their_old_order(put_back: tuple[int, ...]) -> None:
    async def main() -> list[Any]:
        items = QueueActor(0, fray.ActorQueue.Empty, fray.ActorQueue.Full)
        items.put_nowait_batch(list("abcde"))
        taken = [await items.get_unless_given_up(bytes([name]), None) for name in range(2)]
        taken.append(items.take_nowait())
        for place in put_back:
            items.put_back(taken[place])
        await items.put("f")
        return [await items.get() for _ in range(6)]

    assert asyncio.run(main()) == list("abcdef")


def test_a_put_that_nobody_waits_for_any_more_adds_no_item() -> None:
    async def main() -> int:
        queue = fray.ActorQueue(1)
        await queue.put_async("first")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(queue.put_async("second"), 0.01)
        await queue.get_async()
        return queue.size()

    assert asyncio.run(main()) == 0


@pytest.mark.parametrize("grace", [-1, float("nan"), "1"])
def test_a_shutdown_that_is_refused_leaves_the_queue_as_it_is(grace: Any) -> None:
    queue = fray.ActorQueue()
    with pytest.raises((ValueError, TypeError), match="timeout must be"):
        queue.shutdown(grace_period_s=grace)
    queue.put(1)
    assert queue.get() == 1


def test_a_queue_that_was_shut_down_says_so() -> None:
    queue = fray.ActorQueue()
    queue.shutdown()
    with pytest.raises(fray.ActorDiedError, match="shut down"):
        queue.get()


def test_a_size_that_is_no_number_is_refused() -> None:
    with pytest.raises(TypeError, match="maxsize must be a number of items"):
        fray.ActorQueue("2")  # type: ignore[arg-type]


def test_timeouts_may_be_larger_than_any_float(context: fray.JobContext) -> None:
    queue = fray.ActorQueue()
    queue.put(1)
    assert queue.get(timeout=10**400) == 1
    assert context.get(context.put(2), timeout=10**400) == 2
