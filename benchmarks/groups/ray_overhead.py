"""What Fray adds to Ray: the workloads of Ray's own benchmark through `RayJobContext` beside plain Ray.

Both sides are in one process, on the same Ray, and take turns call by call, in changing order. A round's value is by
how much the median call of Fray's side took longer: what else happens on the machine meets both sides alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.row import Round, Row
from benchmarks.target import AtMost

ALLOWED_PERCENT = 5
ROUNDS = 9
FEWEST_TURNS = 10
ARRAY_BYTES = 80 << 20
IN_FLIGHT = 1000
MANY_REFS = 10_000


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

    def task(self) -> Any:
        return self._context.run(small_value)

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


@dataclass
class Duel:
    """A workload on both sides; one call is a round."""

    calls: dict[str, Callable[[], Any]]
    per_call: float
    seconds: float

    def __call__(self) -> Measurement:
        took: dict[str, list[int]] = {name: [] for name in self.calls}
        clock = time.perf_counter_ns
        end = clock() + int(2e9 * self.seconds)
        while clock() < end or len(took["fray"]) < FEWEST_TURNS:
            for name, call in self.calls.items():
                before = clock()
                call()
                took[name].append(clock() - before)
            self.calls = dict(reversed(self.calls.items()))
        medians = {name: median(each) for name, each in took.items()}
        overhead = 100 * (medians["fray"] / medians["ray"] - 1)
        return Measurement(overhead, {f"{name}_rate": self.per_call * 1e9 / each for name, each in medians.items()})


def _row(name: str, payload: str, make: Callable[[Any], Callable[[], Any]], per_call: float = 1) -> Row:
    def duel(bench: Bench) -> Round:
        bench.ray()
        return Duel({"ray": make(RaySide()), "fray": make(FraySide())}, per_call, bench.seconds)

    return Row(
        f"ray_{name}",
        "%",
        "lower",
        f"RayJobContext beside plain Ray: {payload}",
        duel,
        peers=("fray",),
        targets=(AtMost(ALLOWED_PERCENT),),
        rounds={"fray": ROUNDS},
        needs_ray=True,
        timeout_seconds=120,
    )


ROWS = (
    _row("get_small", "gets of a small object", get_small),
    _row("put_small", "puts of a small object", put_small),
    _row("put_gigabytes", f"put of {ARRAY_BYTES >> 20} MiB, rates in GB/s", put_gigabytes, ARRAY_BYTES / 1e9),
    _row("tasks_sync", "one task at a time", tasks_sync),
    _row("tasks_async", f"{IN_FLIGHT} tasks, one get", tasks_async, IN_FLIGHT),
    _row("get_10k_refs", f"get of an object with {MANY_REFS} refs", get_many_refs),
    _row("wait_1k", f"{IN_FLIGHT} tasks, {IN_FLIGHT} waits for one", wait_many),
    _row("actor_sync", "one call of an actor at a time", actor_sync),
    _row("actor_async", f"{IN_FLIGHT} calls of an actor, one get", actor_async, IN_FLIGHT),
    _row("actor_concurrent", "the same with max_concurrency=16", actor_concurrent, IN_FLIGHT),
    _row("actor_with_arg", "the same with a ref as argument", actor_with_arg, IN_FLIGHT),
    _row("async_actor_sync", "one call of an async method at a time", async_actor_sync),
    _row("async_actor_async", f"{IN_FLIGHT} calls of an async method, one get", async_actor_async, IN_FLIGHT),
    _row("async_actor_with_args", "the same with a number as argument", async_actor_with_args, IN_FLIGHT),
)
