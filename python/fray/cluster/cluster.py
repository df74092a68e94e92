"""`Cluster`: the interface by which jobs, whole programs, are started and watched."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self, overload

from fray.cluster.context import ClusterContext
from fray.cluster.handle import JobHandle
from fray.cluster.request import JobRequest
from fray.cluster.status import JobId, JobInfo, JobStatus
from fray.errors import JobExistsError
from fray.types import RuntimeEnv

__all__ = ["Cluster"]

_LOG = logging.getLogger("fray")


class Cluster(ClusterContext):
    """Starts jobs, tells how they are doing, and ends them. Thread-safe.

    An unknown id raises `JobNotFoundError`, which is a KeyError.
    """

    # ---- starting

    @abstractmethod
    def launch(self, request: JobRequest) -> JobId:
        """Start a job and return its id."""

    def submit(self, request: JobRequest, adopt_existing: bool = True) -> JobHandle:
        """Start a job and return a handle of it. Names need not differ.

        Raises:
            JobExistsError: a job of that name lives, and `adopt_existing` is False.
        """
        if not adopt_existing:
            self._check_name_is_free(request.name)
        return JobHandle(self, self.launch(request))

    def _check_name_is_free(self, name: str) -> None:
        for job in self.list_jobs():
            if job.name == name and not JobStatus.finished(job.status):
                handle = JobHandle(self, job.job_id)
                raise JobExistsError(f"a job of the name {name} lives: {job.job_id}", name, handle)

    @abstractmethod
    def create_job(self, entrypoint: str, env: RuntimeEnv | None = None) -> JobId:
        """Start a shell command in this process's folder and return the job's id."""

    # ---- watching

    @abstractmethod
    def poll(self, job_id: str) -> JobInfo:
        """Return how a job is doing."""

    @abstractmethod
    def list_jobs(self) -> list[JobInfo]:
        """Return how all jobs are doing, in the order in which they were accepted."""

    @abstractmethod
    def logs(self, job_id: str) -> str:
        """Return what the job's newest attempt has printed."""

    @abstractmethod
    def follow(self, job_id: str) -> Iterator[str]:
        """Yield the output of the job as it comes, until the job ends."""

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
    def wait(  # pyright: ignore[reportOverlappingOverload]  (a text is a sequence of texts too)
        self, job_id: str, raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> JobInfo: ...
    @overload
    def wait(
        self, job_id: Sequence[str], raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> list[JobInfo]: ...
    @abstractmethod
    def wait(
        self, job_id: str | Sequence[str], raise_on_failure: bool = False, *, timeout: float | None = None
    ) -> JobInfo | list[JobInfo]:
        """Wait for the end of a job, or of all jobs of a sequence; return a JobInfo, or their list in the order given.

        Raises:
            JobFailedError: with `raise_on_failure`, when all have ended and one has not succeeded; it names every such
                job.
            TimeoutError: `timeout` seconds were over first; the jobs go on.
        """

    # ---- ending

    @abstractmethod
    def terminate(self, job_id: str) -> None:
        """Ask a job to end; no effect on one that has ended."""

    @abstractmethod
    def delete_job(self, job_id: str) -> None:
        """Ask a job to end; forget one that has ended."""

    @abstractmethod
    def shutdown(self, wait: bool = True) -> None:
        """End the jobs and processes that do not outlive this object."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown(wait=False)
