"""The clusters that the examples run on: this machine, the Ray that all tests share, and a stand-in for Iris."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.examples.places import Place
from tests.iris.conftest import FAST
from tests.iris.controller import Controller
from tests.iris.worker import Worker
from tests.on_ray.head import RayHead

ON_RAY = (pytest.mark.ray, pytest.mark.timeout(180))
LOCAL = Place("local", {"FRAY_CLUSTER_SPEC": "local"})


def place_of(controller: Controller) -> Place:
    return Place("iris", {"FRAY_CLUSTER_SPEC": f"iris?controller={controller.url}&user=tester"})


@pytest.fixture(scope="session")
def stand_in() -> Iterator[Controller]:
    """A controller with two machines, which only tests do something to that put it right again."""
    with Controller([Worker("worker-0"), Worker("worker-1")], FAST) as controller:
        yield controller


@pytest.fixture
def ray_place(ray_head: RayHead) -> Place:
    return Place("ray", {"FRAY_CLUSTER_SPEC": "ray", "RAY_ADDRESS": ray_head.address})


@pytest.fixture(params=["local", pytest.param("ray", marks=ON_RAY), "iris"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each cluster, one after the other."""
    if request.param == "ray":
        return request.getfixturevalue("ray_place")
    return LOCAL if request.param == "local" else place_of(request.getfixturevalue("stand_in"))
