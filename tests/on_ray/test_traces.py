"""Tasks and calls of actors on Ray are the spans that they are elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.on_ray.head import RayHead
from tests.traces.conftest import Collector, receiving, run_in

pytestmark = pytest.mark.ray


@pytest.fixture
def collector() -> Iterator[Collector]:
    with receiving() as made:
        yield made


PROGRAM = """
import os
import fray
from opentelemetry import trace

HERE = fray.RuntimeEnv(env={name: value for name, value in os.environ.items() if name.startswith("OTEL_")})


def leaf(number):
    with trace.get_tracer("mine").start_as_current_span("own work"):
        return number + 1


def bare():
    raise ValueError("no stock")


class Counter:
    def __init__(self, start):
        self.value = start

    def add(self, number):
        self.value += number
        return self.value

    def bare(self):
        return self.value


def main():
    ctx = fray.get_job_context()
    options = fray.TaskOptions(runtime_env=HERE)
    print(ctx.get(ctx.create_task(leaf, (1,), options=options)))
    failing = ctx.create_task(bare, options=options)
    ctx.wait([failing])
    try:
        ctx.get(failing)
    except ValueError as error:
        print(error)
    counter = ctx.create_actor(Counter, 1, options=fray.ActorOptions(runtime_env=HERE))
    print(ctx.get([counter.add(2), counter.bare()]))


if __name__ == "__main__":
    main()
"""


def test_tasks_and_calls_on_ray_are_spans_of_the_callers_trace(
    ray_head: RayHead, collector: Collector, tmp_path: Path
) -> None:
    variables = {"FRAY_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "FRAY_CLUSTER_SPEC": "ray"}
    done = run_in(tmp_path, PROGRAM, **variables)
    assert done.stdout == "2\nno stock\n[3, 3]\n", done.stderr
    # The workers live on after the program, and export by themselves.
    spans = collector.until("own work", "run leaf", "run bare", "run Counter", "run Counter.add", "run Counter.bare")
    assert spans.line("own work") == ["own work", "run leaf", "submit leaf"]
    assert spans.line("run bare") == ["run bare", "submit bare"]
    assert spans.one("run bare").error == "ValueError: no stock"
    assert spans.line("run Counter") == ["run Counter", "create Counter"]
    assert spans.line("run Counter.add") == ["run Counter.add", "call Counter.add"]
    assert spans.line("run Counter.bare") == ["run Counter.bare", "call Counter.bare"]
    assert {"wait 1 result", "get 2 results"} <= {span.name for span in spans.all if span.kind == "internal"}


JOB = """
import sys
import fray
from fray import Entrypoint, JobRequest, ResourceConfig


def leaf():
    return 1


def work(word):
    print("work on", word)
    ctx = fray.get_job_context()
    return ctx.get(ctx.run(leaf))


def fails():
    raise ValueError("no stock")


def main():
    cluster = fray.current_cluster()
    resources = ResourceConfig(cpu=0)  # else replicas would hold what their tasks need
    good = JobRequest("good", Entrypoint.from_callable(work, args=("this",)), resources=resources, replicas=2)
    bad = JobRequest("bad", Entrypoint.from_callable(fails), resources=resources)
    ids = [cluster.launch(good), cluster.launch(bad)]
    print([str(info.status) for info in cluster.wait(ids)])


if __name__ == "__main__":
    main()
"""


def test_a_job_of_a_function_on_ray_is_a_span_of_who_launched_it(
    ray_head: RayHead, collector: Collector, tmp_path: Path
) -> None:
    variables = {"FRAY_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "FRAY_CLUSTER_SPEC": "ray"}
    done = run_in(tmp_path, JOB, **variables)
    assert done.stdout.endswith("['succeeded', 'failed']\n"), done.stdout + done.stderr
    spans = collector.until("run good", "run bad", "run leaf", "launch good", "launch bad")
    ran = spans.named("run good")
    assert sorted(span.attributes["fray.job.replica"] for span in ran) == ["0", "1"]
    assert {spans.parent(span).name for span in ran} == {"launch good"}
    assert {span.attributes["fray.job.attempt"] for span in ran} == {"1"}
    assert all(span.attributes["fray.job.id"].startswith("ray-callable-good") for span in ran)
    assert {tuple(spans.line_of(span)) for span in spans.named("run leaf")} == {
        ("run leaf", "submit leaf", "run good", "launch good")
    }
    assert spans.line("run bad") == ["run bad", "launch bad"]
    assert spans.one("run bad").error == "ValueError: no stock"
