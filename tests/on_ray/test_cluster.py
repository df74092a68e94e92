"""Jobs on Ray, as far as they are Ray's own; what every cluster does is in tests/conformance."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fray import (
    Entrypoint,
    JobFailed,
    JobRequest,
    JobStatus,
    ResourceConfig,
    RuntimeEnv,
    UnsupportedError,
    create_cluster,
    create_environment,
)
from fray.backend.ray.cluster import RayClient, RayCluster

from tests.on_ray.head import RayHead
from tests.waiting import LONG_PATIENCE

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default"), pytest.mark.timeout(180)]


def test_failed_program_tells_why(cluster: RayCluster):
    request = JobRequest(
        name="fails",
        entrypoint=Entrypoint.from_binary("sh", ["-c", "echo so it goes; exit 3"]),
        resources=ResourceConfig(cpu=0),
    )
    job_id = cluster.launch(request)
    with pytest.raises(JobFailed, match="so it goes") as caught:
        cluster.wait([job_id], raise_on_failure=True, timeout=LONG_PATIENCE)
    assert (caught.value.job_id, caught.value.failed_status) == (job_id, JobStatus.FAILED)


def test_several_replicas_of_a_program_are_refused(cluster: RayCluster):
    with pytest.raises(ValueError, match="starts one process, not 3"):
        cluster.launch(JobRequest("many", Entrypoint.from_binary("true"), replicas=3))


def fail(text: str) -> None:
    raise ValueError(text)


def test_what_a_function_raised_is_the_cause_of_its_jobs_failure(cluster: RayCluster):
    with pytest.raises(JobFailed, match="no luck") as caught:
        cluster.submit(JobRequest("function", Entrypoint.from_callable(fail, ["no luck"]))).wait(LONG_PATIENCE)
    assert isinstance(caught.value.__cause__, ValueError)


def test_client_with_local_ray_builds_nothing(initialised_ray: RayHead, folder: Path):
    client = RayClient(local=True)
    assert client._local is True
    assert RayClient()._local is False
    request = JobRequest(
        "r", Entrypoint.from_callable(os.getpid), environment=create_environment(pip_packages=["nope==0"])
    )
    assert client.submit(request).wait(LONG_PATIENCE) is JobStatus.SUCCEEDED


def test_named_cluster_is_an_error_that_says_why():
    with pytest.raises(UnsupportedError, match="give the address of the head"):
        create_cluster("ray?cluster=us-central2")


def test_working_folder_of_the_environment_is_the_one_that_is_sent(
    cluster: RayCluster, tmp_path_factory: pytest.TempPathFactory
):
    other = tmp_path_factory.mktemp("other")
    (other / "only_here.txt").write_text("sent")
    job = cluster.create_job("cat only_here.txt", RuntimeEnv(working_dir=str(other)))
    assert cluster.wait(job, timeout=LONG_PATIENCE).status is JobStatus.SUCCEEDED, cluster.logs(job)
    assert "sent" in cluster.logs(job)
