"""Jobs are spans, and what they do is in the trace of who launched them."""

from __future__ import annotations

from collections.abc import Callable

from tests.traces.conftest import Spans

JOBS = '''
import sys
import fray
from fray import Entrypoint, JobRequest, ResourceConfig


def leaf():
    return 1


def work():
    ctx = fray.get_job_context()
    ctx.get(ctx.run(leaf))


def fails():
    raise ValueError("no stock")


PROGRAM = """
import os, fray
def leaf_of_program(): return os.environ["TRACEPARENT"]
if __name__ == "__main__":
    ctx = fray.get_job_context()
    ctx.get(ctx.run(pow, 2, 3, name="power"))
"""


def main():
    fray.init(cpus=2, tracing=True)
    cluster = fray.current_cluster()
    resources = ResourceConfig(cpu=1)
    good = JobRequest("good", Entrypoint.from_callable(work), resources=resources)
    bad = JobRequest("bad", Entrypoint.from_callable(fails), resources=resources)
    program = JobRequest("program", Entrypoint.from_binary(sys.executable, ["-c", PROGRAM]), resources=resources)
    ids = [cluster.launch(request) for request in (good, bad, program)]
    print([str(info.status) for info in cluster.wait(ids)])


if __name__ == "__main__":
    main()
'''


def test_jobs_of_functions_are_spans_and_programs_go_on_with_the_trace(traced: Callable[..., Spans]) -> None:
    spans = traced(JOBS, FRAY_OTEL="")
    assert spans.output == "['succeeded', 'failed', 'succeeded']\n"
    assert spans.line("run leaf") == ["run leaf", "submit leaf", "run good", "launch good"]
    assert spans.one("run bad").error == "ValueError: no stock"
    assert spans.line("run bad") == ["run bad", "launch bad"]
    assert spans.line("run power") == ["run power", "submit power", "launch program"]
    job = spans.one("run good")
    assert job.attributes["fray.job.id"].startswith("good")
    assert (job.attributes["fray.job.attempt"], job.attributes["fray.job.replica"]) == ("1", "0")
    assert [span.kind for span in spans.all if span.name.startswith("wait job good")] == ["internal"]
