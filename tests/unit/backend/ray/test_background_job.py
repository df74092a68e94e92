"""A function job on Ray that is stopped while its attempt is being started."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from fray.backend.ray.attempts import Budget, Ending
from fray.backend.ray.background_job import BackgroundJob
from fray.cluster import JobStatus

PATIENCE = 30.0


class Attempt:
    """An attempt that ends when it is cancelled."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def run(self) -> list[tuple[Ending, BaseException | None]]:
        assert self.cancelled.wait(PATIENCE)
        return [(Ending.CANCELLED, None)]

    def cancel(self) -> None:
        self.cancelled.set()


def job_of(start: Any) -> BackgroundJob:
    """A job with one replica, whose attempts `start` starts."""
    output: Any = SimpleNamespace(begun=set, end=lambda: None)
    return BackgroundJob("job-1", "job", start, Budget(3, 3), 1, output, "1 CPU")


def test_a_job_that_is_stopped_as_its_attempt_is_started_has_cancelled_it_when_it_says_so() -> None:
    begun, go_on, attempt = threading.Event(), threading.Event(), Attempt()

    def start(number: int) -> Attempt:
        begun.set()
        assert go_on.wait(PATIENCE)
        return attempt

    job = job_of(start)
    assert begun.wait(PATIENCE)
    stopping = threading.Thread(target=job.stop)
    stopping.start()
    stopping.join(0.5)
    assert not job.wait(0), "its attempt could still begin to run"
    go_on.set()
    assert job.wait(PATIENCE)
    assert job.info().status is JobStatus.STOPPED
    assert attempt.cancelled.is_set()
    stopping.join(PATIENCE)


def test_a_job_that_is_stopped_between_two_attempts_starts_no_other() -> None:
    numbers: list[int] = []

    class Failing(Attempt):
        def run(self) -> list[tuple[Ending, BaseException | None]]:
            job.stop()
            return [(Ending.FAILED, ValueError("no stock"))]

    def start(number: int) -> Attempt:
        assert known.wait(PATIENCE)
        numbers.append(number)
        return Failing()

    known = threading.Event()
    job = job_of(start)
    known.set()
    assert job.wait(PATIENCE)
    assert job.info().status is JobStatus.STOPPED
    assert numbers == [1]
