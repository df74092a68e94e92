"""`JobHandle`: one job, with methods to wait for it and to stop it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from fray.cluster.status import JobId, JobInfo, JobStatus
from fray.cluster.waiting import check_timeout, jobs_failed, time_is_over

__all__ = ["JobHandle", "wait_all"]

_FIRST_LOOK_SECONDS = 0.01
_LONGEST_LOOK_SECONDS = 0.5


class _Jobs(Protocol):
    """What a handle needs of its cluster; see `Cluster`."""

    def poll(self, job_id: str) -> JobInfo: ...
    def wait(self, job_id: str, raise_on_failure: bool = False, *, timeout: float | None = None) -> JobInfo: ...
    def terminate(self, job_id: str) -> None: ...


class JobHandle:
    """One job of a cluster. It can be pickled if its cluster can."""

    def __init__(self, cluster: _Jobs, job_id: JobId) -> None:
        self._cluster = cluster
        self.job_id = job_id

    def info(self) -> JobInfo:
        """Return how the job is doing, with its replicas, message and exit code."""
        return self._cluster.poll(self.job_id)

    def status(self) -> JobStatus:
        """Return how the job is doing, in one word."""
        return self.info().status

    def wait(self, timeout: float | None = None, *, raise_on_failure: bool = True) -> JobStatus:
        """Wait for the end and return how the job ended.

        Raises:
            JobFailedError: with `raise_on_failure`, when it did not succeed; the message says why.
            TimeoutError: `timeout` seconds were over first; the job goes on.
        """
        return self._cluster.wait(self.job_id, raise_on_failure, timeout=timeout).status

    def terminate(self) -> None:
        """Ask the job to end; no effect on one that has ended."""
        self._cluster.terminate(self.job_id)

    def __repr__(self) -> str:
        return f"JobHandle({self.job_id!r})"


def wait_all(
    jobs: Sequence[JobHandle], *, timeout: float | None = None, raise_on_failure: bool = True
) -> list[JobStatus]:
    """Wait for the end of all jobs and return how each ended, in the order given.

    Raises:
        JobFailedError: with `raise_on_failure`, as soon as one has not succeeded; the others go on.
        TimeoutError: `timeout` seconds were over first; the jobs go on.
    """
    timeout = check_timeout(timeout)
    deadline = None if timeout is None else time.monotonic() + timeout
    pause = _FIRST_LOOK_SECONDS
    while True:
        infos = [job.info() for job in jobs]
        statuses = [info.status for info in infos]
        error = jobs_failed([info for info in infos if JobStatus.finished(info.status)]) if raise_on_failure else None
        if error is not None:
            raise error
        if all(JobStatus.finished(status) for status in statuses):
            return statuses
        if deadline is not None and time.monotonic() >= deadline:
            raise time_is_over(infos)
        time.sleep(pause if deadline is None else max(0.0, min(pause, deadline - time.monotonic())))
        pause = min(2 * pause, _LONGEST_LOOK_SECONDS)
