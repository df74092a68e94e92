"""`RayCluster`: whole programs on a Ray cluster; `RayClient` and `RayClusterContext`, its older faces."""

from __future__ import annotations

import logging
import os
import shlex
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from fray import errors
from fray.backend.ray.attempts import Budget
from fray.backend.ray.background_job import Attempt, BackgroundJob
from fray.backend.ray.environment import SETUP_TIMEOUT_SECONDS, build_runtime_env
from fray.backend.ray.jobs_api import JobDetails, JobsApi, SdkJobs, SubmitOrder
from fray.backend.ray.options import runtime_env_dict
from fray.cluster import ClusterContext, GpuConfig, JobId, JobInfo, JobRequest, JobStatus, TaskStatus, TpuConfig
from fray.types import RuntimeEnv

__all__ = ["JobFailed", "RayClient", "RayCluster", "RayClusterContext", "RayJobHandle"]

_FIRST_LOOK_SECONDS = 0.1
_LONGEST_LOOK_SECONDS = 5.0
_LOG = logging.getLogger("fray")


class JobFailed(errors.FrayError, RuntimeError):
    """A job that was waited for did not succeed.

    Attributes:
        job_id: its id; of several, that of the first.
        failed_status: how it ended.
    """

    def __init__(self, message: str, job_id: str, failed_status: JobStatus) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.failed_status = failed_status


class RayJobHandle:
    """One job, to be waited for and stopped."""

    def __init__(self, cluster: RayCluster, job_id: JobId) -> None:
        self._cluster = cluster
        self.job_id = job_id

    def status(self) -> JobStatus:
        """Return how the job is doing."""
        return self._cluster.poll(self.job_id).status

    def wait(self, timeout: float | None = None, *, raise_on_failure: bool = True) -> JobStatus:
        """Wait for the end and return how the job ended; what a function raised is raised here as itself."""
        info = self._cluster.wait(self.job_id, timeout=timeout)
        if raise_on_failure and info.status is not JobStatus.SUCCEEDED:
            raise self._cluster.failure_of(info)
        return info.status

    def terminate(self) -> None:
        """End the job; no effect on one that has ended."""
        self._cluster.terminate(self.job_id)


