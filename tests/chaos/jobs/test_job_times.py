"""Priority, deadline and grace of jobs, as `JobRequest` orders them."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from fray import Entrypoint, JobRequest, JobStatus, ResourceConfig
from fray.cluster import LocalCluster

from tests.slowness import SLOWNESS


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(cpus=1) as cluster:
        yield cluster


def python(name: str, script: str, **options: float) -> JobRequest:
    return JobRequest(
        name,
        Entrypoint.from_binary(sys.executable, ["-c", script]),
        ResourceConfig(cpu=1),
        **options,  # type: ignore[arg-type]
    )


def test_waiting_job_of_the_highest_priority_starts_first(cluster: LocalCluster, tmp_path):
    order, gate = tmp_path / "order", tmp_path / "gate"
    hold = (
        f"import os, time\nopen({str(order)!r}, 'a').write('first ')\n"
        f"while not os.path.exists({str(gate)!r}): time.sleep(0.01)"
    )
    first = cluster.launch(python("first", hold))
    others = [
        cluster.launch(python(name, f"open({str(order)!r}, 'a').write('{name} ')", priority=priority))
        for name, priority in (("low", -1), ("usual", 0), ("high", 7))
    ]
    gate.touch()
    cluster.wait([first, *others], raise_on_failure=True, timeout=60 * SLOWNESS)
    assert order.read_text().split() == ["first", "high", "usual", "low"]


def test_job_that_runs_past_its_deadline_fails_and_says_so(cluster: LocalCluster):
    job = cluster.launch(python("late", "import time; time.sleep(600)", deadline_seconds=0.5))
    info = cluster.wait(job, timeout=60 * SLOWNESS)
    assert info.status is JobStatus.FAILED
    assert "its deadline of 0.5 s has passed" in (info.error_message or "")


def test_deadline_that_is_far_away_changes_nothing(cluster: LocalCluster):
    job = cluster.launch(python("early", "print('in time')", deadline_seconds=3600))
    assert cluster.wait(job, timeout=60 * SLOWNESS).status is JobStatus.SUCCEEDED


@pytest.mark.parametrize(("grace", "says_goodbye"), [(0, False), (60, True)])
def test_grace_is_the_time_to_end_well(cluster: LocalCluster, grace: float, says_goodbye: bool):
    script = (
        "import signal, sys, time\n"
        "def end(*_):\n    time.sleep(0.3)\n    print('goodbye', flush=True)\n    sys.exit(0)\n"
        "for number in (signal.SIGINT, signal.SIGTERM):\n    signal.signal(number, end)\n"
        "print('ready', flush=True)\ntime.sleep(600)\n"
    )
    job = cluster.launch(python("graceful", script, grace_seconds=grace))
    assert next(cluster.follow(job)) == "ready\n"
    cluster.terminate(job)
    ended = cluster.wait(job, timeout=60 * SLOWNESS)
    # One that ends well within its grace has succeeded.
    assert ended.status is (JobStatus.SUCCEEDED if says_goodbye else JobStatus.STOPPED)
    assert ("goodbye" in cluster.logs(job)) is says_goodbye
