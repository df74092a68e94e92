"""What an engine weighs: idle, and with many tasks queued."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from benchmarks.bench import Bench
from benchmarks.engines import Engine
from benchmarks.measurement import Measurement, percentile
from benchmarks.payloads import identity, small
from benchmarks.processes import cpu_seconds, processes_of, pss_bytes, shared_memory_bytes
from benchmarks.program import Program
from benchmarks.row import Round, Row
from benchmarks.target import AtMost
from benchmarks.timing import seconds_of

SETTLING_SECONDS = 1.0
MB = 1e6


def idle_memory(bench: Bench) -> Round:
    """Megabytes of driver, node, fork server and workers beyond a bare Python, and the CPU they use doing nothing."""
    window_seconds = bench.size(60.0, 5.0)

    def one_round() -> Measurement:
        shared_before = shared_memory_bytes()
        with Program("bare") as bare, Program(f"hello_{bench.peer}", "stay", environment=bench.environment()) as hello:
            for program in (bare, hello, hello):
                program.answer()
            time.sleep(SETTLING_SECONDS)
            pids = processes_of(hello.pid, bench.mark)
            cpu_before = cpu_seconds(pids)
            time.sleep(window_seconds - SETTLING_SECONDS)
            pids |= processes_of(hello.pid, bench.mark)
            cpu = cpu_seconds(pids) - cpu_before
            bare_bytes = pss_bytes([bare.pid])
            figures = {
                "cpu_percent": 100 * cpu / (window_seconds - SETTLING_SECONDS),
                "processes": float(len(pids)),
                "bare_python_mb": bare_bytes / MB,
                "shared_memory_growth_mb": (shared_memory_bytes() - shared_before) / MB,
            }
            return Measurement((pss_bytes(pids) - bare_bytes) / MB, figures)

    return one_round


def million_queued(bench: Bench) -> Round:
    """Largest PSS in megabytes while a million tasks with refs kept are queued, run and hold their results."""
    return _queued(bench, bench.size(1_000_000, 10_000))


def queued_10k(bench: Bench) -> Round:
    """The same with ten thousand tasks, which every peer can do in a short time."""
    return _queued(bench, bench.size(10_000, 1_000))


def _queued(bench: Bench, largest: int) -> Round:
    engine = bench.engine(own=True)
    submit = engine.bind(identity)
    engine.get(engine.bind(small)())
    first = engine.get([submit(number) for number in range(1000)])
    assert first == list(range(1000))

    def one_round() -> Measurement:
        figures = {f"us_per_task_{count}": _us_per_task(engine, submit, count) for count in _counts(largest)}
        figures |= _phases(bench, engine, submit, largest)
        figures["flatness"] = figures[f"us_per_task_{largest}"] / figures["us_per_task_1000"]
        return Measurement(max(figures["queued_mb"], figures["with_results_mb"]), figures)

    return one_round


def _counts(largest: int) -> list[int]:
    """Return the counts that are timed before the largest; none is so large that what it frees hides the growth."""
    return [count for count in (1_000, 10_000, 100_000) if count < largest]


def _us_per_task(engine: Engine, submit: Callable[[int], Any], count: int) -> float:
    """Return microseconds a task from the first submit to the last result; small counts are repeated."""

    def run_all() -> None:
        engine.get([submit(number) for number in range(count)])

    repeats = min(10, max(1, 100_000 // count))
    return percentile([seconds_of(run_all) for _ in range(repeats)], 0.5) / count * 1e6


def _phases(bench: Bench, engine: Engine, submit: Callable[[int], Any], count: int) -> dict[str, float]:
    """Return PSS in megabytes of all processes before, with all submitted, with all results there, and after.

    The time a task takes is that of submitting and getting, without the looks at the memory in between.
    """
    pids = processes_of(os.getpid(), bench.mark)
    figures = {"before_mb": pss_bytes(pids) / MB}
    start = time.perf_counter()
    refs = [submit(number) for number in range(count)]
    seconds = time.perf_counter() - start
    figures["queued_mb"] = pss_bytes(pids) / MB
    seconds += seconds_of(engine.get, refs)
    figures["with_results_mb"] = pss_bytes(pids) / MB
    figures["drop_ms"] = seconds_of(refs.clear) * 1e3
    figures["after_mb"] = pss_bytes(pids) / MB
    figures[f"us_per_task_{count}"] = seconds / count * 1e6
    return figures


ROWS = (
    Row(
        "idle_memory",
        "MB",
        "lower",
        "PSS of all processes 60 s after one task, minus a bare Python",
        idle_memory,
        peers=("fray", "ray", "pool"),
        targets=(AtMost(40), AtMost(0.05, "cpu_percent")),
        rounds={"fray": 1, "ray": 1, "pool": 1},
        warm=False,
        timeout_seconds=120,
    ),
    Row(
        "million_queued",
        "MB",
        "lower",
        "largest PSS with 1 000 000 x run(f, i), refs kept; flatness is us a task at 1 M over 1 k",
        million_queued,
        peers=("fray",),
        targets=(AtMost(500), AtMost(1.5, "flatness")),
        rounds={"fray": 3},
        fresh=True,
        warm=False,
        timeout_seconds=180,
    ),
    Row(
        "queued_10k",
        "MB",
        "lower",
        "the same with 10 000 tasks",
        queued_10k,
        rounds={"fray": 3, "ray": 1},
        fresh=True,
        warm=False,
        timeout_seconds=180,
    ),
)
