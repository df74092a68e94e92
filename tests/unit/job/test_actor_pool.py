"""`fray.ActorPool`: what its function may do, and what earlier work leaves behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import fray
import pytest


class Squarer:
    def square(self, number: int) -> int:
        if number < 0:
            raise ValueError(f"number {number}")
        return number * number


class Asker:
    """Asks another actor."""

    def ask(self, other: Any) -> int:
        return fray.get_job_context().get(other.square(2))

    def answer(self) -> str:
        return "here"


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


def test_a_function_that_raises_when_an_actor_is_free_again_fails_its_own_piece_alone(pool: fray.ActorPool) -> None:
    def square_but_not_3(actor: Any, number: int) -> Any:
        return fail(actor, number) if number == 3 else square(actor, number)

    for number in range(6):
        pool.submit(square_but_not_3, number)
    assert [pool.get_next() for _ in range(3)] == [0, 1, 4]
    with pytest.raises(KeyError, match="3"):
        pool.get_next()
    assert [pool.get_next() for _ in range(2)] == [16, 25]
    assert not pool.has_next() and pool.has_free()

    for number in range(6):
        pool.submit(square_but_not_3, number)
    found: list[int] = []
    failures = 0
    while pool.has_next():
        try:
            found.append(pool.get_next_unordered())
        except KeyError:
            failures += 1
    assert (sorted(found), failures) == ([0, 1, 4, 16, 25], 1)


def test_what_waits_for_actors_that_have_all_ended_fails_and_is_not_forgotten() -> None:
    with fray.LocalJobContext() as context, fray.fray_default_job_ctx(context):
        actors = [context.create_actor(Squarer) for _ in range(2)]
        pool = fray.ActorPool(actors)
        for actor in actors:
            context.kill(actor)
        for number in range(5):
            pool.submit(square, number)
        errors = 0
        while pool.has_next():
            with pytest.raises(fray.ActorDiedError):
                pool.get_next()
            errors += 1
        assert errors == 5
        with pytest.raises(StopIteration):
            pool.get_next()
        pool.push(context.create_actor(Squarer))
        assert list(pool.map(square, range(3))) == [0, 1, 4]


def test_what_waits_for_an_actor_that_was_taken_out_is_not_failed_but_begins_when_it_is_back(
    pool: fray.ActorPool,
) -> None:
    actors = [pool.pop_idle(), pool.pop_idle()]
    for number in range(3):
        pool.submit(square, number)
    assert not pool.has_next()
    for actor in actors:
        pool.push(actor)
    assert [pool.get_next() for _ in range(3)] == [0, 1, 4]


def test_what_waits_for_actors_that_have_all_ended_begins_when_another_one_is_pushed() -> None:
    with fray.LocalJobContext() as context, fray.fray_default_job_ctx(context):
        actor = context.create_actor(Squarer)
        pool = fray.ActorPool([actor])
        context.kill(actor)
        for number in range(3):
            pool.submit(square, number)
        with pytest.raises(fray.ActorDiedError):
            pool.get_next()
        pool.push(context.create_actor(Squarer))
        assert [pool.get_next() for _ in range(2)] == [1, 4]


def test_the_end_of_an_actor_inside_of_what_is_no_handle_is_told() -> None:
    with fray.LocalJobContext() as context, fray.fray_default_job_ctx(context):
        actor = context.create_actor(Squarer)
        context.kill(actor)
        pool = fray.ActorPool([("name", actor)])
        pool.submit(lambda named, number: named[1].square(number), 1)
        with pytest.raises(fray.ActorDiedError):
            pool.get_next()


def test_an_actor_that_meets_the_end_of_another_one_stays_in_the_pool() -> None:
    with fray.LocalJobContext() as context, fray.fray_default_job_ctx(context):
        gone = context.create_actor(Squarer)
        context.kill(gone)
        pool = fray.ActorPool([context.create_actor(Asker)])
        pool.submit(lambda actor, other: actor.ask(other), gone)
        with pytest.raises(fray.ActorDiedError):
            pool.get_next()
        assert list(pool.map(lambda actor, _: actor.answer(), range(2))) == ["here", "here"]


class Restarted:
    """Has no state that a restart would lose."""

    begun = threading.Event()
    hold = threading.Event()

    def wait(self) -> bool:
        self.begun.set()
        return self.hold.wait(60)

    def answer(self) -> str:
        return "here"


def test_an_actor_that_is_started_anew_stays_in_the_pool() -> None:
    options = fray.ActorOptions(max_restarts=1)
    with fray.ThreadContext() as context, fray.fray_default_job_ctx(context):
        actor = context.create_actor(Restarted, options=options)
        pool = fray.ActorPool([actor])
        pool.submit(lambda actor, _: actor.wait(), None)
        assert Restarted.begun.wait(60)
        context.kill(actor, no_restart=False)
        Restarted.hold.set()
        with pytest.raises(fray.ActorDiedError):
            pool.get_next()
        assert list(pool.map(lambda actor, _: actor.answer(), range(2))) == ["here", "here"]
