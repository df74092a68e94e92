"""Objects: small ones, one of 800 MB, and one that holds 10 000 refs."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.bench import Bench
from benchmarks.engines import Engine
from benchmarks.groups.limits import memfd_copy_800mb, memfd_copy_800mb_cold, pickled_int
from benchmarks.measurement import Measurement, percentile
from benchmarks.payloads import small
from benchmarks.row import Round, Row
from benchmarks.sizes import LARGE_ELEMENTS
from benchmarks.target import AtLeast, AtMost, TimesPeer
from benchmarks.timing import rate_of, seconds_of

REPEATS = 5


def put_small(bench: Bench) -> Round:
    """``put(0)``, the ref dropped at once."""
    put = bench.engine().put
    return lambda: Measurement(rate_of(put, (0,), bench.seconds))


def get_small(bench: Bench) -> Round:
    """Get of one int, the same ref again and again."""
    engine = bench.engine()
    ref = engine.put(0)
    return lambda: Measurement(rate_of(engine.get, (ref,), bench.seconds))


def put_800mb(bench: Bench) -> Round:
    """Put of a filled array, dropped before the next, into memory that was used before."""
    engine, array = bench.engine(), _filled(bench)

    def one_round() -> Measurement:
        seconds = [_timed_put(engine, array) for _ in range(REPEATS)]
        return Measurement(array.nbytes / 1e9 / percentile(seconds, 0.5))

    return one_round


def put_800mb_cold(bench: Bench) -> Round:
    """The first put of a new engine, whose memory nobody has touched."""
    engine, array = bench.engine(own=True), _filled(bench)
    engine.get(engine.bind(small)())
    return lambda: Measurement(array.nbytes / 1e9 / _timed_put(engine, array))


def get_800mb(bench: Bench) -> Round:
    """The first get of a new large object, in milliseconds; nothing of it is read."""
    engine, array = bench.engine(), _filled(bench)

    def one_round() -> Measurement:
        seconds: list[float] = []
        for _ in range(REPEATS):
            ref = engine.put(array)
            seconds.append(seconds_of(engine.get, ref))
            del ref
        return Measurement(percentile(seconds, 0.5) * 1e3)

    return one_round


def put_empty_800mb(bench: Bench) -> Round:
    """Put of an array that was made in the store and filled there, in milliseconds; the filling is not timed."""
    engine = bench.engine()
    elements = bench.size(*LARGE_ELEMENTS)

    def one_round() -> Measurement:
        seconds: list[float] = []
        for _ in range(REPEATS):
            array = engine.empty(elements, "float64")
            array.fill(1.5)
            seconds.append(_timed_put(engine, array))
            del array
        return Measurement(percentile(seconds, 0.5) * 1e3)

    return one_round


def get_10k_refs(bench: Bench) -> Round:
    """Get of a list of 10 000 refs that a task made."""
    engine = bench.engine()
    ref = engine.bind(_REF_MAKERS[bench.peer])(bench.size(10_000, 100))
    engine.get(ref)
    return lambda: Measurement(rate_of(engine.get, (ref,), bench.seconds))


def _filled(bench: Bench) -> Any:
    """Return an array whose pages are its own; those of `zeros` would all be the one page of zeros."""
    import numpy

    return numpy.full(bench.size(*LARGE_ELEMENTS), 1.5)


def _timed_put(engine: Engine, array: Any) -> float:
    start = time.perf_counter()
    ref = engine.put(array)
    seconds = time.perf_counter() - start
    del ref
    return seconds


def _make_fray_refs(count: int) -> list[Any]:
    import fray

    context = fray.get_job_context()
    return [context.put(1) for _ in range(count)]


def _make_ray_refs(count: int) -> list[Any]:
    import ray

    return [ray.put(1) for _ in range(count)]


_REF_MAKERS = {"fray": _make_fray_refs, "ray": _make_ray_refs}

ROWS = (
    Row(
        "put_small",
        "1/s",
        "higher",
        "put(0), ref dropped",
        put_small,
        limit=pickled_int,
        targets=(TimesPeer(200, "ray"),),
    ),
    Row(
        "get_small",
        "1/s",
        "higher",
        "get of one int, same ref",
        get_small,
        limit=pickled_int,
        targets=(TimesPeer(60, "ray"),),
    ),
    Row(
        "put_800mb",
        "GB/s",
        "higher",
        "put of a filled array of 800 MiB, warm store",
        put_800mb,
        limit=memfd_copy_800mb,
        targets=(TimesPeer(0.9, "limit"),),
        timeout_seconds=120,
    ),
    Row(
        "put_800mb_cold",
        "GB/s",
        "higher",
        "the same as first put of a new engine",
        put_800mb_cold,
        limit=memfd_copy_800mb_cold,
        targets=(AtLeast(4),),
        rounds={"ray": 3},
        fresh=True,
        warm=False,
        timeout_seconds=120,
    ),
    Row(
        "get_800mb",
        "ms",
        "lower",
        "first get of an array of 800 MiB, nothing read",
        get_800mb,
        targets=(AtMost(0.2),),
        timeout_seconds=120,
    ),
    Row(
        "put_empty_800mb",
        "ms",
        "lower",
        "put of an array from empty(), 800 MiB, filling not counted",
        put_empty_800mb,
        peers=("fray",),
        targets=(AtMost(0.2),),
        timeout_seconds=120,
    ),
    Row(
        "get_10k_refs",
        "1/s",
        "higher",
        "get of a list of 10 000 refs that a task made",
        get_10k_refs,
        targets=(TimesPeer(30, "ray"),),
    ),
)
