"""Running functions of the tests in jobs, and actors that they share, where every task can import them."""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fray
from fray import ActorHandle, Entrypoint, JobRequest, JobStatus, ResourceConfig, create_environment, current_actor
from fray.backend.iris.cluster import IrisCluster

ROOT = Path(__file__).resolve().parents[2]
PATHS = os.pathsep.join(
    map(str, (Path(__file__).parent / "first_path", ROOT, ROOT / "tests", Path(fray.__file__).parents[1]))
)
"""For PYTHONPATH: the tests, and Fray, which the Python of a task on a real cluster need not have."""
SMALL = ResourceConfig(cpu=1, ram="512m", disk="0")
_RESULT = "result: "


def launch(
    iris: IrisCluster,
    function: Callable[..., Any],
    *args: Any,
    replicas: int = 1,
    resources: ResourceConfig = SMALL,
    **variables: str,
) -> str:
    """Launch a job of a function; what it returns is JSON that `results` finds."""
    environment = create_environment(env_vars={"PYTHONPATH": PATHS, **variables})
    entrypoint = Entrypoint.from_callable(_print_result, [_told(function), *args])
    name = function.__name__.strip("_").replace("_", "-")
    return iris.launch(JobRequest(name, entrypoint, resources, environment, replicas=replicas))


def results(iris: IrisCluster, job: str, timeout: float = 60) -> list[Any]:
    """Wait for a job and return what its tasks returned, in any order."""
    deadline = time.monotonic() + timeout
    while not JobStatus.finished((info := iris.poll(job)).status):
        assert time.monotonic() < deadline, f"{info}\n{iris.logs(job)}"
        time.sleep(0.05)
    assert info.status is JobStatus.SUCCEEDED, f"{info}\n{''.join(iris.follow(job))}"
    while True:  # lines come a moment after the end
        lines = [line for line in iris.logs(job).splitlines() if _RESULT in line]
        if len(lines) == len(info.tasks):
            return [json.loads(line.partition(_RESULT)[2]) for line in lines]
        assert time.monotonic() < deadline, iris.logs(job)
        time.sleep(0.05)


def run(iris: IrisCluster, function: Callable[..., Any], *args: Any, **variables: str) -> Any:
    """Return what a function returns in a job of its own."""
    (value,) = results(iris, launch(iris, function, *args, **variables))
    return value


def _told(function: Callable[..., Any]) -> Callable[..., Any] | tuple[str, str]:
    """Return where a function of a test module is: pytest calls its package `iris`, as Iris's own is called."""
    package, _, module = getattr(function, "__module__", "").rpartition(".")
    return (module, function.__qualname__) if package in ("iris", __package__) else function


def _print_result(function: Callable[..., Any] | tuple[str, str], *args: Any) -> None:
    if isinstance(function, tuple):
        module, name = function
        function = getattr(importlib.import_module(f"{__package__}.{module}"), name)
    print(_RESULT + json.dumps(function(*args)), flush=True)


class Counter:
    """Counts, and does what a test tells it to."""

    def __init__(self, start: int = 0) -> None:
        self.value = start

    def add(self, amount: int = 1) -> int:
        self.value += amount
        return self.value

    def pid(self) -> int:
        return os.getpid()

    def host_pid(self) -> int:
        """The process of the host: the parent of the node that this worker belongs to is not it, so it is asked for."""
        return int(os.environ["FRAY_IRIS_WORKER"])

    def variable(self, name: str) -> str | None:
        return os.environ.get(name)

    def task(self) -> str:
        return os.environ["IRIS_TASK_ID"]

    def fail(self, make: Callable[[], BaseException]) -> None:
        raise make()

    def give(self, value: Any) -> Any:
        return value

    def append(self, path: str, line: str) -> None:
        with open(path, "a") as file:
            file.write(line + "\n")

    def write(self, path: str, number: int, started: str) -> int:
        """Write a number; the first time where a file is named, make it and go no further."""
        with open(path, "a") as file:
            file.write(f"{number}\n")
        if started and not os.path.exists(started):
            Path(started).write_text("")
            time.sleep(600)
        return number

    def wait_for_file(self, started: str, path: str) -> str:
        """Say that it has begun, and wait for a file."""
        Path(started).write_text("")
        while not os.path.exists(path):
            time.sleep(0.01)
        return "found"

    def myself(self) -> ActorHandle:
        return current_actor().handle

    def call(self, other: ActorHandle) -> Any:
        """Have another actor call this one."""
        return other.add_to.remote(current_actor().handle).result()

    def add_to(self, other: ActorHandle) -> Any:
        return other

    def count_to(self, n: int) -> Any:
        for number in range(n):
            self.value += 1
            yield number


class ShopError(Exception):
    """An error with a way of its own to be made."""

    def __init__(self, item: str, *, left: int) -> None:
        super().__init__(f"{item}: {left} left")
        self.item, self.left = item, left


def make_shop_error() -> ShopError:
    return ShopError("tea", left=3)


class UnreadError(Exception):
    """The host of an actor was sent an `UnreadInHost`."""


class UnreadInHost:
    """An argument that workers can read, and the host of an actor, which is none, cannot.

    A call with it never reaches the actor, so its answer tells that the host has read what was sent before.
    """

    def __reduce__(self) -> tuple[Callable[[], UnreadInHost], tuple[()]]:
        return _read_in_worker, ()


def _read_in_worker() -> UnreadInHost:
    if "FRAY_IRIS_WORKER" not in os.environ:
        raise UnreadError
    return UnreadInHost()
