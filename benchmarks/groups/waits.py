"""``wait``, one ref at a time, until none is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.payloads import small
from benchmarks.row import Round, Row
from benchmarks.target import TimesPeer
from benchmarks.timing import rate_of

COUNT = 1000


def wait_1k(bench: Bench) -> Round:
    """Submit 1000 tasks, then 1000 times ``wait(not_ready)``."""
    engine = bench.engine()
    submit, wait = engine.bind(small), engine.wait

    def submit_and_wait() -> None:
        _wait_for_each(wait, [submit() for _ in range(COUNT)])

    return lambda: Measurement(rate_of(submit_and_wait, (), bench.seconds))


def wait_only_1k(bench: Bench) -> Round:
    """The 1000 waits alone, on refs of tasks that have ended."""
    engine = bench.engine()
    submit, wait = engine.bind(small), engine.wait
    refs = [submit() for _ in range(COUNT)]
    engine.get(refs)
    return lambda: Measurement(rate_of(_wait_for_each, (wait, refs), bench.seconds))


def _wait_for_each(wait: Callable[[list[Any]], Any], not_ready: list[Any]) -> None:
    while not_ready:
        _, not_ready = wait(not_ready)


ROWS = (
    Row(
        "wait_1k",
        "1/s",
        "higher",
        "1000 x run(small), then 1000 x wait(not_ready)",
        wait_1k,
        targets=(TimesPeer(80, "ray"),),
    ),
    Row(
        "wait_only_1k",
        "1/s",
        "higher",
        "the 1000 waits alone, all refs done",
        wait_only_1k,
        targets=(TimesPeer(50, "ray"),),
    ),
)
