"""`fray.ActorQueue`: waits that are given up, and its end."""

from __future__ import annotations

import asyncio
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


def test_items_that_are_put_back_go_first_also_where_there_is_no_room() -> None:
    async def main() -> list[Any]:
        items = QueueActor(2, fray.ActorQueue.Empty, fray.ActorQueue.Full)
        items.put_nowait_batch(["a", "b"])
        items.put_back(["x", "y"])
        assert not items.put_nowait_batch(["c"])
        assert items.put_nowait_batch([])
        return [await items.get() for _ in range(4)]

    assert asyncio.run(main()) == ["x", "y", "a", "b"]


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
