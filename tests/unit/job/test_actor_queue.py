"""`fray.ActorQueue`: waits that are given up, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import fray
import pytest


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
