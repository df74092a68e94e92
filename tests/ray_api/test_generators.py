"""Generators as tasks and as methods of actors: streams, so many results, and one object."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


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
