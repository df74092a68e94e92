"""What the tests of the plugs share."""

from __future__ import annotations

from collections.abc import Iterator

import fray
import pytest


@pytest.fixture(scope="module")
def native() -> Iterator[fray.JobContext]:
    """One engine of two CPUs for the tests of a module; not the current context."""
    with fray.create_job_ctx("local", cpus=2) as context:
        yield context


@pytest.fixture
def current(native: fray.JobContext) -> Iterator[fray.JobContext]:
    """The same engine as the current context."""
    with fray.fray_default_job_ctx(native):
        yield native
