"""Small tasks: one at a time, many at once, at a slow pace, with large arguments, beside a busy thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.bench import Bench
from benchmarks.groups.limits import pickled_calls, socket_pingpong, socket_pingpong_1_per_ms
from benchmarks.measurement import Measurement
from benchmarks.payloads import byte_count, make_reader, make_small, small
from benchmarks.row import Round, Row
from benchmarks.target import AnyOf, AtLeast, AtMost, TimesPeer
from benchmarks.timing import paced_calls, rate_of, synchronous_calls

IN_FLIGHT = 1000


def tasks_sync(bench: Bench) -> Round:
    """One call at a time, of an importable function."""
    engine = bench.engine()
    submit = engine.bind(small)
    return lambda: synchronous_calls(submit, engine.get, (), bench.seconds)


def tasks_sync_by_value(bench: Bench) -> Round:
    """The same, of a function that only the driver has."""
    engine = bench.engine()
    submit = engine.bind(make_small())
    return lambda: synchronous_calls(submit, engine.get, (), bench.seconds)


def tasks_sync_reading_40mb(bench: Bench) -> Round:
    """The same, of a function that reads an array of 40 MB, which the program may change at any time."""
    import numpy

    engine = bench.engine()
    submit = engine.bind(make_reader(numpy.arange(5_000_000, dtype=numpy.float64)))
    return lambda: synchronous_calls(submit, engine.get, (), bench.seconds)


def tasks_async(bench: Bench) -> Round:
    """1000 submitted, then all of them got."""
    engine = bench.engine()
    submit, get = engine.bind(small), engine.get

    def batch() -> None:
        get([submit() for _ in range(IN_FLIGHT)])

    return lambda: Measurement(IN_FLIGHT * rate_of(batch, (), bench.seconds))


def tasks_1_per_ms(bench: Bench) -> Round:
    """One call a millisecond: what a call costs a program that mostly does something else."""
    engine = bench.engine()
    submit = engine.bind(small)
    return lambda: paced_calls(submit, engine.get, 1e-3, bench.seconds)


def call_1mb(bench: Bench) -> Round:
    """One call at a time with a filled numpy array of 1 MB as its argument."""
    import numpy

    engine = bench.engine()
    submit = engine.bind(byte_count)
    array = numpy.arange(125_000, dtype=numpy.float64)
    return lambda: synchronous_calls(submit, engine.get, (array,), bench.seconds)


def busy_driver_sync(bench: Bench) -> Round:
    """One call at a time while another thread of the driver computes in pure Python."""
    engine = bench.engine()
    submit = engine.bind(small)

    def one_round() -> Measurement:
        with _busy_thread():
            return synchronous_calls(submit, engine.get, (), bench.seconds)

    return one_round


@contextmanager
def _busy_thread() -> Iterator[None]:
    stopping = False

    def compute() -> None:
        number = 0
        while not stopping:
            number += 1

    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    yield
    stopping = True
    thread.join()


_ALL = ("fray", "ray", "pool")
_WITH_JOBLIB = (*_ALL, "joblib")

ROWS = (
    Row(
        "tasks_sync",
        "1/s",
        "higher",
        'get(run(small)), small() -> b"ok"',
        tasks_sync,
        peers=_WITH_JOBLIB,
        limit=socket_pingpong,
        targets=(AnyOf(TimesPeer(100, "ray"), AtLeast(50_000)), AtMost(100, "p99_us")),
    ),
    Row(
        "tasks_async",
        "1/s",
        "higher",
        "1000 x run(small), then one get",
        tasks_async,
        peers=_WITH_JOBLIB,
        limit=pickled_calls,
        targets=(AnyOf(TimesPeer(150, "ray"), AtLeast(250_000)), TimesPeer(12, "pool")),
    ),
    Row("tasks_sync_by_value", "1/s", "higher", "tasks_sync of a closure", tasks_sync_by_value, limit=socket_pingpong),
    Row(
        "tasks_sync_reading_40mb",
        "1/s",
        "higher",
        "tasks_sync of a closure that reads an array of 40 MB",
        tasks_sync_reading_40mb,
        peers=("fray", "ray", "joblib"),
    ),
    Row(
        "tasks_1_per_ms",
        "us",
        "lower",
        "p50 of get(run(small)), one call a millisecond",
        tasks_1_per_ms,
        peers=_ALL,
        limit=socket_pingpong_1_per_ms,
    ),
    Row("call_1mb", "1/s", "higher", "get(run(f, array)), 1 MB of float64", call_1mb, peers=_ALL),
    Row(
        "busy_driver_sync",
        "1/s",
        "higher",
        "tasks_sync beside a thread in a pure-Python loop",
        busy_driver_sync,
        peers=_ALL,
        targets=(AtLeast(5_000),),
    ),
)
