"""Uses that are seldom and legal: refs and handles in odd places, names and numbers in odd forms, interrupts."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest


@dataclasses.dataclass
class Box:
    """Holds what travels."""

    content: Any
    others: dict[str, Any]


def test_refs_travel_in_dicts_sets_and_dataclasses(ray: Any) -> None:
    @ray.remote
    def look(box: Any) -> tuple[bool, list[Any]]:
        refs = [box.content, *box.others["deep"][0].values(), *box.others["set"]]
        return all(isinstance(ref, ray.ObjectRef) for ref in refs), ray.get(refs)

    one = ray.put(1)
    box = Box(ray.put(2), {"deep": ({"a": one, "b": ray.put(3)},), "set": {one}})
    assert ray.get(look.remote(box), timeout=60) == (True, [2, 1, 3, 1])


def test_refs_are_keys_that_other_processes_find_again(ray: Any) -> None:
    refs = [ray.put(number) for number in range(5)]

    @ray.remote
    def number(refs: list[Any]) -> dict[Any, int]:
        return {ref: index for index, ref in enumerate(refs)}

    @ray.remote
    def look_up(table: dict[Any, int], refs: list[Any]) -> list[int]:
        return [table[ref] for ref in refs]

    table = ray.get(number.remote(refs), timeout=60)
    assert [table[ref] for ref in refs] == list(range(5))
    assert ray.get(look_up.remote(table, refs[::-1]), timeout=60) == [4, 3, 2, 1, 0]


def test_handles_and_methods_travel_in_pickles_of_the_programs_own(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Total:
        def __init__(self) -> None:
            self.value = 0

        def add(self, amount: int) -> int:
            self.value += amount
            return self.value

    @ray.remote
    def use(packed: bytes) -> int:
        handle, method = pickle.loads(packed)
        return ray.get(handle.add.remote(1)) + ray.get(method.remote(10))

    total = Total.remote()
    assert ray.get(total.add.remote(0), timeout=60) == 0
    packed = ray.cloudpickle.dumps((total, total.add))
    assert pickle.loads(packed)[0] == total
    assert ray.get(use.remote(packed), timeout=60) == 1 + 11
    assert ray.get(total.add.remote(0), timeout=60) == 11


def test_many_refs_fail_as_soon_as_one_of_them_does(ray: Any, tmp_path: Path) -> None:
    door = tmp_path / "door"

    @ray.remote
    def wait() -> None:
        while not door.exists():
            time.sleep(0.01)

    @ray.remote
    def fail() -> None:
        raise ZeroDivisionError

    waiting = wait.remote()
    refs = [*(ray.put(number) for number in range(1000)), waiting]
    with pytest.raises(ray.exceptions.GetTimeoutError):
        ray.get(refs, timeout=0.05)
    with pytest.raises(ZeroDivisionError):
        ray.get([*refs, fail.remote()], timeout=60)
    door.touch()
    assert ray.get(refs, timeout=60)[:3] == [0, 1, 2]


def test_a_number_of_refs_to_wait_for_may_be_a_float_or_a_bool(ray: Any) -> None:
    refs = [ray.put(number) for number in range(3)]
    for number in (1.0, True):
        assert [len(part) for part in ray.wait(refs, num_returns=number)] == [1, 2]
    for number in ("1", None):
        with pytest.raises(TypeError):
            ray.wait(refs, num_returns=number)


def test_the_first_of_many_that_ask_for_a_name_makes_the_actor(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Total:
        def add(self) -> int:
            return os.getpid()

    @ray.remote(num_cpus=0)
    def use() -> int:
        handle = Total.options(name="the first", get_if_exists=True, lifetime="detached").remote()
        return ray.get(handle.add.remote())

    pids = ray.get([use.remote() for _ in range(6)], timeout=100)
    assert len(set(pids)) == 1
    ray.kill(ray.get_actor("the first"))


def test_a_call_has_the_name_that_it_was_given(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Says:
        def name(self) -> Any:
            return ray.get_runtime_context().get_task_name()

        @ray.method(num_returns=2)
        def names(self) -> Any:
            yield self.name()
            yield self.name()

    says = Says.remote()
    refs = [says.name.remote(), says.name.options(name="other").remote(), *says.names.options(name="both").remote()]
    assert ray.get(refs, timeout=60) == ["Says.name", "other", "both", "both"]


def test_modules_of_a_runtime_environment_are_found(fray_as_ray: Any, tmp_path: Path) -> None:
    ray = fray_as_ray  # Ray takes folders for the whole program only
    package = tmp_path / "package_of_a_task"
    package.mkdir()
    (package / "__init__.py").write_text("VALUE = 42\n")

    @ray.remote(runtime_env={"py_modules": [str(package)]})
    def look() -> int:
        return importlib.import_module("package_of_a_task").VALUE

    assert ray.get(look.remote(), timeout=100) == 42
    assert "package_of_a_task" not in sys.modules


def test_whoever_waits_can_be_interrupted_and_goes_on(ray: Any, tmp_path: Path) -> None:
    door = tmp_path / "door"

    @ray.remote
    def wait() -> int:
        while not door.exists():
            time.sleep(0.01)
        return 3

    ref = wait.remote()
    for waits in (lambda: ray.get(ref), lambda: ray.get([ref, ray.put(1)]), lambda: ray.wait([ref])):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            waits()
        timer.join()
    door.touch()
    assert ray.get(ref, timeout=60) == 3


def test_threads_and_coroutines_of_a_program_ask_side_by_side(ray: Any) -> None:
    @ray.remote
    def double(value: int) -> int:
        if value < 0:
            raise ValueError(value)
        return 2 * value

    sums: list[int] = []

    def work() -> None:
        sums.append(sum(ray.get([double.remote(value) for value in range(10)], timeout=100)))

    async def ask() -> list[Any]:
        return await asyncio.gather(*(double.remote(value) for value in (1, -1, 2)), return_exceptions=True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    one, failure, two = asyncio.run(ask())
    for thread in threads:
        thread.join()
    assert sums == [90] * 4
    assert (one, two) == (2, 4) and isinstance(failure, ValueError)


def test_an_error_among_the_items_of_a_pool_comes_in_its_place(fray_as_ray: Any) -> None:
    ray = fray_as_ray  # Ray gives no error in the place of an item
    pool_module = importlib.import_module(f"{ray.__name__}.util.multiprocessing")
    with pool_module.Pool(2) as pool:
        results = pool.imap(int, ["1", "x", "3"])
        assert next(results) == 1
        with pytest.raises(ValueError):
            next(results)
        assert next(results) == 3
        with pytest.raises(StopIteration):
            next(results)


def test_queues_and_their_actors_can_be_derived_from(ray: Any) -> None:
    queues = importlib.import_module(f"{ray.__name__}.util.queue")

    class Holds(queues._QueueActor):
        async def take_all(self) -> list[Any]:
            return [await self.queue.get() for _ in range(self.queue.qsize())]

    class Small(queues.Queue):
        def __init__(self) -> None:
            self.maxsize = 2
            self.actor = ray.remote(num_cpus=0)(Holds).remote(2)

    queue = Small()
    queue.put(1)
    ray.get(queue.actor.put_nowait.remote(2), timeout=60)
    assert ray.get([queue.actor.full.remote(), queue.actor.empty.remote()], timeout=60) == [True, False]
    with pytest.raises(asyncio.QueueFull):
        ray.get(queue.actor.put_nowait.remote(3), timeout=60)
    with pytest.raises(queues.Full):
        queue.put_nowait(3)
    assert ray.get(queue.actor.take_all.remote(), timeout=60) == [1, 2]
    with pytest.raises(asyncio.QueueEmpty):
        ray.get(queue.actor.get_nowait.remote(), timeout=60)
    with pytest.raises(queues.Empty):
        queue.get_nowait()
