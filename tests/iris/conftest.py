"""Controllers for the tests: the stand-in, or with ``FRAY_IRIS_CONTROLLER=http://...`` a real one.

Tests that ask for `stand_in` do to it what nobody can do to a real one; they are skipped there.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from fray._iris_jobs import IrisJobRequest, IrisJobs

from tests.iris.controller import Controller
from tests.iris.times import Times
from tests.iris.worker import Worker

REAL = os.environ.get("FRAY_IRIS_CONTROLLER", "")
FAST = Times(log_batch=0.1, drain=0.5, kill_grace=0.3, timeout_sweep=0.3, reconcile=0.05, schedule=0.1)


@dataclass(frozen=True)
class Cluster:
    """Where a test's jobs run.

    Attributes:
        url: of the controller.
        jobs: a client of it.
        slowness: by how much it may be slower than the stand-in.
    """

    url: str
    jobs: IrisJobs
    slowness: float = 1.0

    def request(self, script: str = "true", name: str = "job", **fields: object) -> IrisJobRequest:
        """A job that runs a line of shell, under a name that no other test has."""
        request = IrisJobRequest()
        request.name = f"{name}-{uuid.uuid4().hex[:8]}"
        request.argv = ["bash", "-c", script]
        request.cpu_millicores = 100
        request.memory_bytes = 16 << 20
        for field, value in fields.items():
            setattr(request, field, value)
        return request

    def submit(self, script: str = "true", **fields: object) -> str:
        return self.jobs.submit(self.request(script, **fields))

    def lines(self, job: str, cursor: int = 0, with_children: bool = False) -> list[str]:
        """All that a job writes, to its end."""
        log = self.jobs.follow(job, cursor, with_children)
        texts: list[str] = []
        while (lines := log.read(5)) is not None:
            texts += [line[5] for line in lines]
        return texts


def client_of(url: str, **options: object) -> IrisJobs:
    return IrisJobs(url, user="tester", **{"timeout": 20.0, "patience": 30.0, **options})


@pytest.fixture(scope="session", autouse=True)
def _sooner() -> Iterator[None]:
    """The stand-ins' workers send lines ten times as often as Iris's, so their last ones are there sooner."""
    with pytest.MonkeyPatch.context() as patch:
        if not REAL:
            patch.setenv("FRAY_IRIS_LATE_SECONDS", str(5 * FAST.log_batch))
        yield


@pytest.fixture(scope="session")
def _shared() -> Iterator[Controller | None]:
    """One stand-in for the tests that do nothing to it."""
    if REAL:
        yield None
        return
    with Controller([Worker("worker-0"), Worker("worker-1")], FAST) as controller:
        yield controller


@pytest.fixture
def cluster(_shared: Controller | None) -> Cluster:
    """A real cluster where one was named, else the stand-in that all tests share."""
    if _shared is None:
        return Cluster(REAL, client_of(REAL, timeout=60.0, patience=120.0), slowness=5)
    return Cluster(_shared.url, client_of(_shared.url))


@pytest.fixture
def start() -> Iterator[Callable[..., Controller]]:
    """Starts stand-ins that are the test's own."""
    if REAL:
        pytest.skip("does to the controller what nobody does to a real one")
    started: list[Controller] = []

    def start_one(workers: list[Worker] | None = None, times: Times = FAST, **options: object) -> Controller:
        started.append(Controller(workers, times, **options))
        return started[-1]

    yield start_one
    for controller in started:
        controller.close()


@pytest.fixture
def stand_in(start: Callable[..., Controller]) -> Controller:
    """A stand-in with one worker, for this test alone."""
    return start()


@pytest.fixture
def own(stand_in: Controller) -> Cluster:
    """The client's side of `stand_in`."""
    return Cluster(stand_in.url, client_of(stand_in.url))
