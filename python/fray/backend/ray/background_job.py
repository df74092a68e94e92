"""A job that is a function: attempts on Ray, one after the other, driven by a thread of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from fray.backend.ray.attempts import Budget, Ending, worst
from fray.backend.ray.job_output import JobOutput
from fray.cluster import JobInfo, JobStatus, TaskStatus
from fray.cluster.status import JobId

__all__ = ["Attempt", "BackgroundJob"]


class Attempt(Protocol):
    """One try at all replicas."""

    def run(self) -> list[tuple[Ending, BaseException | None]]:
        """Wait for the end of all; how each ended, and what it raised."""
        ...

    def cancel(self) -> None:
        """End all at once."""
        ...


class BackgroundJob:
    """Starts attempts until one succeeds, the budget is used up, or somebody stops it. Ends with this process.

    Threading: any thread; `_lock` guards the state.
    """

    def __init__(
        self, job_id: str, name: str, start: Callable[[], Attempt], budget: Budget, replicas: int, output: JobOutput
    ) -> None:
        self._id = job_id
        self._name = name
        self._start = start
        self._budget = budget
        self.output = output
        self._lock = threading.Lock()
        self._status = JobStatus.PENDING
        self._replicas = [TaskStatus(JobStatus.PENDING)] * replicas
        self._error: BaseException | None = None
        self._attempt: Attempt | None = None
        self._stopping = False
        self._ended = threading.Event()
        threading.Thread(target=self._run, name=f"fray-job-{name}", daemon=True).start()

    def info(self) -> JobInfo:
        """Return how the job is doing."""
        with self._lock:
            text = None if self._error is None else f"{type(self._error).__name__}: {self._error}"
            failed = text if self._status is JobStatus.FAILED else None
            return JobInfo(JobId(self._id), self._status, self._replicas, self._name, failed)

    def error(self) -> BaseException | None:
        """Return what the last attempt raised, once the job has failed."""
        return self._error

    def wait(self, timeout: float | None) -> bool:
        """Wait for the end; return whether it is there."""
        return self._ended.wait(timeout)

    def stop(self) -> None:
        """End the job; a job that has ended stays as it is."""
        with self._lock:
            if JobStatus.finished(self._status):
                return
            self._stopping = True
            attempt = self._attempt
        if attempt is not None:
            attempt.cancel()
        self._finish(JobStatus.STOPPED, None)

    def _run(self) -> None:
        while True:
            try:
                attempt = self._start()
            except Exception as error:
                return self._finish(JobStatus.FAILED, error)
            with self._lock:
                self._attempt = attempt
                stopping = self._stopping
                if not stopping:
                    self._status = JobStatus.RUNNING
                    self._replicas = [TaskStatus(JobStatus.RUNNING)] * len(self._replicas)
            if stopping:
                attempt.cancel()
            ends = attempt.run()
            ending = worst(end for end, _ in ends)
            if ending is Ending.SUCCEEDED or self._stopping or not self._budget.again(ending):
                return self._settle(ending, ends)

    def _settle(self, ending: Ending, ends: list[tuple[Ending, BaseException | None]]) -> None:
        with self._lock:
            self._replicas = [_replica(end, error) for end, error in ends]
        decisive = next((error for end, error in ends if end is ending), None)
        self._finish(JobStatus.SUCCEEDED if ending is Ending.SUCCEEDED else JobStatus.FAILED, decisive)

    def _finish(self, status: JobStatus, error: BaseException | None) -> None:
        """Take the one final state; the first to come decides."""
        with self._lock:
            if not JobStatus.finished(self._status):
                self._status = JobStatus.STOPPED if self._stopping else status
                self._error = error
        self.output.end()
        self._ended.set()


def _replica(ending: Ending, error: Any) -> TaskStatus:
    if ending is Ending.SUCCEEDED:
        return TaskStatus(JobStatus.SUCCEEDED)
    if ending is Ending.CANCELLED:
        return TaskStatus(JobStatus.STOPPED)
    return TaskStatus(JobStatus.FAILED, f"{type(error).__name__}: {error}")
