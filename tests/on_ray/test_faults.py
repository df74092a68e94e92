"""What goes wrong between a program and a real Ray; a dashboard that lies is in tests/unit/backend/ray."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import fray
import pytest
from fray import Entrypoint, JobRequest, JobStatus, ResourceConfig
from fray.backend.ray.cluster import RayCluster
from fray.backend.ray.rest_jobs import RestJobs

from tests.on_ray.head import ROOT, RayHead
from tests.waiting import LONG_PATIENCE, eventually

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default"), pytest.mark.timeout(180)]


@pytest.fixture
def cluster(ray_head: RayHead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RayCluster:
    """By the dashboard's URL: this process need not use Ray."""
    monkeypatch.chdir(tmp_path)
    return RayCluster(dashboard_address=ray_head.dashboard, local=True)


def start_program(code: str, head: RayHead | None, **variables: str) -> subprocess.Popen[str]:
    environment = {**os.environ, **(head.environment if head else {}), "RAY_ADDRESS": "", **variables}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(code: str, head: RayHead | None, **variables: str) -> str:
    """Return what a program printed, behind which comes what went wrong."""
    out, err = start_program(code, head, **variables).communicate(timeout=120)
    return out + err[-2000:]


TELL = "    print(type(error).__name__, error)\n"


def test_ray_that_is_not_there_is_told(tmp_path: Path):
    code = f"import fray\ntry:\n    fray.get_job_context()\nexcept fray.FrayError as error:\n{TELL}"
    text = output_of(code, None, FRAY_CLUSTER_SPEC="ray?address=127.0.0.1:9")
    assert text.startswith("NodeDiedError the Ray at '127.0.0.1:9' cannot be reached"), text
    assert "set RAY_ADDRESS" in text


def test_other_version_is_told(ray_head: RayHead):
    code = (
        "import ray, ray._private.utils\nray.__version__ = '2.0.0'\nimport fray\n"
        f"try:\n    fray.RayJobContext({ray_head.address!r})\nexcept fray.FrayError as error:\n{TELL}"
    )
    text = output_of(code, ray_head)
    assert text.startswith("VersionMismatchError "), text
    assert "install the same versions of Ray and Python on both sides" in text


@pytest.mark.parametrize(("token", "words"), [("", "none was given"), ("0" * 64, "does not take the token")])
def test_token_that_is_missing_or_wrong_is_told(
    ray_head: RayHead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str, words: str
):
    monkeypatch.chdir(tmp_path)
    cluster = RayCluster(jobs=RestJobs(ray_head.dashboard, token), local=True)
    for use in (cluster.list_jobs, lambda: cluster.create_job("true")):
        with pytest.raises(fray.NodeDiedError, match=words) as caught:
            use()
        assert "RAY_AUTH_TOKEN" in str(caught.value)
        assert ray_head.environment["RAY_AUTH_TOKEN"] not in str(caught.value)


def test_job_that_never_gets_its_resources_says_what_is_missing(cluster: RayCluster, ray_head: RayHead):
    """It cannot be stopped either: Ray hears that when the job starts, or fails it after a quarter of an hour."""
    request = JobRequest("huge", Entrypoint.from_binary("true"), ResourceConfig.with_gpu(count=8, cpu=0))
    handle = RayCluster(dashboard_address=ray_head.dashboard, local=True, autoscaling=True).submit(request)
    eventually(lambda: "GPU: asked for 8" in cluster.pending_reason(handle.job_id), LONG_PATIENCE, every=0.02)
    assert "no node of this Ray can ever run it" in cluster.pending_reason(handle.job_id)
    handle.terminate()
    assert handle.status() is JobStatus.PENDING


DRIVER = """
import os, sys, time
import fray
from fray import Entrypoint, JobRequest, ResourceConfig
from fray.backend.ray.cluster import RayCluster

def function():
    open(os.path.join(FOLDER, str(os.getpid())), "w").close()
    time.sleep(1000)

cluster = RayCluster(ADDRESS, dashboard_address=DASHBOARD, local=True)
program = Entrypoint.from_binary("sh", ["-c", "while [ ! -e $0 ]; do sleep 0.1; done; echo through", FOLDER + "/go"])
print(cluster.launch(JobRequest("survivor", program, ResourceConfig(cpu=0, ram="0"))), flush=True)
cluster.launch(JobRequest("bound", Entrypoint.from_callable(function), ResourceConfig(cpu=0.1, ram="0"), replicas=2))
time.sleep(1000)
"""


