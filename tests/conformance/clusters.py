"""The clusters that the suite runs on, and how its tests order jobs. Another joins by an entry of `CLUSTERS`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fray import Entrypoint, JobInfo, JobNotFoundError, JobRequest, JobStatus, ResourceConfig
from fray.cluster import Cluster

from tests.slowness import SLOWNESS

__all__ = ["CLUSTERS", "NOTHING", "PATIENCE", "Place", "begun", "end_jobs", "function", "program", "python", "shell"]

PATIENCE = 60.0 * SLOWNESS
"""Seconds within which a job that nothing keeps from ending has ended."""
NOTHING = ResourceConfig(cpu=0)
"""What a job holds that may run beside any number of others."""


@dataclass(frozen=True)
class Place:
    """How a cluster of two CPUs is made for the tests.

    Args:
        make: makes one in an empty folder that is the test run's.
        needs: fixture of the service that it is a client of.
        marks: of the tests on it.
    """

    make: Callable[[Path], Cluster]
    needs: str | None = None
    marks: tuple[pytest.MarkDecorator, ...] = ()


def _local(folder: Path) -> Cluster:
    from fray.cluster import LocalCluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAY_HOME", str(folder / "home"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("UV_CACHE_DIR", str(folder / "uv"))
        return LocalCluster(cpus=2)


def _ray(folder: Path) -> Cluster:
    from fray.backend.ray.cluster import RayCluster

    return RayCluster(local=True)


CLUSTERS = {
    "local": Place(_local),
    "ray": Place(_ray, "initialised_ray", (pytest.mark.ray, pytest.mark.filterwarnings("default"))),
}


def end_jobs(cluster: Cluster) -> None:
    """Terminate what a test has left."""
    for info in cluster.list_jobs():
        if info.name and not JobStatus.finished(info.status):
            with suppress(JobNotFoundError):
                cluster.terminate(info.job_id)


def begun(cluster: Cluster, job_id: str) -> JobInfo:
    """Return how a job is doing once it waits no more."""
    deadline = time.monotonic() + PATIENCE
    while (info := cluster.poll(job_id)).status is JobStatus.PENDING:
        assert time.monotonic() < deadline, info
        time.sleep(0.05)
    return info


# ---- orders


def program(*words: str, name: str = "job", resources: ResourceConfig = NOTHING, **options: Any) -> JobRequest:
    """Return the order for a program with its words."""
    return JobRequest(name, Entrypoint.from_binary(words[0], words[1:]), resources, **options)


def shell(script: str, *words: str, **options: Any) -> JobRequest:
    """Return the order for a script of the shell, which finds the words as $1, $2 and so on."""
    return program("sh", "-c", script, "sh", *words, **options)


def python(code: str, *words: str, **options: Any) -> JobRequest:
    """Return the order for lines of Python."""
    return program("python", "-c", code, *words, **options)


def function(
    fn: Callable[..., Any], *args: Any, name: str = "job", resources: ResourceConfig = NOTHING, **options: Any
) -> JobRequest:
    """Return the order for a function with its arguments."""
    return JobRequest(name, Entrypoint.from_callable(fn, args), resources, **options)
