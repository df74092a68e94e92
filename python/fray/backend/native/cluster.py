"""`LocalCluster`: jobs on this machine, each a program of its own under a node."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypedDict, overload

from fray import _native, _traces
from fray.backend.native.address import find_socket
from fray.backend.native.context import NativeJobContext
from fray.backend.native.job_order import order_of, shell_order
from fray.cluster.cluster import Cluster
from fray.cluster.environment import create_environment
from fray.cluster.request import JobRequest
from fray.cluster.status import JobId, JobInfo, JobStatus, TaskStatus
from fray.cluster.waiting import check_timeout, jobs_failed, time_is_over, wanted_ids
from fray.errors import GetTimeoutError, JobNotFoundError, NodeDiedError
from fray.types import RuntimeEnv

__all__ = ["LocalClient", "LocalCluster"]


class LocalCluster(Cluster):
    """Starts jobs on this machine.

    Args:
        address: a running node, as ``"auto"`` for the started node of this home, its home or its socket. By default the
            node of this process's context, or one of its own: jobs then end with this process.
        use_isolated_env: each job of `launch` runs in a virtual environment of its own, with the dependencies of its
            workspace's package and what its environment asks for; uv makes it at the first launch, and it is kept.
        settings: of a node of its own, as `fray.init` takes them.
    """

    def __init__(self, address: str | None = None, use_isolated_env: bool = False, **settings: Any) -> None:
        self._isolated = use_isolated_env
        self._context: NativeJobContext | None = None
        if address is not None:
            socket = find_socket(address)
        else:
            context = _shared_context() if not settings else None
            if context is None:
                context = self._context = NativeJobContext(**settings)
            socket = os.path.join(context.session_folder, "node.sock")
        self._socket = socket
        self._jobs = _native.JobClient(socket)
        self._pid = os.getpid()
        self.closed = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as a cluster that reaches the same node and does not end it."""
        return LocalCluster, (self._socket, self._isolated)

    def _client(self) -> Any:
        if self.closed:
            raise NodeDiedError("this cluster was shut down; make a new one")
        if self._pid != os.getpid():  # a child of fork(): the connections are the parent's
            self._jobs, self._pid = _native.JobClient(self._socket), os.getpid()
        return self._jobs

    # ---- starting

    def launch(self, request: JobRequest) -> JobId:
        """Start a job and return its id.

        Raises:
            InfeasibleError: the node can never have what it asks for.
            SerializationError: its function cannot be pickled.
            RuntimeEnvError: its own environment cannot be made.
        """
        environment = request.environment or create_environment()
        with _traces.launching(request.name, environment.env_vars) as variables:
            return self._submit(order_of(request, self._isolated, variables))

    def create_job(self, entrypoint: str, env: RuntimeEnv | None = None) -> JobId:
        """Start a shell command in this process's folder and return the job's id."""
        if not isinstance(entrypoint, str) or not entrypoint.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"create_job needs a shell command such as 'python train.py', got {entrypoint!r}; "
                "launch a function instead: Entrypoint.from_callable(f)"
            )
        env = env or RuntimeEnv()
        with _traces.launching("fray", env.env) as variables:
            return self._submit(shell_order("fray", entrypoint, replace(env, env={**env.env, **variables})))

    def _submit(self, order: dict[str, object]) -> JobId:
        return JobId(json.loads(self._client().submit(order))["id"])

    # ---- watching

    def poll(self, job_id: str) -> JobInfo:
        """Return how a job is doing. KeyError where there is none."""
        return self._known([job_id])[0]

    def _known(self, ids: list[str]) -> list[JobInfo]:
        """Return how the jobs of these ids are doing.

        A node takes the beginning of an id as well, which is for people: a job that is forgotten must not mean another.
        """
        for one in ids:
            if not isinstance(one, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(
                    f"a job's id is text, got {one!r}; launch() returns it, and a JobHandle has it as job_id"
                )
        infos = self._infos(self._client().get(ids))
        for one, info in zip(ids, infos, strict=True):
            if one != info.job_id:
                raise JobNotFoundError(f"there is no job {one}; list_jobs() shows those that are there")
        return infos

    def list_jobs(self) -> list[JobInfo]:
        """Return how all jobs are doing, in the order in which they were accepted."""
        return self._infos(self._client().get([]))

    def pending_reason(self, job_id: str) -> str:
        """Return what a job waits for; empty for one that does not."""
        return self.poll(job_id).pending_reason or ""

    def logs(self, job_id: str) -> str:
        """Return the output of the newest attempt; with several replicas, a line begins with the replica's number."""
        return "".join(self._read(job_id, follow=False))

    def follow(self, job_id: str) -> Iterator[str]:
        """Yield the output of the job as it comes, over all its attempts, until the job ends."""
        return self._read(job_id, follow=True)

    def _read(self, job_id: str, follow: bool) -> Iterator[str]:
        self._known([job_id])
        log = self._client().open_log(job_id, follow)
        while data := log.read():
            yield data.decode(errors="replace")

    @overload
    def wait(  # pyright: ignore[reportOverlappingOverload]  (a text is a sequence of texts too)
        self, job_id: str, raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> JobInfo: ...
    @overload
    def wait(
        self, job_id: Sequence[str], raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> list[JobInfo]: ...
    def wait(self, job_id: Any, raise_on_failure: bool = False, *, timeout: float | None = None) -> Any:
        """Wait for the end of a job, or of all jobs of a sequence; see `Cluster.wait`."""
        ids = wanted_ids(job_id)
        timeout = check_timeout(timeout)
        infos = self._wait(ids, timeout) if ids else []
        error = jobs_failed(infos) if raise_on_failure else None
        if error is not None:
            raise error
        return infos[0] if isinstance(job_id, str) else infos

    def _wait(self, ids: list[str], timeout: float | None) -> list[JobInfo]:
        client = self._client()
        self._known(ids)
        try:
            with _traces.waiting("wait", "job " + ", ".join(ids)):
                return self._infos(client.wait(ids, timeout))
        except GetTimeoutError:
            infos = self._infos(client.get(ids))
        if all(JobStatus.finished(info.status) for info in infos):
            return infos
        raise time_is_over(infos)

    # ---- ending

    def terminate(self, job_id: str) -> None:
        """Ask a job to end; no effect on one that has ended. KeyError where there is none."""
        self._known([job_id])
        self._client().stop([job_id])

    def delete_job(self, job_id: str) -> None:
        """Ask a job to end; forget one that has ended. KeyError where there is none."""
        if JobStatus.finished(self.poll(job_id).status):
            self._client().remove([job_id])
        else:
            self.terminate(job_id)

    def shutdown(self, wait: bool = True) -> None:
        """End the node that this object has started, with its jobs; `wait` for these first. Other nodes go on.

        What ran on the node is gone when this returns; see `JobContext.close`.
        """
        if self.closed or self._context is None:
            return
        if wait:
            self.wait([job.job_id for job in self.list_jobs()])
        self.closed = True
        self._context.close()

    @staticmethod
    def _infos(text: str) -> list[JobInfo]:
        return [job_info(job) for job in json.loads(text)]


class _Task(TypedDict):
    status: str
    error: str | None


def job_info(job: dict[str, Any]) -> JobInfo:
    """Return a node's description of a job as a JobInfo."""
    tasks: list[_Task] = job["replicas"]
    return JobInfo(
        job_id=JobId(job["id"]),
        status=JobStatus(job["status"]),
        tasks=[TaskStatus(JobStatus(task["status"]), task["error"]) for task in tasks],
        name=job["name"],
        error_message=job["message"],
        pending_reason=job["pending_reason"],
        exit_code=job["exit_code"],
    )


def _shared_context() -> NativeJobContext | None:
    """Return this process's context if it is one of the native engine; the context is made where there is none."""
    from fray.job.current import get_job_context

    context = get_job_context()
    return context if isinstance(context, NativeJobContext) else None


LocalClient = LocalCluster
