"""A job that is a function: attempts on Ray, one after the other, driven by a thread of this process."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from fray.backend.ray.attempts import Budget, Ending, ending_of, worst
from fray.backend.ray.job_output import JobOutput
from fray.backend.ray.replica_process import JobExit
from fray.cluster import JobInfo, JobStatus, TaskStatus
from fray.cluster.status import JobId

__all__ = ["Attempt", "BackgroundJob"]


class Attempt(Protocol):
    """One attempt at all replicas of a job."""

    def run(self) -> list[tuple[Ending, BaseException | None]]:
        """Run all replicas to their end; return how each ended, and what it raised."""
        ...

    def cancel(self) -> None:
        """End all replicas now."""
        ...


class BackgroundJob:
    """Starts attempts until one succeeds, the budget is used up, or `stop` is called. The job ends with this process.

    Threading: any thread; `_lock` guards the state, `_starting` the attempt.

    Args:
        job_id: id of the job.
        name: name of the job.
        start: starts the attempt with the given number, which counts from 1.
        budget: how many further attempts are allowed.
        replicas: number of replicas.
        output: the output of all attempts; it knows which replicas have begun to run.
        waits_for: the resources that must be free for each replica, as people write them.
    """

    def __init__(
        self,
        job_id: str,
        name: str,
        start: Callable[[int], Attempt],
        budget: Budget,
        replicas: int,
        output: JobOutput,
        waits_for: str,
    ) -> None:
        self.accepted_ms = int(time.time() * 1000)
        self._waits_for = waits_for
        self._id = job_id
        self._name = name
        self._start = start
        self._budget = budget
        self.output = output
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        """Held while an attempt is started."""
        self._status = JobStatus.PENDING
        self._count = replicas
        self._ends: list[TaskStatus] = []
        """How each replica of the last attempt ended; empty while the job lives."""
        self._error: BaseException | None = None
        self._decisive = 0
        """The number of the replica whose end decided the status."""
        self._attempt: Attempt | None = None
        self._stopping = False
        self._ended = threading.Event()
        threading.Thread(target=self._run, name=f"fray-job-{name}", daemon=True).start()

    def info(self) -> JobInfo:
        """Return how the job is doing."""
        begun = self.output.begun()
        with self._lock:
            status = self._status
            if status is JobStatus.PENDING and begun:
                status = JobStatus.RUNNING
            tasks = self._ends or [TaskStatus(self._living_or(status, n in begun)) for n in range(self._count)]
            return JobInfo(
                JobId(self._id),
                status,
                tasks,
                self._name,
                self._message(),
                self._waits_for if status is JobStatus.PENDING else None,
                self._exit_code(),
            )

    @staticmethod
    def _living_or(status: JobStatus, has_begun: bool) -> JobStatus:
        if JobStatus.finished(status):
            return status
        return JobStatus.RUNNING if has_begun else JobStatus.PENDING

    def _message(self) -> str | None:
        if self._status is JobStatus.STOPPED:
            return "it was stopped"
        if self._status is not JobStatus.FAILED or self._error is None:
            return None
        text = _text_of(self._error)
        return f"replica {self._decisive} of {self._count}: {text}" if self._count > 1 else text

    def _exit_code(self) -> int | None:
        if self._status is JobStatus.SUCCEEDED:
            return 0
        return _code_of(self._error) if self._status is JobStatus.FAILED else None

    def error(self) -> BaseException | None:
        """Return what the last attempt raised, once the job has failed."""
        return self._error

    def wait(self, timeout: float | None) -> bool:
        """Wait for the end of the job; return whether it has ended."""
        return self._ended.wait(timeout)

    def stop(self) -> None:
        """End the job; a job that has ended stays as it is."""
        with self._lock:
            if JobStatus.finished(self._status):
                return
            self._stopping = True
        with self._starting:  # an attempt that is just being started can be cancelled when it has been
            attempt = self._attempt
        if attempt is not None:
            attempt.cancel()
        self._finish(JobStatus.STOPPED, None)

    def _run(self) -> None:
        for number in itertools.count(1):
            try:
                attempt = self._begin(number)
            except Exception as error:
                return self._finish(JobStatus.FAILED, error)
            if attempt is None:
                return self._finish(JobStatus.STOPPED, None)
            ends = attempt.run()
            ending = worst(end for end, _ in ends)
            if ending is Ending.SUCCEEDED or self._stopping or not self._budget.again(ending):
                return self._settle(ending, ends)

    def _begin(self, number: int) -> Attempt | None:
        """Start an attempt, unless the job is to stop."""
        with self._starting:
            self._attempt = None if self._stopping else self._start(number)
            return self._attempt

    def _settle(self, ending: Ending, ends: list[tuple[Ending, BaseException | None]]) -> None:
        with self._lock:
            self._ends = [_replica(end, error) for end, error in ends]
            self._decisive = next((number for number, (end, _) in enumerate(ends) if end is ending), 0)
        error = ends[self._decisive][1] if ends else None
        self._finish(JobStatus.SUCCEEDED if ending is Ending.SUCCEEDED else JobStatus.FAILED, error)

    def _finish(self, status: JobStatus, error: BaseException | None) -> None:
        """Set the final status; only the first call has an effect."""
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
    return TaskStatus(JobStatus.FAILED, _text_of(error))


def _text_of(error: BaseException) -> str:
    """Return why a function failed, in the form that every cluster uses."""
    code = _code_of(error)
    exited = None if code is None else f"it exited with code {code}"
    text = error.text if isinstance(error, JobExit) else f"{type(error).__name__}: {error}"
    return (f"{text} ({exited})" if exited else text) if text else exited or ""


def _code_of(error: BaseException | None) -> int | None:
    """Return the exit code of a function that raised `error`; None where Ray does not say how its process ended."""
    if isinstance(error, JobExit):
        return error.code
    return None if error is None or ending_of(error) is not Ending.FAILED else 1
