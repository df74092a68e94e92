"""Programs of Ray on `fray.ray` beside Ray itself: the cases of Ray's own micro-benchmark that have one client.

The same workload runs with either module as `ray`; what `fray.ray` adds to the context API is a row of its own.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.row import Round, Row
from benchmarks.target import AtMost, TimesPeer

_IN_FLIGHT = 1000
_TURNS = 2000


def _small_value() -> bytes:
    return b"ok"


class _Actor:
    def small_value(self) -> bytes:
        return b"ok"


def _module(bench: Bench) -> Any:
    if bench.peer == "ray":
        bench.ray()
        return import_module("ray")
    ray = import_module("fray.ray")
    ray.init(num_cpus=2)
    bench.closing.callback(ray.shutdown)
    return ray


def _rate(bench: Bench, once: Callable[[], object], calls: int = 1) -> Round:
    def one_round() -> Measurement:
        start, count = time.perf_counter(), 0
        while (passed := time.perf_counter() - start) < bench.seconds:
            once()
            count += calls
        return Measurement(count / passed)

    return one_round


def tasks_sync(bench: Bench) -> Round:
    """Tasks a second, one at a time."""
    ray = _module(bench)
    task = ray.remote(_small_value)
    return _rate(bench, lambda: ray.get(task.remote()))


def tasks_async(bench: Bench) -> Round:
    """Tasks a second, a thousand in flight."""
    ray = _module(bench)
    task = ray.remote(_small_value)
    return _rate(bench, lambda: ray.get([task.remote() for _ in range(_IN_FLIGHT)]), _IN_FLIGHT)


def actor_sync(bench: Bench) -> Round:
    """Calls of an actor a second, one at a time."""
    ray = _module(bench)
    actor = ray.remote(num_cpus=0)(_Actor).remote()
    return _rate(bench, lambda: ray.get(actor.small_value.remote()))


def actor_async(bench: Bench) -> Round:
    """Calls of an actor a second, a thousand in flight."""
    ray = _module(bench)
    actor = ray.remote(num_cpus=0)(_Actor).remote()
    return _rate(bench, lambda: ray.get([actor.small_value.remote() for _ in range(_IN_FLIGHT)]), _IN_FLIGHT)


def put_small(bench: Bench) -> Round:
    """Small values put a second."""
    return _rate(bench, partial(_module(bench).put, 0))


def get_small(bench: Bench) -> Round:
    """Gets a second of a small value that was put."""
    ray = _module(bench)
    return _rate(bench, partial(ray.get, ray.put(0)))


def overhead(bench: Bench) -> Round:
    """Microseconds that a call takes longer than through the context API: submit and get, in turns."""
    import fray

    ray = _module(bench)
    context = fray.get_job_context()
    task = ray.remote(_small_value)
    sides = [lambda: context.get(context.run(_small_value)), lambda: ray.get(task.remote())]

    def one_round() -> Measurement:
        times: list[list[float]] = [[], []]
        for turn in range(bench.size(_TURNS, 20)):
            for side in (0, 1) if turn % 2 else (1, 0):
                start = time.perf_counter()
                sides[side]()
                times[side].append(time.perf_counter() - start)
        plain, through = (statistics.median(side) * 1e6 for side in times)
        return Measurement(through - plain, {"context_us": plain, "ray_us": through})

    return one_round


ROWS = (
    Row(
        "ray_api_tasks_sync",
        "1/s",
        "higher",
        "fray.ray beside Ray: one task at a time",
        tasks_sync,
        targets=(TimesPeer(50, "ray"),),
    ),
    Row(
        "ray_api_tasks_async",
        "1/s",
        "higher",
        "the same: 1,000 tasks in flight",
        tasks_async,
        targets=(TimesPeer(50, "ray"),),
    ),
    Row(
        "ray_api_actor_sync",
        "1/s",
        "higher",
        "the same: one call of an actor at a time",
        actor_sync,
        targets=(TimesPeer(40, "ray"),),
    ),
    Row(
        "ray_api_actor_async",
        "1/s",
        "higher",
        "the same: 1,000 calls of an actor in flight",
        actor_async,
        targets=(TimesPeer(40, "ray"),),
    ),
    Row("ray_api_put", "1/s", "higher", "the same: put of an int", put_small, targets=(TimesPeer(100, "ray"),)),
    Row("ray_api_get", "1/s", "higher", "the same: get of an int", get_small, targets=(TimesPeer(100, "ray"),)),
    Row(
        "ray_api_overhead",
        "us",
        "lower",
        "a task through fray.ray, less the same through JobContext",
        overhead,
        peers=("fray",),
        targets=(AtMost(1.5),),
    ),
)
