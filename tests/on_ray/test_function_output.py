"""What functions print that run as jobs of a Ray."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time

import pytest
from fray import Entrypoint, JobRequest, JobStatus, RuntimeEnv, UnsupportedError, create_cluster
from fray.backend.ray.cluster import RayCluster

from tests.on_ray.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default"), pytest.mark.timeout(180)]


def talk(words: str) -> None:
    print(words)
    print("to stderr", file=sys.stderr)
    subprocess.run(["echo", "from a child"], check=True)
    os.write(1, b"from the descriptor\n")


def fail() -> None:
    print("before", end="")
    raise ValueError("what went wrong")


def test_log_of_a_function_has_what_it_and_its_children_print(cluster: RayCluster):
    job = cluster.launch(JobRequest("talk", Entrypoint.from_callable(talk, ["hello"])))
    assert "".join(cluster.follow(job)) == cluster.logs(job)
    assert cluster.wait(job, timeout=WAIT_SECONDS).status is JobStatus.SUCCEEDED
    assert sorted(cluster.logs(job).splitlines()) == ["from a child", "from the descriptor", "hello", "to stderr"]


def test_log_of_replicas_says_whose_lines_they_are(cluster: RayCluster):
    job = cluster.launch(JobRequest("talk", Entrypoint.from_callable(print, ["hello"]), replicas=2))
    assert cluster.wait(job, timeout=WAIT_SECONDS).status is JobStatus.SUCCEEDED
    assert sorted(cluster.logs(job).splitlines()) == ["[replica-0] hello", "[replica-1] hello"]


def test_log_of_a_function_that_fails_has_the_traceback(cluster: RayCluster):
    job = cluster.launch(JobRequest("fail", Entrypoint.from_callable(fail)))
    assert cluster.wait(job, timeout=WAIT_SECONDS).status is JobStatus.FAILED
    log = cluster.logs(job)
    assert log.startswith("before")
    assert log.rstrip().endswith("ValueError: what went wrong")


def test_monitor_shows_the_lines(cluster: RayCluster, caplog: pytest.LogCaptureFixture):
    job = cluster.launch(JobRequest("talk", Entrypoint.from_callable(print, ["monitored"])))
    with caplog.at_level(logging.INFO, logger="fray"):
        assert cluster.monitor(job).status is JobStatus.SUCCEEDED
    assert "monitored" in caplog.text


def test_lines_come_while_the_function_runs(cluster: RayCluster):
    def first_line_then_sleep() -> None:
        print("first")
        time.sleep(600)

    job = cluster.launch(JobRequest("talk", Entrypoint.from_callable(first_line_then_sleep)))
    assert next(cluster.follow(job)) == "first\n"
    cluster.terminate(job)
    assert cluster.wait(job, timeout=WAIT_SECONDS).status is JobStatus.STOPPED


def test_named_cluster_is_an_error_that_says_why():
    with pytest.raises(UnsupportedError, match="give the address of the head"):
        create_cluster("ray?cluster=us-central2")


def test_working_folder_of_the_environment_is_the_one_that_is_sent(cluster: RayCluster, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "only_here.txt").write_text("sent")
    job = cluster.create_job("cat only_here.txt", RuntimeEnv(working_dir=str(other)))
    assert cluster.wait(job, timeout=WAIT_SECONDS).status is JobStatus.SUCCEEDED, cluster.logs(job)
    assert "sent" in cluster.logs(job)
