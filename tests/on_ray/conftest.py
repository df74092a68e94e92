"""Fixtures of the tests that are about Ray alone; the Ray that they use is that of ../conftest.py."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import fray
import pytest
from fray.backend.ray.cluster import RayCluster

from tests.on_ray.head import ENVIRONMENT, RayHead

os.environ.update(ENVIRONMENT)  # before a test's module imports Ray


@pytest.fixture
def ctx(initialised_ray: RayHead) -> Iterator[fray.JobContext]:
    """A context on the suite's Ray, which is also the current one."""
    from fray.backend.ray import RayJobContext

    with RayJobContext(namespace="on_ray") as context, fray.fray_default_job_ctx(context):
        yield context


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as this process's, since jobs get a copy of it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cluster(initialised_ray: RayHead, folder: Path) -> RayCluster:
    return RayCluster(local=True)