def test_killed_driver_leaves_programs_and_takes_its_functions_along(
    ray_head: RayHead, cluster: RayCluster, tmp_path: Path
):
    """What was submitted lives by itself, and is there once; what runs as the driver's tasks ends with it."""
    code = DRIVER.replace("ADDRESS, dash", f"{ray_head.address!r}, dash").replace("DASHBOARD", repr(ray_head.dashboard))
    driver = start_program(code.replace("FOLDER", repr(str(tmp_path))), ray_head)
    assert driver.stdout is not None
    job_id = driver.stdout.readline().strip()
    assert job_id.startswith("survivor-"), driver.communicate()[1][-2000:]
    eventually(lambda: len(list(tmp_path.iterdir())) == 2, LONG_PATIENCE, every=0.02)
    functions = [int(path.name) for path in tmp_path.iterdir()]
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    eventually(lambda: not any(is_alive(pid) for pid in functions), LONG_PATIENCE, every=0.02)
    assert not JobStatus.finished(cluster.poll(job_id).status)
    (tmp_path / "go").touch()
    assert cluster.wait(job_id, timeout=LONG_PATIENCE).status is JobStatus.SUCCEEDED
    assert "through" in cluster.logs(job_id)
    assert [job.name for job in cluster.list_jobs()].count("survivor") == 1


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class WaitingThread(threading.Thread):
    """Waits for a job; `error` is what came of it."""

    def __init__(self, cluster: RayCluster, job_id: str) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._job_id = job_id
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self._cluster.wait(self._job_id)
        except Exception as error:
            self.error = error


# ---- a head that dies, and one that takes its place


@pytest.fixture
def own_head() -> Iterator[Callable[..., RayHead]]:
    """Start heads of the test's own."""
    heads: list[RayHead] = []

    def start(port: int = 0) -> RayHead:
        heads.append(RayHead(dashboard=True, dashboard_port=port))
        return heads[-1]

    yield start
    for head in heads:
        head.close()


@pytest.mark.long
def test_restarted_head_has_forgotten_its_jobs_and_says_so(
    own_head: Callable[..., RayHead], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    head = own_head()
    cluster = RayCluster(dashboard_address=head.dashboard, local=True)
    job_id = cluster.create_job("sleep 1000")
    eventually(lambda: cluster.poll(job_id).status is JobStatus.RUNNING, LONG_PATIENCE, every=0.02)
    log = cluster.follow(job_id)
    waiting = WaitingThread(cluster, job_id)
    head.kill()
    again = own_head(port=int(head.dashboard.rpartition(":")[2]))
    assert again.dashboard == head.dashboard
    waiting.join(LONG_PATIENCE)
    assert isinstance(waiting.error, fray.JobNotFoundError), waiting.error
    assert "forgets its jobs when it restarts" in str(waiting.error)
    with pytest.raises(fray.JobNotFoundError):
        list(log)
    assert cluster.wait(cluster.create_job("true"), timeout=LONG_PATIENCE).status is JobStatus.SUCCEEDED


@pytest.mark.long
def test_program_whose_cluster_dies_under_it_is_told(own_head: Callable[..., RayHead]):
    head = own_head()
    code = (
        "import fray, time\nctx = fray.get_job_context()\nref = ctx.run(time.sleep, 1000)\nprint('up', flush=True)\n"
        f"try:\n    ctx.get(ref)\nexcept fray.FrayError as error:\n{TELL}"
    )
    program = start_program(code, head, FRAY_CLUSTER_SPEC=f"ray?address={head.address}")
    assert program.stdout is not None
    assert program.stdout.readline() == "up\n", program.communicate()[1][-2000:]
    head.kill()
    out, err = program.communicate(timeout=LONG_PATIENCE)
    assert program.returncode != 0 or "DiedError" in out, out + err[-2000:]
    assert "DiedError" in out or "raylet" in err.lower() or "gcs" in err.lower()
