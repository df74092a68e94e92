"""Refs, get, put and wait."""

from __future__ import annotations

import asyncio
import gc
import pickle
import time
from pathlib import Path
from typing import Any

import numpy
import pytest


def test_refs_have_names_and_are_equal_by_them(ray: Any) -> None:
    ref = ray.put(1)
    assert isinstance(ref, ray.ObjectRef)
    assert len(ref.hex()) == 56 and ref.binary().hex() == ref.hex() and ref.size() == 28
    assert repr(ref) == str(ref) == f"ObjectRef({ref.hex()})"
    assert ref == ref and ref != ray.put(1) and len({ref, ref}) == 1
    assert not ref.is_nil()
    assert len(ref.task_id().hex()) == 48 and ref.job_id().hex()
    assert ray.ObjectRef[int] is not None
    with pytest.raises(TypeError):
        ref < ref  # noqa: B015
    with pytest.raises(TypeError, match="not iterable"):
        iter(ref)


def test_arguments_may_be_given_by_rays_names(ray: Any) -> None:
    ref = ray.put(value=1)
    assert ray.get(object_refs=ref) == 1
    assert ray.wait(ray_waitables=[ref], num_returns=1) == ([ref], [])
    assert ray.cancel(ray_waitable=ref) is None


def test_a_ref_keeps_its_name_in_other_processes(ray: Any) -> None:
    @ray.remote
    def name_of(refs: list[Any]) -> str:
        return refs[0].hex()

    ref = ray.put("x")
    assert ray.get(name_of.remote([ref])) == ref.hex()


@pytest.mark.parametrize("value", [None, 1, "a", b"b", [1, [2]], {"a": (1, 2)}, {1, 2}, ValueError("kept")])
def test_values_come_back(ray: Any, value: Any) -> None:
    back = ray.get(ray.put(value))
    assert type(back) is type(value)
    assert back == value or str(back) == str(value)


def test_refs_in_pickles_of_the_programs_own_are_found_by_other_processes(ray: Any) -> None:
    @ray.remote
    def number() -> int:
        return 5

    @ray.remote
    def read(packed: bytes) -> list[Any]:
        small, large, result = ray.get(pickle.loads(packed))
        return [small, int(large.sum()), result]

    packed = ray.cloudpickle.dumps([ray.put("small"), ray.put(numpy.ones(1_000_000)), number.remote()])
    gc.collect()  # nothing but the pickle holds the objects
    assert ray.get(read.remote(packed), timeout=60) == ["small", 1_000_000, 5]
    assert ray.get(pickle.loads(packed)[0]) == "small"


def test_values_are_copies_and_large_arrays_read_only(ray: Any) -> None:
    ref = ray.put([1])
    ray.get(ref).append(2)
    assert ray.get(ref) == [1]
    array = ray.get(ray.put(numpy.zeros(1_000_000)))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


@pytest.mark.parametrize("wrong", [3, None, {1}, (item for item in [1])])
def test_get_of_something_else(ray: Any, wrong: Any) -> None:
    with pytest.raises(ValueError):
        ray.get(wrong)
    with pytest.raises(TypeError):
        ray.get([wrong])


def test_get_takes_its_timeout_by_name(ray: Any) -> None:
    with pytest.raises(TypeError):
        ray.get(ray.put(1), 3)


def test_get_that_takes_too_long(ray: Any, tmp_path: Path) -> None:
    door = tmp_path / "door"

    @ray.remote
    def slow() -> None:
        while not door.exists():
            time.sleep(0.01)

    ref = slow.remote()
    for timeout in (0, 0.05):
        with pytest.raises(ray.exceptions.GetTimeoutError):
            ray.get(ref, timeout=timeout)
        with pytest.raises(TimeoutError):
            ray.get([ref, ref], timeout=timeout)
    door.touch()
    assert ray.get(ref) is None


