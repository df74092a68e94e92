"""``python -m benchmarks.ray_overhead [--out FILE] [--rounds N] [--seconds S] [--only a,b]``: what Fray adds to Ray.

The workloads of Ray's own benchmark through `RayJobContext` and through plain Ray, in one process, on the same Ray,
turn by turn: each round measures both, in changing order. The overhead is the median over the rounds of Ray's rate by
Fray's, less one: what two neighbours in time say of each other.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.engines.ray_engine import ENVIRONMENT
from benchmarks.machine import describe_machine
from benchmarks.timing import rate_of

ALLOWED = 0.05
"""Overhead that a workload may have."""
CPUS = 2
STORE_BYTES = 1 << 30
ARRAY_BYTES = 80 << 20
IN_FLIGHT = 1000
MANY_REFS = 10_000


@dataclass(frozen=True)
class Workload:
    """The same calls twice: `make(side)` sets one side up and returns one call of it; `side` is "fray" or "ray"."""

    name: str
    payload: str
    make: Callable[[Any], Callable[[], Any]]
    per_call: float = 1


class Actor:
    def small_value(self) -> bytes:
        return b"ok"

    def small_value_arg(self, x: Any) -> bytes:
        return b"ok"


class AsyncActor:
    async def small_value(self) -> bytes:
        return b"ok"

    async def small_value_with_arg(self, x: Any) -> bytes:
        return b"ok"


def small_value() -> bytes:
    return b"ok"


class RaySide:
    """Plain Ray."""

    def __init__(self) -> None:
        import ray

        self.get, self.put = ray.get, ray.put
        self.wait = lambda refs: ray.wait(refs, fetch_local=False)
        self.task = ray.remote(small_value).remote
        self._ray = ray

    def function(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return self._ray.remote(fn).remote

    def method(self, cls: type[Any], name: str, **options: Any) -> Callable[..., Any]:
        self._actor = self._ray.remote(num_cpus=0, **options)(cls).remote()
        return getattr(self._actor, name).remote


class FraySide:
    """The same through Fray's context."""

    def __init__(self) -> None:
        from fray.backend.ray import RayJobContext

        self._context = RayJobContext()
        self.get, self.put = self._context.get, self._context.put
        self.wait = self._context.wait
        self.task = self.function(small_value)

    def function(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        run = self._context.run
        return lambda *args: run(fn, *args)

    def method(self, cls: type[Any], name: str, **options: Any) -> Callable[..., Any]:
        from fray import ActorOptions

        self._actor = self._context.create_actor(cls, options=ActorOptions(resources={"CPU": 0}, **options))
        return getattr(self._actor, name)


def get_small(side: Any) -> Callable[[], Any]:
    value = side.put(0)
    return lambda: side.get(value)


def put_small(side: Any) -> Callable[[], Any]:
    return lambda: side.put(0)


def put_gigabytes(side: Any) -> Callable[[], Any]:
    import numpy

    array = numpy.full(ARRAY_BYTES // 8, 1, dtype=numpy.int64)
    return lambda: side.put(array)


def tasks_sync(side: Any) -> Callable[[], Any]:
    return lambda: side.get(side.task())


def tasks_async(side: Any) -> Callable[[], Any]:
    return lambda: side.get([side.task() for _ in range(IN_FLIGHT)])


def get_many_refs(side: Any) -> Callable[[], Any]:
    held = side.put([side.put(1) for _ in range(MANY_REFS)])
    return lambda: side.get(held)


def wait_many(side: Any) -> Callable[[], Any]:
    def once() -> None:
        not_ready = [side.task() for _ in range(IN_FLIGHT)]
        while not_ready:
            _, not_ready = side.wait(not_ready)

    return once


def actor_sync(side: Any) -> Callable[[], Any]:
    call = side.method(Actor, "small_value")
    return lambda: side.get(call())


def actor_async(side: Any) -> Callable[[], Any]:
    call = side.method(Actor, "small_value")
    return lambda: side.get([call() for _ in range(IN_FLIGHT)])


def actor_concurrent(side: Any) -> Callable[[], Any]:
    call = side.method(Actor, "small_value", max_concurrency=16)
    return lambda: side.get([call() for _ in range(IN_FLIGHT)])


def actor_with_arg(side: Any) -> Callable[[], Any]:
    call, value = side.method(Actor, "small_value_arg"), side.put(0)
    return lambda: side.get([call(value) for _ in range(IN_FLIGHT)])


def async_actor_sync(side: Any) -> Callable[[], Any]:
    call = side.method(AsyncActor, "small_value")
    return lambda: side.get(call())


def async_actor_async(side: Any) -> Callable[[], Any]:
    call = side.method(AsyncActor, "small_value")
    return lambda: side.get([call() for _ in range(IN_FLIGHT)])


def async_actor_with_args(side: Any) -> Callable[[], Any]:
    call = side.method(AsyncActor, "small_value_with_arg")
    return lambda: side.get([call(number) for number in range(IN_FLIGHT)])


WORKLOADS = (
    Workload("get_small", "single client get calls", get_small),
    Workload("put_small", "single client put calls", put_small),
    Workload("put_gigabytes", f"put of {ARRAY_BYTES >> 20} MiB, in GB/s", put_gigabytes, ARRAY_BYTES / 1e9),
    Workload("tasks_sync", "single client tasks sync", tasks_sync),
    Workload("tasks_async", f"{IN_FLIGHT} tasks, one get", tasks_async, IN_FLIGHT),
    Workload("get_10k_refs", f"get of an object with {MANY_REFS} refs", get_many_refs),
    Workload("wait_1k", f"{IN_FLIGHT} tasks, {IN_FLIGHT} waits for one", wait_many),
    Workload("actor_sync", "1:1 actor calls sync", actor_sync),
    Workload("actor_async", "1:1 actor calls async", actor_async, IN_FLIGHT),
    Workload("actor_concurrent", "1:1 actor calls concurrent", actor_concurrent, IN_FLIGHT),
    Workload("actor_with_arg", "actor calls with a ref as argument", actor_with_arg, IN_FLIGHT),
    Workload("async_actor_sync", "1:1 async-actor calls sync", async_actor_sync),
    Workload("async_actor_async", "1:1 async-actor calls async", async_actor_async, IN_FLIGHT),
    Workload("async_actor_with_args", "1:1 async-actor calls with args", async_actor_with_args, IN_FLIGHT),
)


@contextmanager
def connected() -> Iterator[None]:
    """Start Ray for this process alone."""
    os.environ.update(ENVIRONMENT)
    import ray

    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    ray.init(
        num_cpus=CPUS,
        include_dashboard=False,
        object_store_memory=STORE_BYTES,
        log_to_driver=False,
        logging_level="ERROR",
        _temp_dir=folder,
    )
    try:
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def measure(workload: Workload, rounds: int, seconds: float) -> dict[str, Any]:
    """Return the row of one workload."""
    calls = {"ray": workload.make(RaySide()), "fray": workload.make(FraySide())}
    for call in calls.values():
        rate_of(call, (), min(seconds, 0.5))
    rates: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds):
        order = list(calls) if number % 2 == 0 else list(reversed(calls))
        for name in order:
            rates[name].append(workload.per_call * rate_of(calls[name], (), seconds))
    ratios = [ours / theirs for ours, theirs in zip(rates["fray"], rates["ray"], strict=True)]
    overhead = statistics.median(theirs / ours - 1 for ours, theirs in zip(rates["fray"], rates["ray"], strict=True))
    row: dict[str, Any] = {"name": f"ray_overhead_{workload.name}", "payload": workload.payload, "overhead": overhead}
    for name, values in rates.items():
        row[name] = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    row["ratio_min"], row["ratio_max"] = min(ratios), max(ratios)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ray_overhead", description="What Fray adds to Ray.")
    parser.add_argument("--out", type=Path, default=Path("build/ray_overhead.json"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", default="", help="names, with commas between them")
    options = parser.parse_args()
    chosen = [name for name in options.only.split(",") if name]
    unknown = set(chosen) - {workload.name for workload in WORKLOADS}
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    rows: list[dict[str, Any]] = []
    with connected():
        print(f"{'workload':<24}{'Ray':>12}{'Fray':>12}{'overhead':>10}", flush=True)
        for workload in WORKLOADS:
            if chosen and workload.name not in chosen:
                continue
            row = measure(workload, options.rounds, options.seconds)
            rows.append(row)
            late = "" if row["overhead"] <= ALLOWED else "  over what is allowed"
            figures = f"{row['ray']['median']:>12.1f}{row['fray']['median']:>12.1f}{100 * row['overhead']:>9.1f}%"
            print(f"{workload.name:<24}{figures}{late}", flush=True)
    run = {"rounds": options.rounds, "load_1m_at_end": os.getloadavg()[0], "ended": time.time()}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"machine": describe_machine(), "run": run, "rows": rows}, indent=1))
    return 0 if all(row["overhead"] <= ALLOWED for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
