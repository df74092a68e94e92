"""`fray.ActorPool`: what its function may do, and what earlier work leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import fray
import pytest


class Squarer:
    def square(self, number: int) -> int:
        if number < 0:
            raise ValueError(f"number {number}")
        return number * number


@pytest.fixture
def pool() -> Iterator[fray.ActorPool]:
    """A pool of two actors."""
    with fray.LocalJobContext() as context, fray.fray_default_job_ctx(context):
        yield fray.ActorPool([context.create_actor(Squarer) for _ in range(2)])


def square(actor: Any, number: int) -> Any:
    return actor.square(number)


def fail(actor: Any, number: int) -> Any:
    raise KeyError(number)


def test_a_function_that_raises_leaves_its_actor_in_the_pool(pool: fray.ActorPool) -> None:
    for _ in range(3):
        with pytest.raises(KeyError):
            pool.submit(fail, 1)
    assert list(pool.map(square, range(4))) == [0, 1, 4, 9]


def test_a_function_that_is_interrupted_leaves_its_actor_in_the_pool(pool: fray.ActorPool) -> None:
    def interrupted(actor: Any, number: int) -> Any:
        raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            pool.submit(interrupted, 1)
    assert pool.has_free()
    assert list(pool.map(square, range(4))) == [0, 1, 4, 9]


@pytest.mark.parametrize("given", [5, [], None])
def test_a_function_that_returns_no_ref_is_told_so_at_once(pool: fray.ActorPool, given: object) -> None:
    with pytest.raises(TypeError, match="must return the ref of a call"):
        pool.submit(lambda actor, number: given, 1)
    assert list(pool.map(square, range(4))) == [0, 1, 4, 9]


def test_failures_of_earlier_work_do_not_come_in_later_work(pool: fray.ActorPool) -> None:
    with pytest.raises(ValueError, match="number -1"):
        list(pool.map(square, [-1, -2, -3, 4]))
    assert list(pool.map(square, [5, 6])) == [25, 36]


def test_one_ref_may_stand_for_several_pieces(pool: fray.ActorPool) -> None:
    shared = fray.get_job_context().put(7)
    assert list(pool.map(lambda actor, number: shared, range(4))) == [7] * 4
    assert sorted(pool.map_unordered(lambda actor, number: shared, range(4))) == [7] * 4
    assert list(pool.map(square, range(4))) == [0, 1, 4, 9]
