"""`IrisCluster`: whole programs on an Iris cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, overload

from fray import _traces
from fray._iris_jobs import DeviceKind, IrisJobRequest, IrisJobs, usual_user
from fray.backend.iris.program import program_of
from fray.backend.iris.resources import spec_of
from fray.cluster.cluster import Cluster
from fray.cluster.entrypoint import Entrypoint
from fray.cluster.environment import EnvironmentConfig, create_environment
from fray.cluster.replica_lines import numbered_lines
from fray.cluster.request import JobRequest
from fray.cluster.status import JobId, JobInfo, JobStatus, TaskStatus
from fray.cluster.waiting import check_timeout, jobs_failed, time_is_over, wanted_ids
from fray.errors import UnsupportedError
from fray.types import RuntimeEnv

__all__ = ["IrisCluster"]

_PATIENCE_SECONDS = 1.0
"""How long one read of a log waits for lines; Python handles Ctrl-C between two reads."""
_SAME = ("id", "name", "metadata", "priority", "deadline_seconds")
"""Fields that a request and an order both have; None leaves the default of the order."""
_DEVICES = {"cpu": DeviceKind.CPU, "gpu": DeviceKind.GPU, "tpu": DeviceKind.TPU}


class IrisCluster(Cluster):
    """Starts, watches and ends jobs on Iris, which need not be installed here. Jobs outlive this object. Thread-safe.

    A job launched inside a task of the same cluster is a child of that task's job, and ends with it. It has the
    variables, packages, extras, regions and workspace of that job where its request says nothing else.

    Args:
        controller: URL of the cluster's controller; inside a task of Iris by default its own.
        user: whose jobs these are; by default the user of this process, or of the task that it is in. Where logging in
            is wanted, it is who logs in.
        token_file: file with a token; by default ``FRAY_IRIS_TOKEN``, else what Iris's own command line has stored.

    Raises:
        ValueError: `controller` is not an address, or the file has no token.
    """

    def __init__(self, controller: str | None = None, user: str | None = None, token_file: str | None = None) -> None:
        self._user = user or usual_user()
        self._token_file = token_file
        self._jobs = IrisJobs(controller or "", user=self._user, token_file=token_file or "")

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as a cluster of the same controller."""
        return partial(IrisCluster, self._jobs.controller, self._user, self._token_file), ()

    # ---- starting

    def launch(self, request: JobRequest) -> JobId:
        """Start a job and return its id, which ends with the job's name and a suffix that makes it unique.

        Raises:
            ValueError: Iris has no machine of that device, or the workspace is too large.
            SerializationError: its function cannot be pickled.
            UnsupportedError: the request has something that Iris cannot do.
            NodeDiedError: no controller answers.
        """
        environment = request.environment
        if environment is None and not self._jobs.is_own():
            environment = create_environment()
        order = order_of(request, environment)
        with _traces.launching(request.name, order.env_vars) as variables:
            order.env_vars = {**order.env_vars, **variables}
            return JobId(self._jobs.submit(order))

    def create_job(self, entrypoint: str, env: RuntimeEnv | None = None) -> JobId:
        """Start a shell command in a copy of this process's folder and return the job's id."""
        if not isinstance(entrypoint, str) or not entrypoint.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"create_job needs a shell command such as 'python train.py', got {entrypoint!r}")
        environment = create_environment(env_vars=dict(env.env) if env is not None else None)
        command = Entrypoint.from_binary("bash", ["-c", entrypoint])
        return self.launch(JobRequest(name="fray", entrypoint=command, environment=environment))

    # ---- watching

    def poll(self, job_id: str) -> JobInfo:
        """Return how a job is doing."""
        return info_of(self._jobs.get(job_id))

    def list_jobs(self) -> list[JobInfo]:
        """Return how this user's jobs are doing, in the order in which they were accepted, without their tasks."""
        found = self._jobs.list_jobs(prefix=f"/{self._jobs.user()}/")
        return [info_of(job) for job in reversed(found)]

    def logs(self, job_id: str) -> str:
        """Return the output of all attempts of the job, as far as it has reached the controller."""
        replicas = self._replicas(job_id)
        return _text(self._jobs.logs(job_id), replicas)

    def follow(self, job_id: str) -> Iterator[str]:
        """Yield what the job prints, as it comes, to its end."""
        replicas = self._replicas(job_id)
        log = self._jobs.follow(job_id)
        while (lines := log.read(_PATIENCE_SECONDS)) is not None:
            if lines:
                yield _text(lines, replicas)

    def _replicas(self, job_id: str) -> int:
        replicas: Any = self._jobs.get(job_id)["replicas"]
        return replicas

    @overload
    def wait(  # pyright: ignore[reportOverlappingOverload]  (a text is a sequence of texts too)
        self, job_id: str, raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> JobInfo: ...
    @overload
    def wait(
        self, job_id: Sequence[str], raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> list[JobInfo]: ...
    def wait(
        self, job_id: str | Sequence[str], raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> JobInfo | list[JobInfo]:
        """Wait for the end of a job, or of all jobs of a sequence, as `Cluster.wait` does."""
        ids = wanted_ids(job_id)
        timeout = check_timeout(timeout)
        in_time = self._jobs.wait_all(ids, timeout)
        infos = [self.poll(one) for one in ids]
        if not in_time:
            raise time_is_over(infos)
        error = jobs_failed(infos) if raise_on_failure else None
        if error is not None:
            raise error
        return infos[0] if isinstance(job_id, str) else infos

    # ---- ending

    def terminate(self, job_id: str) -> None:
        """Ask a job and its children to end; no effect on one that has ended."""
        self._jobs.stop(job_id)

    def delete_job(self, job_id: str) -> None:
        """Ask a job to end. A job that has ended stays listed: Iris forgets jobs by itself."""
        self.terminate(job_id)

    def shutdown(self, wait: bool = True) -> None:
        """Do nothing: jobs live longer than this object."""


def order_of(request: JobRequest, environment: EnvironmentConfig | None) -> IrisJobRequest:
    """Return the order for the controller; without an `environment` the job inherits that of its parent job."""
    _refuse_what_iris_lacks(request)
    spec = spec_of(request.resources, request.replicas)
    program = program_of(request.entrypoint)
    fields = {name: getattr(request, name) for name in _SAME}
    retries = {"max_failures": request.max_retries_failure, "max_preemptions": request.max_retries_preemption}
    order = IrisJobRequest.of({**fields, **retries, "command": program.command})
    for name, content in program.files.items():
        order.add_file(name, content)
    order.runner_packages = program.packages
    order.python_version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    order.env_vars = request.resources.device.default_env_vars()
    order.replicas, order.task_image = spec.replicas, spec.task_image
    if environment is not None:
        _add_environment(order, environment)
    order.cpu_millicores, order.memory_bytes, order.disk_bytes = spec.cpu_millicores, spec.memory_bytes, spec.disk_bytes
    if spec.device != "cpu":
        order.set_device(_DEVICES[spec.device], spec.variant, spec.count, spec.topology)
    for constraint in spec.constraints:
        order.choose(constraint.key, list(constraint.values))
    return order


def _add_environment(order: IrisJobRequest, environment: EnvironmentConfig) -> None:
    order.workspace = os.path.abspath(environment.workspace) if environment.workspace else ""
    order.task_image = order.task_image or environment.docker_image or ""
    order.env_vars = {**order.env_vars, **environment.env_vars}
    order.pip_packages, order.extras = list(environment.pip_packages), list(environment.extras)


def info_of(job: dict[str, Any]) -> JobInfo:
    """Return what the controller says of a job."""
    return JobInfo(
        job_id=JobId(job["id"]),
        status=JobStatus(job["status"]),
        tasks=[TaskStatus(JobStatus(task["status"]), task["error"] or None) for task in job["tasks"]],
        name=job["name"],
        error_message=job["error"] or None,
        pending_reason=job["pending_reason"] or None,
        exit_code=job["exit_code"],
    )


def _text(lines: list[tuple[str, int, int, str, int, str]], replicas: int) -> str:
    if replicas == 1:
        return "".join(f"{line[5]}\n" for line in lines)
    return "".join(numbered_lines(f"{line[5]}\n", line[1]) for line in lines)


def _refuse_what_iris_lacks(request: JobRequest) -> None:
    given = {
        "max_processes": request.max_processes,
        "max_files": request.max_files,
        "grace_seconds": request.grace_seconds,
    }
    lacking = [name for name, value in given.items() if value is not None]
    if lacking:
        raise UnsupportedError(f"Iris has no {', '.join(lacking)} for jobs; leave them out for job {request.name}")
