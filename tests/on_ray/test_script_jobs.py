"""Scripts as jobs of a real Ray: the tests that the document about them lists, under its names, and the dashboard."""

from __future__ import annotations

import json
import time
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import fray
import pytest
from fray import JobStatus, RuntimeEnv
from fray.backend.ray.cluster import RayCluster, RayClusterContext

from tests.on_ray.head import RayHead
from tests.waiting import LONG_PATIENCE, eventually

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default"), pytest.mark.timeout(180)]


@pytest.fixture
def context(initialised_ray: RayHead, folder: Path) -> RayClusterContext:
    return RayClusterContext()


def job_of(context: RayClusterContext, job_id: str) -> dict[str, Any]:
    return next(job for job in context.list_jobs() if job["id"] == job_id)


# ---- the list


def test_ray_cluster_context_initialization(context: RayClusterContext):
    assert isinstance(context, fray.ClusterContext)
    assert isinstance(RayClusterContext(dashboard_address="http://127.0.0.1:1"), RayClusterContext)


def test_create_job_returns_job_id(context: RayClusterContext):
    one, other = (context.create_job("true", RuntimeEnv()) for _ in range(2))
    assert one.startswith("fray-")
    assert one != other
    assert {one, other} <= {job["id"] for job in context.list_jobs()}


def test_list_jobs_returns_list(context: RayClusterContext):
    job_id = context.create_job("true", RuntimeEnv())
    jobs = context.list_jobs()
    assert isinstance(jobs, list)
    assert all(set(job) == {"id", "status", "submission_time"} for job in jobs)
    eventually(lambda: job_of(context, job_id)["submission_time"] is not None, LONG_PATIENCE, every=0.02)
    assert abs(job_of(context, job_id)["submission_time"] / 1000 - time.time()) < 600


def test_delete_job_stops_running_job(context: RayClusterContext, cluster: RayCluster):
    job_id = context.create_job("sleep 100", RuntimeEnv())
    eventually(lambda: job_of(context, job_id)["status"] == "RUNNING", LONG_PATIENCE, every=0.02)
    context.delete_job(job_id)
    assert cluster.wait(job_id, timeout=LONG_PATIENCE).status is JobStatus.STOPPED
    assert "STOP" in job_of(context, job_id)["status"]


def test_build_ray_runtime_env_from_fray_env(context: RayClusterContext):
    env = RuntimeEnv(package_requirements=["torch", "wandb"], env={"WANDB_API_KEY": "xxx"})
    assert context._build_ray_runtime_env(env) == {"pip": ["torch", "wandb"], "env_vars": {"WANDB_API_KEY": "xxx"}}
    assert context._build_ray_runtime_env(RuntimeEnv()) == {}


def test_submit_simple_script_job(context: RayClusterContext, cluster: RayCluster, folder: Path):
    (folder / "job.py").write_text('import sys\nprint("Job executed successfully")\nsys.exit(0)\n')
    job_id = context.create_job("python job.py", RuntimeEnv())
    eventually(lambda: "SUCCEEDED" in job_of(context, job_id)["status"], LONG_PATIENCE, every=0.02)
    assert "Job executed successfully" in cluster.logs(job_id)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_submit_job_with_packages(context: RayClusterContext, cluster: RayCluster, folder: Path):
    wheel = make_wheel(folder, "fray_greeting", "WORDS = 'from a package'\n")
    (folder / "job.py").write_text("import fray_greeting\nprint(fray_greeting.WORDS)\n")
    job_id = context.create_job("python job.py", RuntimeEnv(package_requirements=[str(wheel)]))
    assert cluster.wait(job_id, timeout=800).status is JobStatus.SUCCEEDED, cluster.logs(job_id)
    assert "from a package" in cluster.logs(job_id)


def test_submit_job_with_env_vars(context: RayClusterContext, cluster: RayCluster, folder: Path):
    """The document's own script, which finds the context of the job's Ray."""
    (folder / "my_job.py").write_text(
        "import os\nfrom fray import get_job_context\n\nctx = get_job_context()\nref = ctx.create_task(lambda: 42)\n"
        "print(type(ctx).__name__, ctx.get(ref), os.environ['MINE'])\n"
    )
    job_id = context.create_job("python my_job.py", RuntimeEnv(env={"MINE": "here"}))
    info = cluster.wait(job_id, timeout=LONG_PATIENCE)
    assert info.status is JobStatus.SUCCEEDED, cluster.logs(job_id)
    assert "RayJobContext 42 here" in cluster.logs(job_id)


def test_job_lifecycle_submit_wait_delete(context: RayClusterContext, cluster: RayCluster):
    job_id = context.create_job("echo through", RuntimeEnv())
    assert cluster.wait(job_id, timeout=LONG_PATIENCE).status is JobStatus.SUCCEEDED
    context.delete_job(job_id)
    assert job_id not in [job["id"] for job in context.list_jobs()]
    with pytest.raises(fray.JobNotFoundError):
        context.delete_job(job_id)


def test_multiple_concurrent_jobs(context: RayClusterContext, cluster: RayCluster):
    ids = [context.create_job(f"echo job {number}", RuntimeEnv()) for number in range(2)]
    infos = cluster.wait(ids, timeout=LONG_PATIENCE)
    assert [info.status for info in infos] == ["succeeded"] * 2
    assert [f"job {number}\n" in cluster.logs(job_id) for number, job_id in enumerate(ids)] == [True, True]


# ---- the dashboard


@pytest.mark.parametrize(("command", "status"), [("true", "SUCCEEDED"), ("exit 3", "FAILED")])
def test_job_shows_on_the_dashboard_with_its_status(
    context: RayClusterContext, cluster: RayCluster, initialised_ray: RayHead, command: str, status: str
):
    job_id = context.create_job(command, RuntimeEnv())
    cluster.wait(job_id, timeout=LONG_PATIENCE)
    token = initialised_ray.environment["RAY_AUTH_TOKEN"]
    request = urllib.request.Request(
        f"{initialised_ray.dashboard}/api/jobs/", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request) as answer:
        jobs = json.load(answer)
    shown = [(job["status"], job["entrypoint"]) for job in jobs if job["submission_id"] == job_id]
    assert shown == [(status, command)]


def make_wheel(folder: Path, module: str, text: str) -> Path:
    """Write a wheel of one module, which needs no network to be installed."""
    path = folder / f"{module}-1.0-py3-none-any.whl"
    about = f"{module}-1.0.dist-info"
    files = {
        f"{module}.py": text,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"{about}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{about}/RECORD"]))
    return path
