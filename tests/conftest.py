"""The Ray that all tests of a run share; it starts with the first test that asks for it."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.on_ray.head import RayHead

pytest.register_assert_rewrite("tests.snippets")

# How long an example takes says more of the machine than of what is tested.
settings.register_profile("any machine", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# What a developer's shell says of Python would change what the programs of the tests do.
for _name in ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"):
    os.environ.pop(_name, None)
# A shell starts a background job with SIGINT ignored, and every program of the tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


_ENDS_RAYS_DRIVER = ("test_cancelled_queued_task_never_runs[ray]", "test_cancelling_a_task_that_waits[ray]")
"""They cancel a task whose arguments have not arrived; Ray 2.60 now and then ends the driver that does."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what may end the whole run for the long one; skip what cannot hold under AddressSanitizer, saying why."""
    for item in items:
        if item.name in _ENDS_RAYS_DRIVER:
            item.add_marker(pytest.mark.long)
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        return
    for item in items:
        for marker in item.iter_markers("not_under_asan"):
            item.add_marker(pytest.mark.skip(reason=f"AddressSanitizer {marker.args[0]}"))


@pytest.fixture(scope="session")
def ray_head() -> Iterator[RayHead]:
    """A Ray with two CPUs and pretended resources; nothing of it may be left at the end."""
    head = RayHead({"head_node": 1}, cpus=2, dashboard=True)
    before = {name: os.environ.get(name) for name in head.environment}
    os.environ.update(head.environment)
    yield head
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    left = head.close()
    assert not left, "left behind by Ray:\n" + "\n".join(left)


@pytest.fixture(scope="session")
def initialised_ray(ray_head: RayHead) -> Iterator[RayHead]:
    """The same, and this process is one of its drivers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray

        ray.init(address=ray_head.address, log_to_driver=False, logging_level="ERROR")
    yield ray_head
    ray.shutdown()
