"""What is behind a context: the verbs that backends implement and libraries stand on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import fray
import pytest
from fray import ContextClosedError, JobContext, LocalJobContext, TaskOptions, ThreadContext
from fray.job.engine import Engine

from tests.waiting import eventually

CONTEXTS: list[Callable[[], JobContext]] = [
    LocalJobContext,
    lambda: LocalJobContext(serialize=True),
    lambda: ThreadContext(2),
]


@pytest.fixture(params=CONTEXTS, ids=["sync", "serialized", "thread"])
def ctx(request: pytest.FixtureRequest) -> Any:
    with request.param() as context:
        yield context


def test_engine_does_what_its_context_does(ctx: JobContext) -> None:
    engine = ctx.engine
    ref = engine.submit(pow, (2, 5), {}, TaskOptions())
    assert engine.get(ref, None) == ctx.get(ref) == 32
    held = engine.put([1])
    assert engine.get_many([ref, held, ref], None) == [32, [1], 32]
    assert engine.wait([held, ref], 2, None) == ([held, ref], [])
    assert engine.owns(ref)
    assert not engine.owns(LocalJobContext().put(1))
    assert not engine.owns(1)


def test_watch_of_an_engine_tells_what_arrives(ctx: JobContext) -> None:
    watch, arrived = ctx.engine.watch(), []
    for number in range(3):
        ref = ctx.run(abs, -number)
        watch.add(ref, lambda ref=ref: arrived.append(ctx.get(ref)))
    while len(arrived) < 3:
        watch.serve()
    assert sorted(arrived) == [0, 1, 2]


def test_engine_of_a_closed_context_is_not_given_and_takes_nothing(ctx: JobContext) -> None:
    engine = ctx.engine
    ctx.close()
    assert engine.closed
    with pytest.raises(ContextClosedError, match=f"this {type(ctx).__name__} was closed"):
        ctx.engine  # noqa: B018
    with pytest.raises(ContextClosedError):
        engine.submit(pow, (2, 5), {}, TaskOptions())
    assert ctx.begun_engine is engine


def test_engine_refuses_refs_of_another_one_among_the_arguments(ctx: JobContext) -> None:
    stranger = LocalJobContext().put(1)
    with pytest.raises(fray.ForeignRefError, match=type(ctx).__name__):
        ctx.engine.submit(abs, (stranger,), {}, TaskOptions())


def test_map_ends_with_the_context_that_is_closed_in_its_midst() -> None:
    ctx = ThreadContext(1)
    results = ctx.map(abs, iter(range(-1000, 0)), batch=1, max_in_flight=1)
    assert next(results) == 1000
    ctx.close()
    with pytest.raises(ContextClosedError):
        list(results)


def test_door_of_any_engine_runs_what_it_is_given() -> None:
    """A library may put its own engine behind the door: here one that counts and hands on."""
    inner = LocalJobContext()

    class Counting(type(inner.engine)):  # type: ignore[misc]
        submitted = 0

        def submit(self, *order: Any) -> Any:
            Counting.submitted += 1
            return inner.engine.submit(*order)

        def owns(self, ref: Any) -> bool:
            return inner.engine.owns(ref)

    door = JobContext.__new__(JobContext)
    JobContext.__init__(door, Counting(door, inner.engine.codec, 0))  # type: ignore[attr-defined]
    assert door.get(door.run(pow, 2, 5)) == 32
    assert list(door.map(abs, [-1, -2], batch=1)) == [1, 2]
    with fray.Executor(context=door) as executor:
        assert executor.submit(pow, 2, 3).result(timeout=60) == 8
    assert Counting.submitted == 4
    with pytest.raises(TypeError, match="JobContext does not say how it travels"):
        door.__reduce__()


@pytest.mark.parametrize("kind", [LocalJobContext, ThreadContext])
def test_engines_have_every_verb(kind: type[JobContext]) -> None:
    with kind() as context:  # type: ignore[call-arg]
        assert {name for name in vars(Engine) if not name.startswith("_")} <= set(dir(context.engine))


def test_closed_contexts_leave_no_thread() -> None:
    before = threading.active_count()
    for _ in range(20):
        with ThreadContext(2) as ctx:
            ctx.get([ctx.run(abs, -1) for _ in range(4)])
    eventually(lambda: threading.active_count() <= before)
