"""Generators as tasks and as methods of actors: streams, so many results, and one object."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONG_PATIENCE, eventually


@pytest.fixture
def counting(ray: Any) -> Any:
    """An actor with a generator method that raises where it is told."""

    @ray.remote(num_cpus=0)
    class Counting:
        def up_to(self, count: int, fails_at: int = -1) -> Iterator[int]:
            for i in range(count):
                if i == fails_at:
                    raise KeyError(i)
                yield i

        @ray.method(num_returns=2)
        def pair(self) -> Iterator[str]:
            yield "a"
            yield "b"

    return Counting.remote()


def test_a_generator_method_has_so_many_results_where_that_was_asked(ray: Any, counting: Any) -> None:
    assert ray.get(counting.up_to.options(num_returns=3).remote(3)) == [0, 1, 2]
    assert ray.get(counting.up_to.options(num_returns=1).remote(3)) == 0
    assert ray.get(counting.pair.remote()) == ["a", "b"]


def test_results_that_a_generator_method_does_not_come_to_raise(ray: Any, counting: Any) -> None:
    first, second, third = counting.up_to.options(num_returns=3).remote(3, fails_at=1)
    assert ray.get(first) == 0
    for ref in (second, third):
        with pytest.raises(KeyError):
            ray.get(ref)
    with pytest.raises(ValueError):
        ray.get(counting.up_to.options(num_returns=3).remote(2))


@pytest.mark.filterwarnings("ignore:num_returns=.dynamic")
def test_a_generator_method_gives_one_object_with_all_refs_where_that_was_asked(ray: Any, counting: Any) -> None:
    refs = list(ray.get(counting.up_to.options(num_returns="dynamic").remote(3, fails_at=2)))
    assert ray.get(refs[:2]) == [0, 1]
    with pytest.raises(KeyError):
        ray.get(refs[2])


@pytest.mark.parametrize("dies", [False, True])
def test_items_of_a_generator_that_is_tried_again_come_once(ray: Any, tmp_path: Path, dies: bool) -> None:
    @ray.remote(max_retries=1, retry_exceptions=[OSError])
    def count(path: str) -> Iterator[int]:
        for i in range(4):
            yield i
            if i == 1 and not Path(path).exists():
                Path(path).touch()
                if dies:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError("once")

    assert [ray.get(ref) for ref in count.remote(str(tmp_path / "mark"))] == [0, 1, 2, 3]


def test_coroutines_read_a_generator_to_its_end(ray: Any, counting: Any) -> None:
    async def main() -> list[int]:
        items = counting.up_to.remote(3)
        found = [await ref async for ref in items]
        with pytest.raises(StopAsyncIteration):
            await anext(items)
        failing = counting.up_to.remote(3, fails_at=1)
        assert await (await anext(failing)) == 0
        with pytest.raises(KeyError):
            await (await anext(failing))
        with pytest.raises(StopAsyncIteration):
            await anext(failing)
        return found

    assert asyncio.run(main()) == [0, 1, 2]


def test_a_coroutine_that_is_cancelled_while_it_waits_takes_no_item(ray: Any, tmp_path: Path) -> None:
    door = str(tmp_path / "door")
    os.mkfifo(door)

    @ray.remote(num_cpus=0)
    def two() -> Iterator[int]:
        yield 1
        open(door).close()
        yield 2

    async def main() -> list[int]:
        items = two.remote()
        first = await (await anext(items))
        waiting = asyncio.ensure_future(anext(items))
        await asyncio.sleep(0)  # the coroutine begins to wait
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        waiting = asyncio.ensure_future(anext(items))
        await asyncio.to_thread(lambda: open(door, "w").close())
        return [first, await (await waiting)]

    assert asyncio.run(main()) == [1, 2]


@pytest.mark.parametrize("of_actor", [False, True])
def test_a_generator_waits_while_so_many_of_its_items_were_not_taken(ray: Any, tmp_path: Path, of_actor: bool) -> None:
    def count(folder: Path) -> Iterator[int]:
        for i in range(8):
            (folder / str(i)).touch()
            yield i

    @ray.remote(num_cpus=0)
    class Counting:
        def up_to(self, folder: Path) -> Iterator[int]:
            yield from count(folder)

    @ray.remote(num_cpus=0)
    def other() -> None: ...

    counting = Counting.remote().up_to if of_actor else ray.remote(num_cpus=0)(count)
    items = counting.options(_generator_backpressure_num_objects=2).remote(tmp_path)
    for taken in range(3):
        eventually((tmp_path / str(taken + 1)).exists, LONG_PATIENCE)
        for _ in range(20):
            ray.get(other.remote(), timeout=60)  # time in which the generator could go on
        assert not (tmp_path / str(taken + 2)).exists()
        assert ray.get(next(items), timeout=60) == taken
    assert [ray.get(ref) for ref in items] == [3, 4, 5, 6, 7]
