"""Loops that time calls with as little of their own cost as Python allows."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

from benchmarks.measurement import Measurement, latency_figures

_BATCH_NS = 5_000_000


def rate_of(call: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> float:
    """Return calls per second; the clock is read once a batch, whose size grows until it takes 5 ms."""
    clock = time.perf_counter_ns
    batch, calls = 1, 0
    start = now = clock()
    end = start + int(seconds * 1e9)
    while now < end:
        before = now
        for _ in repeat(None, batch):
            call(*args)
        now = clock()
        calls += batch
        if now - before < _BATCH_NS:
            batch *= 2
    return calls * 1e9 / (now - start)


def synchronous_calls(submit: Callable[..., Any], get: Callable[[Any], Any], args: tuple[Any, ...], seconds: float):
    """Call ``get(submit(*args))`` for so long; return calls per second, with p50 and p99."""
    clock = time.perf_counter_ns
    latencies: list[int] = []
    note = latencies.append
    start = now = clock()
    end = start + int(seconds * 1e9)
    while now < end:
        before = clock()
        get(submit(*args))
        now = clock()
        note(now - before)
    return Measurement(len(latencies) * 1e9 / (now - start), latency_figures(latencies))


def paced_calls(submit: Callable[[], Any], get: Callable[[Any], Any], interval_seconds: float, seconds: float):
    """Call ``get(submit())`` at a steady pace; return the median latency in microseconds, with p50 and p99."""
    clock = time.perf_counter_ns
    interval_ns = int(interval_seconds * 1e9)
    latencies: list[int] = []
    start = due = clock()
    while due < start + seconds * 1e9:
        time.sleep(max(0, due - clock()) / 1e9)
        before = clock()
        get(submit())
        latencies.append(clock() - before)
        due += interval_ns
    figures = latency_figures(latencies)
    return Measurement(figures["p50_us"], figures)


def seconds_of(call: Callable[..., Any], *args: Any) -> float:
    """Return how long one call takes, in seconds."""
    start = time.perf_counter()
    call(*args)
    return time.perf_counter() - start
