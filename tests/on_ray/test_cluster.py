"""Jobs on Ray: programs with their words and variables, and functions; script jobs are in test_script_jobs.py."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any

import pytest
from fray import Entrypoint, JobFailed, JobRequest, JobStatus, ResourceConfig, RuntimeEnv, create_environment
from fray.backend.ray.cluster import RayClient, RayCluster

from tests.on_ray.head import RayHead
from tests.on_ray.waiting import WAIT_SECONDS, wait_until

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default"), pytest.mark.timeout(180)]


def test_environment_variables_and_quoting(cluster: RayCluster, caplog: pytest.LogCaptureFixture):
    words = ["a b", "$HOME", "it's", "*", ""]
    code = "import os, sys; print(os.environ['MINE'], sys.argv[1:])"
    request = JobRequest(
        name="words",
        entrypoint=Entrypoint.from_binary("python", ["-c", code, *words]),
        environment=create_environment(env_vars={"MINE": "here"}),
        resources=ResourceConfig(cpu=0.5, ram="64m"),
    )
    job_id = cluster.launch(request)
    with caplog.at_level(logging.INFO, "fray"):
        info = cluster.monitor(job_id)
    assert info.status == "succeeded"
    assert (info.name, info.error_message) == ("words", None)
    assert f"here {words}" in caplog.text


def test_failed_program_tells_why(cluster: RayCluster):
    request = JobRequest(
        name="fails",
        entrypoint=Entrypoint.from_binary("sh", ["-c", "echo so it goes; exit 3"]),
        resources=ResourceConfig(cpu=0, ram="0"),
    )
    job_id = cluster.launch(request)
    with pytest.raises(JobFailed, match="so it goes") as caught:
        cluster.wait([job_id], raise_on_failure=True, timeout=WAIT_SECONDS)
    assert (caught.value.job_id, caught.value.failed_status) == (job_id, JobStatus.FAILED)


def test_unknown_job_is_a_key_error(cluster: RayCluster):
    for use in (cluster.poll, cluster.logs, cluster.terminate):
        with pytest.raises(KeyError, match="nobody does not exist"):
            use("nobody")


def test_wrong_entrypoints_are_refused(cluster: RayCluster):
    with pytest.raises(TypeError, match="shell command"):
        cluster.create_job(lambda ctx: None, RuntimeEnv())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="starts one process, not 3"):
        cluster.launch(JobRequest("many", Entrypoint.from_binary("true"), replicas=3))


# ---- functions


def note(path: str) -> None:
    name = f"{os.environ['FRAY_REPLICA_ID']}-of-{os.environ['FRAY_REPLICA_COUNT']}"
    Path(path, name).write_text(os.environ["MINE"])


def fail(text: str) -> None:
    raise ValueError(text)


def fail_once(path: str) -> None:
    marker = Path(path, "tried")
    if not marker.exists():
        marker.write_text("")
        raise ValueError("first time")


def wait_for_ever() -> None:
    time.sleep(1000)


def function_job(fn: Any, *args: Any, **options: Any) -> JobRequest:
    environment = create_environment(env_vars={"MINE": "here"})
    entrypoint = Entrypoint.from_callable(fn, args=args)
    return JobRequest("function", entrypoint, ResourceConfig(cpu=0.5), environment, **options)


def test_function_runs_in_every_replica(cluster: RayCluster, tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()
    job_id = cluster.launch(function_job(note, str(out), replicas=2))
    assert cluster.wait(job_id, timeout=WAIT_SECONDS).status is JobStatus.SUCCEEDED
    assert {path.name: path.read_text() for path in out.iterdir()} == {"0-of-2": "here", "1-of-2": "here"}
    assert job_id in [info.job_id for info in cluster.list_jobs()]


def test_function_that_raises_fails_its_job(cluster: RayCluster):
    handle = cluster.submit(function_job(fail, "no luck"))
    assert handle.wait(WAIT_SECONDS, raise_on_failure=False) is JobStatus.FAILED
    with pytest.raises(JobFailed, match="no luck") as caught:
        handle.wait()
    assert isinstance(caught.value.__cause__, ValueError)


def test_failures_are_retried_within_their_budget(cluster: RayCluster, tmp_path: Path):
    job_id = cluster.launch(function_job(fail_once, str(tmp_path), max_retries_failure=1))
    assert cluster.wait(job_id, timeout=WAIT_SECONDS).status is JobStatus.SUCCEEDED


def test_terminated_function_is_stopped(cluster: RayCluster):
    handle = cluster.submit(function_job(wait_for_ever, replicas=2))
    wait_until(lambda: handle.status() is JobStatus.RUNNING)
    handle.terminate()
    handle.terminate()
    assert handle.wait(WAIT_SECONDS, raise_on_failure=False) is JobStatus.STOPPED


def test_client_with_local_ray_builds_nothing(initialised_ray: RayHead, folder: Path):
    client = RayClient(local=True)
    assert client._local is True
    assert RayClient()._local is False
    request = JobRequest("r", Entrypoint.from_callable(print), environment=create_environment(pip_packages=["nope==0"]))
    assert client.submit(request).wait(WAIT_SECONDS) is JobStatus.SUCCEEDED
