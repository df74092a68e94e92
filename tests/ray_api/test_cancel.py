"""What becomes of cancelled work and of those that wait for it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONG_PATIENCE, eventually


def test_a_task_that_catches_its_cancellation_keeps_its_value(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0)
    def stubborn(path: str) -> str:
        try:
            Path(path).touch()
            while True:
                time.sleep(0.01)
        except KeyboardInterrupt:
            return "kept"

    ref = stubborn.remote(str(tmp_path / "mark"))
    eventually((tmp_path / "mark").exists, LONG_PATIENCE)
    ray.cancel(ref)
    assert ray.get(ref, timeout=30) == "kept"


def test_whoever_waits_for_a_cancelled_task_fails_as_cancelled_however_far_away(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0)
    def hang(path: str) -> None:
        Path(path).touch()
        while True:
            time.sleep(0.01)

    @ray.remote(num_cpus=0)
    def wait(refs: list[Any]) -> Any:
        return ray.get(refs[0])

    ref = hang.remote(str(tmp_path / "mark"))
    near = wait.remote([ref])
    far = wait.remote([near])
    eventually((tmp_path / "mark").exists, LONG_PATIENCE)
    ray.cancel(ref)
    for waiting in (ref, near, far):
        with pytest.raises(ray.exceptions.TaskCancelledError) as caught:
            ray.get(waiting, timeout=30)
        assert isinstance(caught.value, ray.exceptions.RayTaskError)


def _leaf(ray: Any) -> Any:
    @ray.remote(num_cpus=0)
    def leaf(path: str) -> None:
        try:
            Path(path).touch()
            while not Path(path + ".door").exists():
                time.sleep(0.01)
            Path(path + ".through").touch()
        except KeyboardInterrupt:
            Path(path + ".interrupted").touch()
            raise

    return leaf


@pytest.mark.parametrize("recursive", [True, False])
def test_what_a_cancelled_task_has_started_is_cancelled_with_it_unless_told_otherwise(
    ray: Any, tmp_path: Path, recursive: bool
) -> None:
    leaf = _leaf(ray)

    @ray.remote(num_cpus=0)
    def middle(path: str) -> None:
        ray.get(leaf.remote(path))

    @ray.remote(num_cpus=0)
    def root(path: str) -> None:
        ray.get(middle.remote(path))

    mark = tmp_path / "mark"
    ref = (root if recursive else middle).remote(str(mark))
    eventually(mark.exists, LONG_PATIENCE)
    ray.cancel(ref, recursive=recursive)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref, timeout=30)
    if not recursive:
        (tmp_path / "mark.door").touch()
    eventually((tmp_path / ("mark.interrupted" if recursive else "mark.through")).exists, LONG_PATIENCE)


@pytest.mark.parametrize("recursive", [True, False])
@pytest.mark.parametrize("method", ["plain", "in_thread", "coroutine"])
def test_what_a_cancelled_call_has_started_is_cancelled_with_it_unless_told_otherwise(
    ray: Any, tmp_path: Path, method: str, recursive: bool
) -> None:
    leaf = _leaf(ray)

    class Plain:
        def start(self, path: str, until_told: bool) -> Any:
            value = ray.get(leaf.remote(path))
            while until_told and not ray.get_runtime_context().is_canceled():
                time.sleep(0.01)
            return value

    class Asynchronous:
        async def start(self, path: str, until_told: bool) -> Any:
            value = await leaf.remote(path)
            if until_told:
                await asyncio.sleep(60)
            return value

    options = {"num_cpus": 0, "max_concurrency": 1 if method == "plain" else 4}
    actor = ray.remote(**options)(Asynchronous if method == "coroutine" else Plain).remote()
    cancelled, other = tmp_path / "cancelled", tmp_path / "other"
    ref = actor.start.remote(str(cancelled), until_told=True)
    if method != "plain":
        goes_on = actor.start.remote(str(other), until_told=False)
        eventually(other.exists, LONG_PATIENCE)
    eventually(cancelled.exists, LONG_PATIENCE)
    ray.cancel(ref, recursive=recursive)
    if not recursive:
        (tmp_path / "cancelled.door").touch()
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref, timeout=30)
    eventually((tmp_path / ("cancelled.interrupted" if recursive else "cancelled.through")).exists, LONG_PATIENCE)
    if method != "plain":
        (tmp_path / "other.door").touch()  # what another call has started is no part of it
        assert ray.get(goes_on, timeout=30) is None


def test_calls_that_a_cancelled_task_has_made_are_cancelled_with_what_those_have_started(
    ray: Any, tmp_path: Path
) -> None:
    leaf = _leaf(ray)

    @ray.remote(num_cpus=0)
    class Middle:
        def start(self, path: str) -> Any:
            return ray.get(leaf.remote(path))

    @ray.remote(num_cpus=0)
    def root(actor: Any, path: str) -> Any:
        return ray.get(actor.start.remote(path))

    middle = Middle.remote()
    ref = root.remote(middle, str(tmp_path / "mark"))
    eventually((tmp_path / "mark").exists, LONG_PATIENCE)
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(ref, timeout=30)
    eventually((tmp_path / "mark.interrupted").exists, LONG_PATIENCE)


def test_a_call_that_has_ended_takes_nothing_with_it(ray: Any, tmp_path: Path) -> None:
    leaf = _leaf(ray)

    @ray.remote(num_cpus=0)
    class Starts:
        def start(self, path: str) -> Any:
            return [leaf.remote(path)]

        def wait(self, path: str) -> None:
            Path(path).touch()
            while not ray.get_runtime_context().is_canceled():
                time.sleep(0.01)

    actor = Starts.remote()
    (started,) = ray.get(actor.start.remote(str(tmp_path / "leaf")))
    waiting = actor.wait.remote(str(tmp_path / "mark"))
    eventually((tmp_path / "mark").exists, LONG_PATIENCE)
    ray.cancel(waiting)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(waiting, timeout=30)
    (tmp_path / "leaf.door").touch()
    assert ray.get(started, timeout=30) is None