def test_get_of_several_raises_the_first_failure_that_is_known(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise ValueError("soon")

    @ray.remote
    def slow() -> None:
        time.sleep(100)

    running = slow.remote()
    start = time.monotonic()
    with pytest.raises(ValueError, match="soon"):
        ray.get([running, fail.remote()])
    assert time.monotonic() - start < 60
    ray.cancel(running, force=True)


def test_put_of_a_ref(ray: Any) -> None:
    ref = ray.put(1)
    with pytest.raises(TypeError, match="list"):
        ray.put(ref)
    (inner,) = ray.get(ray.put([ref]))
    assert inner == ref and ray.get(inner) == 1


def test_put_of_what_cannot_be_pickled(ray: Any) -> None:
    import threading

    with pytest.raises(TypeError):
        ray.put(threading.Lock())


def test_wait_splits_a_list(ray: Any, tmp_path: Path) -> None:
    door = tmp_path / "door"

    @ray.remote
    def slow() -> None:
        while not door.exists():
            time.sleep(0.01)

    first, second, running = ray.put(1), ray.put(2), slow.remote()
    ready, others = ray.wait([running, first, second], num_returns=2, timeout=30)
    assert set(ready) == {first, second} and others == [running]
    assert ray.wait([running], timeout=0) == ([], [running])
    assert ray.wait([]) == ([], [])
    door.touch()
    assert ray.get(running) is None


def test_failed_refs_are_ready(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise ValueError

    ref = fail.remote()
    assert ray.wait([ref], timeout=30) == ([ref], [])


def test_wrong_arguments_of_wait(ray: Any) -> None:
    ref = ray.put(1)
    with pytest.raises(TypeError):
        ray.wait(ref)
    with pytest.raises(TypeError):
        ray.wait([1])
    for arguments in ({"num_returns": 0}, {"num_returns": 2}, {"timeout": -1}):
        with pytest.raises(ValueError):
            ray.wait([ref], **arguments)
    with pytest.raises(ValueError):
        ray.wait([ref, ref], num_returns=2)


def test_refs_can_be_awaited(ray: Any) -> None:
    @ray.remote
    def f(value: int) -> int:
        if value < 0:
            raise ValueError("negative")
        return value

    async def main() -> list[Any]:
        assert await f.remote(1) == 1
        with pytest.raises(ValueError) as caught:
            await f.remote(-1)
        assert isinstance(caught.value, ray.exceptions.RayTaskError)
        return await asyncio.gather(*[f.remote(i) for i in range(3)])

    assert asyncio.run(main()) == [0, 1, 2]


def test_futures_of_refs(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise ValueError("no")

    assert ray.put(3).future().result(timeout=30) == 3
    error = fail.remote().future().exception(timeout=30)
    assert isinstance(error, ValueError) and isinstance(error, ray.exceptions.RayTaskError)


def test_refs_returned_by_tasks(ray: Any) -> None:
    @ray.remote
    def inner() -> int:
        return 5

    @ray.remote
    def outer() -> Any:
        return inner.remote()

    assert ray.get(ray.get(outer.remote())) == 5


def test_serializers_of_ones_own(ray: Any) -> None:
    import threading

    class Guarded:
        def __init__(self, value: int) -> None:
            self.value = value
            self.lock = threading.Lock()

    ray.util.register_serializer(Guarded, serializer=lambda it: it.value, deserializer=lambda value: Guarded(value))
    try:
        assert ray.get(ray.put(Guarded(3))).value == 3
    finally:
        ray.util.deregister_serializer(Guarded)
    with pytest.raises(TypeError):
        ray.put(Guarded(3))


def test_looking_at_what_cannot_be_pickled(ray: Any, capsys: pytest.CaptureFixture[str]) -> None:
    import threading

    lock = threading.Lock()

    def holds() -> Any:
        return lock

    fine, failures = ray.util.inspect_serializability(holds, name="holds")
    assert not fine and any("lock" in failure.path for failure in failures)
    assert ray.util.inspect_serializability(3)[0]
    capsys.readouterr()