class RayCluster:
    """Starts, watches and ends jobs on Ray. Thread-safe.

    A program goes through Ray's job submission and lives by itself. A function runs as Ray tasks of this process, one
    for each replica, and ends with it; so does one on a TPU, which gets whole slices.

    Args:
        address: of the cluster, as ``ray.init`` takes it; ``"auto"`` for ``RAY_ADDRESS`` or the Ray of this machine.
        namespace: where the actors of function jobs live.
        local: Ray runs on this machine: no environment is built; see `build_runtime_env`. None: so it is where this
            process started its Ray itself.
        dashboard_address: URL of the dashboard, through which programs are submitted; by default that of the
            initialised Ray, or `address` where it is a URL.
        jobs: how the dashboard is asked, where it is not to be through Ray's own client.
        autoscaling: nodes come by themselves; as in `RayJobContext`.
    """

    def __init__(
        self,
        address: str = "auto",
        namespace: str | None = None,
        local: bool | None = None,
        *,
        dashboard_address: str | None = None,
        jobs: JobsApi | None = None,
        autoscaling: bool = False,
    ) -> None:
        self._address = address
        self._autoscaling = autoscaling
        self._namespace = namespace
        self._local = is_local_ray() if local is None else local
        self._dashboard_address = dashboard_address or (address if "://" in address else None)
        self._jobs = jobs
        self._functions: dict[str, BackgroundJob] = {}

    # ---- starting

    def launch(self, request: JobRequest) -> JobId:
        """Start a job and return its id.

        Raises:
            ValueError: a program with several replicas, which Ray's job submission cannot start.
            NodeDiedError: no Ray answers.
            InfeasibleError: no node has what it asks for.
        """
        if request.entrypoint.binary_entrypoint is not None:
            return JobId(self._launch_binary_job(request))
        if isinstance(request.resources.device, TpuConfig):
            return JobId(self._launch_tpu_job(request))
        return JobId(self._launch_callable_job(request))

    def submit(self, request: JobRequest, adopt_existing: bool = True) -> RayJobHandle:
        """Start a job and return a handle of it; every call starts one, so there is none to adopt."""
        del adopt_existing
        return RayJobHandle(self, self.launch(request))

    def create_job(self, entrypoint: str, env: RuntimeEnv | None = None) -> str:
        """Start a shell command in this process's folder, which Ray packs, and return the job's id."""
        if not isinstance(entrypoint, str) or not entrypoint.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"create_job needs a shell command such as 'python train.py', got {entrypoint!r}; "
                "put a function into a script, or launch it: Entrypoint.from_callable(f)"
            )
        order = SubmitOrder(entrypoint, f"fray-{time.time_ns()}", job_runtime_env(env or RuntimeEnv(), os.getcwd()))
        return self._dashboard().submit(order)

    def _launch_binary_job(self, request: JobRequest) -> str:
        binary = request.entrypoint.binary_entrypoint
        assert binary is not None
        if request.replicas != 1:
            raise ValueError(
                f"job {request.name}: Ray's job submission starts one process, not {request.replicas}; "
                "use Entrypoint.from_callable for several replicas"
            )
        runtime_env = build_runtime_env(request, self._get_client_spec(), local=self._local)
        resources = request.resources
        device = resources.device
        demand: dict[str, float] = {}
        if isinstance(device, TpuConfig):
            demand = {f"TPU-{device.variant}-head": 1.0, "TPU": float(device.chip_count())}
        order = SubmitOrder(
            entrypoint=shlex.join([binary.command, *binary.args]),
            submission_id=f"{request.name}-{uuid.uuid4()}",
            runtime_env=runtime_env,
            metadata={"name": request.name},
            cpus=float(resources.cpu) if resources.cpu > 0 else None,
            gpus=float(device.count) if isinstance(device, GpuConfig) else None,
            memory_bytes=resources.ram_bytes() or None,
            resources=demand,
        )
        return self._dashboard().submit(order)

    def _launch_callable_job(self, request: JobRequest) -> str:
        from fray.backend.ray.replicas import ReplicaAttempt

        runtime_env = build_runtime_env(request, self._get_client_spec(), local=self._local)
        context = self._context()
        return self._in_background("callable", request, lambda: ReplicaAttempt(context, request, runtime_env))

    def _launch_tpu_job(self, request: JobRequest) -> str:
        from fray.backend.ray.tpu import PodAttempt

        runtime_env = build_runtime_env(request, self._get_client_spec(), local=self._local)
        self._context()
        return self._in_background("tpu", request, lambda: PodAttempt(request, runtime_env))

    def _in_background(self, kind: str, request: JobRequest, start: Callable[[], Attempt]) -> str:
        job_id = f"ray-{kind}-{request.name}-{uuid.uuid4().hex[:8]}"
        budget = Budget(request.max_retries_failure, request.max_retries_preemption)
        replicas = request.replicas or 1
        self._functions[job_id] = BackgroundJob(job_id, request.name, start, budget, replicas)
        return job_id

    def _get_client_spec(self) -> str:
        """Return the spec of this cluster, as ``FRAY_CLUSTER_SPEC`` has it."""
        from urllib.parse import urlencode

        keys = {"address": self._address, "namespace": self._namespace}
        query = urlencode({key: value for key, value in keys.items() if value not in (None, "auto")})
        return f"ray?{query}" if query else "ray"

    # ---- watching

    def poll(self, job_id: str) -> JobInfo:
        """Return how a job is doing.

        Raises:
            KeyError: there is no such job.
        """
        job = self._functions.get(job_id)
        return job.info() if job is not None else _info(self._dashboard().get(job_id))

    def pending_reason(self, job_id: str) -> str:
        """Return why a job waits, in Ray's words; empty for one that does not."""
        if job_id in self._functions:
            return ""
        details = self._dashboard().get(job_id)
        return details.message if details.status is JobStatus.PENDING else ""

    def list_jobs(self) -> list[JobInfo]:
        """Return the jobs of the cluster and those that this object started as functions."""
        functions = [job.info() for job in self._functions.values()]
        return [*(_info(details) for details in self._dashboard().list()), *functions]

    def logs(self, job_id: str) -> str:
        """Return what a program has printed; a function's output is in Ray's own logs."""
        return "" if job_id in self._functions else self._dashboard().logs(job_id)

    def follow(self, job_id: str) -> Iterator[str]:
        """Yield what a program prints, as it comes, to its end."""
        return iter(()) if job_id in self._functions else self._dashboard().follow(job_id)

    def monitor(self, job_id: str) -> JobInfo:
        """Write the job's output to the logger ``fray``, line by line, until it ends; return how it ended."""
        rest = ""
        for text in self.follow(job_id):
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                _LOG.info("[%s] %s", job_id, line)
        if rest:
            _LOG.info("[%s] %s", job_id, rest)
        return self.wait(job_id)

    @overload
    def wait(  # pyright: ignore[reportOverlappingOverload]  (a text is a sequence of texts)
        self, job_id: str, raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> JobInfo: ...
    @overload
    def wait(
        self, job_id: Sequence[str], raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> list[JobInfo]: ...
    def wait(self, job_id: Any, raise_on_failure: bool = False, *, timeout: float | None = None) -> Any:
        """Wait for the end of a job, or of all jobs of a sequence; return a JobInfo, or their list in the order given.

        Raises:
            JobFailed: with `raise_on_failure`, when all have ended and one has not succeeded; it names every such job.
            TimeoutError: `timeout` seconds were over first; the jobs go on.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        ids = [job_id] if isinstance(job_id, str) else list(job_id)
        infos = [self._wait_for(one, deadline) for one in ids]
        failed = [info for info in infos if info.status is not JobStatus.SUCCEEDED]
        if raise_on_failure and failed:
            parts = "; ".join(f"{info.job_id}: {info.error_message or info.status}" for info in failed)
            error = JobFailed(f"{len(failed)} job(s) failed: {parts}", failed[0].job_id, failed[0].status)
            job = self._functions.get(failed[0].job_id)
            raise error from (job.error() if job is not None else None)
        return infos[0] if isinstance(job_id, str) else infos

    def failure_of(self, info: JobInfo) -> BaseException:
        """Return what to raise for a job that did not succeed: what its function raised, where it is one."""
        job = self._functions.get(info.job_id)
        error = job.error() if job is not None else None
        text = f"job {info.job_id} {info.status}: {info.error_message or 'no reason given'}"
        return error if error is not None else JobFailed(text, info.job_id, info.status)

    def _wait_for(self, job_id: str, deadline: float | None) -> JobInfo:
        pause = _FIRST_LOOK_SECONDS
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            job = self._functions.get(job_id)
            if job is not None:
                job.wait(left)
            info = self.poll(job_id)
            if JobStatus.finished(info.status):
                return info
            if left is not None and left <= 0:
                raise TimeoutError(f"job {job_id} is still {info.status}; it goes on")
            time.sleep(pause if left is None else min(pause, max(left, 0)))
            pause = min(2 * pause, _LONGEST_LOOK_SECONDS)

    # ---- ending

    def terminate(self, job_id: str) -> None:
        """End a job; no effect on one that has ended. KeyError where there is none."""
        job = self._functions.get(job_id)
        if job is not None:
            job.stop()
        else:
            self._dashboard().stop(job_id)

    def delete_job(self, job_id: str) -> None:
        """Do as `terminate` does; what Ray knows of the job stays."""
        self.terminate(job_id)

    def shutdown(self, wait: bool = True) -> None:
        """End the functions that this object started; programs go on."""
        for job in self._functions.values():
            if not wait:
                job.stop()
            job.wait(None)

    # ---- the two connections, each made when it is needed

    def _context(self) -> Any:
        from fray.backend.ray.context import RayJobContext

        named = None if self._address == "auto" or "://" in self._address else self._address
        return RayJobContext(named, self._namespace, self._autoscaling)

    def _dashboard(self) -> JobsApi:
        if self._jobs is None:
            self._jobs = SdkJobs(self._dashboard_address or dashboard_url())
        return self._jobs


class RayClient(RayCluster):
    """Older name of `RayCluster`, whose environments are built unless `local` says that Ray runs on this machine."""

    def __init__(self, address: str = "auto", namespace: str | None = None, local: bool = False) -> None:
        super().__init__(address, namespace, local)


class RayClusterContext(ClusterContext):
    """Shell commands as jobs of a Ray cluster; a thin face of `RayCluster`.

    Args:
        address: of the cluster; Ray is initialised with it unless it is already. None for Ray's own choice.
        dashboard_address: URL of the dashboard; by default `address`, or the dashboard of the initialised Ray.
    """

    def __init__(self, address: str | None = None, dashboard_address: str | None = None) -> None:
        self._address = address
        self._dashboard_address = dashboard_address or address
        if self._dashboard_address is None or "://" not in self._dashboard_address:
            _initialise(address)
            self._dashboard_address = None
        self._cluster = RayCluster(address or "auto", dashboard_address=self._dashboard_address)

    def create_job(self, entrypoint: str, env: RuntimeEnv | None = None) -> str:
        """Start a shell command and return its id; see `RayCluster.create_job`."""
        return self._cluster.create_job(entrypoint, env)

    def list_jobs(self) -> list[dict[str, Any]]:
        """Return a dict for each job: ``id``, ``status`` in capitals, ``submission_time`` in milliseconds or None."""
        dashboard = self._cluster._dashboard()  # pyright: ignore[reportPrivateUsage]
        return [
            {
                "id": details.job_id,
                "status": details.status.upper(),
                "submission_time": details.start_time_ms or None,
            }
            for details in dashboard.list()
        ]

    def delete_job(self, job_id: str) -> None:
        """Stop a job."""
        self._cluster.delete_job(job_id)

    def _build_ray_runtime_env(self, env: RuntimeEnv) -> dict[str, Any]:
        return runtime_env_dict(env)


def job_runtime_env(env: RuntimeEnv, folder: str) -> dict[str, Any]:
    """Return Ray's runtime env for a shell command that runs in a copy of `folder`."""
    return {
        **runtime_env_dict(env),
        "working_dir": folder,
        "config": {"setup_timeout_seconds": SETUP_TIMEOUT_SECONDS},
    }


def is_local_ray() -> bool:
    """Return whether this process started the Ray that it uses, so that everything of it runs on this machine."""
    from fray.backend.ray.library import global_worker, ray

    if not ray.is_initialized():
        return False
    node = global_worker.node
    return node is not None and node.is_head()


def dashboard_url() -> str:
    """Return the URL of the dashboard of the initialised Ray, or of the one that ``RAY_ADDRESS`` names.

    Raises:
        NodeDiedError: there is no Ray, or it has no dashboard.
    """
    named = os.environ.get("RAY_API_SERVER_ADDRESS") or os.environ.get("RAY_ADDRESS", "")
    if named.startswith("http"):
        return named
    _initialise(None)
    from fray.backend.ray.library import ray

    host = ray._private.worker.get_dashboard_url()
    if not host:
        raise errors.NodeDiedError(
            "this Ray has no dashboard, and jobs are submitted through it; start it with include_dashboard=True"
        )
    return host if "://" in host else f"http://{host}"


def _initialise(address: str | None) -> None:
    from fray.backend.ray.context import connect

    connect(None if address == "auto" else address, None)


def _info(details: JobDetails) -> JobInfo:
    message = details.message if details.status is JobStatus.FAILED else None
    return JobInfo(JobId(details.job_id), details.status, [TaskStatus(details.status, message)], details.name, message)
