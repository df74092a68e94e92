"""`fray.Executor` beside the pools of the standard library: calls through `concurrent.futures`."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor

from benchmarks.bench import Bench
from benchmarks.engines import CPUS
from benchmarks.measurement import Measurement
from benchmarks.payloads import small
from benchmarks.row import Round, Row
from benchmarks.target import TimesPeer
from benchmarks.timing import rate_of, synchronous_calls

IN_FLIGHT = 1000


def executor_async(bench: Bench) -> Round:
    """1000 submitted, then the results of all of them."""
    submit = _open(bench).submit

    def batch() -> None:
        for call in [submit(small) for _ in range(IN_FLIGHT)]:
            call.result()

    return lambda: Measurement(IN_FLIGHT * rate_of(batch, (), bench.seconds))


def executor_sync(bench: Bench) -> Round:
    """One call at a time."""
    executor = _open(bench)
    return lambda: synchronous_calls(lambda: executor.submit(small), lambda call: call.result(), (), bench.seconds)


def _open(bench: Bench) -> Executor:
    """Return Fray's executor; for the peer "pool" a ProcessPoolExecutor."""
    if bench.peer == "fray":
        import fray

        bench.engine()
        return bench.closing.enter_context(fray.Executor())
    return process_pool(bench)


def process_pool(bench: Bench) -> ProcessPoolExecutor:
    """Return the standard library's pool of processes, which is closed with the row."""
    pool = ProcessPoolExecutor(CPUS, mp_context=multiprocessing.get_context("fork"))
    return bench.closing.enter_context(pool)


ROWS = (
    Row(
        "executor_async",
        "1/s",
        "higher",
        "1000 x submit(small), then each result; pool: ProcessPoolExecutor",
        executor_async,
        peers=("fray", "pool"),
        targets=(TimesPeer(15, "pool"),),
    ),
    Row(
        "executor_sync",
        "1/s",
        "higher",
        "submit(small).result(); pool: ProcessPoolExecutor",
        executor_sync,
        peers=("fray", "pool"),
    ),
)
