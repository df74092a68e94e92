"""What becomes of cancelled work and of those that wait for it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} was not made"
        time.sleep(0.01)


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
    wait_for(tmp_path / "mark")
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
    wait_for(tmp_path / "mark")
    ray.cancel(ref)
    for waiting in (ref, near, far):
        with pytest.raises(ray.exceptions.TaskCancelledError) as caught:
            ray.get(waiting, timeout=30)
        assert isinstance(caught.value, ray.exceptions.RayTaskError)
