"""Programs that people run: the first call, the median of the calls after it, and the most memory."""

from __future__ import annotations

import hashlib
import os
import statistics
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from benchmarks.bench import MARK, Bench
from benchmarks.engines import CPUS
from benchmarks.measurement import Measurement
from benchmarks.processes import processes_of, pss_bytes
from benchmarks.program import Program
from benchmarks.real import (
    arrays,
    dask_graphs,
    frames,
    joblib_calls,
    learning,
    nested,
    parameter_server,
    pi,
    rollouts,
    service,
    short_programs,
    stream,
    texts,
    waiting,
)
from benchmarks.real.program import RealProgram
from benchmarks.real.tools import open_tools
from benchmarks.row import Round, Row
from benchmarks.target import TimesPeer
from benchmarks.timing import seconds_of

_CALLS = 3
_LOOK_SECONDS = 0.05
_MODULES = (
    learning,
    joblib_calls,
    dask_graphs,
    frames,
    texts,
    arrays,
    nested,
    pi,
    parameter_server,
    rollouts,
    service,
    stream,
    short_programs,
    waiting,
)


def real(program: RealProgram, bench: Bench) -> Round:
    """Seconds of a call, after a first one that counts the engine's start; memory is watched in a further one."""
    given = program.prepare(bench.size(program.full, program.quick))
    os.environ[MARK] = bench.mark
    waiters = waiting.WAITERS if program.name == "waiting" else CPUS
    results: list[Any] = []

    def start() -> None:
        tools = open_tools(bench.peer, bench.settings.fray_context, bench.address, waiters)
        bench.closing.enter_context(tools.closing)
        run = partial(program.run, tools)
        results.append(run)
        results.append(run(given))

    first = seconds_of(start)
    run = results.pop(0)

    def call() -> None:
        results.append(run(given))

    def one_round() -> Measurement:
        seconds = statistics.median(seconds_of(call) for _ in range(_CALLS))
        figures = {"first_s": first}
        if bench.peer != "ray":  # most of Ray is in daemons that other rows use too
            figures["peak_mb"] = _peak_bytes(bench, call) / 1e6
        return Measurement(seconds, figures, _digests(results))

    return one_round


def beside_load(program: RealProgram, bench: Bench) -> Round:
    """How many times longer a call takes while one other process on each CPU never rests."""
    given = program.prepare(bench.size(program.full, program.quick))
    tools = open_tools(bench.peer, bench.settings.fray_context, bench.address)
    bench.closing.enter_context(tools.closing)

    def one_round() -> Measurement:
        def median_seconds() -> float:
            return statistics.median(seconds_of(program.run, tools, given) for _ in range(_CALLS))

        median_seconds()
        alone = median_seconds()
        with ExitStack() as closing:
            for _ in range(CPUS):
                closing.enter_context(Program("busy")).answer()
            beside = median_seconds()
        return Measurement(beside / alone, {"alone_s": alone, "beside_s": beside})

    return one_round


def _digests(results: list[Any]) -> str:
    """Return a short text that is the same for the same results; their number does not matter."""
    return "/".join(sorted({hashlib.blake2b(repr(result).encode(), digest_size=6).hexdigest() for result in results}))


def _peak_bytes(bench: Bench, call: Callable[[], None]) -> int:
    """Return the most that all processes of this workload weigh together during a call."""
    with _watched(bench) as weights:
        call()
    return max(weights)


@contextmanager
def _watched(bench: Bench) -> Iterator[list[int]]:
    ended = threading.Event()
    weights: list[int] = []

    def look() -> None:
        while True:
            weights.append(pss_bytes(processes_of(os.getpid(), bench.mark)))
            if ended.wait(_LOOK_SECONDS):
                return

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield weights
    finally:
        ended.set()
        watcher.join()


_REAL = tuple(
    Row(
        f"real_{program.name}",
        "s",
        "lower",
        program.does,
        partial(real, program),
        peers=program.peers,
        targets=tuple(TimesPeer(1, peer) for peer in program.peers if peer != "fray"),
        fresh=True,
        warm=False,
        timeout_seconds=180,
    )
    for module in _MODULES
    for program in module.PROGRAMS
)
_LOADED = tuple(
    Row(
        f"loaded_{program.name}",
        "x",
        "lower",
        f"{program.does}; longer beside {CPUS} busy processes",
        partial(beside_load, program),
        peers=tuple(peer for peer in program.peers if peer != "ray"),
        targets=(TimesPeer(1, "pool"),),
        warm=False,
        timeout_seconds=180,
    )
    for module in (frames, texts, rollouts, service)
    for program in module.PROGRAMS
)
ROWS = _REAL + _LOADED
