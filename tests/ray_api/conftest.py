"""The same tests on `fray.ray` and on Ray itself, so that a difference is seen."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.on_ray.head import ENVIRONMENT

os.environ.update(ENVIRONMENT)  # before a test's module imports Ray


@pytest.fixture(scope="session")
def fray_as_ray() -> Iterator[Any]:
    """A session of `fray.ray` with two CPUs."""
    import fray.ray

    fray.ray.init(num_cpus=2, resources={"head_node": 1}, namespace="tests")
    yield fray.ray
    fray.ray.shutdown()


@pytest.fixture(params=["fray.ray", pytest.param("ray", marks=pytest.mark.ray)])
def ray(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The module under test, with a session."""
    if request.param == "fray.ray":
        yield request.getfixturevalue("fray_as_ray")
    else:
        request.getfixturevalue("initialised_ray")
        import ray

        yield ray
    gc.collect()  # handles in the frames of a failure keep actors, and so CPUs
