"""Many workers, actors, drivers and objects: what each costs when there are hundreds of it, and how that grows."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from functools import partial
from typing import Any

import fray

from benchmarks.actors import Server
from benchmarks.bench import MARK, Bench
from benchmarks.engines.job_clusters import started_node
from benchmarks.measurement import Measurement
from benchmarks.payloads import rest
from benchmarks.processes import processes_of, pss_bytes
from benchmarks.program import Program
from benchmarks.row import Round, Row
from benchmarks.target import AtLeast, AtMost
from benchmarks.timing import seconds_of

REST_SECONDS = 0.02
TASKS_A_WORKER = 40
CALLS_AN_ACTOR = 20
DRIVERS = 64
TASKS_A_DRIVER = 2000
MB = 1e6


def _context(bench: Bench, cpus: int) -> fray.JobContext:
    """Open a context with so many CPUs: tasks that sleep need none of the machine's."""
    os.environ[MARK] = bench.mark
    return bench.closing.enter_context(fray.init(cpus=cpus, max_workers=cpus))


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# ---- workers


def workers(bench: Bench, count: int) -> Round:
    """Seconds for 40 tasks a worker that sleep for 20 ms each, 0.8 s without any cost, on workers that were started."""
    count = bench.size(count, 8)
    tasks = TASKS_A_WORKER * count
    context = _context(bench, count)

    def run_all(number: int) -> None:
        context.get([context.run(rest, REST_SECONDS) for _ in range(number)])

    start_seconds = seconds_of(run_all, count)  # as many tasks as workers

    def one_round() -> Measurement:
        cpu_before = _cpu_seconds()
        seconds = seconds_of(run_all, tasks)
        figures = {
            "driver_us_per_task": (_cpu_seconds() - cpu_before) / tasks * 1e6,
            "times_ideal": seconds / (TASKS_A_WORKER * REST_SECONDS),
            "start_s": start_seconds,
        }
        return Measurement(seconds, figures)

    return one_round


# ---- actors


def _start_actors(context: fray.JobContext, count: int) -> list[Any]:
    """Start so many, and let each answer a call."""
    actors = [context.create_actor(Server) for _ in range(count)]
    context.get([actor.small_value() for actor in actors])
    return actors


def _end_actors(context: fray.JobContext, actors: list[Any]) -> None:
    for actor in actors:
        context.kill(actor)


