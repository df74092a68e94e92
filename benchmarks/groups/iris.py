"""Jobs on Iris, and named actors of an Iris job: calls over HTTP to the job that hosts one, all on one machine."""

from __future__ import annotations

import json
import os
import time
import uuid
from pathlib import Path
from typing import Any

from benchmarks.actors import Server
from benchmarks.bench import Bench
from benchmarks.measurement import Measurement, percentile
from benchmarks.row import Round, Row
from benchmarks.target import AtLeast, AtMost
from benchmarks.timing import rate_of, seconds_of

IN_FLIGHT = 1000
RESULT_BYTES = 8 << 20


class Giver(Server):
    """Has an array that it gives away."""

    def __init__(self) -> None:
        import numpy

        self._array = numpy.ones(RESULT_BYTES, "uint8")

    def array(self) -> Any:
        return self._array


def _controller(bench: Bench) -> Any:
    """Start the stand-in for a controller that the tests use."""
    from tests.iris.controller import Controller
    from tests.iris.times import Times

    return bench.closing.enter_context(Controller(times=Times().scaled(0.1)))


def _request(*argv: str) -> Any:
    from fray._iris_jobs import IrisJobRequest

    request = IrisJobRequest()
    request.name, request.argv = f"bench-{uuid.uuid4().hex[:8]}", list(argv)
    return request


def _task(bench: Bench) -> Any:
    """Return the context of a task of an Iris job, which this process stands for: the task itself only waits."""
    from fray import create_job_ctx
    from fray._iris_jobs import IrisJobs

    controller = _controller(bench)
    job = IrisJobs(controller.url, user="bench").submit(_request("sleep", "infinity"))
    os.environ.update(
        IRIS_TASK_ID=f"{job}/0",
        IRIS_CONTROLLER_URL=controller.url,
        FRAY_JOB_SECRET=uuid.uuid4().hex,
        IRIS_JOB_ENV=json.dumps({"PYTHONPATH": str(Path(__file__).resolve().parents[2])}),
    )
    return bench.closing.enter_context(create_job_ctx("iris"))


def _actor(bench: Bench) -> tuple[Any, Any]:
    ctx = _task(bench)
    return ctx, ctx.create_actor(Giver, name="giver", get_if_exists=True, preemptible=False, num_cpus=0)


def iris_submit(bench: Bench) -> Round:
    """Milliseconds from a new client to the job's id, in the median, and to the job's end."""
    from fray._iris_jobs import IrisJobs

    controller = _controller(bench)
    count = bench.size(20, 2)

    def one_round() -> Measurement:
        submitted: list[float] = []
        ended: list[float] = []
        for _ in range(count):
            start = time.perf_counter()
            jobs = IrisJobs(controller.url, user="bench")
            job = jobs.submit(_request("true"))
            submitted.append((time.perf_counter() - start) * 1e3)
            jobs.wait(job, 60)
            ended.append((time.perf_counter() - start) * 1e3)
        return Measurement(percentile(submitted, 0.5), {"end_ms": percentile(ended, 0.5)})

    return one_round


def iris_call(bench: Bench) -> Round:
    """Milliseconds of one call and its answer, in the median."""
    ctx, actor = _actor(bench)
    count = bench.size(2000, 20)

    def one_round() -> Measurement:
        times = [seconds_of(lambda: ctx.get(actor.small_value())) * 1e3 for _ in range(count)]
        return Measurement(percentile(times, 0.5), {"p99_ms": percentile(times, 0.99)})

    return one_round


def iris_calls_async(bench: Bench) -> Round:
    """1000 calls, then one get of all results."""
    ctx, actor = _actor(bench)

    def batch() -> None:
        ctx.get([actor.small_value() for _ in range(IN_FLIGHT)])

    return lambda: Measurement(IN_FLIGHT * rate_of(batch, (), bench.seconds))


def iris_result_8mb(bench: Bench) -> Round:
    """Milliseconds of a call that returns an array of 8 MiB, in the median."""
    ctx, actor = _actor(bench)
    count = bench.size(20, 2)

    def once() -> None:
        if ctx.get(actor.array()).nbytes != RESULT_BYTES:
            raise RuntimeError("another array came back")

    def one_round() -> Measurement:
        times = [seconds_of(once) * 1e3 for _ in range(count)]
        return Measurement(percentile(times, 0.5), {"largest_ms": max(times)})

    return one_round


ROWS = (
    Row(
        "iris_submit",
        "ms",
        "lower",
        "submit `true` to a controller of Iris; end_ms: until its end is known",
        iris_submit,
        peers=("fray",),
        timeout_seconds=120,
    ),
    Row(
        "iris_call",
        "ms",
        "lower",
        "a call of a named actor of an Iris job, and its answer",
        iris_call,
        peers=("fray",),
        targets=(AtMost(0.5),),
        timeout_seconds=120,
    ),
    Row(
        "iris_calls_async",
        "1/s",
        "higher",
        "1000 calls of a named actor of an Iris job, then one get",
        iris_calls_async,
        peers=("fray",),
        targets=(AtLeast(10_000),),
        timeout_seconds=120,
    ),
    Row(
        "iris_result_8mb",
        "ms",
        "lower",
        "a call of a named actor of an Iris job that returns 8 MiB",
        iris_result_8mb,
        peers=("fray",),
        targets=(AtMost(25),),
        timeout_seconds=120,
    ),
)
