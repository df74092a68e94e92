"""Tasks that coroutines of an event loop await: one at a time, and eight at a time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.bench import Bench
from benchmarks.groups.executors import process_pool
from benchmarks.measurement import Measurement, latency_figures
from benchmarks.payloads import small
from benchmarks.row import Round, Row
from benchmarks.target import TimesPeer

if TYPE_CHECKING:
    import asyncio

AT_A_TIME = 8


def await_sync(bench: Bench) -> Round:
    """One coroutine that awaits one call after the other."""
    return _awaited_by(bench, 1)


def await_8(bench: Bench) -> Round:
    """Eight coroutines that do so."""
    return _awaited_by(bench, AT_A_TIME)


def _awaited_by(bench: Bench, coroutines: int) -> Round:
    import asyncio  # here, because the process of each other row would weigh more with it

    loop = asyncio.new_event_loop()
    bench.closing.callback(loop.close)
    call = _call_of(bench, loop)

    async def all_of_them() -> Measurement:
        latencies: list[int] = []
        start = time.perf_counter_ns()
        end = start + int(bench.seconds * 1e9)
        await asyncio.gather(*(_calls(call, end, latencies) for _ in range(coroutines)))
        return Measurement(len(latencies) * 1e9 / (time.perf_counter_ns() - start), latency_figures(latencies))

    return lambda: loop.run_until_complete(all_of_them())


async def _calls(call: Callable[[], Awaitable[object]], end: int, latencies: list[int]) -> None:
    clock = time.perf_counter_ns
    now = clock()
    while now < end:
        before = clock()
        await call()
        now = clock()
        latencies.append(now - before)


def _call_of(bench: Bench, loop: asyncio.AbstractEventLoop) -> Callable[[], Awaitable[object]]:
    """Return a call that can be awaited; that of the peer "pool" goes through `run_in_executor`."""
    if bench.peer != "pool":
        return bench.engine().bind(small)
    return partial(loop.run_in_executor, process_pool(bench), small)


_ALL = ("fray", "ray", "pool")

ROWS = (
    Row(
        "await_sync",
        "1/s",
        "higher",
        "await run(small); pool: run_in_executor with a ProcessPoolExecutor",
        await_sync,
        peers=_ALL,
        targets=(TimesPeer(1, "pool"),),
    ),
    Row("await_8", "1/s", "higher", "the same by 8 coroutines", await_8, peers=_ALL, targets=(TimesPeer(1, "pool"),)),
)