def actors_start(bench: Bench) -> Round:
    """Seconds until 1000 new actors have answered; flatness is the time of one beside that of one of 100."""
    context, count = _context(bench, 2), bench.size(1000, 8)
    few = max(1, count // 10)

    def time_start(number: int) -> float:
        actors: list[Any] = []
        seconds = seconds_of(lambda: actors.extend(_start_actors(context, number)))
        _end_actors(context, actors)
        return seconds

    def one_round() -> Measurement:
        each_of_few = time_start(few) / few
        seconds = time_start(count)
        return Measurement(seconds, {"flatness": seconds / count / each_of_few, "ms_each": seconds / count * 1e3})

    return one_round


def actors_calls(bench: Bench) -> Round:
    """Calls a second, 20 of each of 1000 actors; flatness is the time of one beside that of one call of 10 actors."""
    context, count = _context(bench, 2), bench.size(1000, 8)
    actors = _start_actors(context, count)

    def call_all(some: list[Any]) -> None:
        context.get([actor.small_value() for _ in range(CALLS_AN_ACTOR) for actor in some])

    def one_round() -> Measurement:
        few = actors[:10]
        each_of_few = seconds_of(call_all, few) / len(few) / CALLS_AN_ACTOR
        seconds = seconds_of(call_all, actors) / count / CALLS_AN_ACTOR
        return Measurement(1 / seconds, {"flatness": seconds / each_of_few})

    return one_round


def actors_memory(bench: Bench) -> Round:
    """Megabytes of PSS that each of 1000 actors adds, with its guardian and its share of node and driver."""
    context, count = _context(bench, 2), bench.size(1000, 8)
    _start_actors(context, 1)

    def weight() -> float:
        return pss_bytes(processes_of(os.getpid(), bench.mark)) / MB

    def one_round() -> Measurement:
        before = weight()
        actors = _start_actors(context, count)
        each = (weight() - before) / count
        _end_actors(context, actors)
        return Measurement(each)

    return one_round


# ---- drivers


def drivers(bench: Bench) -> Round:
    """Seconds until each of 64 programs on one node has had 2000 results; and of the last first result."""
    node = bench.closing.enter_context(started_node())
    environment = {**bench.environment(), "FRAY_HOME": node.home}
    count, tasks = bench.size(DRIVERS, 4), bench.size(TASKS_A_DRIVER, 50)

    def one_round() -> Measurement:
        programs = [
            bench.closing.enter_context(Program("driver", str(tasks), environment=environment)) for _ in range(count)
        ]
        for program in programs:
            program.answer()
        for program in programs:
            program.ask()
        times = [tuple(map(float, program.answer().split())) for program in programs]
        for program in programs:
            program.close()
        ends = [end for _, end in times]
        figures = {"last_first_result_s": max(first for first, _ in times), "first_end_s": min(ends)}
        return Measurement(max(ends), figures)

    return one_round


# ---- objects


def objects(bench: Bench) -> Round:
    """Microseconds to put and get one of a million objects that are all kept; flatness beside one of a thousand."""
    context, count = _context(bench, 2), bench.size(1_000_000, 10_000)

    def each(number: int) -> float:
        refs: list[Any] = []

        def put_and_get() -> None:
            refs.extend(context.put(value) for value in range(number))
            context.get(refs)

        return seconds_of(put_and_get) / number * 1e6

    def one_round() -> Measurement:
        few = min(each(1000) for _ in range(10))
        microseconds = each(count)
        return Measurement(microseconds, {"flatness": microseconds / few})

    return one_round


def _row(
    name: str, unit: str, payload: str, workload: Callable[[Bench], Round], targets: tuple[Any, ...], **more: Any
) -> Row:
    return Row(
        name,
        unit,
        "higher" if unit == "1/s" else "lower",
        payload,
        workload,
        peers=("fray",),
        targets=targets,
        rounds={"fray": 3},
        timeout_seconds=300,
        **more,
    )


def _workers_row(count: int, most_seconds: float) -> Row:
    payload = f"{TASKS_A_WORKER * count} tasks that sleep for 20 ms, on {count} workers; 0.8 s at no cost"
    return _row(f"workers_{count}", "s", payload, partial(workers, count=count), (AtMost(most_seconds),))


ROWS = (
    _workers_row(64, 1.2),
    _workers_row(256, 2),
    _workers_row(512, 3),
    _row(
        "actors_1000_start",
        "s",
        "1000 x create_actor, then an answer of each; flatness beside 100",
        actors_start,
        (AtMost(6), AtMost(1.5, "flatness")),
        warm=False,
    ),
    _row(
        "actors_1000_calls",
        "1/s",
        "20 calls of each of 1000 actors, then one get; flatness beside 10 actors",
        actors_calls,
        (AtLeast(20_000),),
    ),
    _row("actors_1000_memory", "MB", "PSS that each of 1000 actors adds", actors_memory, (AtMost(3),), warm=False),
    _row(
        "drivers_64",
        "s",
        f"64 programs on one node, {TASKS_A_DRIVER} tasks each, all at once",
        drivers,
        (AtMost(5, "last_first_result_s"),),
        warm=False,
    ),
    _row(
        "objects_1m",
        "us",
        "1 000 000 x put(i) and one get, refs kept; flatness beside 1000",
        objects,
        (AtMost(1.5, "flatness"),),
        warm=False,
    ),
)
