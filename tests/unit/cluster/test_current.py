"""The current cluster: set bare or in `with`, found from the surroundings, kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import fray
import pytest
from fray import JobHandle, JobId, JobInfo, JobStatus, RuntimeEnv, SettingsError
from fray.backend.in_memory import LocalClusterContext
from fray.cluster import Cluster, create_cluster, current_client, current_cluster, set_current_client


class FakeCluster(Cluster):
    """Has jobs whose states a test sets."""

    def __init__(self) -> None:
        self.states: dict[str, JobStatus] = {}

    def poll(self, job_id: str) -> JobInfo:
        return JobInfo(JobId(job_id), self.states[job_id])

    def wait(self, job_id: Any, raise_on_failure: bool = False, *, timeout: float | None = None) -> Any:
        raise NotImplementedError

    def launch(self, request: Any) -> JobId:
        raise NotImplementedError

    def submit(self, request: Any, adopt_existing: bool = True) -> JobHandle:
        raise NotImplementedError

    def create_job(self, entrypoint: str, env: RuntimeEnv | None = None) -> JobId:
        raise NotImplementedError

    def list_jobs(self) -> list[JobInfo]:
        return []

    def logs(self, job_id: str) -> str:
        return ""

    def follow(self, job_id: str) -> Iterator[str]:
        return iter(())

    def monitor(self, job_id: str) -> JobInfo:
        raise NotImplementedError

    def terminate(self, job_id: str) -> None: ...

    def delete_job(self, job_id: str) -> None: ...

    def shutdown(self, wait: bool = True) -> None: ...


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    fray.set_current_cluster(None)


def test_bare_call_takes_effect_at_once_in_all_threads() -> None:
    cluster = FakeCluster()
    set_current_client(cluster)
    seen: list[Cluster] = []
    thread = threading.Thread(target=lambda: seen.append(current_cluster()))
    thread.start()
    thread.join()
    assert seen == [cluster]
    assert current_client() is cluster


def test_with_statement_restores_what_was_before_after_an_exception_too() -> None:
    outer, inner = FakeCluster(), FakeCluster()
    fray.set_current_cluster(outer)
    with pytest.raises(KeyError), set_current_client(inner) as entered:
        assert entered is inner
        assert current_cluster() is inner
        raise KeyError
    assert current_cluster() is outer


def test_what_is_no_cluster_is_refused() -> None:
    with pytest.raises(TypeError, match="needs a Cluster or None"):
        fray.set_current_cluster("local")  # type: ignore[arg-type]


@pytest.mark.parametrize("spec", ["localhost", "lcoal", "", "k8s?x=1"])
def test_unknown_scheme_is_refused_with_the_known_ones(spec: str) -> None:
    with pytest.raises(SettingsError, match="Unknown cluster spec"):
        create_cluster(spec)


def test_scheme_that_starts_no_jobs_says_so() -> None:
    with pytest.raises(SettingsError, match="starts no jobs"):
        create_cluster("sync")


def test_in_memory_cluster_refuses_create_job() -> None:
    with pytest.raises(NotImplementedError, match="doesn't support create_job"):
        LocalClusterContext().create_job("python script.py", RuntimeEnv())
    assert LocalClusterContext().list_jobs() == []


def test_unknown_job_is_a_key_error_whose_text_is_plain() -> None:
    error = fray.JobNotFoundError("there is no job x")
    assert isinstance(error, KeyError)
    assert str(error) == "there is no job x"
